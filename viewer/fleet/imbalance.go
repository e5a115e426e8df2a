package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/merge"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/internal/grid"
)

// ImbalanceOptions say what to show. The zero value shows all of the time.
type ImbalanceOptions struct {
	viewer.Terminal
	Metric    string        // by name without unit; "" for the first of merge.DefaultColumns that is there
	Threshold figures.Least // leave out call paths whose largest source has less; a share is of the root's
	Depth     int           // levels to show; 0 for all
	Names     viewer.NameFormat
}

// Stat holds one call path's amounts by source, summed over its subtree. A source that never reached the path counts with 0,
// since it idles while the others work.
type Stat struct {
	Name                 string
	Children             []*Stat // the most lost first
	Sources              []float64
	Present              int // sources that have the path
	Min, Median, Max     float64
	Mean                 float64
	MinSource, MaxSource string // labels; of several sources with the same amount the first
}

// Factor is the largest amount over the mean of all sources, the usual measure of load imbalance; 1 is even.
func (s *Stat) Factor() float64 { return s.Max / s.Mean }

// Lost is the largest amount minus the mean: how much shorter the path would take with the same work spread evenly.
func (s *Stat) Lost() float64 { return s.Max - s.Mean }

// Imbalance is the imbalance of one metric of a profile, as a tree of call paths.
type Imbalance struct {
	Metric string   // as recorded
	Labels []string // of the sources, in natural order
	Root   *Stat

	inclusive bool
	spans     bool // what a frame has includes all below it; frames without any have the sum of those below
}

// NewImbalance computes the imbalance of a metric.
func NewImbalance(p *profile.Profile, metric string) (*Imbalance, error) {
	t, err := sourceColumns(p, metric)
	if err != nil {
		return nil, err
	}
	at := make(map[string]int, len(t.Labels))
	for i, label := range t.Labels {
		at[merge.Column(t.Metric, label)] = i
	}
	t.inclusive = p.Kinds[merge.Column(t.Metric, t.Labels[0])] == profile.Inclusive
	t.spans = viewer.Spans(t.Metric)
	t.Root, _ = t.stat(p.Root, at)
	return t, nil
}

// sourceColumns finds the metric that is wanted, or the first of merge.DefaultColumns, and its sources.
func sourceColumns(p *profile.Profile, wanted string) (*Imbalance, error) {
	labels := map[string]map[string]bool{}
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for i := range n.Metrics {
			metric, label, ok := merge.SplitColumn(n.Metrics[i].Name)
			if !ok {
				continue
			}
			if labels[metric] == nil {
				labels[metric] = map[string]bool{}
			}
			labels[metric][label] = true
		}
		return true
	})
	for _, name := range append([]string{wanted}, merge.DefaultColumns...) {
		for _, metric := range slices.Sorted(maps.Keys(labels)) {
			if base, _, _ := strings.Cut(metric, " ("); strings.EqualFold(base, name) || metric == name {
				return &Imbalance{Metric: metric, Labels: slices.SortedFunc(maps.Keys(labels[metric]), figures.Natural)}, nil
			}
		}
		if wanted != "" {
			return nil, fmt.Errorf("the profile keeps no %q per source; merge with --by rank --columns %s", wanted, wanted)
		}
	}
	return nil, errors.New("the profile keeps nothing per source; merge the profiles of all ranks with --by rank (or host, run, file)")
}

// stat computes a subtree's amounts from the leaves up, and which sources have the path. It recurses without a limit of its
// own, since the readers of profiles limit the depth of a tree.
func (t *Imbalance) stat(n *profile.Node, at map[string]int) (s *Stat, seen []bool) {
	s, seen = &Stat{Name: n.Name, Sources: make([]float64, len(t.Labels))}, make([]bool, len(t.Labels))
	for i := range n.Metrics {
		if source, ok := at[n.Metrics[i].Name]; ok {
			if v, number := n.Metrics[i].Value.Float(); number && !math.IsNaN(v) {
				s.Sources[source] += v
				seen[source] = true
			}
		}
	}
	own := slices.Clone(s.Sources)
	for _, c := range n.Children {
		child, below := t.stat(c, at)
		if child.Present == 0 {
			continue // a frame without any of the metric below it
		}
		s.Children = append(s.Children, child)
		for i := range seen {
			if seen[i] = seen[i] || below[i]; t.includes(own[i]) {
				s.Sources[i] += child.Sources[i]
			}
		}
	}
	for _, came := range seen {
		if came {
			s.Present++
		}
	}
	slices.SortStableFunc(s.Children, func(a, b *Stat) int { return cmp.Compare(b.Lost(), a.Lost()) })
	s.measure(t.Labels)
	return s, seen
}

// includes says whether a source has at a frame, in addition to its own amount there, what it has below it: the viewer's rule. The root
// may have a zero of what adds up, which is none.
func (t *Imbalance) includes(own float64) bool {
	if t.spans {
		return own == 0
	}
	return t.inclusive
}

func (s *Stat) measure(labels []string) {
	sum := 0.0
	for _, v := range s.Sources {
		sum += v
	}
	s.Min, s.Median, s.Max, s.Mean = slices.Min(s.Sources), figures.Median(s.Sources), slices.Max(s.Sources), sum/float64(len(labels))
	s.MinSource, s.MaxSource = labels[slices.Index(s.Sources, s.Min)], labels[slices.Index(s.Sources, s.Max)]
}

