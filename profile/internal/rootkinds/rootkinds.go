// Package rootkinds tells the kinds of metrics the way hatchet's trees do. They have no place for a kind: what the
// root names is inclusive, text is a property, all else is exclusive. So a writer puts a zero at the root for every
// inclusive metric, and says in words only what this gets wrong.
package rootkinds

import (
	"maps"
	"slices"

	"github.com/goproton/goproton/profile"
)

// Metrics with a fixed meaning, which are properties even where they are numbers.
const (
	DeviceID   = "device_id"
	DeviceType = "device_type"
)

// Seen is what a writer has met so far.
type Seen struct {
	kinds   profile.Kinds
	metrics map[string]*facts
}

type facts struct {
	inclusive            bool // by its kind
	text, vector, number bool // had such a value somewhere
}

// New begins for a profile with these kinds.
func New(kinds profile.Kinds) *Seen { return &Seen{kinds, map[string]*facts{}} }

// NewOf begins and meets all metrics of a tree.
func NewOf(p *profile.Profile) *Seen {
	s := New(p.Kinds)
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for i := range n.Metrics {
			s.Note(&n.Metrics[i])
		}
		return true
	})
	return s
}

// Note meets a metric. A node repeats the few names of the tree, so the map is asked far more often than it grows.
func (s *Seen) Note(m *profile.Metric) {
	f := s.metrics[m.Name]
	if f == nil {
		f = &facts{inclusive: s.kinds[m.Name] == profile.Inclusive}
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
func (f *facts) zero() bool { return f.inclusive && f.number && !f.vector }

// WithZeros adds a zero for every inclusive metric to the root's own metrics, in order of name.
func (s *Seen) WithZeros(own []profile.Metric) []profile.Metric {
	all := slices.Clone(own)
	for _, name := range slices.Sorted(maps.Keys(s.metrics)) {
		if s.metrics[name].zero() && !slices.ContainsFunc(own, func(m profile.Metric) bool { return m.Name == name }) {
			all = append(all, profile.Metric{Name: name, Value: profile.IntValue(0)})
		}
	}
	return all
}

// Exceptions are the metrics whose kind a reader would get wrong, by name: an exclusive metric of the root itself,
// a property that is a number, a vector that adds up.
func (s *Seen) Exceptions(root *profile.Node) []string {
	for i := range root.Metrics {
		s.Note(&root.Metrics[i])
	}
	var wrong []string
	for name, f := range s.metrics {
		if f.text {
			continue // text cannot be added up, whatever the file declares
		}
		own, has := root.Metric(name)
		_, number := own.Float()
		if tell(name, false, has && number || !has && f.zero()) != s.kinds[name] {
			wrong = append(wrong, name)
		}
	}
	slices.Sort(wrong)
	return wrong
}

func tell(name string, text, atRoot bool) profile.Kind {
	switch {
	case text || name == DeviceID || name == DeviceType:
		return profile.Property
	case atRoot:
		return profile.Inclusive
	}
	return profile.Exclusive
}

// Tell returns the kinds of a tree that was read with these kinds in words. Text is a property, whatever the words are.
func Tell(root *profile.Node, said profile.Kinds) profile.Kinds {
	text := map[string]bool{}
	root.Walk(func(n *profile.Node, _ int) bool {
		for i := range n.Metrics {
			m := &n.Metrics[i]
			text[m.Name] = m.Value.Type() == profile.String || text[m.Name]
		}
		return true
	})
	kinds := make(profile.Kinds, len(text))
	maps.Copy(kinds, said)
	for name, isText := range text {
		if _, ok := said[name]; isText || !ok {
			own, has := root.Metric(name)
			_, number := own.Float()
			kinds[name] = tell(name, isText, has && number)
		}
	}
	return kinds
}
