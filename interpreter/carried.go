package interpreter

import (
	"fmt"

	"github.com/goproton/goproton/triton/ttir"
)

// movingLines are the values of a loop that have a line in each turn: that before the loop, moved by the same distance for all elements.
func (c *compiler) movingLines(op *ttir.Op, carried []*slot) []bool {
	moving := make([]bool, len(carried))
	end := last(&op.Regions[0], "scf.yield")
	if end == nil || len(end.Operands) != len(carried) || !c.lined() {
		return moving
	}
	for i, s := range carried {
		v := op.Operands[3+i]
		if v < 0 || c.slots[v] == nil || c.lineOf(c.slots[v]) == nil || !c.moves(&op.Regions[0].Blocks[0], end.Operands[i], op.Regions[0].Blocks[0].Arguments[i+1]) {
			continue
		}
		first := c.slots[v]
		moving[i] = true
		s.shape = first.shape
		s.line = combined(s, first)
		s.data = makeData(classOf(s.t), first.len())
		s.marks = [layers]*slot{}
		c.mark(s)
	}
	return moving
}

// moves says whether a value is an argument of the block to which numbers are added that are the same for all elements.
func (c *compiler) moves(b *ttir.Block, v, argument ttir.Value) bool {
	made := map[ttir.Value]*ttir.Op{}
	for i := range b.Ops {
		for _, r := range b.Ops[i].Results {
			made[r] = &b.Ops[i]
		}
	}
	for range b.Ops {
		if v == argument {
			return true
		}
		op := made[v]
		if op == nil || op.Name != "tt.addptr" && op.Name != "arith.addi" || len(op.Operands) != 2 {
			return false
		}
		by := op.Operands[1]
		if k := classOf(c.f.Type(by)); k != i32 && k != i64 {
			return false
		}
		if how := made[by]; how != nil {
			if how.Name != "tt.splat" && (how.Name != "arith.constant" || !uniform(how)) {
				return false
			}
		} else if s := c.slots[by]; s == nil || s.len() != 1 || c.lineOf(s) == nil {
			return false
		}
		v = op.Operands[0]
	}
	return false
}

// uniform says whether a constant has the same number for all elements.
func uniform(op *ttir.Op) bool {
	a := op.Attribute("value")
	if a == nil || a.Kind != ttir.Dense {
		return false
	}
	list, err := a.Elements()
	return err == nil && len(list) == 1
}

// passedOn copies values into those of a loop. Of moving ones, their lines are copied, and their elements only if the line does not hold.
func (c *compiler) passedOn(carried []*slot, from []ttir.Value, moving []bool) step {
	if len(carried) != len(from) {
		panic(failure("%d values are passed on, and %d are needed", len(from), len(carried)))
	}
	var to, values, all []*slot
	var lines []step
	all = make([]*slot, len(carried))
	for i, s := range carried {
		v := c.slots[from[i]]
		if !moving[i] || v != nil && v.data == nil { // of an operation that is not supported, which ends the launch before
			to, values = append(to, s), append(values, c.passed(from[i]))
			all[i] = s // see transfer
			continue
		}
		all[i] = v
		if v == nil || c.lineOf(v) == nil {
			panic(fmt.Errorf("a value of the loop has no line"))
		}
		move := c.moverIn(s, v)
		lines = append(lines, func() {
			if s.line.take(v.line); !s.line.ok {
				v.ensure()
				move()
			}
		})
	}
	return chain(append(lines, c.transfer(to, values), c.moveMarks(carried, all))...)
}

// moverIn copies elements between slots that are stored in the same shape.
func (c *compiler) moverIn(to, from *slot) step {
	if ttir.Count(to.shape) != ttir.Count(from.shape) {
		panic(failure("a value of the loop changes its shape"))
	}
	if to == from {
		return func() {}
	}
	return c.mover(to, from)
}

// afterLoop is what a moving value is behind the loop.
func (c *compiler) afterLoop(s *slot) *slot {
	out := &slot{t: s.t, shape: s.shape, data: s.data, marks: s.marks}
	out.root, out.line = out, combined(out, s)
	c.later(out, func() { out.line.take(s.line) }, nil)
	return out
}