// WriteImbalance prints the imbalance of a profile as a tree.
func WriteImbalance(w io.Writer, p *profile.Profile, o ImbalanceOptions) error {
	t, err := NewImbalance(p, o.Metric)
	if err != nil {
		return err
	}
	v := view{Imbalance: t, ImbalanceOptions: o, glyphs: grid.For(o.ASCII), size: 1}
	base, rest, _ := strings.Cut(t.Metric, " (")
	unit := strings.TrimSuffix(rest, ")")
	var ok bool
	if v.least, ok = o.Threshold.Of(t.Root.Max, unit); !ok {
		return &viewer.OptionError{Err: fmt.Errorf("read --threshold %s: %s is not a time; give a share such as 1%%", o.Threshold, base)}
	}
	if unit == "ns" {
		unit = figures.Times.Fit(t.Root.Max * 1e-9).Label
		v.size = figures.Nanos(unit)
	}
	if v.label, err = viewer.Labels(o.Names); err != nil {
		return err
	}
	v.form = figures.FormFor(slices.Values(t.Root.amounts(nil, v.size)))
	head := base
	if unit != "" {
		head += " in " + unit
	}
	fmt.Fprintf(w, "%s, %s\n\n", head, count(t.Labels))
	v.before, v.behind = ends(t.Labels)
	v.lines = []grid.Line{{Cells: grid.Plain("min", "by", "median", "max", "by", "max/mean", "lost", "sources"), Name: "call path"}}
	v.row(t.Root, "", "", 1)
	layout := grid.Layout{Width: o.Width, Dots: v.glyphs.Dots}
	spared := layout.Spare(v.lines, []int{2}, []int{0, 1}, []int{7})
	if err := layout.Write(w, v.lines, 1, 4); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nlost: max - mean, what an even spread of the same work would save\n")
	if spared > 0 {
		fmt.Fprintf(w, "left out, since lines are too narrow: %s\n", strings.Join([]string{"median", "min", "sources"}[:spared], ", "))
	}
	if v.hidden > 0 {
		below := o.Threshold.String()
		if o.Threshold.Unit == "%" {
			below += " of the largest source's total"
		}
		fmt.Fprintf(w, "not shown: %d below %s\n", v.hidden, below)
	}
	return nil
}

// count says how many sources there are, and which.
func count(labels []string) string {
	text := figures.Count(len(labels), "source") + ": " + labels[0]
	if len(labels) > 1 {
		text += " to " + labels[len(labels)-1]
	}
	return text
}

type view struct {
	*Imbalance
	ImbalanceOptions
	glyphs *grid.Glyphs
	size   float64
	least  float64
	form   figures.Form // of amounts
	label  func(name string) string
	before string // what all labels of sources begin with
	behind string // and what they end with
	lines  []grid.Line
	hidden int
}

func (v *view) row(s *Stat, before, below string, depth int) {
	amount := func(x float64) string { return v.form.Text(x / v.size) }
	cells := grid.Plain(amount(s.Min), v.source(s.MinSource), amount(s.Median), amount(s.Max), v.source(s.MaxSource),
		figures.Places(s.Factor(), 2), amount(s.Lost()), fmt.Sprintf("%d/%d", s.Present, len(v.Labels)))
	switch f := s.Factor(); {
	case v.Color && f >= 1.5:
		cells[5].Color = grid.Worse
	case v.Color && f >= 1.1:
		cells[5].Color = grid.Noticed
	}
	v.lines = append(v.lines, grid.Line{Cells: cells, Indent: before, Name: term.Printable(v.label(s.Name))})
	if depth == v.Depth {
		return
	}
	var shown []*Stat
	for _, c := range s.Children {
		if c.Max < v.least {
			v.hidden += c.size()
			continue
		}
		shown = append(shown, c)
	}
	for i, c := range shown {
		first, rest := v.glyphs.Of(below, i, len(shown))
		v.row(c, first, rest, depth+1)
	}
}

// longestSource is how many columns a source takes where lines have a width.
const longestSource = 16

// source is a label as it stands in a line. Dots stand for what all long ones begin and end with: ip-10-0-1-12.ec2.internal is …12….
func (v *view) source(label string) string {
	if v.Width == 0 || grid.Columns(label) <= longestSource {
		return label
	}
	own := strings.TrimSuffix(strings.TrimPrefix(label, v.before), v.behind)
	if v.before != "" {
		own = v.glyphs.Dots + own
	}
	if v.behind != "" {
		own += v.glyphs.Dots
	}
	return grid.Fit(own, longestSource, v.glyphs.Dots)
}

// ends returns what all labels begin with, and what all end with, without digits of a number that stands between.
func ends(labels []string) (before, behind string) {
	if len(labels) < 2 {
		return "", ""
	}
	before = labels[0]
	for _, l := range labels {
		for !strings.HasPrefix(l, before) {
			_, size := utf8.DecodeLastRuneInString(before)
			before = before[:len(before)-size]
		}
	}
	const digits = "0123456789"
	before = strings.TrimRight(before, digits)
	behind = labels[0][len(before):]
	for _, l := range labels {
		for !strings.HasSuffix(l[len(before):], behind) {
			_, size := utf8.DecodeRuneInString(behind)
			behind = behind[size:]
		}
	}
	return before, strings.TrimLeft(behind, digits)
}

// amounts adds the amounts of a path and of those below it to a list, divided by the size of a unit.
func (s *Stat) amounts(list []float64, size float64) []float64 {
	list = append(list, s.Min/size, s.Median/size, s.Max/size, s.Lost()/size)
	for _, c := range s.Children {
		list = c.amounts(list, size)
	}
	return list
}

func (s *Stat) size() int {
	n := 1
	for _, c := range s.Children {
		n += c.size()
	}
	return n
}
