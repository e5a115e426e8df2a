package report

import (
	"errors"
	"fmt"

	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer/compare"
	"github.com/goproton/goproton/viewer/kernels"
	"github.com/goproton/goproton/viewer/listing"
)

// Texts are the files that the Source tab may read in addition to a profile; nil leaves sources and instructions without text.
type Texts struct {
	Files   *kernels.Files
	Modules *kernels.Modules
	Trace   *tritonparse.Trace // of the same run, for IR and launches; nil if there is none
}

// collect gathers the kernels of a profile; nil if it has neither samples nor a trace.
func (s *Source) collect(t *Texts) (*kernels.Run, error) {
	o := kernels.Options{Profile: s.Profile, Kernel: "."}
	if t != nil {
		o.Files, o.Modules, o.Trace = t.Files, t.Modules, t.Trace
	}
	r, err := kernels.Collect(o)
	if errors.Is(err, kernels.ErrNoSamples) {
		return nil, nil
	}
	return r, err
}

// addSource fills the Source tab of a profile with instruction samples, and the Launches and IR tabs of one with a trace.
func (b *builder) addSource(s Source, t *Texts) error {
	r, err := s.collect(t)
	if err != nil || r == nil {
		return err
	}
	if r.Traced() {
		b.Launches, b.IR = launchesOf(r), irOf(r, t.Trace)
		b.note(r.Notes...)
	}
	if r.Samples != nil {
		b.Source = listing.NewPage(r)
	}
	return nil
}

// compareSources fills the same tabs of two profiles: the Source tab if both have samples, the Launches and IR tabs if both have
// a trace.
func (b *builder) compareSources(sources [2]Source, o Options) error {
	var runs [2]*kernels.Run
	for side, t := range [2]*Texts{o.Old, o.Texts} {
		var err error
		if runs[side], err = sources[side].collect(t); err != nil {
			return fmt.Errorf("%s: %w", sources[side].Name, err)
		}
	}
	has := func(what func(*kernels.Run) bool) (both, either bool) {
		a, z := runs[0] != nil && what(runs[0]), runs[1] != nil && what(runs[1])
		return a && z, a || z
	}
	rename := compare.Renamed(o.Rename)
	if traced, _ := has((*kernels.Run).Traced); traced {
		for side, r := range runs {
			for _, n := range r.Notes {
				b.note(string("AB"[side]) + ": " + n)
			}
		}
		b.Launches = comparedTab(kernels.CompareLaunches(runs, rename))
		var err error
		if b.IR, err = comparedIR(runs, [2]*tritonparse.Trace{o.Old.Trace, o.Texts.Trace}); err != nil {
			return err
		}
	}
	sampled, one := has(func(r *kernels.Run) bool { return r.Samples != nil })
	if !sampled && one {
		name := sources[0].Name
		if runs[0] == nil || runs[0].Samples == nil {
			name = sources[1].Name
		}
		b.note(name + " has instruction samples and the other profile has none: the page has no Source tab")
	}
	if !sampled {
		return nil
	}
	c, err := kernels.CompareSamples(runs, kernels.CompareOptions{Rename: rename})
	if err != nil {
		return err
	}
	b.Source = listing.NewComparePage(c)
	return nil
}
