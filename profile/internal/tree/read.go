package tree

import (
	"fmt"

	"github.com/goproton/goproton/profile"
)

// Root is what the keys of the root say that upstream does not have.
type Root struct {
	Info     profile.Info
	Kinds    profile.Kinds // nil unless the file says some
	Sampling *profile.Sampling
	Launches []profile.LaunchKind
}

// Join adds the keys that another part of the root has.
func (r *Root) Join(o *Root) {
	if o.Info != nil {
		r.Info = o.Info
	}
	if o.Kinds != nil {
		r.Kinds = o.Kinds
	}
	if o.Sampling != nil {
		r.Sampling = o.Sampling
	}
	if o.Launches != nil {
		r.Launches = o.Launches
	}
}

// Decoder collects what a reader meets of a tree.
type Decoder struct {
	Root
	Metrics
	pending    []*profile.Node // children of the nodes that are still open, the innermost's last
	nodes      Slab[profile.Node]
	lists      Slab[*profile.Node]
	sampled    bool // some node has samples
	kindsNamed int  // how many kinds of launches the nodes' launches need
	totals     Totals
}

// NodeKey reads the value of a key that any node may have; false for another key, whose value is left.
func (d *Decoder) NodeKey(r Reader, n *profile.Node, key []byte) bool {
	switch string(key) {
	case "times":
		n.Times = readTimes(r)
		d.totals.Times(n.Times)
	case "samples":
		n.Samples, d.sampled = readSamples(r), true
		d.totals.Samples(n.Samples)
	case "inside":
		n.Inside = readInside(r)
		d.totals.Inside(n.Inside)
	case "launches":
		n.Launches = d.readLaunches(r)
		d.totals.Launches(n.Launches)
	default:
		return false
	}
	return true
}

// RootKey reads the value of a key that only the root has; false for another key, whose value is left.
func (d *Decoder) RootKey(r Reader, key []byte) bool {
	switch string(key) {
	case "info":
		d.Info = profile.Info{}
		for c := r.Object("info"); c.More; c = r.Next(c) {
			key := r.Intern(r.Key())
			r.Keep(TextSize)
			d.Info[key] = r.Intern(r.Text("a string of info"))
		}
	case "kinds":
		d.Root.Kinds = readKinds(r)
	case "sampling":
		d.Sampling = readSampling(r)
	case "launch_kinds":
		d.Root.Launches = readObjects(r, "launch_kinds", "a kind of launches", launchKindMembers)
	default:
		return false
	}
	return true
}

func readKinds(r Reader) profile.Kinds {
	kinds := profile.Kinds{}
	for c := r.Object("kinds"); c.More; c = r.Next(c) {
		metric, at := r.Intern(r.Key()), r.Here()
		word := r.Intern(r.Text("a kind"))
		kind, ok := profile.ParseKind(word)
		if !ok {
			r.Fail(at, "%.40q is not a kind of metric: expected exclusive, inclusive or property", word)
		}
		r.Keep(TextSize)
		kinds[metric] = kind
	}
	return kinds
}

// Join adds what another reader has met of the same tree.
func (d *Decoder) Join(o *Decoder) {
	d.sampled = d.sampled || o.sampled
	d.kindsNamed = max(d.kindsNamed, o.kindsNamed)
	d.totals.Join(o.totals)
	d.Metrics.join(&o.Metrics)
}

// Finish fills in what is known when the whole file has been read, kinds included. An error says which node refers to what is
// not there, at the end of the file.
func (d *Decoder) Finish(p *profile.Profile, end int64) error {
	p.Info, p.Sampling, p.Launches = d.Info, d.Sampling, d.Root.Launches
	p.Kinds = d.kinds(p.Root, d.Root.Kinds)
	if d.kindsNamed > len(p.Launches) {
		return &profile.FormatError{Offset: end, Reason: fmt.Sprintf("launches of kind %d, and the root's key \"launch_kinds\" has %d", d.kindsNamed-1, len(p.Launches))}
	}
	if err := d.totals.Err(); err != nil {
		return &profile.FormatError{Offset: end, Reason: err.Error() + ": the file is damaged"}
	}
	if d.sampled {
		if err := checkSamples(p); err != nil {
			return &profile.FormatError{Offset: end, Reason: err.Error()}
		}
	}
	return nil
}

