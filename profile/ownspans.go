package profile

import (
	"math"
	"slices"
	"strings"
)

// IsCPUTime reports whether a metric is the time from begin to end of the program's scopes, which has that of the scopes within:
// "cpu_time (ns)", or in a merged profile that of one source, "cpu_time@rank3 (ns)".
func IsCPUTime(name string) bool {
	base, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(name)), "(")
	base, _, _ = strings.Cut(base, "@")
	return strings.TrimSpace(base) == "cpu_time"
}

// WithOwnSpans returns the profile with the CPU time of each frame less that of the frames within, so that values add up along call paths, as
// formats of stacks have them. The profile itself is not changed, and returned if no frame with CPU time is within another. A frame with less
// than those within has 0: short is the number of these.
func (p *Profile) WithOwnSpans() (own *Profile, short int) {
	s := spans{known: map[string]bool{}}
	if !p.Root.Any(func(n *Node) bool { return slices.ContainsFunc(n.Metrics, func(m Metric) bool { return s.is(m.Name) }) }) {
		return p, 0
	}
	c := *p
	if c.Root, _ = s.own(p.Root); c.Root == p.Root {
		return p, s.short
	}
	return &c, s.short
}

// sums are values by metric, nil for none.
type sums map[string]Value

func (s sums) with(name string, v Value) sums {
	if s == nil {
		s = sums{}
	}
	s[name] = v
	return s
}

// and adds others, which are not used any more.
func (s sums) and(others sums) sums {
	if s == nil {
		return others
	}
	for name, v := range others {
		s[name] = Sum(s[name], v)
	}
	return s
}

// spans is a walk of WithOwnSpans.
type spans struct {
	known map[string]bool // names, and whether they are of CPU time
	short int
}

func (s *spans) is(name string) bool {
	if name == "" || name[0] > ' ' && name[0]|0x20 != 'c' { // nearly all names, without a look into the map
		return false
	}
	is, known := s.known[name]
	if !known {
		is = IsCPUTime(name)
		s.known[name] = is
	}
	return is
}

// own returns the node, or a copy with its own time, and the time by metric that it has with what is within.
func (s *spans) own(n *Node) (out *Node, whole sums) {
	out = n
	for i, child := range n.Children {
		c, below := s.own(child)
		if c != child {
			if out == n {
				out = n.copied()
			}
			out.Children[i] = c
		}
		whole = whole.and(below)
	}
	for i := range n.Metrics {
		m := &n.Metrics[i]
		f, number := m.Value.Float()
		if !s.is(m.Name) || !number || math.IsNaN(f) {
			continue
		}
		inner, _ := whole[m.Name].Float()
		if inner != 0 {
			if out == n {
				out = n.copied()
			}
			out.Metrics[i].Value = less(m.Value, whole[m.Name])
		}
		if inner > f {
			s.short++
			continue
		}
		whole = whole.with(m.Name, m.Value)
	}
	return out, whole
}

// less is a number less another one, but not less than 0.
func less(v, inner Value) Value {
	f, _ := inner.Float()
	if whole, _ := v.Float(); f >= whole {
		return IntValue(0)
	}
	if inner.Type() == Int {
		return Sum(v, IntValue(-inner.Int()))
	}
	return Sum(v, FloatValue(-f))
}

// copied is a copy whose children and metrics can be replaced.
func (n *Node) copied() *Node {
	c := *n
	c.Children, c.Metrics = slices.Clone(n.Children), slices.Clone(n.Metrics)
	return &c
}

// AddInnerSpans is the reverse: it adds the CPU time of the frames within to that of each frame.
func (p *Profile) AddInnerSpans() {
	s := spans{known: map[string]bool{}}
	p.Root.AddInner(s.is)
}

// AddInner adds to the metrics of some names what the frames within have of them, at each frame that has them.
func (n *Node) AddInner(some func(name string) bool) { n.addInner(some) }

func (n *Node) addInner(some func(name string) bool) (whole sums) {
	adds := func(m *Metric) bool {
		_, number := m.Value.Float()
		return number && some(m.Name)
	}
	for i := range n.Metrics {
		if m := &n.Metrics[i]; adds(m) {
			whole = whole.with(m.Name, m.Value)
		}
	}
	for _, c := range n.Children {
		whole = whole.and(c.addInner(some))
	}
	for i := range n.Metrics {
		if m := &n.Metrics[i]; adds(m) {
			m.Value = whole[m.Name]
		}
	}
	return whole
}
