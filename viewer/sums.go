package viewer

import (
	"math"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// sums are rows with the amounts that every column is computed from. Ratios derive from these and are never summed.
type sums struct {
	columns  []column
	amounts  []amount
	rows     []rowFrame
	own, sum []float64 // by row and amount: of the row itself, and with all below it; NaN where there is none
	whole    []float64 // by amount: of all frames, before filters
	weight   weight
	alone    bool // leaveAlone was called: own excludes the rows below, for every amount

	// How long kernels took, by row; nil unless a column asks. A sketch may be the profile's own: never changed.
	wantTimes          bool
	ownTimes, sumTimes []*profile.Sketch
}

// of returns the amounts of a row.
func (s *sums) of(slab []float64, row int) []float64 {
	k := len(s.amounts)
	return slab[row*k : (row+1)*k]
}

// share is a row's part of the whole.
func (s *sums) share(row int) float64 {
	if s.weight.value == nil {
		return missing
	}
	return s.weight.value(s.of(s.sum, row)) / s.weight.value(s.whole)
}

// addUp gives every row what its frames recorded.
func (b *builder) addUp() {
	s := &b.sums
	k := len(s.amounts)
	s.own, s.whole = none(k*len(s.rows)), none(k)
	for i := range b.frames {
		f := &b.frames[i]
		for a := range s.amounts {
			v := s.amounts[a].of(f)
			if v != v {
				continue
			}
			if v < 0 && s.amounts[a].name == "bytes" {
				b.note("negative bytes: a 32 bit count in the launch metadata overflowed; compute bytes with Python integers or 64 bit tensors")
			}
			s.whole[a] = s.amounts[a].add(s.whole[a], v)
			if b.belongs(&s.amounts[a], f) {
				cell := &s.own[int(f.row)*k+a]
				*cell = s.amounts[a].add(*cell, v)
			}
		}
	}
	for a := range s.amounts {
		if s.amounts[a].spans {
			s.whole[a] = b.spanOfAll(&s.amounts[a])
		}
	}
	if s.wantTimes {
		all := newRowTimes(len(s.rows))
		for i := range b.frames {
			if f := &b.frames[i]; f.counts {
				all.put(int(f.row), f.node.Times)
			}
		}
		s.ownTimes = all.sketches
	}
}

// belongs reports whether a frame's value of an amount counts for its row.
func (b *builder) belongs(a *amount, f *frame) bool {
	switch {
	case !a.inclusive:
		return f.itself
	case a.spans && !f.itself: // the value of a hidden frame is part of the value of its caller, if the caller has one
		return f.counts && math.IsNaN(a.of(&b.frames[f.parent]))
	}
	return f.counts
}

// spanOfAll is the whole program's value of an amount that spans the frames below.
func (b *builder) spanOfAll(a *amount) float64 {
	below := none(len(b.frames))
	for i := len(b.frames) - 1; i >= 0; i-- {
		v := a.of(&b.frames[i])
		if math.IsNaN(v) {
			v = below[i]
		}
		if i == 0 {
			return v
		}
		up := b.frames[i].parent
		below[up] = add(below[up], v)
	}
	return missing
}

// total computes the sums over subtrees.
func (s *sums) total() {
	s.sum = slices.Clone(s.own)
	for i := len(s.rows) - 1; i > 0; i-- {
		at := int(s.rows[i].parent)
		parent, child := s.of(s.sum, at), s.of(s.sum, i)
		for a := range s.amounts {
			switch {
			case !s.amounts[a].inclusive:
			case s.amounts[a].spans && !s.alone && !math.IsNaN(s.of(s.own, at)[a]): // the value of the caller includes it already
			default:
				parent[a] = add(parent[a], child[a])
			}
		}
	}
	s.leaveAlone()
	if !s.wantTimes {
		return
	}
	all := newRowTimes(len(s.rows))
	copy(all.sketches, s.ownTimes)
	for i := len(s.rows) - 1; i > 0; i-- {
		all.put(int(s.rows[i].parent), all.sketches[i])
	}
	s.sumTimes = all.sketches
}

// leaveAlone makes the own values of spanning amounts exclusive: it subtracts the values of the rows below from the value of
// each row. Then the spanning amounts of a subtree can be added up like all other amounts.
func (s *sums) leaveAlone() {
	spans := slices.ContainsFunc(s.amounts, func(a amount) bool { return a.spans })
	if s.alone || !spans {
		return
	}
	s.alone = true
	for i := len(s.rows) - 1; i > 0; i-- {
		own, below := s.of(s.own, int(s.rows[i].parent)), s.of(s.sum, i)
		for a := range s.amounts {
			if s.amounts[a].spans && !math.IsNaN(below[a]) {
				own[a] = max(own[a]-below[a], 0) // the threads below a scope may together take longer than the scope
			}
		}
	}
}

// evaluate computes every column of every row from its amounts.
func (s *sums) evaluate(slab []float64, times []*profile.Sketch) []float64 {
	n := len(s.columns)
	values := make([]float64, n*len(s.rows))
	for i := range s.columns {
		c := &s.columns[i]
		for r := range s.rows {
			values[r*n+i] = s.base(c, slab, times, r) / c.unit.Factor
		}
	}
	return values
}

// base is the value of a column for a row, in the column's base unit.
func (s *sums) base(c *column, slab []float64, times []*profile.Sketch, row int) float64 {
	switch {
	case c.value != nil:
		return c.value(s.of(slab, row))
	case c.stat != nil && times[row] != nil:
		return c.stat(times[row])
	}
	return missing
}

// largest is the largest value of a column whatever its sign, in its base unit.
func (s *sums) largest(c *column) float64 {
	largest := 0.0
	for r := range s.rows {
		if v := math.Abs(s.base(c, s.sum, s.sumTimes, r)); v > largest && figures.Finite(v) {
			largest = v
		}
	}
	return largest
}

// add is a sum in which a missing value counts as nothing and two missing values stay missing.
func add(a, b float64) float64 {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return a + b
}

// rowTimes merges sketches by row. It shares the first one of a row and copies only when a second comes.
type rowTimes struct {
	sketches []*profile.Sketch
	copied   []bool
}

func newRowTimes(rows int) *rowTimes {
	return &rowTimes{make([]*profile.Sketch, rows), make([]bool, rows)}
}

func (p *rowTimes) put(row int, s *profile.Sketch) {
	switch {
	case s == nil || s.Count == 0:
	case p.sketches[row] == nil:
		p.sketches[row] = s
	default:
		if !p.copied[row] {
			p.sketches[row], p.copied[row] = p.sketches[row].Clone(), true
		}
		p.sketches[row].Merge(s)
	}
}
