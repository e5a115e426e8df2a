// Package report writes a profile, or the comparison of two, as one HTML page that a person explores in a browser:
// summary, flame graph, table, roofline, timeline, launches, source. `proton report` calls it.
//
// The page is one self-contained file: scripts and styles (web/) are embedded, the data is packed next to them (pack.go), and a
// content security policy in its head forbids all requests and all other scripts. The numbers are computed here, by package
// viewer; the page only sorts, searches and draws. No name of a profile is ever parsed as markup: names are part of the
// packed data, and scripts insert them as text nodes.
package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/compare"
)

// Source is a profile and its name on the page, such as its file name. Without a profile the page shows the trace of Options.Texts, and
// compares it with that of Options.Old if there are two sources.
type Source struct {
	Name    string
	Profile *profile.Profile
}

// Options say how a page is made. The zero value makes a page without source texts.
type Options struct {
	Title   string   // of the page; "" is the source's name
	Version string   // of the program, as the page names it
	Peaks   []string // as in viewer.Options

	Texts *Texts // files that may be read for the profile, for B where two are compared
	Old   *Texts // files that may be read for A

	Rename []compare.Rename // names of frames before two profiles are compared
}

// Marker is the generator's name, which every page and picture of this package has in its first 1024 bytes.
const Marker = "GoProton report"

// Is reports whether a file with this beginning is a page or a picture that this package has written.
func Is(start []byte) bool {
	start = start[:min(len(start), 1024)]
	return bytes.Contains(start, []byte(`content="`+Marker+`"`)) || bytes.Contains(start, []byte(`data-generator="`+Marker+`"`))
}

var missing = math.NaN()

var errNothingAdds = errors.New("the profile has no metric that adds up over frames, such as time or count, to draw them by")

// Write writes the page of one profile, or of the comparison of two.
func Write(w io.Writer, sources []Source, o Options) error {
	b, err := build(sources, o)
	if err != nil {
		return err
	}
	return b.write(w, o)
}

// build computes and packs what a page shows.
func build(sources []Source, o Options) (*builder, error) {
	b, err := newBuilder()
	if err != nil {
		return nil, err
	}
	switch len(sources) {
	case 1:
		err = b.single(sources[0], o)
	case 2:
		err = b.compare(sources[0], sources[1], o)
	default:
		err = fmt.Errorf("a report shows one profile or two, not %d", len(sources))
	}
	return b, err
}

// single fills a page with one profile.
func (b *builder) single(s Source, o Options) error {
	b.Title = s.Name
	if s.Profile == nil {
		b.withoutProfile(s)
		return b.addSource(s, o.Texts)
	}
	metrics := b.inProportion(wanted(s.Profile), s.Profile)
	tree, err := tableOf(s.Profile, metrics, viewer.ByPath, o.Peaks)
	if err != nil {
		return err
	}
	kernels, err := tableOf(s.Profile, metrics, viewer.ByName, o.Peaks)
	if err != nil {
		return err
	}
	b.note(tree.Notes...)
	if why := counters.NoTimes(s.Profile); why != "" {
		b.note(why)
	}
	b.addFile(s)
	all := rowsOf(tree)
	has := func(i int) bool { return hasAny(tree, i) }
	if b.Columns, b.Metrics = b.columnsOf(tree, metrics, has); len(b.Metrics) == 0 {
		return errNothingAdds
	}
	b.Launched = kernelLaunches(s.Profile)
	noDevices := namesNoDevice(s.Profile)
	b.addTree(all, noDevices)
	columns, _ := b.columnsOf(kernels, metrics, has)
	b.addKernels(kernelsOf(rowsOf(kernels), kernelNames(s.Profile)), columns)
	b.addRoofline(tree)
	if t := s.Profile.Timeline; t != nil && len(t.Slices) > 0 {
		b.Timeline = b.packTimeline(t)
		b.Idle = b.idleOf(t)
	}
	b.Inside = b.insideOf(s.Profile)
	return b.addSource(s, o.Texts)
}

