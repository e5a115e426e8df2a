package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/compare"
	"github.com/goproton/goproton/tritonparse/reproduce"
)

// chooseLaunches finds the two launches.
func (f *traceDiffFlags) chooseLaunches(a, b *tritonparse.Trace) (x, y *tritonparse.LaunchRecord, err error) {
	find := func(t *tritonparse.Trace, side int) (*tritonparse.LaunchRecord, error) {
		s := reproduce.Selection{Line: -1, Kernel: f.kernel, Launch: f.launches[min(side, len(f.launches)-1)]}
		if f.hashes != nil {
			s.Hash = f.hashes[min(side, len(f.hashes)-1)]
		}
		if f.kernel != "" && named(t, f.kernel) == nil {
			return nil, t.Unknown(f.kernel)
		}
		l, err := reproduce.Pick(t, s)
		if err == nil && t.Compilation(l.Hash) == nil {
			err = fmt.Errorf("launch %d of %s in %s does not name its compilation", s.Launch, l.Name, t.Source)
		}
		return l, err
	}
	if x, err = find(a, 0); err != nil {
		return nil, nil, err
	}
	y, err = find(b, 1)
	return x, y, err
}

// placeOf is the index of a launch's compilation.
func placeOf(t *tritonparse.Trace, l *tritonparse.LaunchRecord) int {
	return slices.Index(t.Compilations(), t.Compilation(l.Hash))
}

// runLaunches compares the tensors of all launches.
func (f *traceDiffFlags) runLaunches(a, b *tritonparse.Trace, stdout io.Writer) error {
	var want func(string) bool
	if f.kernel != "" {
		want = func(kernel string) bool { return kernel == f.kernel }
		for _, t := range []*tritonparse.Trace{a, b} {
			if named(t, f.kernel) == nil {
				return t.Unknown(f.kernel)
			}
		}
	}
	d, err := compare.Launches(a, b, want, &f.tensors)
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(stdout, d)
	}
	return d.WriteText(stdout, f.text.Most)
}
