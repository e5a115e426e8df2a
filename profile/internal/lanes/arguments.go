package lanes

import (
	"fmt"

	"github.com/goproton/goproton/profile"
)

// Names of what is written of a slice in addition to its name, lane and times.
const (
	CallStack   = "call_stack"
	ScopeID     = "scope_id" // of scopes; of all others it is Correlation
	Correlation = "correlation"
	LaunchID    = "launch"
	CompileHash = "compile_hash"
	Bytes       = profile.BytesMetric // of a copy or memset
	Rate        = "GB/s"
	Metrics     = "metrics"
	Counted     = "counted" // of a counter
)

// Loses says what a timeline does not hold of a profile: values of the tree that do not follow from the timeline.
func Loses(p *profile.Profile) []string {
	if p.Timeline == nil {
		return nil // writers refuse it
	}
	if n := p.BeyondTimeline(); n > 0 {
		return []string{fmt.Sprintf("%d values of the tree that its timeline does not have", n)}
	}
	return nil
}

// Arguments are what is written of a slice in addition to its name, lane and times, in this order. What is zero is not written.
type Arguments struct {
	Kind     profile.SliceKind // one that Categories has
	Path     []string          // at most profile.MaxDepth frames, which is what readers take
	IDName   string
	ID       uint64
	Launch   *profile.LaunchKind
	HasBytes bool
	Bytes    int64
	HasRate  bool
	Rate     float64 // bytes per ns
	Metrics  []profile.Metric
}

// Of makes a the arguments of a slice that lasts that many ns in the file.
func (a *Arguments) Of(s *profile.Slice, duration uint64) {
	a.Kind, a.Path, a.IDName, a.ID, a.Launch, a.HasBytes, a.HasRate, a.Metrics = s.Kind, s.Path, Correlation, s.ID, nil, false, false, s.Metrics
	if int(a.Kind) >= len(Categories) {
		a.Kind = profile.OtherSlice
	}
	if len(a.Path) > profile.MaxDepth {
		a.Path = a.Path[:profile.MaxDepth]
	}
	switch a.Kind {
	case profile.ScopeSlice:
		a.IDName = ScopeID
	case profile.KernelSlice:
		a.Launch = s.Launch
	case profile.CopySlice, profile.FillSlice:
		if len(a.Metrics) == 0 || a.Metrics[0].Name != Bytes || a.Metrics[0].Value.Type() != profile.Int {
			break
		}
		a.HasBytes, a.Bytes, a.Metrics = true, a.Metrics[0].Value.Int(), a.Metrics[1:]
		if duration > 0 {
			a.HasRate, a.Rate = true, float64(a.Bytes)/float64(duration)
		}
	}
}

// KindsOf are the kinds of the metrics in a timeline; the tree has others, which a reader makes anew.
func KindsOf(p *profile.Profile) profile.Kinds {
	kinds := profile.Kinds{}
	for i := range p.Timeline.Slices {
		for _, m := range p.Timeline.Slices[i].Metrics {
			if kind, known := p.Kinds[m.Name]; known && kind.String() != "" {
				kinds[m.Name] = kind
			}
		}
	}
	return kinds
}
