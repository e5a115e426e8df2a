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

	"github.com/goproton/goproton/profile"
)

// Tree turns a valid pprof profile into a tree. Frames that the profile itself wants dropped are dropped, as
// pprof does.
//
// In a profile of ours every sample was a node, so samples at one path that differ in labels become nodes of their
// own. In one of another tool they are added up, and keep the labels that they agree on.
func Tree(pp *pprof.Profile) (*profile.Profile, error) {
	f, err := readFacts(pp)
	if err != nil {
		return nil, err
	}
	if err := pp.RemoveUninteresting(); err != nil {
		return nil, fmt.Errorf("decode pprof profile: %w", err)
	}
	r := newReader(pp, f)
	for _, s := range pp.Sample {
		if err := r.sample(s); err != nil {
			return nil, err
		}
	}
	return r.out, nil
}

type reader struct {
	pp      *pprof.Profile
	ours    bool
	facts   *facts
	metrics []sampleFacts // of each sample type
	out     *profile.Profile
	root    *node
	nodes   int
	edges   map[edge]*node
	frames  map[*pprof.Location][]frame
	byName  map[string]frame
	path    []*node // of the sample before, outermost first
	stack   []*pprof.Location
	last    *pprof.Sample // whose labels are these:
	labels  []profile.Metric
	text    string // equal for equal labels
	source  string // the rank or run that the sample is a part of, in a merged profile
}

// frame is a name that is compared by number.
type frame struct {
	id   int
	name string
}

// node is a node while the tree is built.
type node struct {
	*profile.Node
	labels  string // canonical text of the labels of its sample
	filled  bool
	sibling *node // the next of the same name and other labels
}

type edge struct {
	parent *node
	frame  int
}

func newReader(pp *pprof.Profile, f *facts) *reader {
	r := &reader{
		pp: pp, ours: f != nil, facts: f, edges: make(map[edge]*node, len(pp.Sample)), frames: make(map[*pprof.Location][]frame, len(pp.Location)), byName: map[string]frame{},
		out: &profile.Profile{Kinds: profile.Kinds{}, Root: &profile.Node{Name: "ROOT"}},
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
// before.
func (r *reader) walk(stack []*pprof.Location) (*node, error) {
	same := 0
	for same < len(stack) && same < len(r.stack) && stack[len(stack)-1-same] == r.stack[len(r.stack)-1-same] {
		same++
	}
	depth := 0 // frames of the locations that are the same
	for _, l := range stack[len(stack)-same:] {
		depth += len(r.framesOf(l))
	}
	n := r.root
	if r.path = r.path[:depth]; depth > 0 {
		n = r.path[depth-1]
	}
	for i := len(stack) - 1 - same; i >= 0; i-- {
		for _, f := range r.framesOf(stack[i]) {
			if len(r.path) >= mostFrames {
				return nil, fmt.Errorf("decode pprof profile: call paths of more than %d frames", mostFrames)
			}
			var err error
			if n, err = r.child(n, f); err != nil {
				return nil, err
			}
			r.path = append(r.path, n)
		}
	}
	r.stack = stack
	return n, nil
}

func (r *reader) framesOf(l *pprof.Location) []frame {
	list, known := r.frames[l]
	if known {
		return list
	}
	for _, name := range frameNames(l) {
		f, known := r.byName[name]
		if !known {
			f = frame{len(r.byName), name}
			r.byName[name] = f
		}
		list = append(list, f)
	}
	r.frames[l] = list
	return list
}

func (r *reader) child(parent *node, f frame) (*node, error) {
	key := edge{parent, f.id}
	if n := r.edges[key]; n != nil {
		return n, nil
	}
	n, err := r.add(parent, f.name)
	r.edges[key] = n
	return n, err
}

func (r *reader) add(parent *node, name string) (*node, error) {
	if r.nodes++; r.nodes > mostNodes {
		return nil, fmt.Errorf("decode pprof profile: more than %d call paths", mostNodes)
	}
	made := &struct { // one allocation
		node
		tree profile.Node
	}{}
	n := &made.node
	n.Node = &made.tree
	n.Name = name
	parent.Children = append(parent.Children, n.Node)
	return n, nil
}

// variant returns the node with those labels among those that a path has led to: the first that has none yet.
func (r *reader) variant(n *node, labels string) (*node, error) {
	for ; ; n = n.sibling {
		if !n.filled {
			n.labels = labels
			return n, nil
		}
		if n.labels == labels || n == r.root {
			return n, nil
		}
		if n.sibling == nil {
			break
		}
	}
	// The siblings of a path share its parent, the node before it on the path.
	parent := r.root
	if len(r.path) > 1 {
		parent = r.path[len(r.path)-2]
	}
	made, err := r.add(parent, n.Name)
	if err != nil {
		return nil, err
	}
	made.labels = labels
	n.sibling = made
	return made, nil
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
	have, _ := n.Metric(m.Metric)
	if m.Float {
		f, _ := have.Float()
		n.Set(m.Metric, profile.FloatValue(f+float64(v)/cmp.Or(m.Scale, 1)))
		return
	}
	n.Set(m.Metric, profile.IntValue(have.Int()+v))
}

// zeros restores the metrics that were recorded as zero.
func (r *reader) zeros(n *profile.Node, list string) {
	for _, name := range strings.Split(list, ",") {
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

// readLabels returns the labels of a sample as metrics, by name. The rank of a profile of one rank is told by its facts.
func (r *reader) readLabels(s *pprof.Sample) []profile.Metric {
	if len(s.Label)+len(s.NumLabel) == 0 {
		return nil
	}
	list := make([]profile.Metric, 0, len(s.Label)+len(s.NumLabel))
	for key, texts := range s.Label {
		list = append(list, r.labelMetric(key, strings.Join(texts, ", "), textLabel))
	}
	for key, numbers := range s.NumLabel {
		if len(numbers) == 1 {
			list = append(list, r.labelMetric(key, strconv.FormatInt(numbers[0], 10), intLabel))
		}
	}
	slices.SortFunc(list, func(a, b profile.Metric) int { return strings.Compare(a.Name, b.Name) })
	if rank, known := r.out.Info[profile.InfoRank]; known && r.ours {
		list = slices.DeleteFunc(list, func(m profile.Metric) bool {
			return m.Name == profile.InfoRank && labelText(m.Value) == rank
		})
	}
	return list
}

func (r *reader) labelMetric(key, text string, kind labelKind) profile.Metric {
	if known, ok := r.facts.Labels[key]; ok {
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
