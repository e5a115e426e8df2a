package pprofile

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strconv"

	pprof "github.com/google/pprof/profile"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/union"
)

// New turns a tree into a pprof profile: a sample for every node that has metrics of its own, and for every leaf.
// Samples are in the order of the tree, parents first, so that reading them back finds children in their order.
func New(p *profile.Profile) (*pprof.Profile, error) {
	const held = 24 // bytes of a frame of a stack, in memory
	w, err := build(p, profile.PathSizes{What: "pprof", Frame: held, Instead: "use proton viewer or proton report, which have each frame once"})
	if err != nil {
		return nil, err
	}
	var room []*pprof.Location // stacks are cut from large pieces: there are as many as nodes
	for i, s := range w.stacks {
		n := 0
		for range w.locations(s) {
			n++
		}
		if len(room) < n {
			room = make([]*pprof.Location, max(n, 16<<10))
		}
		stack := room[:0:n]
		room = room[n:]
		for id := range w.locations(s) {
			stack = append(stack, w.out.Location[id-1])
		}
		w.out.Sample[i].Location = stack
	}
	return w.out, nil
}

// build makes the profile without the stacks of its samples.
func build(p *profile.Profile, sizes profile.PathSizes) (*writer, error) {
	p, err := union.Writable(p, sizes)
	if err != nil {
		return nil, err
	}
	w := newWriter(p)
	if n := len(w.columns.list); n > profile.MaxMetrics {
		return nil, fmt.Errorf("encode pprof profile: it has %d metrics, and a file for pprof has at most %d; write .hatchet, which holds them all", n, profile.MaxMetrics)
	}
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		w.inlines.enter(p, n, depth)
		w.node(n, depth)
		return true
	})
	comment, err := w.facts.comment()
	if err != nil {
		return nil, err
	}
	w.out.Comments = []string{comment}
	return w, nil
}

type writer struct {
	p       *profile.Profile
	out     *pprof.Profile
	columns *columns
	frames  frames
	facts   *facts
	rank    profile.Value
	ranked  bool
	labels  map[string]string // by metric
	zeros   []string          // scratch of one node
	exact   []*profile.Metric // scratch of one node: integers that its sample rounds
	key     []byte            // scratch of one node
	shared  map[string]*labelSet
	origins map[originKey]*labelSet // labels that also have a rank
	path    []*pprof.Location       // of the node that is visited, outermost first, without the root
	inlines inlines
	values  []int64 // room for the values to come

	callers []caller // of all stacks: they share those that they have in common
	above   []int32  // the callers of the path, as places in callers
	stacks  []stack  // of the samples
}

func newWriter(p *profile.Profile) *writer {
	w := &writer{p: p, columns: newColumns(p), facts: newFacts(p), labels: map[string]string{}, shared: map[string]*labelSet{}, origins: map[originKey]*labelSet{}}
	w.out = &pprof.Profile{
		SampleType: w.columns.types(),
		// Every kernel is recorded. The type is never left out: pprof cannot merge profiles without one.
		PeriodType: &pprof.ValueType{Type: "kernels", Unit: "count"}, Period: 1,
		Mapping: []*pprof.Mapping{nameMapping(p)},
	}
	first := 0
	for i, c := range w.columns.list {
		w.facts.Samples[w.out.SampleType[i].Type] = c.facts()
		if union.Rank(p, c.metric, w.columns.list[first].metric) < 0 {
			first = i
		}
	}
	w.out.DefaultSampleType = w.out.SampleType[first].Type
	w.facts.Spans = slices.ContainsFunc(w.columns.list, func(c column) bool { return profile.IsCPUTime(c.metric) })
	w.frames = frames{p: w.out, functions: map[functionKey]*pprof.Function{}, locations: map[locationKey]*pprof.Location{}}
	if text, given := p.Info[profile.InfoRank]; given && len(w.columns.parts) == 0 {
		w.rank, w.ranked = profile.StringValue(text), true
		w.facts.label(profile.InfoRank, profile.InfoRank, textLabel)
	}
	w.times()
	return w
}

