package interpreter

import (
	"slices"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

// followIntegers marks results that wrapped around. Marks end where a program wants only some of the bits: at a remainder, a shift to the
// right, a bit operation, and where integers are taken as unsigned.
func (c *compiler) followIntegers(op *ttir.Op, out []*slot, drop func() step) step {
	chooses := -1 // the operand that only chooses among elements
	switch op.Name {
	case "arith.addi", "arith.subi", "arith.muli", "arith.shli", "arith.trunci", "arith.extsi", "arith.index_cast", "arith.maxsi", "arith.minsi", "tt.addptr", "tt.trans", "tt.reshape", "tt.split",
		"tt.join", "tt.cat", "tt.reduce", "tt.scan":
	case "arith.select":
		chooses = 0
	case "tt.gather":
		chooses = 1
	default:
		return drop()
	}
	in, some := c.marksOfOperands(op, wrapped, chooses)
	over := c.overflow(op, out[0])
	switch {
	case !some && over == nil:
		return drop()
	case !some:
		return chain(out[0].clearMarks, over)
	}
	run := c.combineMarks(op, out, in)
	if run == nil {
		return drop()
	}
	return chain(ifMarked(out, present(in), run), over)
}

// overflow marks the elements of a sum, a difference, a product or a shift that are not what they are in wider integers, and those of a
// shorter integer that lack bits.
func (c *compiler) overflow(op *ttir.Op, out *slot) step {
	result := c.slots[op.Results[0]]
	if result.constant {
		return nil
	}
	switch op.Name {
	case "arith.addi", "arith.subi", "arith.muli", "arith.shli":
		if k := classOf(result.t); k >= i8 && k <= i32 {
			return integrals[k].overflow(c, op, result, out)
		}
	case "arith.trunci":
		from := c.slots[op.Operands[0]]
		if classOf(from.t) != i64 || classOf(result.t) != i32 {
			return nil
		}
		x, o, marks, by := dataOf[int64](from), dataOf[int32](result), dataOf[bit](out), c.originOf("the integer is too large for "+result.t.Scalar().Text, "")
		return func() {
			from.ensure()
			result.ensure()
			for i, v := range x {
				if int64(o[i]) != v && marks[i] == 0 {
					marks[i], *out.some = by, true
				}
			}
		}
	}
	return nil
}

func (integralOf[T, U]) overflow(c *compiler, op *ttir.Op, result, out *slot) step {
	a, b := c.slots[op.Operands[0]], c.slots[op.Operands[1]]
	x, fillX := operand[T](c, a, result.shape)
	y, fillY := operand[T](c, b, result.shape)
	o, marks := dataOf[T](result), dataOf[bit](out)
	wide := map[string]func(a, b int64) int64{"arith.addi": func(a, b int64) int64 { return a + b }, "arith.subi": func(a, b int64) int64 { return a - b },
		"arith.muli": func(a, b int64) int64 { return a * b }, "arith.shli": func(a, b int64) int64 { return a << (uint64(b) & 63) }}[op.Name]
	by := c.originOf("the result is too large for "+result.t.Scalar().Text, "")
	fill := chain(fillX, fillY, func() {})
	return func() {
		if result.line != nil && result.line.exact(result.shape, bitsOf(result)) {
			return
		}
		for _, s := range []*slot{a, b, result} {
			s.ensure()
		}
		fill()
		x, y := x[:len(o)], y[:len(o)]
		for i, v := range o {
			if int64(v) != wide(int64(x[i]), int64(y[i])) && marks[i] == 0 {
				marks[i], *out.some = by, true
			}
		}
	}
}

// followFloats marks results that are NaN or infinite, where the operands are not.
func (c *compiler) followFloats(op *ttir.Op, out []*slot, drop func() step) step {
	if op.Name == "arith.constant" {
		return drop()
	}
	in := make([]*slot, len(op.Operands))
	var fills []step
	for i, v := range op.Operands {
		if v == ttir.NoValue || op.Name == "arith.select" && i == 0 {
			continue
		}
		s := c.slots[v]
		switch x := s.data.(type) {
		case []float32:
			in[i] = c.newMarks(s.t, s.shape)
			fills = append(fills, notFinite(in[i], x, marksOf(s, born)))
		case []float64:
			in[i] = c.newMarks(s.t, s.shape)
			fills = append(fills, notFinite(in[i], x, marksOf(s, born)))
		}
	}
	run := c.combineMarks(op, out, in)
	if run == nil { // of no operand, or by an operation that is not known
		if len(present(in)) > 0 {
			return drop()
		}
		run = func() {}
	}
	aboutNaN, aboutInfinity := bit(0), bit(0)
	if c.m.with.checks&check.NaN != 0 {
		aboutNaN = c.originOf("the result is NaN, and no operand is", check.BirthOfNaN)
	}
	if c.m.with.checks&check.Infinity != 0 {
		aboutInfinity = c.originOf("the result is infinite, and all operands are finite", check.BirthOfInfinity)
	}
	var infinite []func() bool // or NaN
	var later []step
	n := 0
	for _, v := range op.Results {
		s := c.slots[v]
		if s.marks[born] == nil {
			continue
		}
		marks := dataOf[bit](out[n])
		n++
		switch o := s.data.(type) {
		case []float32:
			infinite = append(infinite, func() bool { return !allFinite(o) })
			later = append(later, func() { births(marks, o, aboutNaN, aboutInfinity) })
		case []float64:
			infinite = append(infinite, func() bool { return !allFinite(o) })
			later = append(later, func() { births(marks, o, aboutNaN, aboutInfinity) })
		}
	}
	needed := func() bool { return slices.ContainsFunc(infinite, func(f func() bool) bool { return f() }) }
	return markedWhen(out, needed, chain(append(append(fills, run), later...)...))
}

// allFinite says whether there is neither a NaN nor an infinity.
func allFinite[T float](list []T) bool {
	sum := T(0)
	for _, x := range list {
		sum += x * 0
	}
	return sum == 0
}

// notFinite marks NaN and infinities that have no origin, and those that have one by it.
func notFinite[T float](to *slot, x []T, marks *slot) step {
	o := dataOf[bit](to)
	var have []bit
	if marks != nil {
		have = dataOf[bit](marks)
	}
	return func() {
		for i, v := range x {
			switch {
			case v-v == 0:
				o[i] = 0
			case have != nil && have[i] != 0:
				o[i] = have[i]
			case v != v:
				o[i] = aNaN
			default:
				o[i] = anInfinity
			}
		}
	}
}

// births keeps the marks of results that are not finite, and marks those that come from operands which do not explain them.
func births[T float](marks []bit, o []T, aboutNaN, aboutInfinity bit) {
	for i, v := range o {
		switch m := marks[i]; {
		case v-v == 0, m == aNaN:
			marks[i] = 0
		case v != v && (m == 0 || m == anInfinity):
			marks[i] = aboutNaN
		case m == anInfinity:
			marks[i] = 0
		case m == 0:
			marks[i] = aboutInfinity
		}
	}
}
