package interpreter

import (
	"slices"
	"strings"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

// Some checks follow a property of elements through a kernel: that an element was never set, that an integer has wrapped around, that a NaN
// came from numbers. A layer is one such property. Each value has marks in it: for each stored element the number of the origin, of which
// most are 0. Marks are computed by steps that follow those of the operations, and which do next to nothing as long as no operand has a
// mark; a value that cannot have one has none at all.
type layer uint8

const (
	unset   layer = iota // what was never set, and what a division by zero gave
	wrapped              // integers that are not the sums or products that they should be
	born                 // NaN and infinities that came from other numbers
	layers
)

// checkOf are the checks that need a layer.
var checkOf = [layers]check.Set{unset: check.Uninitialised | check.Divisions, wrapped: check.Overflow, born: check.NaN | check.Infinity}

// origin is where a mark comes from.
type origin struct {
	op   *ttir.Op
	what string
	kind string // of the finding, if it depends on the origin
}

// Marks that are not of an origin, while those of the layer born are computed: an infinity, and a NaN, that did not come from other numbers.
const (
	anInfinity = 254
	aNaN       = 255
	lastOrigin = 253 // all that come after it share it
)

// originOf is the mark of an origin.
func (c *compiler) originOf(what, kind string) bit {
	of := origin{c.op, what, kind}
	n := slices.Index(c.m.origins, of)
	if n < 0 {
		if n = len(c.m.origins); n < lastOrigin {
			c.m.origins = append(c.m.origins, of)
		}
	}
	return bit(min(n+1, lastOrigin))
}

func (c *compiler) has(l layer) bool {
	return c.m.with.checks&checkOf[l] != 0 && !c.quiet && !c.marking
}

// mark gives a new value its marks.
func (c *compiler) mark(s *slot) {
	for l := range layers {
		if k := classOf(s.t); c.has(l) && k != windows && (l == unset || (l == born) == (k == f32 || k == f64) && k != bits1) {
			s.marks[l] = c.newMarks(s.t, s.shape)
		}
	}
}

// markType is the type of marks for values of a type.
func (c *compiler) markType(t *ttir.Type) *ttir.Type {
	one := c.m.module.Type("i1")
	if t.Kind != ttir.TensorType {
		return one
	}
	return &ttir.Type{Kind: ttir.TensorType, Shape: t.Shape, Element: one, Text: "marks of " + t.Text}
}

func (c *compiler) newMarks(t *ttir.Type, shape []int) *slot {
	n := ttir.Count(shape)
	c.room(n)
	s := &slot{t: c.markType(t), shape: shape, data: make([]bit, n), some: new(bool)}
	s.root = s
	return s
}

// marksOf are the marks that a value may have; nil if it never has one.
func marksOf(s *slot, l layer) *slot {
	if s == nil || s.marks[l] == nil || s.constant && !*s.marks[l].some {
		return nil
	}
	return s.marks[l]
}

func anyMark(list []bit) bool {
	for len(list) >= 8 {
		if list[0]|list[1]|list[2]|list[3]|list[4]|list[5]|list[6]|list[7] != 0 {
			return true
		}
		list = list[8:]
	}
	for _, b := range list {
		if b != 0 {
			return true
		}
	}
	return false
}

func (s *slot) clearMarks() {
	if *s.some {
		clear(dataOf[bit](s))
		*s.some = false
	}
}

// ifMarked has marks computed where an operand has one.
func ifMarked(out, in []*slot, run step) step {
	var flags []*bool
	for _, s := range in {
		flags = append(flags, s.some)
	}
	return markedWhen(out, func() bool { return slices.ContainsFunc(flags, func(f *bool) bool { return *f }) }, run)
}

// markedWhen has marks computed where there may be one, and removes them elsewhere.
func markedWhen(out []*slot, needed func() bool, run step) step {
	return func() {
		if !needed() {
			for _, s := range out {
				s.clearMarks()
			}
			return
		}
		run()
		for _, s := range out {
			*s.some = anyMark(s.data.([]bit))
		}
	}
}

// moveMarks passes on the marks of values that are passed on.
func (c *compiler) moveMarks(to, from []*slot) step {
	var steps []step
	for l := range layers {
		if !c.has(l) {
			continue
		}
		var out, in []*slot
		for i, s := range to {
			if s.marks[l] == nil || s == from[i] {
				continue
			}
			out = append(out, s.marks[l])
			if m := marksOf(from[i], l); m != nil {
				in = append(in, m)
			} else {
				in = append(in, c.newMarks(s.t, ones(len(s.shape))))
			}
		}
		if len(out) > 0 {
			marking := c.marking
			c.marking = true
			move := c.transfer(out, in)
			c.marking = marking
			if move != nil {
				steps = append(steps, ifMarked(out, append(slices.Clone(in), out...), move))
			}
		}
	}
	return chain(steps...)
}

// either is the mark of a result that depends on two elements.
func either(a, b bit) bit {
	switch {
	case a == aNaN || b == 0:
		return a
	case b == aNaN || a == 0 || a == anInfinity:
		return b
	}
	return a
}

// follow computes the marks of an operation's results.
func (c *compiler) follow(op *ttir.Op) step {
	if c.m.with.checks == 0 || c.quiet || strings.HasPrefix(op.Name, "scf.") || op.Name == "tt.call" {
		return nil
	}
	var steps []step
	for l := range layers {
		if c.has(l) {
			steps = append(steps, c.followIn(op, l))
		}
	}
	return chain(steps...)
}

func (c *compiler) followIn(op *ttir.Op, l layer) step {
	var out []*slot
	for _, v := range op.Results {
		s := c.slots[v]
		for _, o := range op.Operands {
			if o != ttir.NoValue && c.slots[o].root == s.root { // it has the operand's marks
				return nil
			}
		}
		if s.marks[l] != nil {
			out = append(out, s.marks[l])
		}
	}
	if len(out) == 0 {
		return nil
	}
	drop := func() step {
		for _, v := range op.Results {
			c.slots[v].marks[l] = nil
		}
		return nil
	}
	switch {
	case op.Name == "ub.poison":
		if l != unset || c.m.with.checks&check.Uninitialised == 0 {
			return drop()
		}
		fillOf(dataOf[bit](out[0]), c.originOf("it has no value", ""))
		*out[0].some = true
		return nil
	case accesses[op.Name]:
		if l != unset || strings.HasPrefix(op.Name, "tt.atomic_") || c.m.with.checks&check.Uninitialised == 0 {
			return drop()
		}
		return nil // see watch.go
	case l == wrapped:
		return c.followIntegers(op, out, drop)
	case l == born:
		return c.followFloats(op, out, drop)
	}
	in, some := c.marksOfOperands(op, l, -1)
	divided := c.divided(op, out[0])
	switch {
	case !some && divided == nil:
		return drop()
	case !some:
		return chain(out[0].clearMarks, divided)
	}
	run := c.combineMarks(op, out, in)
	if run == nil {
		return drop()
	}
	return chain(ifMarked(out, present(in), chain(run, c.decided(op, out[0], in))), divided)
}

// marksOfOperands are the marks that operands may have, but for one operand, and whether there are any.
func (c *compiler) marksOfOperands(op *ttir.Op, l layer, without int) (in []*slot, some bool) {
	in = make([]*slot, len(op.Operands))
	for i, v := range op.Operands {
		if v != ttir.NoValue && i != without {
			in[i] = marksOf(c.slots[v], l)
			some = some || in[i] != nil
		}
	}
	return in, some
}

func present(list []*slot) []*slot {
	return slices.DeleteFunc(slices.Clone(list), func(s *slot) bool { return s == nil })
}

// accesses are the operations whose results come from memory.
var accesses = map[string]bool{"tt.load": true, "tt.atomic_rmw": true, "tt.atomic_cas": true, "tt.atomic_load": true, "tt.atomic_poll": true, "tt.descriptor_load": true,
	"tt.experimental_descriptor_load": true, "tt.descriptor_gather": true}

// combineMarks computes marks of results from those of operands, as the elements depend on each other; nil if it is not known how.
func (c *compiler) combineMarks(op *ttir.Op, out, in []*slot) step {
	switch op.Name {
	case "tt.trans", "tt.reshape", "tt.split", "tt.join", "tt.cat":
		return c.restructured(op, out, in, len(in))
	case "arith.select":
		if in[0] == nil && in[1] == nil && in[2] == nil {
			return nil
		}
		return chain(c.restructured(op, out, []*slot{nil, in[1], in[2]}, 3), c.addMarks(out[0], in[0]))
	case "tt.gather":
		return chain(c.restructured(op, out, []*slot{in[0], nil}, 1), c.addMarks(out[0], in[1]))
	case "tt.reduce", "tt.scan":
		return c.foldMarks(op, out, in)
	case "tt.map_elementwise":
		return c.packMarks(op, out, in)
	case "tt.dot", "tt.dot_scaled":
		return c.dotMarks(op, out[0], in)
	case "tt.histogram":
		list := present(in)
		o := dataOf[bit](out[0])
		return func() {
			m := bit(0)
			for _, s := range list {
				for _, b := range dataOf[bit](s) {
					m = either(m, b)
				}
			}
			fillOf(o, m)
		}
	}
	var steps []step
	for _, o := range out {
		steps = append(steps, func() { clear(o.data.([]bit)) })
		for _, s := range in {
			add := c.addMarks(o, s)
			if s != nil && add == nil {
				return nil
			}
			steps = append(steps, add)
		}
	}
	return chain(steps...)
}

// addMarks adds marks of one list to another; nil if their shapes do not fit.
func (c *compiler) addMarks(to, from *slot) step {
	if from == nil || from.len() > 1 && len(from.shape) != len(to.shape) {
		return nil
	}
	for i, d := range from.shape {
		if from.len() > 1 && d != 1 && d != to.shape[i] {
			return nil
		}
	}
	o := dataOf[bit](to)
	x, fill := operand[bit](c, from, to.shape)
	return chain(fill, func() {
		x := x[:len(o)]
		for i, m := range x {
			if m != 0 {
				o[i] = either(o[i], m)
			}
		}
	})
}

// restructured has an operation that only moves elements move their marks. Of the first n operands, those without marks get empty ones.
func (c *compiler) restructured(op *ttir.Op, out, in []*slot, n int) step {
	slots, steps, was := c.slots, c.block.steps, c.op
	defer func() { c.slots, c.block.steps, c.op, c.marking = slots, steps, was, false }()
	c.op, c.marking = op, true
	c.slots = slices.Clone(slots)
	for i, s := range in {
		v := op.Operands[i]
		switch {
		case op.Name == "arith.select" && i == 0:
		case s != nil:
			c.slots[v] = s
		case i < n:
			c.slots[v] = c.newMarks(slots[v].t, ones(len(slots[v].shape)))
		}
	}
	c.block.steps = nil
	run := builders[op.Name](c)
	run = chain(append(c.block.steps, run)...)
	for i, v := range op.Results {
		made := c.slots[v]
		made.some = new(bool)
		if made.len() != out[i].len() { // of a result that shares its elements
			made.shape = out[i].shape
		}
		data, from := dataOf[bit](out[i]), dataOf[bit](made)
		if len(data) == len(from) {
			run = chain(run, func() { copy(data, from) })
		} else if len(from) == 1 {
			run = chain(run, func() { fillOf(data, from[0]) })
		} else {
			return nil
		}
	}
	if run == nil {
		run = func() {}
	}
	return run
}

// together is the marks that operands have for each element of a shape; those of a pack are at its first element.
func (c *compiler) together(in []*slot, shape []int, pack int) ([]bit, step) {
	all := make([]bit, ttir.Count(shape))
	steps := []step{func() { clear(all) }}
	for _, s := range present(in) {
		x, fill := operand[bit](c, s, shape)
		steps = append(steps, fill, func() {
			for i, m := range x {
				all[i/pack*pack] = either(all[i/pack*pack], m)
			}
		})
	}
	return all, chain(steps...)
}

// foldMarks marks all results along a line of which an element has a mark; those of a scan from there on.
func (c *compiler) foldMarks(op *ttir.Op, out, in []*slot) step {
	full := dims(c.slots[op.Operands[0]].t)
	axis := c.axis(len(full))
	outer, n, inner := lines(full, axis)
	all, fill := c.together(in, full, 1)
	backwards := op.Flag("reverse")
	line := make([]bit, outer*inner)
	steps := []step{fill, func() {
		clear(line)
		for o := range outer {
			for k := range n {
				if backwards {
					k = n - 1 - k
				}
				for i := range inner {
					to, at := &line[o*inner+i], (o*n+k)*inner+i
					*to = either(*to, all[at])
					all[at] = *to
				}
			}
		}
	}}
	from := all
	if op.Name == "tt.reduce" {
		from = line
	}
	for _, s := range out {
		if s.len() != len(from) {
			return nil
		}
		o := dataOf[bit](s)
		steps = append(steps, func() { copy(o, from) })
	}
	return chain(steps...)
}

// packMarks marks all results of a pack of which an element has a mark.
func (c *compiler) packMarks(op *ttir.Op, out, in []*slot) step {
	pack := int(op.Attribute("pack").Int)
	all, fill := c.together(in, dims(c.slots[op.Operands[0]].t), pack)
	steps := []step{fill}
	for _, s := range out {
		if s.len() != len(all) {
			return nil
		}
		o := dataOf[bit](s)
		steps = append(steps, func() {
			for i := range o {
				o[i] = all[i/pack*pack]
			}
		})
	}
	return chain(steps...)
}

// dotMarks marks the results in a row of the left matrix, or a column of the right one, in which an element has a mark.
func (c *compiler) dotMarks(op *ttir.Op, out *slot, in []*slot) step {
	to := dims(c.slots[op.Results[0]].t)
	r := len(to)
	s := sizes{1, to[r-2], to[r-1], 0}
	for _, b := range to[:r-2] {
		s.batch *= b
	}
	rows, columns, o := make([]bit, s.batch*s.m), make([]bit, s.batch*s.n), dataOf[bit](out)
	steps := []step{func() { clear(rows); clear(columns); clear(o) }}
	for i, marks := range in {
		if marks == nil {
			continue
		}
		full := dims(marks.t)
		x, fill := operand[bit](c, marks, full)
		steps = append(steps, fill)
		if i == 2 {
			steps = append(steps, func() { copy(o, x) })
			continue
		}
		line, n := rows, s.m
		if i == 1 || i == 4 {
			line, n = columns, s.n
		}
		high, wide := full[len(full)-2], full[len(full)-1]
		steps = append(steps, func() {
			for at, m := range x {
				if m == 0 {
					continue
				}
				b, k := at/(high*wide), at/wide%high
				have := high
				if i == 1 {
					k, have = at%wide, wide
				}
				for j := k * n / have; j < (k+1)*n/have; j++ { // several, if elements are packed in this direction
					line[b*n+j] = either(line[b*n+j], m)
				}
			}
		})
	}
	return chain(append(steps, func() {
		for b := range s.batch {
			for i := range s.m {
				row := o[(b*s.m+i)*s.n : (b*s.m+i+1)*s.n]
				for j := range row {
					row[j] = either(row[j], either(rows[b*s.m+i], columns[b*s.n+j]))
				}
			}
		}
	})...)
}

// decided removes the marks of masks that do not depend on the element that was never set: false and anything is false.
func (c *compiler) decided(op *ttir.Op, out *slot, in []*slot) step {
	if op.Name != "arith.andi" && op.Name != "arith.ori" || classOf(c.slots[op.Results[0]].t) != bits1 {
		return nil
	}
	decides := bit(0)
	if op.Name == "arith.ori" {
		decides = 1
	}
	o := dataOf[bit](out)
	var steps []step
	for i, v := range op.Operands {
		s := c.slots[v]
		values, fill := operand[bit](c, s, out.shape)
		marks := make([]bit, len(o))
		var fillMarks step
		if in[i] != nil {
			marks, fillMarks = operand[bit](c, in[i], out.shape)
		}
		steps = append(steps, s.ensure, fill, fillMarks, func() {
			for k := range o {
				if marks[k] == 0 && values[k] == decides {
					o[k] = 0
				}
			}
		})
	}
	return chain(steps...)
}
