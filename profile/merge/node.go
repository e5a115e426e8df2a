package merge

import (
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/lookup"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/union"
)

// node is a node of the sum with what its final form has no place for.
type node struct {
	out      *profile.Node
	children []*node
	index    lookup.Index[string] // of children
	spread   map[int]*spread      // values of properties that differ, by position in out.Metrics
	columns  []columnValue
	devices  deviceSet
	slots    lookup.Index[string] // of out.Metrics
	samples  union.Pile[profile.FunctionSamples]
	launches union.Pile[profile.LaunchTimes]
}

// columnValue is an amount of one source. A thousand ranks of ten thousand nodes have ten million of these, so it
// takes two words. A source's values are added one after another and lie at the end.
type columnValue struct {
	bits   uint64
	column columnID
	float  bool
}

// columnID is a position in Merger.columns, which holds the names.
type columnID int32

func (c columnValue) value() profile.Value {
	if c.float {
		return profile.FloatValue(math.Float64frombits(c.bits))
	}
	return profile.IntValue(int64(c.bits))
}

func (c *columnValue) set(v profile.Value) {
	if c.float = v.Type() == profile.Float; c.float {
		f, _ := v.Float()
		c.bits = math.Float64bits(f)
		return
	}
	c.bits = uint64(v.Int())
}

// adder adds one profile.
type adder struct {
	*Merger
	source   Source
	devices  *sourceDevices
	samples  *union.SampleSource
	launches union.LaunchSource
}

type pair struct {
	into *node
	from *profile.Node
}

// tree adds a tree node by node. It does not recurse: paths may be thousands of frames long.
func (a *adder) tree(into *node, from *profile.Node) {
	for pending := []pair{{into, from}}; len(pending) > 0; {
		p := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		a.node(p.into, p.from)
		next := 0
		for _, c := range p.from.Children {
			name := c.Name
			if a.options.Rename != nil {
				name = a.options.Rename(name)
			}
			child, at := p.into.child(name, next)
			next = at + 1
			pending = append(pending, pair{child, c})
		}
	}
}

// child finds or makes a child. Sources usually have the same children in the same order, so it is looked for
// at the guessed position first.
func (n *node) child(name string, guess int) (*node, int) {
	if guess < len(n.children) && n.children[guess].out.Name == name {
		return n.children[guess], guess
	}
	if at := n.index.Find(len(n.children), name, func(i int) string { return n.children[i].out.Name }); at >= 0 {
		return n.children[at], at
	}
	n.children = append(n.children, &node{out: &profile.Node{Name: strings.Clone(name)}})
	return n.children[len(n.children)-1], len(n.children) - 1
}

func (a *adder) node(into *node, from *profile.Node) {
	for i := range from.Metrics {
		a.metric(into, from, &from.Metrics[i], i)
	}
	if from.Times != nil {
		if into.out.Times == nil {
			into.out.Times = &profile.Sketch{}
		}
		into.out.Times.MergeExactly(from.Times)
	}
	into.out.Inside = profile.MergeInside(into.out.Inside, from.Inside)
	into.samples.Add(a.samples.Join(nil, from.Samples), union.JoinSamples)
	into.launches.Add(a.launches.Join(nil, from.Launches), union.JoinLaunches)
}

func (a *adder) metric(into *node, from *profile.Node, v *profile.Metric, guess int) {
	known := a.metrics[v.Name]
	at, added := into.slot(known.name, guess)
	have := &into.out.Metrics[at].Value
	switch {
	case known.name == profile.DeviceIDMetric:
		typ, _ := from.Metric(profile.DeviceTypeMetric)
		for _, id := range a.devices.find(typ.Str(), text(v.Value)) {
			into.devices.add(id)
		}
		return
	case added:
		*have = cloned(v.Value)
	case known.property:
		into.differ(at, v.Value)
	default:
		*have = profile.Sum(*have, v.Value)
	}
	if _, number := v.Value.Float(); number && known.columns != nil && a.source.Label != "" {
		a.column(into, a.columnID(known), v.Value)
	}
}

