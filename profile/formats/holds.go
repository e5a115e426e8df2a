package formats

import (
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/union"
)

// Holds says what a format has a place for. A frame's name and its whole, additive numbers every format has,
// unless it lacks Tree.
type Holds uint16

const (
	Tree     Holds = 1 << iota // call paths with numbers of their own; without it only those that a timeline implies
	Floats                     // fractions
	Text                       // metrics that are strings
	Vectors                    // metrics that are lists of numbers
	Kinds                      // whether a metric adds up over a subtree, and properties that are numbers
	Devices                    // what is known of the GPUs
	Info                       // facts of the run
	Times                      // distributions of kernel times
	Timeline                   // what happened when
	Samples                    // instruction samples
	Launches                   // traced launches by kind
	Inside                     // scopes inside of kernels
	Bytes                      // names and texts that are not valid UTF-8
)

// holdings names every bit for lists.
var holdings = []struct {
	bit  Holds
	name string
}{
	{Tree, "tree"}, {Floats, "fractions"}, {Text, "text"}, {Vectors, "vectors"}, {Kinds, "kinds"},
	{Devices, "devices"}, {Info, "info"}, {Times, "distributions"}, {Timeline, "timeline"},
	{Samples, "instruction samples"}, {Launches, "launches"}, {Inside, "scopes in kernels"}, {Bytes, "names as bytes"},
}

func (h Holds) String() string {
	var list []string
	for _, each := range holdings {
		if h&each.bit != 0 {
			list = append(list, each.name)
		}
	}
	return strings.Join(list, ", ")
}

// Drops says what is lost of p when it is written in this format, one clause each: first what the format has no place
// for (Holds), then what its codec reports (Loses).
func (f *Format) Drops(p *profile.Profile) []string { return Target{Format: f}.Drops(p) }

// Drops says what is lost of p when it is written to this target, one clause each.
func (t Target) Drops(p *profile.Profile) []string {
	f := t.Format
	var list []string
	note := func(place Holds, n int, one, many string, names ...string) {
		if n > 0 && f.Holds&place == 0 {
			list = append(list, counted(n, one, many, names))
		}
	}
	u := use(p)
	if f.Holds&Tree != 0 {
		note(Text, len(u.text), "text metric", "text metrics", u.text...)
		note(Vectors, len(u.vectors), "vector metric", "vector metrics", u.vectors...)
		note(Floats, len(u.fractions), "metric's fractions", "metrics' fractions", u.fractions...)
		note(Kinds, len(u.kinds), "metric that is not inclusive", "metrics that are not inclusive", u.kinds...)
	}
	note(Devices, len(p.Devices), "device's facts", "devices' facts")
	note(Info, len(p.Info), "fact of the run", "facts of the run", slices.Sorted(maps.Keys(p.Info))...)
	note(Times, u.times, "distribution of kernel times", "distributions of kernel times")
	note(Samples, u.samples, "frame's instruction samples", "frames' instruction samples")
	note(Launches, u.launches, "frame's launches by kind", "frames' launches by kind")
	note(Inside, u.inside, "frame's distributions inside of kernels", "frames' distributions inside of kernels")
	note(Bytes, u.broken, "name that is not valid UTF-8, repaired", "names that are not valid UTF-8, repaired")
	if f.Holds&Tree != 0 {
		excess := union.ExcessOf(p.Root)
		depth, metrics := figures.Grouped(profile.MaxDepth), figures.Grouped(profile.MaxMetrics)
		list = clause(list, excess.Frames, "frame deeper than "+depth+", added up in the one above", "frames deeper than "+depth+", added up in those above")
		list = clause(list, excess.Metrics, "metric of a frame with more than "+metrics, "metrics of frames with more than "+metrics)
	}
	list = clause(list, p.Rounded, "integer of the file that was read, beyond 63 bits or in a list with fractions: it is the nearest float",
		"integers of the file that was read, beyond 63 bits or in a list with fractions: they are the nearest floats")
	if p.Timeline != nil {
		note(Timeline, 1, "timeline of "+figures.Count(len(p.Timeline.Slices), "slice"), "")
	}
	switch {
	case f.LosesMetric != nil:
		list = append(list, f.LosesMetric(p, t.Metric)...)
	case f.Loses != nil:
		list = append(list, f.Loses(p)...)
	}
	return list
}

// uses are the names of the metrics of a profile that not every format has a place for, sorted.
type uses struct {
	text, vectors, fractions, kinds []string

	times, samples, launches, inside, broken int // nodes with a distribution, samples, launches, what is inside of kernels; names or texts that are not valid UTF-8
}

func use(p *profile.Profile) uses {
	text, vectors, fractions, kinds := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	var u uses
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		if n.Times != nil && n.Times.Count > 0 {
			u.times++
		}
		if n.Samples != nil {
			u.samples++
		}
		if n.Launches != nil {
			u.launches++
		}
		if n.Inside != nil {
			u.inside++
		}
		if !utf8.ValidString(n.Name) {
			u.broken++
		}
		for _, m := range n.Metrics {
			switch v := m.Value; v.Type() {
			case profile.String:
				text[m.Name] = true
				if !utf8.ValidString(v.Str()) {
					u.broken++
				}
			case profile.Ints, profile.Floats:
				vectors[m.Name] = true
			default:
				if x, _ := v.Float(); v.Type() == profile.Float && x != math.Trunc(x) {
					fractions[m.Name] = true
				}
				if p.Kinds[m.Name] != profile.Inclusive {
					kinds[m.Name] = true
				}
			}
		}
		return true
	})
	sorted := func(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
	u.text, u.vectors, u.fractions, u.kinds = sorted(text), sorted(vectors), sorted(fractions), sorted(kinds)
	return u
}

func clause(list []string, n int, one, many string) []string {
	if n == 0 {
		return list
	}
	return append(list, counted(n, one, many, nil))
}

// counted writes "3 vector metrics (a, b, …)".
func counted(n int, one, many string, names []string) string {
	text := figures.Plural(n, one, many)
	const most = 4
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "…")
	}
	if len(names) > 0 {
		text += " (" + strings.Join(names, ", ") + ")"
	}
	return text
}
