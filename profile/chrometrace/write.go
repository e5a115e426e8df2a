package chrometrace

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/goproton/goproton/profile"
)

// ErrNoTimeline says that a profile has sums only. Times cannot be made up from them.
var ErrNoTimeline = errors.New("this profile has no timeline; record one with proton run -d trace")

// Loses says what a trace does not hold of a profile: what the tree has beyond the timeline.
func Loses(p *profile.Profile) []string {
	if p.Timeline == nil {
		return nil // Write refuses it
	}
	if n := p.BeyondTimeline(); n > 0 {
		return []string{fmt.Sprintf("%d values of the tree that its timeline does not tell", n)}
	}
	return nil
}

// Write writes a profile's timeline. Its first moment is the file's base.
func Write(w io.Writer, p *profile.Profile) error {
	if p.Timeline == nil {
		return ErrNoTimeline
	}
	t := NewWriter(w, p.Timeline.First(), &Options{Process: p.Info[profile.InfoName], Info: p.Info})
	t.Facts(p.Devices, kindsIn(p))
	timeline := *p.Timeline
	timeline.Flows = slices.Clone(timeline.Flows)
	for i, id := range p.Timeline.FlowIDs() {
		timeline.Flows[i].ID = id
	}
	if err := timeline.WriteTrace(t); err != nil {
		return err
	}
	return t.Close()
}

// kindsIn are the kinds of the metrics in a timeline; the tree has others, which a reader makes anew.
func kindsIn(p *profile.Profile) profile.Kinds {
	kinds := profile.Kinds{}
	for i := range p.Timeline.Slices {
		for _, m := range p.Timeline.Slices[i].Metrics {
			if kind, known := p.Kinds[m.Name]; known {
				kinds[m.Name] = kind
			}
		}
	}
	return kinds
}
