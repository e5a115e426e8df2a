package reproduce

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
)

// Slow is a kind of launches that took much of a profile's time, with one launch of the trace.
type Slow struct {
	Kernel string            `json:"kernel"`
	Kind   string            `json:"kind,omitempty"` // see tritonparse.LaunchKind; "" if the profile only has the kernel's name
	Count  uint64            `json:"count"`
	Nanos  uint64            `json:"nanos"`
	Share  float64           `json:"share"` // of the time of all kernels that the profile and the trace have
	Why    string            `json:"why"`
	Place  tritonparse.Place `json:"place"`

	hash string
}

// Slowest are the kinds of launches that most of a profile's time went to, the slowest first. Each has one launch of the trace to
// reproduce, with recorded tensors if there is one. If the profile does not distinguish launches, a kind is all launches of a
// kernel. Only time below the call paths that the filter leaves counts.
func Slowest(t *tritonparse.Trace, p *profile.Profile, filter profile.Filter, most int) ([]Slow, error) {
	if t.Records["launch"] == 0 {
		return nil, Selection{}.nothing(t, 0, nil)
	}
	slow := measured(t, p, filter)
	if len(slow) == 0 && !filter.All() {
		return nil, fmt.Errorf("the filters leave no kernel of %s; try again without -i and -e", t.Source)
	}
	if len(slow) == 0 {
		return nil, fmt.Errorf("the profile has no kernel of %s; give the profile of the same run: proton run --trace DIR", t.Source)
	}
	total := uint64(0)
	for _, s := range slow {
		total += s.Nanos
	}
	slices.SortFunc(slow, func(a, b Slow) int {
		return cmp.Or(cmp.Compare(b.Nanos, a.Nanos), cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.hash, b.hash), cmp.Compare(a.Kind, b.Kind))
	})
	slow = slow[:min(len(slow), most)]
	if err := findPlaces(t, slow); err != nil {
		return nil, err
	}
	found := slow[:0]
	for i, s := range slow {
		if s.Place.File == "" {
			continue
		}
		s.Share = float64(s.Nanos) / float64(max(total, 1))
		each := " of these arguments"
		if s.Kind == "" {
			each = " of the kernel (the profile does not tell them apart: it was recorded without --trace)"
		}
		of := "all traced"
		if !filter.All() {
			of = "those that the filters leave"
		}
		s.Why = fmt.Sprintf("number %d by time: %s in %s, %s of "+of, i+1, figures.Time(s.Nanos), figures.Count(s.Count, "launch")+each, figures.Share(s.Share))
		found = append(found, s)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no launch, with its grid and arguments, of the profile's slowest kernels; give the trace of the same run", t.Source)
	}
	return found, nil
}

// measured adds up the time of each kind of launches, or of each kernel if the profile does not distinguish launches.
func measured(t *tritonparse.Trace, p *profile.Profile, filter profile.Filter) []Slow {
	launched := map[string]bool{}
	for _, c := range t.Compilations() {
		launched[c.Name] = launched[c.Name] || c.Launches > 0
	}
	kinds, byName := map[Slow]*profile.Durations{}, map[Slow]*profile.Durations{}
	tritonparse.EachMeasured(p, filter, func(m tritonparse.Measured) {
		to, key := kinds, Slow{Kernel: m.Kernel, Kind: m.Kind, hash: m.Hash}
		if m.Launch == nil {
			to = byName
		}
		if m.Nanos == 0 || m.Launch == nil && !launched[m.Kernel] {
			return
		}
		if to[key] == nil {
			to[key] = &profile.Durations{}
		}
		to[key].Count += m.Count
		to[key].Nanos += m.Nanos
	})
	if len(kinds) == 0 {
		kinds = byName
	}
	var slow []Slow
	for s, times := range kinds {
		s.Count, s.Nanos = times.Count, times.Nanos
		slow = append(slow, s)
	}
	return slow
}

// findPlaces finds a launch of each kind in the trace.
func findPlaces(t *tritonparse.Trace, slow []Slow) error {
	kinds, err := t.Kinds()
	if err != nil {
		return err
	}
	for i := range slow {
		s := &slow[i]
		for _, k := range kinds {
			if !k.Whole || s.Kernel != k.Name || s.hash != "" && s.hash != k.Hash || s.Kind != "" && s.Kind != k.ID {
				continue
			}
			if k.Recorded != nil {
				s.Place = *k.Recorded
				break
			}
			if s.Place.File == "" {
				s.Place = k.First
			}
		}
	}
	return nil
}
