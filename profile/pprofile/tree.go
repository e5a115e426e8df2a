package pprofile

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/profile"
)

// tree turns a valid pprof profile into a tree; memory counts what it makes of a file of that size. Frames that the profile
// itself wants dropped are dropped, as pprof does.
//
// In a profile of ours every sample was a node, so samples at one path that differ in labels are read as nodes of
// their own. In a profile of another tool they are added up, and keep the labels that they agree on.
func tree(pp *pprof.Profile, memory *inflate.Memory, size int64) (*profile.Profile, error) {
	f, err := readFacts(pp)
	if err != nil {
		return nil, err
	}
	if err := pp.RemoveUninteresting(); err != nil {
		return nil, fmt.Errorf("decode pprof profile: %w", err)
	}
	r := newReader(pp, f)
	r.memory, r.size = memory, size
	for _, s := range pp.Sample {
		if err := r.sample(s); err != nil {
			return nil, err
		}
	}
	if r.facts.Own {
		addInnerCycles(r.out.Root)
	}
	if r.facts.Spans {
		r.out.AddInnerSpans()
	}
	return r.out, nil
}

// addInnerCycles adds the cycles of inner scopes to those around them, which the writer has subtracted.
func addInnerCycles(root *profile.Node) {
	root.AddInner(func(name string) bool { return name == profile.CyclesMetric || name == profile.NormalizedCyclesMetric })
	root.Walk(func(n *profile.Node, _ int) bool {
		if cycles, scope := n.Metric(profile.CyclesMetric); scope {
			n.Inside = &profile.Inside{Scope: &profile.InsideScope{Cycles: uint64(max(cycles.Int(), 0))}}
		}
		return true
	})
}

type reader struct {
	pp      *pprof.Profile
	ours    bool
	facts   *facts
	metrics []sampleFacts // of each sample type
	out     *profile.Profile
	root    *node

	memory         *inflate.Memory
	size           int64 // of the file
	nodes, entered int   // so far
	steps          map[step]*node
	variants       map[variant]*node
	calls          map[*pprof.Location]*call
	names          map[string]*call  // of single frames
	inlined        map[string]*call  // of several, by all names
	stack          []*pprof.Location // of the sample before
	path           []*node           // that it led through, outermost first

	last   *pprof.Sample // whose labels these are:
	labels []profile.Metric
	text   string // equal for equal labels
	source string // the rank or run that the sample is a part of, in a merged profile
}

// call is what a location calls: a frame, or several, outermost first, where functions were inlined.
type call struct {
	name   string  // of a frame
	frames []*call // of several; of one, itself
}

// step is a call from a node.
type step struct {
	from *node
	call *call
}

// node is a node while the tree is built.
type node struct {
	*profile.Node
	parent *node
	depth  int
	labels string // of its sample, as text
	filled bool
}

type variant struct {
	first  *node
	labels string
}

func newReader(pp *pprof.Profile, f *facts) *reader {
	r := &reader{
		pp: pp, ours: f != nil, facts: f,
		out:   &profile.Profile{Kinds: profile.Kinds{}, Root: &profile.Node{Name: "ROOT"}},
		steps: make(map[step]*node, len(pp.Sample)), variants: map[variant]*node{},
		calls: make(map[*pprof.Location]*call, len(pp.Location)), names: make(map[string]*call, len(pp.Location)), inlined: map[string]*call{},
	}
	if r.ours {
		r.out.Root.Name, r.out.Kinds, r.out.Devices, r.out.Info = f.Root, f.kinds(), f.devices(), f.Info
	} else {
		r.facts = &facts{}
		r.out.Info = foreignInfo(pp)
	}
	r.root = &node{Node: r.out.Root}
	for _, st := range pp.SampleType {
		r.metrics = append(r.metrics, r.metric(st))
	}
	if n := len(r.metrics); n > 0 && !r.ours {
		at := slices.IndexFunc(pp.SampleType, func(st *pprof.ValueType) bool { return st.Type == pp.DefaultSampleType })
		if at < 0 {
			at = n - 1 // as go tool pprof does
		}
		r.out.Shown = r.metrics[at].Metric
	}
	return r
}

func (r *reader) metric(st *pprof.ValueType) sampleFacts {
	if known, ok := r.facts.Samples[st.Type]; ok {
		return known
	}
	name := metricName(st)
	if _, known := r.out.Kinds[name]; !known && !r.ours {
		r.out.Kinds[name] = profile.Inclusive
	}
	return sampleFacts{Metric: name}
}

// foreignInfo is what other tools' profiles say of the run.
func foreignInfo(pp *pprof.Profile) profile.Info {
	info := profile.Info{}
	if len(pp.Mapping) > 0 && pp.Mapping[0].File != "" {
		info[profile.InfoName] = filepath.Base(pp.Mapping[0].File)
	}
	if pp.TimeNanos != 0 {
		info[profile.InfoStart] = strconv.FormatInt(pp.TimeNanos, 10)
	}
	if len(info) == 0 {
		return nil
	}
	return info
}