// builder is a page in the making.
type builder struct {
	head
	packer
	names *names
	words map[string]*words // of columns that hold text
}

// newBuilder starts a page. What the page reads as a list is one, also when it is empty.
func newBuilder() (*builder, error) {
	n, err := newNames()
	return &builder{head: head{Notes: []string{}, Metrics: []metric{}}, names: n, words: map[string]*words{}}, err
}

func (b *builder) note(notes ...string) {
	for _, n := range notes {
		if !slices.Contains(b.Notes, n) {
			b.Notes = append(b.Notes, clean(n))
		}
	}
}

func (b *builder) addFile(s Source) {
	f := file{Name: clean(s.Name), Info: profile.Info{}, Devices: []device{}}
	for key, value := range s.Profile.Info {
		f.Info[clean(key)] = clean(value)
	}
	for _, d := range s.Profile.Devices {
		f.Devices = append(f.Devices, device{clean(d.Type), clean(d.ID), clean(vendors.ArchName(d.Type, d.Arch)), d.NumSMs, d.ClockRate, d.MemoryClockRate, d.BusWidth, clean(d.Name)})
	}
	b.Files = append(b.Files, f)
}

// rowsOf lists the rows of a table, parents first.
func rowsOf(t *viewer.Table) []row {
	var all []row
	for r := range t.All() {
		all = append(all, row{new: r, name: r.Name, depth: r.Depth})
	}
	return all
}

// addTree packs the frames.
func (b *builder) addTree(all []row, noDevices bool) {
	name, depth, kinds := make([]uint64, len(all)), make([]uint64, len(all)), make([]uint64, len(all))
	for i := range all {
		r := &all[i]
		name[i], depth[i] = b.names.of(r.name), uint64(r.depth)
		kinds[i] = uint64(kindOf(r.node(), noDevices))
	}
	depthAt, kindAt := new(b.whole(depth)), new(b.whole(kinds))
	b.Tree = rows{Count: len(all), Name: b.whole(name), Depth: depthAt, Kind: kindAt, Side: b.sides(all), Values: b.values(b.Columns, all)}
}

// sides packs which profile has a row, if there are two.
func (b *builder) sides(all []row) *section {
	if !b.Diff {
		return nil
	}
	sides := make([]uint64, len(all))
	for i := range all {
		sides[i] = uint64(all[i].side)
	}
	return new(b.whole(sides))
}

// values packs columns.
func (b *builder) values(columns []column, all []row) []section {
	var packed []section
	for c := range columns {
		values := make([]float64, len(all))
		for i := range all {
			values[i] = columns[c].of(&all[i])
		}
		if columns[c].recorded {
			packed = append(packed, b.measured(snap(values)))
		} else {
			packed = append(packed, b.derived(values))
		}
	}
	return packed
}

// snap undoes what units do to whole numbers: 960 ns are 9.6e-07 s and then 960.0000000000001 ns.
func snap(values []float64) []float64 {
	for i, v := range values {
		if whole := math.Round(v); math.Abs(v-whole) <= 1e-9*math.Abs(v) {
			values[i] = whole
		}
	}
	return values
}

// kernelsOf are the rows of a table grouped by name that stand for kernels.
func kernelsOf(all []row, names map[string]bool) []row {
	return slices.DeleteFunc(all, func(r row) bool { return !names[r.name] })
}

// addKernels packs one row for each kernel, the largest first.
func (b *builder) addKernels(all []row, columns []column) {
	main := columns[b.Metrics[0].Column]
	slices.SortStableFunc(all, func(x, y row) int { return figures.Descending(main.of(&x), main.of(&y)) })
	name := make([]uint64, len(all))
	for i := range all {
		name[i] = b.names.of(all[i].name)
		if r := all[i].new; r != nil && r.Mark() != "" {
			b.names.mark(name[i], r.Mark())
		}
	}
	b.Flat = rows{Count: len(all), Name: b.whole(name), Side: b.sides(all), Values: b.values(columns, all)}
}
