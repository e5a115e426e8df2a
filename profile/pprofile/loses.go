package pprofile

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/goproton/goproton/profile"
)

// Loses says what a pprof file loses of a profile in addition to its timeline and its distributions, one clause each.
func Loses(p *profile.Profile) []string {
	if p == nil || p.Root == nil {
		return nil
	}
	l := losses{columns: newColumns(p), rounded: make(map[string]*rounding)}
	_, l.short = p.WithOwnSpans()
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		l.node(n)
		return true
	})
	return l.clauses()
}

type losses struct {
	columns    *columns
	rounded    map[string]*rounding
	duplicates int
	empty      int
	short      int // frames with less CPU time than those within
}

// rounding counts the numbers of one metric that a file rounds.
type rounding struct {
	values int
	most   float64
}

func (l *losses) node(n *profile.Node) {
	for i := range n.Metrics {
		m := &n.Metrics[i]
		if at := l.columns.of(m); at >= 0 && m.Value.Type() == profile.Float {
			l.number(m, &l.columns.list[at])
		} else if m.Value.Type() == profile.String && m.Value.Str() == "" {
			l.empty++
		}
	}
	seen := make(map[string]bool, len(n.Children))
	for _, c := range n.Children {
		if seen[c.Name] {
			l.duplicates++
		}
		seen[c.Name] = true
	}
}

func (l *losses) number(m *profile.Metric, c *column) {
	_, off := c.whole(m.Value)
	if off == 0 {
		return
	}
	r := l.rounded[m.Name]
	if r == nil {
		r = &rounding{}
		l.rounded[m.Name] = r
	}
	r.values++
	if !(off <= r.most) { // also when it is NaN
		r.most = off
	}
}

func (l *losses) clauses() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(l.rounded)) {
		r := l.rounded[name]
		if math.IsNaN(r.most) {
			list = append(list, fmt.Sprintf("values of %s that are not a number", name))
			continue
		}
		list = append(list, fmt.Sprintf("fractions of %s: %d values are rounded to whole numbers, off by up to %.3g", name, r.values, r.most))
	}
	if l.short > 0 {
		list = append(list, fmt.Sprintf("%d values of cpu_time below the sum of those within", l.short))
	}
	if l.duplicates > 0 {
		list = append(list, fmt.Sprintf("the difference between %d siblings of the same name, unless their labels differ", l.duplicates))
	}
	if l.empty > 0 {
		list = append(list, fmt.Sprintf("%d empty texts", l.empty))
	}
	return list
}
