package viewer

import (
	"slices"

	"github.com/goproton/goproton/profile"
)

// Grouping says what a row is.
type Grouping uint8

const (
	ByPath   Grouping = iota // a call path
	ByName                   // a frame's name, with all its callers; the rows are children of the root
	ByCaller                 // a frame's name, if it has values of its own, and below it its callers
)

// group joins rows of one name to one row, or turns call paths around. It returns how many callers of a frame have rows of their own.
func (s *sums) group(by Grouping) (callers int) {
	switch by {
	case ByName:
		s.byName()
	case ByCaller:
		return s.byCaller()
	}
	return maxCallers
}

// byName makes one row of all rows of a name. What a frame has with all below it counts once where it calls itself.
func (s *sums) byName() {
	g := s.regroup()
	rowOf := make([]int32, len(s.rows))
	for i := 1; i < len(s.rows); i++ {
		rowOf[i] = g.child(0, s.rows[i].node)
	}
	outermost := s.outermost(rowOf, len(g.rows))
	g.allocate()
	for i := 1; i < len(s.rows); i++ {
		g.addOwn(int(rowOf[i]), i)
		if outermost[i] {
			g.addSum(int(rowOf[i]), i)
		}
	}
	g.done()
}

// outermost reports which rows are not below another one of the same group.
func (s *sums) outermost(groupOf []int32, groups int) []bool {
	first, next := make([]int32, len(s.rows)), make([]int32, len(s.rows)) // children as lists; 0 ends one
	for i := len(s.rows) - 1; i > 0; i-- {
		parent := s.rows[i].parent
		next[i], first[parent] = first[parent], int32(i)
	}
	answer := make([]bool, len(s.rows))
	open := make([]int32, groups) // how many rows of a group are above
	for i := first[0]; i != 0; {
		answer[i] = open[groupOf[i]] == 0
		if first[i] != 0 {
			open[groupOf[i]]++
			i = first[i]
			continue
		}
		for i != 0 && next[i] == 0 {
			if i = s.rows[i].parent; i != 0 {
				open[groupOf[i]]--
			}
		}
		if i != 0 {
			i = next[i]
		}
	}
	return answer
}

// maxCallers bounds the callers below a frame, and byCallerRows and byCallerOf the rows of all frames, as a multiple of those that were
// turned around: a hostile profile's rows times depth fit no memory. Deeper callers count for the last one.
const (
	maxCallers   = 256
	byCallerRows = 1 << 17
	byCallerOf   = 16
)

// byCaller turns call paths around, with as many callers as there is room for. Sums of the new rows are of those that share the weight only,
// so the root keeps its own.
func (s *sums) byCaller() (callers int) {
	g, ends := s.regroup(), make([]int32, len(s.rows))
	for callers = maxCallers; !g.turn(callers, ends); callers /= 2 {
		g.rows = g.rows[:1]
		clear(g.rowOf) // it is large, and the next attempt needs as much
	}
	g.allocate()
	for i := 1; i < len(s.rows); i++ {
		if ends[i] != 0 {
			g.addOwn(int(ends[i]), i)
		}
	}
	g.done()
	root, rootTimes := s.of(g.sum, 0), s.sumTimes
	s.total()
	copy(s.of(s.sum, 0), root)
	if s.wantTimes {
		s.sumTimes[0] = rootTimes[0]
	}
	return callers
}

// hasOwn reports whether a row has a part of the metric that shares are of, or without shares any value.
func (s *sums) hasOwn(row int) bool {
	own := s.of(s.own, row)
	if s.weight.value != nil {
		v := s.weight.value(own)
		return v == v && v != 0
	}
	return slices.ContainsFunc(own, func(v float64) bool { return v == v })
}

// addTo adds amounts to others.
func (s *sums) addTo(to, from []float64) {
	for a := range s.amounts {
		to[a] = s.amounts[a].add(to[a], from[a])
	}
}

// regrouping is a new set of rows in the making, below the same root.
type regrouping struct {
	from               *sums
	rows               []rowFrame
	rowOf              map[sibling]int32
	own, sum           []float64
	ownTimes, sumTimes *rowTimes
}

func (s *sums) regroup() *regrouping {
	return &regrouping{from: s, rows: []rowFrame{s.rows[0]}, rowOf: map[sibling]int32{}}
}

// child finds or makes the row of a frame's name below another.
func (g *regrouping) child(parent int32, n *profile.Node) int32 {
	key := sibling{parent, n.Name}
	row, known := g.rowOf[key]
	if !known {
		row = int32(len(g.rows))
		g.rowOf[key] = row
		g.rows = append(g.rows, rowFrame{n, parent})
	}
	return row
}

// turn makes the rows of frames with their callers below them, and puts into ends the row of the outermost caller of each old row, 0 where
// there is nothing. It reports false as soon as the rows are too many.
func (g *regrouping) turn(callers int, ends []int32) bool {
	old := g.from.rows
	for i := 1; i < len(old); i++ {
		if !g.from.hasOwn(i) {
			continue
		}
		at := int32(0)
		for up, n := int32(i), 0; up > 0 && n <= callers; up, n = old[up].parent, n+1 {
			at = g.child(at, old[up].node)
		}
		if ends[i] = at; len(g.rows) > byCallerRows+byCallerOf*len(old) && callers > 1 {
			return false
		}
	}
	return true
}

// allocate makes room for the amounts of all rows. The root keeps what it has.
func (g *regrouping) allocate() {
	g.own, g.sum = none(len(g.from.amounts)*len(g.rows)), none(len(g.from.amounts)*len(g.rows))
	if g.from.wantTimes {
		g.ownTimes, g.sumTimes = newRowTimes(len(g.rows)), newRowTimes(len(g.rows))
	}
	g.addOwn(0, 0)
	g.addSum(0, 0)
}

// addOwn adds what an old row has of its own to a new row.
func (g *regrouping) addOwn(to, old int) {
	g.from.addTo(g.from.of(g.own, to), g.from.of(g.from.own, old))
	if g.from.wantTimes {
		g.ownTimes.put(to, g.from.ownTimes[old])
	}
}

// addSum adds what an old row has with all below it to a new row.
func (g *regrouping) addSum(to, old int) {
	g.from.addTo(g.from.of(g.sum, to), g.from.of(g.from.sum, old))
	if g.from.wantTimes {
		g.sumTimes.put(to, g.from.sumTimes[old])
	}
}

// done puts the new rows in the place of the old ones.
func (g *regrouping) done() {
	s := g.from
	s.rows, s.own, s.sum = g.rows, g.own, g.sum
	if s.wantTimes {
		s.ownTimes, s.sumTimes = g.ownTimes.sketches, g.sumTimes.sketches
	}
}

// none is a list of numbers that are missing.
func none(count int) []float64 {
	list := make([]float64, count)
	for i := range list {
		list[i] = missing
	}
	return list
}