// Metrics reads the metrics of one node after another. Most nodes name their metrics in the order of the node before them, so
// a name is compared with the one that came next there before it is looked up.
type Metrics struct {
	seen   map[string]*Fact
	first  Fact // stands before the first metric of every node
	last   *Fact
	texts  map[string]profile.Value
	list   []profile.Metric // of one node, to be copied at their final size
	visits int              // nodes with metrics so far
	slab   Slab[profile.Metric]
}

// Fact is what is known of a metric.
type Fact struct {
	Name string
	Text bool          // some value is text, which also decides the kind, as the root does
	last profile.Value // the last text
	next *Fact         // what came behind it the last time
	node int           // the last node that had it, and where in its list
	at   int
}

// Text is a text as the value of a metric. A text that comes again is the same value, not a copy.
func (m *Metrics) Text(r Reader, f *Fact, text []byte) profile.Value {
	f.Text = true
	if f.last.Type() == profile.String && f.last.Str() == string(text) {
		return f.last
	}
	own := r.Intern(text)
	v, known := m.texts[own]
	if !known {
		if m.texts == nil {
			m.texts = map[string]profile.Value{}
		}
		v = profile.StringValue(own)
		m.texts[own] = v
	}
	f.last = v
	return v
}

// Begin begins with the metrics of a node.
func (m *Metrics) Begin() {
	m.visits++
	m.list = m.list[:0]
	m.last = &m.first
}

// Fact finds a metric by its name. r brings one copy of each name.
func (m *Metrics) Fact(r Reader, name []byte) *Fact {
	if guess := m.last.next; guess != nil && guess.Name == string(name) {
		m.last = guess
		return guess
	}
	own := r.Intern(name)
	f := m.seen[own]
	if f == nil {
		if m.seen == nil {
			m.seen = map[string]*Fact{}
		}
		r.Keep(MetricSize)
		f = &Fact{Name: own}
		m.seen[own] = f
	}
	m.last.next, m.last = f, f
	return f
}

// Set stores the value that stands at a place of the file. Of a name that comes twice, as upstream writes a user's "count", the
// last value counts.
func (m *Metrics) Set(r Reader, at int64, f *Fact, v profile.Value) {
	switch {
	case f.node == m.visits:
		m.list[f.at].Value = v
	case len(m.list) >= profile.MaxMetrics:
		r.Fail(at, "more than %d metrics on one node", profile.MaxMetrics)
	default:
		f.node, f.at = m.visits, len(m.list)
		m.list = append(m.list, profile.Metric{Name: f.Name, Value: v})
	}
}

// End returns the metrics of the node.
func (m *Metrics) End() []profile.Metric { return m.slab.Copy(m.list) }

// kinds applies the rule that kindOf describes where the file does not declare a kind. Text never adds up, whatever is declared.
func (m *Metrics) kinds(root *profile.Node, declared profile.Kinds) profile.Kinds {
	kinds := make(profile.Kinds, len(m.seen))
	for name, f := range m.seen {
		kinds[name] = kindOf(name, f.Text, false)
	}
	for i := range root.Metrics {
		own := &root.Metrics[i]
		if _, number := own.Value.Float(); number && kinds[own.Name] == profile.Exclusive {
			kinds[own.Name] = profile.Inclusive
		}
	}
	for name, kind := range declared {
		if f := m.seen[name]; f == nil || !f.Text {
			kinds[name] = kind
		}
	}
	return kinds
}

func (m *Metrics) join(o *Metrics) {
	if m.seen == nil {
		m.seen = o.seen
		return
	}
	for name, f := range o.seen {
		if known := m.seen[name]; known != nil {
			known.Text = known.Text || f.Text
		} else {
			m.seen[name] = f
		}
	}
}

// KindsOf applies the rule to a tree whose metrics were renamed after it was read.
func KindsOf(root *profile.Node) profile.Kinds {
	m := Metrics{seen: map[string]*Fact{}}
	root.Walk(func(n *profile.Node, _ int) bool {
		for i := range n.Metrics {
			own := &n.Metrics[i]
			f := m.seen[own.Name]
			if f == nil {
				f = &Fact{}
				m.seen[own.Name] = f
			}
			f.Text = f.Text || own.Value.Type() == profile.String
		}
		return true
	})
	return m.kinds(root, nil)
}