func (r *reader) sample(s *pprof.Sample) error {
	n, err := r.walk(s.Location)
	if err != nil {
		return err
	}
	if len(s.Label)+len(s.NumLabel) > profile.MaxMetrics {
		return fmt.Errorf("decode pprof profile: more than %d labels on one sample", profile.MaxMetrics)
	}
	if r.last == nil || !sameLabels(s, r.last) {
		r.last = s
		r.source, r.labels = r.takeOrigin(r.readLabels(s))
		r.text = labelsText(r.labels)
	}
	if r.ours {
		if n, err = r.variant(n, r.text); err != nil {
			return err
		}
	}
	r.fill(n, s, r.labels)
	if r.source != "" {
		r.addPart(n.Node, s, r.source)
	}
	return nil
}

func sameLabels(a, b *pprof.Sample) bool {
	return maps.EqualFunc(a.Label, b.Label, slices.Equal) && maps.EqualFunc(a.NumLabel, b.NumLabel, slices.Equal)
}

// walk finds or makes the node of a stack. Our samples are in the order of the tree, so most of a stack is the one
// before. A location costs one look however many functions were inlined into it.
func (r *reader) walk(stack []*pprof.Location) (*node, error) {
	same := 0
	for same < len(stack) && same < len(r.stack) && stack[len(stack)-1-same] == r.stack[len(r.stack)-1-same] {
		same++
	}
	n := r.root
	if r.path = r.path[:same]; same > 0 {
		n = r.path[same-1]
	}
	for i := len(stack) - 1 - same; i >= 0; i-- {
		key := step{n, r.call(stack[i])}
		next := r.steps[key]
		if next == nil {
			var err error
			if next, err = r.enter(n, key.call); err != nil {
				return nil, err
			}
			r.steps[key] = next // again, unless functions were inlined
		}
		r.path, n = append(r.path, next), next
	}
	r.stack = stack
	return n, nil
}

// call returns what a location calls, the same for all locations that call the same.
func (r *reader) call(l *pprof.Location) *call {
	if c := r.calls[l]; c != nil {
		return c
	}
	names := frameNames(l)
	c := r.named(names[0])
	if len(names) > 1 {
		var key []byte
		for _, name := range names {
			key = appendText(key, name)
		}
		if c = r.inlined[string(key)]; c == nil {
			c = &call{}
			for _, name := range names {
				c.frames = append(c.frames, r.named(name))
			}
			r.inlined[string(key)] = c
		}
	}
	r.calls[l] = c
	return c
}

// named returns the call of a single frame.
func (r *reader) named(name string) *call {
	c := r.names[name]
	if c == nil {
		c = &call{name: name}
		c.frames = []*call{c}
		r.names[name] = c
	}
	return c
}

// enter walks from a node down through what a location calls.
func (r *reader) enter(n *node, c *call) (*node, error) {
	if r.entered += len(c.frames); r.entered > mostStackFrames {
		return nil, fmt.Errorf("decode pprof profile: its stacks have more than %d frames together; have pprof cut it", mostStackFrames)
	}
	for _, f := range c.frames {
		key := step{n, f}
		next := r.steps[key]
		if next == nil {
			var err error
			if next, err = r.add(n, f.name); err != nil {
				return nil, err
			}
			r.steps[key] = next
		}
		n = next
	}
	return n, nil
}

func (r *reader) add(parent *node, name string) (*node, error) {
	if r.nodes++; r.nodes > mostNodes {
		return nil, fmt.Errorf("decode pprof profile: more than %d call paths", mostNodes)
	}
	if err := r.memory.Keep(nodeSize, r.size); err != nil {
		return nil, fmt.Errorf("decode pprof profile: %w", err)
	}
	if parent.depth >= profile.MaxDepth {
		return nil, fmt.Errorf("decode pprof profile: call paths of more than %d frames", profile.MaxDepth)
	}
	made := &struct { // one allocation
		node
		tree profile.Node
	}{}
	n := &made.node
	n.Node, n.parent, n.depth = &made.tree, parent, parent.depth+1
	n.Name = name
	parent.Children = append(parent.Children, n.Node)
	return n, nil
}

// nodeSize is about what a call path takes, with the steps that lead to it.
const nodeSize = 280

// variant returns the node of a path with those labels. The first that come have the path's own node, others a sibling.
func (r *reader) variant(first *node, labels string) (*node, error) {
	if !first.filled || first.labels == labels || first == r.root {
		first.labels = labels
		return first, nil
	}
	key := variant{first, labels}
	if n := r.variants[key]; n != nil {
		return n, nil
	}
	n, err := r.add(first.parent, first.Name)
	r.variants[key] = n
	return n, err
}

