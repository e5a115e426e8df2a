// Package compat prints a profile exactly as Triton's proton-viewer does, for scripts and golden files that depend on its
// text: the tree with its glyphs and precision, the sorted list, differences, and the list of metrics. `proton viewer
// --compat` and an executable named proton-viewer call it. Its behaviour is that of another program and changes only with
// that program. The default output is that of package viewer.
//
// Without colour the text is proton-viewer's, byte for byte, and the passes are in the same order:
//
//  1. prune   metadata frames and empty frames are removed (filter.go)
//  2. table   a row with own values and subtree sums is made of every frame (table.go)
//  3. derive  the requested metrics are computed for every row (derive.go, util.go)
//  4. filter  include, exclude and threshold are applied and raw sums computed again (filter.go); siblings are sorted
//  5. diff    another profile, after passes 1 to 4, is subtracted (derive.go)
//  6. print   names are formatted, then tree and sorted list (names.go, tree.go, sorted.go)
package compat

import (
	"bufio"
	"errors"
	"io"

	"github.com/goproton/goproton/profile"
)

// Options say what to show of a profile. The zero value shows the whole tree with its time.
type Options struct {
	// Metrics are the columns in their order. Threshold, sorting and colour use the first. No metric means the first of
	// time/ms, cycles, cpu_time/ms and any other that the profile has.
	Metrics []string

	Include   string     // keep paths through frames that match this regular expression from their start on
	Exclude   string     // drop frames that match, and what is below them
	Threshold float64    // keep frames with at least this much of the first metric, and their ancestors; 0 keeps all
	Depth     int        // frames deeper than this are not printed; 0 means DefaultDepth
	Format    NameFormat // how names of the form file:line@function are shortened
	Sorted    bool       // print a list sorted by the first metric below the tree

	// Diff is subtracted from the profile, path by path, after both were derived and filtered.
	Diff *profile.Profile

	Color bool              // colour by value, and print a legend
	Warn  func(note string) // called with each note on the numbers; nil drops the notes
}

// DefaultDepth is the depth down to which a tree is printed.
const DefaultDepth = 100

// Render prints a profile.
func Render(w io.Writer, p *profile.Profile, o Options) error {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Depth == 0 {
		o.Depth = DefaultDepth
	}
	t, err := prepare(p, &o)
	if err != nil {
		return err
	}
	if o.Diff != nil {
		other, err := prepare(o.Diff, &o)
		if err != nil {
			return err
		}
		subtract(t.root, other.root)
	}
	if err := t.formatNames(o.Format); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	t.printTree(out, o.Depth, o.Color)
	if o.Sorted {
		t.printSorted(out)
	}
	t.warnOfOverflow(o.Warn)
	return out.Flush()
}

// prepare runs the passes up to the filters.
func prepare(p *profile.Profile, o *Options) (*table, error) {
	if o.Include != "" && o.Exclude != "" {
		return nil, errors.New("cannot specify both include and exclude; run the viewer once with each")
	}
	t, err := newTable(p)
	if err != nil {
		return nil, err
	}
	if len(o.Metrics) == 0 {
		o.Metrics = []string{t.defaultMetric()}
	}
	if err := t.derive(o.Metrics, o.Warn); err != nil {
		return nil, err
	}
	if err := t.filter(o.Include, o.Exclude, o.Threshold); err != nil {
		return nil, err
	}
	t.sort()
	return t, nil
}
