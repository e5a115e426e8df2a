// Package merge adds profiles up: ranks of a distributed run, hosts, repeated runs.
//
// A Merger takes one profile after another and keeps only the sum, so a thousand of them merge in the memory of
// their union. What is known per node:
//
//   - amounts (inclusive and exclusive metrics) add up; a sum beyond 64 bits is a float;
//   - properties that agree stay; those that differ are replaced by the text of their distinct values, sorted;
//   - device_id names the device, or the set of devices, that all of it ran on: see deviceTable;
//   - distributions of kernel times merge exactly (profile.Sketch);
//   - instruction samples add up per instruction: functions are identified by module and symbol, not by name;
//   - traced launches add up per kind: a kind is identified by arguments, compiled kernel, process and handle;
//   - with a label on the source, chosen amounts are also kept per source, as metrics of their own: see Column.
//
// Merging is associative: profiles that were merged in groups merge again to the bytes of merging all at once in the same order.
// With Options.Sorted it is commutative too: the bytes are the same for any order of the inputs. Both hold apart from timelines and
// the rounding of metrics that are floats. The API of this package is promised, see CONTRIBUTING.md.
package merge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/tree"
	"github.com/goproton/goproton/profile/internal/union"
)

// Options say what a merged profile keeps. The zero value keeps sums only.
type Options struct {
	// Columns are the metrics that are kept per labelled source, by name without unit; none means
	// DefaultColumns, "*" all amounts.
	Columns  []string
	Timeline bool                     // keep what happened when, in lanes per source; needs memory for all of it
	Rename   func(name string) string // what a frame is called in the sum; nil for what it is called
	Sorted   bool                     // siblings are in order of name, instead of the order in which they were met first
	Part     bool                     // the sum is merged again with others: devices have all of their names
	Note     func(note string)        // called with each sentence that the user should read; may be nil
}

// DefaultColumns are what people compare between ranks. A profile has one or two of them.
var DefaultColumns = []string{"time", "cycles", "cpu_time"}

// Source says where a profile comes from.
type Source struct {
	File       string // what errors and notes call it
	Label      string // of its columns, "rank3"; "" for none. Made of letters, digits, and _ . -
	Host, Rank string // tell equal device ordinals apart; "" where unknown
	InFull     bool   // the names of devices say what is known of their hosts and ranks
}

// Merger adds profiles up. It is not safe for concurrent use.
type Merger struct {
	options  Options
	root     *node
	shown    string // as profile.Profile.Shown, of the first that has one
	metrics  map[string]*metric
	columns  []string // names by columnID
	devices  deviceTable
	info     infoUnion
	timeline *timelineUnion
	samples  union.Samples
	launches union.Launches
	totals   tree.Totals
	labels   map[string]string // label → first file
}

// metric is what is known of one metric name.
type metric struct {
	name     string
	property bool
	kind     profile.Kind
	file     string // that said so first
	noted    bool
	columns  map[string]columnID // by label; nil for a metric without
}

// New returns an empty Merger.
func New(o Options) *Merger {
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if len(o.Columns) == 0 {
		o.Columns = DefaultColumns
	}
	m := &Merger{options: o, metrics: map[string]*metric{}, devices: newDeviceTable(), labels: map[string]string{}}
	if o.Timeline {
		m.timeline = &timelineUnion{}
	}
	return m
}

// Fold returns a copy of a profile in which siblings of one name are one node, after they were renamed.
func Fold(p *profile.Profile, rename func(name string) string) (*profile.Profile, error) {
	m := New(Options{Rename: rename})
	if err := m.Add(p, Source{}); err != nil {
		return nil, err
	}
	folded := m.Profile()
	folded.Info = p.Info
	return folded, nil
}