// nameMapping is the first mapping, whose file pprof shows as the profile's name. Nothing lies in it: -focus would
// otherwise find every frame by the profile's name.
func nameMapping(p *profile.Profile) *pprof.Mapping {
	name := cmp.Or(p.Info[profile.InfoName], "proton")
	return &pprof.Mapping{ID: 1, File: name, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
}

// times says when the run was: by its timeline if it has one.
func (w *writer) times() {
	if start, err := strconv.ParseInt(w.p.Info[profile.InfoStart], 10, 64); err == nil {
		w.out.TimeNanos = start
	}
	if w.p.Timeline == nil || len(w.p.Timeline.Slices) == 0 {
		return
	}
	first := w.p.Timeline.Slices[0].Start
	last := first
	for i := range w.p.Timeline.Slices {
		s := &w.p.Timeline.Slices[i]
		first, last = min(first, s.Start), max(last, s.Start+s.Duration)
	}
	w.out.TimeNanos = cmp.Or(w.out.TimeNanos, first)
	w.out.DurationNanos = last - first
}

func (w *writer) node(n *profile.Node, depth int) {
	if depth > 0 {
		w.path = append(w.path[:depth-1], w.location(n, depth))
		w.above = append(w.above[:depth-1], int32(len(w.callers)))
		w.callers = append(w.callers, caller{w.path[depth-1].ID, w.caller(depth - 1)})
	}
	if depth == 0 && !tells(n, w.p.Kinds) || depth > 0 && len(n.Metrics) == 0 && len(n.Children) > 0 {
		return
	}
	stack, row := w.stack(depth), w.row()
	w.facts.Own = w.facts.Own || n.Inside != nil && n.Inside.Scope != nil
	labels := w.fill(row, n.WithOwnValues())
	if len(w.columns.parts) > 0 && w.split(stack, row, labels, n) {
		return
	}
	w.sample(stack, row, labels)
}

func (w *writer) sample(stack stack, row []int64, labels *labelSet) {
	w.stacks = append(w.stacks, stack)
	w.out.Sample = append(w.out.Sample, &pprof.Sample{
		Value: row, Label: labels.text, NumLabel: labels.numbers, NumUnit: labels.units,
	})
}

// isKernel says whether a node ran on a device: a kernel, not a scope.
func isKernel(n *profile.Node) bool {
	_, is := n.Metric(profile.DeviceIDMetric)
	return is
}

// tells says whether the root has other values than the zeros by which .hatchet files mark the kinds of metrics.
func tells(root *profile.Node, kinds profile.Kinds) bool {
	return slices.ContainsFunc(root.Metrics, func(m profile.Metric) bool { return !isKindZero(&m, kinds) })
}

func isKindZero(m *profile.Metric, kinds profile.Kinds) bool {
	f, number := m.Value.Float()
	return number && f == 0 && kinds[m.Name] == profile.Inclusive
}

func (w *writer) location(n *profile.Node, depth int) *pprof.Location {
	if w.inlines.within(depth) > 0 {
		return w.frames.inlined(n.Name, w.path[depth-2])
	}
	return w.frames.location(n.Name, isKernel(n) || w.inlines.isLine(depth))
}

// stack is the path of a sample: the innermost location, and its callers.
type stack struct {
	location uint64 // id; 0 of an empty stack
	caller   int32  // as of caller
}

type caller struct {
	location uint64
	caller   int32 // its own, as a place in writer.callers; -1 for none
}

// caller is the place of the frame at a depth of the path, counted from 1.
func (w *writer) caller(depth int) int32 {
	if depth < 1 {
		return -1
	}
	return w.above[depth-1]
}

func (w *writer) stack(depth int) stack {
	if depth == 0 {
		return stack{caller: -1}
	}
	return stack{w.path[depth-1].ID, w.caller(depth - w.inlines.within(depth) - 1)} // it has the lines around it
}

// locations are the ids of a stack's locations, the innermost first.
func (w *writer) locations(s stack) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if s.location == 0 || !yield(s.location) {
			return
		}
		for at := s.caller; at >= 0 && yield(w.callers[at].location); at = w.callers[at].caller {
		}
	}
}

