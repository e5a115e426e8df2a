package tree

import (
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// Upstream's trees have no place for the kind of a metric: what the root names is inclusive, text is a property, all else is
// exclusive. A writer puts a zero at the root for every inclusive metric, and the key "kinds" holds only those kinds that a
// reader would get wrong by this rule.

// Seen is what a writer has met so far of each metric.
type Seen struct {
	kinds   profile.Kinds
	metrics map[string]*met
}

type met struct {
	inclusive            bool // by its kind
	text, vector, number bool // had such a value somewhere
}

// NewSeen begins for a profile with these kinds.
func NewSeen(kinds profile.Kinds) *Seen { return &Seen{kinds: kinds, metrics: map[string]*met{}} }

// NoteAll meets all metrics of a tree.
func (s *Seen) NoteAll(root *profile.Node) {
	root.Walk(func(n *profile.Node, _ int) bool {
		for i := range n.Metrics {
			s.Note(&n.Metrics[i])
		}
		return true
	})
}

// Note meets a metric. A node repeats the few names of the tree, so the map is asked far more often than it grows.
func (s *Seen) Note(m *profile.Metric) {
	f := s.metrics[m.Name]
	if f == nil {
		f = &met{inclusive: s.kinds[m.Name] == profile.Inclusive}
		s.metrics[m.Name] = f
	}
	switch m.Value.Type() {
	case profile.String:
		f.text = true
	case profile.Ints, profile.Floats:
		f.vector = true
	default:
		f.number = true
	}
}

// zero says whether the root gets a zero for the metric. Vectors get none: upstream's viewer adds up whatever the
// root names, and fails on a list.
func (f *met) zero() bool { return f.inclusive && f.number && !f.vector }

// WithZeros adds a zero for every inclusive metric to the root's own metrics, in order of name.
func (s *Seen) WithZeros(own []profile.Metric) []profile.Metric {
	all := slices.Clone(own)
	for _, name := range s.zeros(own) {
		all = append(all, profile.Metric{Name: name, Value: profile.IntValue(0)})
	}
	return all
}

// zeros are the inclusive metrics that the root does not have itself, sorted: as many as it has a place for. "kinds" has those
// of a tree with thousands of metrics.
func (s *Seen) zeros(own []profile.Metric) (names []string) {
	has := make(map[string]bool, len(own))
	for i := range own {
		has[own[i].Name] = true
	}
	for name, f := range s.metrics {
		if f.zero() && !has[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), max(0, profile.MaxMetrics-len(own)))]
}

// exceptions are the metrics whose kind a reader would get wrong, by name: an exclusive metric of the root itself, a property
// that is a number, a vector that adds up.
func (s *Seen) exceptions(root *profile.Node) []string {
	for i := range root.Metrics {
		s.Note(&root.Metrics[i])
	}
	atRoot := map[string]bool{} // with a number
	for _, name := range s.zeros(root.Metrics) {
		atRoot[name] = true
	}
	for i := range root.Metrics {
		_, atRoot[root.Metrics[i].Name] = root.Metrics[i].Value.Float()
	}
	var wrong []string
	for name, f := range s.metrics {
		switch {
		case strings.HasSuffix(name, InclusiveMark): // else a reader takes the tree for hatchet's
			wrong = append(wrong, name)
		case f.text: // it cannot be added up, whatever the file declares
		case kindOf(name, false, atRoot[name]) != s.kinds[name]:
			wrong = append(wrong, name)
		}
	}
	slices.Sort(wrong)
	return wrong
}

// kindOf is the rule for readers.
func kindOf(metric string, text, atRoot bool) profile.Kind {
	switch {
	case text || metric == profile.DeviceIDMetric || metric == profile.DeviceTypeMetric:
		return profile.Property
	case atRoot:
		return profile.Inclusive
	}
	return profile.Exclusive
}