// slot finds or makes the place of a metric.
func (n *node) slot(name string, guess int) (at int, added bool) {
	metrics := n.out.Metrics
	if guess < len(metrics) && metrics[guess].Name == name {
		return guess, false
	}
	if at = n.slots.Find(len(metrics), name, func(i int) string { return n.out.Metrics[i].Name }); at >= 0 {
		return at, false
	}
	n.out.Metrics = append(n.out.Metrics, profile.Metric{Name: name})
	return len(metrics), true
}

// columnID finds or makes the column of a metric for this source.
func (a *adder) columnID(known *metric) columnID {
	id, ok := known.columns[a.source.Label]
	if !ok {
		id = columnID(len(a.Merger.columns))
		a.Merger.columns = append(a.Merger.columns, Column(known.name, a.source.Label))
		known.columns[a.source.Label] = id
	}
	return id
}

// column adds to the value of this source. It is among the last if it is there: a file may have siblings of one
// name.
func (a *adder) column(into *node, id columnID, v profile.Value) {
	for i := len(into.columns) - 1; i >= 0 && i >= len(into.columns)-len(into.out.Metrics); i-- {
		if c := &into.columns[i]; c.column == id {
			c.set(profile.Sum(c.value(), v))
			return
		}
	}
	c := columnValue{column: id}
	c.set(v)
	into.columns = append(into.columns, c)
}

// differ notes one more value of a property.
func (n *node) differ(at int, v profile.Value) {
	s := n.spread[at]
	if s == nil {
		if same(n.out.Metrics[at].Value, v) {
			return
		}
		if n.spread == nil {
			n.spread = map[int]*spread{}
		}
		s = &spread{}
		s.addText(text(n.out.Metrics[at].Value))
		n.spread[at] = s
	}
	s.addText(text(v))
}

// finish gives a tree its final form: children, names of devices, columns. It returns the frame with the most metrics.
func (n *node) finish(names *deviceNames, columns []string) (widest *profile.Node) {
	widest = n.out
	for pending := []*node{n}; len(pending) > 0; {
		n := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		for i := range n.out.Metrics {
			if m := &n.out.Metrics[i]; m.Name == profile.DeviceIDMetric {
				m.Value = profile.StringValue(names.set(n.devices))
			}
		}
		for at, s := range n.spread {
			n.out.Metrics[at].Value = profile.StringValue(s.String())
		}
		if n.out.Times != nil {
			n.out.Times.Finish()
		}
		n.out.Samples = n.samples.All(union.JoinSamples)
		n.out.Launches = n.launches.All(union.JoinLaunches)
		n.finishColumns(columns)
		if len(n.out.Metrics) > len(widest.Metrics) {
			widest = n.out
		}
		n.out.Children = make([]*profile.Node, len(n.children))
		for i, c := range n.children {
			n.out.Children[i] = c.out
			pending = append(pending, c)
		}
		n.children, n.index, n.columns, n.devices = nil, lookup.Index[string]{}, nil, nil
	}
	return widest
}

// finishColumns appends the columns. Two files of one label may lie apart, and a file that was merged before
// brings columns of its own, hence the sum.
func (n *node) finishColumns(names []string) {
	if len(n.columns) == 0 {
		return
	}
	n.out.Metrics = slices.Grow(n.out.Metrics, len(n.columns))
	at := make(map[string]int, len(n.out.Metrics)+len(n.columns))
	for i := range n.out.Metrics {
		at[n.out.Metrics[i].Name] = i
	}
	for _, c := range n.columns {
		name := names[c.column]
		if i, twice := at[name]; twice {
			n.out.Metrics[i].Value = profile.Sum(n.out.Metrics[i].Value, c.value())
			continue
		}
		at[name] = len(n.out.Metrics)
		n.out.Metrics = append(n.out.Metrics, profile.Metric{Name: name, Value: c.value()})
	}
}