func (w *writer) row() []int64 {
	n := len(w.out.SampleType)
	if len(w.values) < n {
		w.values = make([]int64, n*1024)
	}
	row := w.values[:n:n]
	w.values = w.values[n:]
	return row
}

// fill puts the numbers of a node into a row and returns its labels. Most nodes have the same few, which share
// their maps: three maps to a sample would be most of the time that New takes.
func (w *writer) fill(row []int64, n *profile.Node) *labelSet {
	w.zeros, w.exact, w.key = w.zeros[:0], w.exact[:0], w.key[:0]
	for i := range n.Metrics {
		m := &n.Metrics[i]
		at := w.columns.of(m)
		switch {
		case w.isLabel(n, m):
			w.key = appendLabel(w.key, m)
		case at >= 0 && (n != w.p.Root || !isKindZero(m, w.p.Kinds)):
			c := &w.columns.list[at]
			if row[at], _ = c.whole(m.Value); row[at] == 0 {
				w.zeros = append(w.zeros, m.Name)
			}
			if !c.keeps(m.Value, row[at]) {
				w.exact = append(w.exact, m)
				w.key = appendLabel(append(w.key, exactPrefix...), m)
			}
		}
	}
	slices.Sort(w.zeros)
	for _, name := range w.zeros {
		w.key = appendText(append(w.key, zeroLabel...), name)
	}
	if known := w.shared[string(w.key)]; known != nil {
		return known
	}
	set := w.labelSet(n)
	w.shared[string(w.key)] = set
	return set
}

func (w *writer) isLabel(n *profile.Node, m *profile.Metric) bool {
	return w.columns.of(m) < 0 && w.columns.parts[m.Name] == nil && (n != w.p.Root || !isKindZero(m, w.p.Kinds))
}

// appendLabel writes a label so that equal ones, and only those, give equal keys.
func appendLabel(key []byte, m *profile.Metric) []byte {
	key = append(appendText(key, m.Name), byte(m.Value.Type()))
	if m.Value.Type() == profile.String {
		return appendText(key, m.Value.Str())
	}
	return appendText(key, labelText(m.Value))
}

func appendText(key []byte, text string) []byte {
	return append(binary.AppendUvarint(key, uint64(len(text))), text...)
}

func (w *writer) labelSet(n *profile.Node) *labelSet {
	set := &labelSet{}
	for i := range n.Metrics {
		if m := &n.Metrics[i]; w.isLabel(n, m) {
			set.add(w.label(m), m.Value, w.columns.kinds[m.Name])
		}
	}
	for _, m := range w.exact {
		key := exactPrefix + m.Name
		for w.columns.kinds[key] != "" { // a metric has this name
			key += "'"
		}
		w.facts.label(key, m.Name, exactLabel)
		set.add(key, m.Value, exactLabel)
	}
	if w.ranked {
		set.add(profile.InfoRank, w.rank, textLabel)
	}
	if len(w.zeros) > 0 {
		if set.text == nil {
			set.text = map[string][]string{}
		}
		set.text[zeroLabel] = slices.Clone(w.zeros)
	}
	return set
}

// label returns the label of a metric and notes what it was.
func (w *writer) label(m *profile.Metric) string {
	key, known := w.labels[m.Name]
	if !known {
		key = labelName(m.Name, w.p.Kinds)
		w.labels[m.Name] = key
	}
	w.facts.label(key, m.Name, w.columns.kinds[m.Name])
	return key
}
