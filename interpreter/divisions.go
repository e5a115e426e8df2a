package interpreter

import (
	"slices"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

// divisions are the operations whose result has no meaning if the second operand is 0: GPUs give what their instructions happen to leave.
var divisions = []string{"arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.ceildivsi", "arith.ceildivui", "arith.floordivsi"}

// divided marks the results of divisions by zero; nil where there are none. Only what uses such a result is a finding: lanes that a mask or
// tl.where leaves out later may divide by anything.
func (c *compiler) divided(op *ttir.Op, out *slot) step {
	if c.m.with.checks&check.Divisions == 0 || !slices.Contains(divisions, op.Name) {
		return nil
	}
	result := c.slots[op.Results[0]]
	return typedAs(result.t, bits1, i64, notTaken).zeroDivisors(c, op, result, out)
}

func (typedOf[T]) zeroDivisors(c *compiler, op *ttir.Op, result, out *slot) step {
	by := c.slots[op.Operands[1]]
	if by.constant && !slices.Contains(dataOf[T](by), 0) {
		return nil
	}
	list, fill := operand[T](c, by, result.shape)
	marks, mark, m := dataOf[bit](out), c.originOf("the divisor is 0", check.DivisionByZero), c.m
	c.named(result.t)
	all := places(result)
	run := chain(fill, func() {
		if !slices.Contains(list, 0) {
			return
		}
		m.divided[mark] = slices.Index(all, int32(slices.Index(list, 0)))
		for i, v := range list {
			if v == 0 {
				marks[i] = mark
			}
		}
		*out.some = true
	})
	if result.constant { // which is computed once
		run()
		return nil
	}
	return run
}