func (r *reader) fill(n *node, s *pprof.Sample, labels []profile.Metric) {
	if room := countNonZero(s.Value) + len(labels); n.Metrics == nil && room > 0 {
		n.Metrics = make([]profile.Metric, 0, room)
	}
	for i, v := range s.Value {
		if v != 0 {
			addValue(n.Node, r.metrics[i], v)
		}
	}
	first := !n.filled
	n.filled = true
	for _, m := range labels {
		switch {
		case r.ours && m.Name == zeroLabel:
			r.zeros(n.Node, m.Value.Str())
		case r.facts.Labels[m.Name].Kind == exactLabel:
			if first {
				r.exact(n.Node, s, r.facts.Labels[m.Name].Metric, m.Value)
			}
		case first || r.ours:
			n.Set(m.Name, m.Value)
			if _, known := r.out.Kinds[m.Name]; !known {
				r.out.Kinds[m.Name] = profile.Property
			}
		}
	}
	if !first && !r.ours {
		dropDisagreeing(n.Node, labels, r.out.Kinds)
	}
}

func countNonZero(row []int64) int {
	n := 0
	for _, v := range row {
		if v != 0 {
			n++
		}
	}
	return n
}

// addValue adds a value of a sample to its metric.
func addValue(n *profile.Node, m sampleFacts, v int64) {
	value := m.value(v)
	if have, known := n.Metric(m.Metric); known {
		value = profile.Sum(have, value)
	}
	n.Set(m.Metric, value)
}

// exact puts an integer in the place of what its sample has rounded it to. A sample that pprof has added up with others
// still has the label of each, and another value: that one counts then.
func (r *reader) exact(n *profile.Node, s *pprof.Sample, metric string, v profile.Value) {
	for i, f := range r.metrics {
		if f.Metric != metric {
			continue
		}
		c := column{scale: cmp.Or(f.Scale, 1)}
		if whole, _ := c.whole(v); whole == s.Value[i] {
			n.Set(metric, v)
		}
		return
	}
}

// zeros restores the metrics that were recorded as zero.
func (r *reader) zeros(n *profile.Node, list string) {
	for _, name := range strings.SplitN(list, zeroSeparator, len(r.metrics)+1) {
		at := slices.IndexFunc(r.metrics, func(m sampleFacts) bool { return m.Metric == name })
		if _, has := n.Metric(name); at >= 0 && !has {
			addValue(n, r.metrics[at], 0)
		}
	}
}

// dropDisagreeing takes away the labels of a node that another of its samples lacks or has otherwise.
func dropDisagreeing(n *profile.Node, labels []profile.Metric, kinds profile.Kinds) {
	n.Metrics = slices.DeleteFunc(n.Metrics, func(m profile.Metric) bool {
		if kinds[m.Name] != profile.Property {
			return false
		}
		return !slices.ContainsFunc(labels, func(o profile.Metric) bool {
			return o.Name == m.Name && labelText(o.Value) == labelText(m.Value)
		})
	})
}

// readLabels returns the labels of a sample as metrics, by name. The rank is left out where the whole profile
// has one: its facts hold it.
func (r *reader) readLabels(s *pprof.Sample) []profile.Metric {
	if len(s.Label)+len(s.NumLabel) == 0 {
		return nil
	}
	list := make([]profile.Metric, 0, len(s.Label)+len(s.NumLabel))
	for key, texts := range s.Label {
		between := ", "
		if r.ours && key == zeroLabel {
			between = zeroSeparator
		}
		list = append(list, r.labelMetric(key, strings.Join(texts, between), textLabel))
	}
	for key, numbers := range s.NumLabel {
		if len(numbers) == 1 {
			list = append(list, r.labelMetric(key, strconv.FormatInt(numbers[0], 10), intLabel))
		}
	}
	slices.SortFunc(list, func(a, b profile.Metric) int { return strings.Compare(a.Name, b.Name) })
	if rank, known := r.out.Info[profile.InfoRank]; known && r.ours && !r.facts.Origins {
		list = slices.DeleteFunc(list, func(m profile.Metric) bool {
			return m.Name == profile.InfoRank && labelText(m.Value) == rank
		})
	}
	return list
}

func (r *reader) labelMetric(key, text string, kind labelKind) profile.Metric {
	if known, ok := r.facts.Labels[key]; ok && known.Kind != exactLabel {
		return profile.Metric{Name: known.Metric, Value: labelValue(text, known.Kind)}
	}
	return profile.Metric{Name: key, Value: labelValue(text, kind)}
}

// labelsText is equal for equal labels.
func labelsText(labels []profile.Metric) string {
	if len(labels) == 0 {
		return ""
	}
	var b strings.Builder
	for _, m := range labels {
		b.WriteString(strconv.Quote(m.Name))
		b.WriteString(strconv.Quote(labelText(m.Value)))
	}
	return b.String()
}