// Add adds a profile to the sum and does not keep it. If the profile contradicts the others about the kind of a metric, or counts
// more than any run does, Add returns an error and adds nothing of it.
func (m *Merger) Add(p *profile.Profile, s Source) error {
	found, err := m.checkMetrics(p, s)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		m.learn(name, found[name], s)
	}
	if first, used := m.labels[s.Label]; used && s.Label != "" {
		m.options.Note(fmt.Sprintf("%s and %s are both %s: their columns are added up; --by file separates them", first, s.File, s.Label))
	} else {
		m.labels[s.Label] = s.File
	}
	m.shown = cmp.Or(m.shown, p.Shown)
	if m.root == nil {
		m.root = &node{out: &profile.Node{Name: strings.Clone(p.Root.Name)}}
	}
	if p.Root.Name < m.root.out.Name {
		m.root.out.Name = strings.Clone(p.Root.Name)
	}
	samples, uneven := m.samples.Add(p.Sampling)
	if uneven {
		m.options.Note(fmt.Sprintf("%s was sampled every %d cycles and others every %d: their samples are added up but do not stand for the same time",
			s.File, p.Sampling.Period, m.samples.Result().Period))
	}
	a := adder{Merger: m, source: s, devices: m.devices.source(p, s), samples: samples, launches: m.launches.Add(p.Launches)}
	a.tree(m.root, p.Root)
	m.info.add(p.Info, s.Rank)
	if m.timeline != nil && p.Timeline != nil {
		m.timeline.add(p.Timeline, s)
	}
	return nil
}

// checkMetrics collects what a profile says of its metrics and compares it with what is known.
func (m *Merger) checkMetrics(p *profile.Profile, s Source) (map[string]metric, error) {
	found, totals := map[string]metric{}, m.totals
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		totals.Node(n)
		for i := range n.Metrics {
			v := &n.Metrics[i]
			f, known := found[v.Name]
			if !known {
				f.kind = p.Kinds[v.Name]
				f.property = f.kind == profile.Property
			}
			if text := v.Value.Type() == profile.String; !known || text && !f.property {
				f.property = f.property || text
				found[v.Name] = f
			}
		}
		return true
	})
	for _, name := range slices.Sorted(maps.Keys(found)) {
		f := found[name]
		if have := m.metrics[name]; have != nil && have.property != f.property {
			return nil, fmt.Errorf("metric %q is %s in %s and %s in %s; leave one of the files out",
				name, role(have.property), have.file, role(f.property), s.File)
		}
	}
	if err := totals.Err(); err != nil {
		return nil, fmt.Errorf("with %s %w: merge fewer files", s.File, err)
	}
	m.totals = totals
	return found, nil
}

func role(property bool) string {
	if property {
		return "a property"
	}
	return "an amount"
}

func (m *Merger) learn(name string, seen metric, s Source) {
	have := m.metrics[name]
	if have == nil {
		name = strings.Clone(name) // not to hold on to the text of a whole file
		have = &metric{name: name, property: seen.property, kind: seen.kind, file: s.File}
		if !seen.property && m.hasColumns(name) {
			have.columns = map[string]columnID{}
		}
		m.metrics[name] = have
		return
	}
	if have.kind == seen.kind || have.property {
		return
	}
	// Files of Triton's main branch do not say which of their metrics are inclusive.
	if !have.noted {
		m.options.Note(fmt.Sprintf("metric %q is %s in %s and %s in %s: taken as inclusive", name, kindName(have.kind), have.file, kindName(seen.kind), s.File))
		have.noted = true
	}
	have.kind = profile.Inclusive
}

func kindName(k profile.Kind) string {
	if k == profile.Property {
		return "a property"
	}
	return k.String()
}

func (m *Merger) hasColumns(name string) bool {
	if _, _, column := SplitColumn(name); column {
		return false // of a profile that was merged before
	}
	base, _, _ := strings.Cut(name, " (")
	return slices.Contains(m.options.Columns, base) || slices.Contains(m.options.Columns, "*")
}

// Profile returns the merged profile; nil if nothing was added. The Merger must not be used afterwards.
func (m *Merger) Profile() *profile.Profile {
	if m.root == nil {
		return nil
	}
	p := &profile.Profile{Kinds: profile.Kinds{}, Info: m.info.result(), Shown: m.shown}
	for name, known := range m.metrics {
		p.Kinds[name] = known.kind
		for _, id := range known.columns {
			p.Kinds[m.columns[id]] = known.kind
		}
	}
	names := m.devices.names(m.info.ranks.several(), m.options.Part)
	if widest := m.root.finish(names, m.columns); len(widest.Metrics) > profile.MaxMetrics {
		m.options.Note(fmt.Sprintf("frame %.100q has %d metrics, and files hold the first %d of a frame: keep columns of fewer metrics (--columns) or of larger sources (--by host)",
			widest.Name, len(widest.Metrics), profile.MaxMetrics))
	}
	p.Root, p.Devices, p.Sampling = m.root.out, names.listed, m.samples.Result()
	p.Launches = m.launches.Result()
	if m.timeline != nil {
		p.Timeline = m.timeline.result()
	}
	if m.options.Sorted {
		order(p)
	}
	return p
}
