package interpreter

import (
	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

func init() {
	register(map[string]func(c *compiler) step{
		"scf.for": loop, "scf.if": branch, "scf.while": while, "scf.execute_region": execute, "tt.call": call,
	})
}

// transfer copies values into others at the same time: what is overwritten by one copy is read by another as it was before.
func (c *compiler) transfer(to, from []*slot) step {
	if len(to) != len(from) {
		panic(failure("%d values are passed on, and %d are needed", len(from), len(to)))
	}
	written := map[*slot]bool{}
	for _, s := range to {
		written[s.root] = true
	}
	var first, last []step
	for i := range to {
		if from[i].root == to[i].root && from[i].len() == to[i].len() && from[i] == to[i] {
			continue
		}
		source := from[i]
		if written[source.root] && len(to) > 1 || source.root == to[i].root {
			kept := c.make(source.t, source.shape)
			first = append(first, c.mover(kept, source))
			source = kept
		}
		last = append(last, c.mover(to[i], source))
	}
	return chain(append(append(first, last...), c.moveMarks(to, from))...)
}

// ending compiles the last operation of a block, and says whether it is one.
func (c *compiler) ending(op *ttir.Op, blocks []*block) bool {
	switch op.Name {
	case "scf.condition":
		c.decides("whether the loop goes on")
		c.block.end = func() int { return -1 }
		if len(blocks) == 1 {
			c.block.end = nil
		}
	case "scf.yield", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return":
		c.block.end = func() int { return -1 } // the operation around it reads the values
		if len(blocks) == 1 {
			c.block.end = nil
		}
	case "tt.return":
		if s := c.transfer(c.result.results, c.values(op.Operands)); s != nil {
			c.block.steps = append(c.block.steps, s)
		}
		if len(blocks) > 1 {
			c.block.end = func() int { return -1 }
		}
	case "cf.br":
		to, run := c.jump(&op.Successors[0], blocks)
		c.block.end = func() int { run(); return to }
	case "cf.cond_br":
		c.decides("which branch is taken")
		condition := c.condition()
		to, run := c.jump(&op.Successors[0], blocks)
		other, otherwise := c.jump(&op.Successors[1], blocks)
		c.block.end = func() int {
			if condition[0] != 0 {
				run()
				return to
			}
			otherwise()
			return other
		}
	default:
		return false
	}
	return true
}

func (c *compiler) jump(s *ttir.Successor, blocks []*block) (int, step) {
	run := c.transfer(blocks[s.Block].arguments, c.values(s.Arguments))
	if run == nil {
		run = func() {}
	}
	return s.Block, run
}

// condition is the scalar of i1 that decides.
func (c *compiler) condition() []bit {
	s := c.use(0)
	list, ok := s.data.([]bit)
	if !ok || len(list) != 1 {
		panic(failure("the condition is %s", s.t.Text))
	}
	return list
}

// last is the operation that ends a region of one block; nil if the text leaves it out.
func last(r *ttir.Region, names ...string) *ttir.Op {
	if len(r.Blocks) != 1 {
		panic(failure("its region has %d blocks", len(r.Blocks)))
	}
	ops := r.Blocks[0].Ops
	if len(ops) == 0 {
		return nil
	}
	op := &ops[len(ops)-1]
	for _, n := range names {
		if op.Name == n {
			return op
		}
	}
	return nil
}

// yielded are the values that the end of a region passes on.
func (c *compiler) yielded(r *ttir.Region) []*slot {
	if op := last(r, "scf.yield"); op != nil {
		return c.values(op.Operands)
	}
	return nil
}

// defineAll makes the slots of all results.
func (c *compiler) defineAll() (results []*slot) {
	for i := range c.op.Results {
		results = append(results, c.define(i, c.full(c.resultType(i))))
	}
	return results
}

// after adds a step to the end of a region's only block.
func after(blocks []*block, s step) {
	if s != nil {
		blocks[0].steps = append(blocks[0].steps, s)
	}
}

func loop(c *compiler) step {
	op := c.op
	if len(op.Regions) != 1 || len(op.Operands) < 3 {
		panic(failure("it has no body"))
	}
	low, high, by := c.use(0), c.use(1), c.use(2)
	body := &op.Regions[0]
	var counter *slot
	var carried []*slot
	for i, v := range body.Blocks[0].Arguments {
		if s := c.declare(v); i == 0 {
			counter = s
		} else {
			carried = append(carried, s)
		}
	}
	if c.lanes > 0 {
		panic(failure("a loop in this place is not supported"))
	}
	if len(carried) != len(op.Operands)-3 || len(carried) != len(op.Results) {
		panic(failure("%d values are passed on, and %d are needed", len(op.Operands)-3, len(carried)))
	}
	moving := c.movingLines(op, carried)
	enter := c.passedOn(carried, op.Operands[3:], moving)
	blocks := c.region(body, append([]*slot{counter}, carried...))
	var next []ttir.Value
	if end := last(body, "scf.yield"); end != nil {
		next = end.Operands
	}
	after(blocks, c.passedOn(carried, next, moving))
	unsigned := op.Attribute("unsignedCmp") != nil
	m := c.m
	turns := integralAs(counter.t, "it counts in %s").turns(m, op, counter, low, high, by, blocks, unsigned)
	c.block.steps = append(c.block.steps, chain(enter, turns))
	for i, v := range op.Results {
		if c.slots[v] = carried[i]; moving[i] {
			c.slots[v] = c.afterLoop(carried[i])
		}
	}
	return nil
}

func (integralOf[T, U]) turns(m *machine, op *ttir.Op, counter, low, high, by *slot, blocks []*block, unsigned bool) step {
	i, from, to, step := counter.data.([]T), low.data.([]T), high.data.([]T), by.data.([]T)
	less := func(a, b T) bool { return a < b }
	if unsigned {
		less = func(a, b T) bool { return U(a) < U(b) }
	}
	return func() {
		n, end, d := from[0], to[0], step[0]
		if !unsigned && d <= 0 || d == 0 {
			panic(m.finding(op, check.Loop, "the step of a loop is not positive", 0))
		}
		for less(n, end) {
			i[0] = n
			m.run(blocks)
			if n += d; less(n, n-d) { // it wrapped around
				return
			}
		}
	}
}

func branch(c *compiler) step {
	op := c.op
	condition := c.condition()
	results := c.defineAll()
	sides := [2][]*block{}
	for i := range op.Regions {
		sides[i] = c.region(&op.Regions[i], nil)
		after(sides[i], c.transfer(results, c.yielded(&op.Regions[i])))
	}
	m, then, otherwise := c.m, sides[0], sides[1]
	return func() {
		if condition[0] != 0 {
			m.run(then)
		} else if otherwise != nil {
			m.run(otherwise)
		}
	}
}

func while(c *compiler) step {
	op := c.op
	var before, passed []*slot
	for _, v := range op.Regions[0].Blocks[0].Arguments {
		before = append(before, c.declare(v))
	}
	enter := c.transfer(before, c.values(op.Operands))
	deciding := c.deciding
	c.deciding = true
	decide := c.region(&op.Regions[0], before)
	c.deciding = deciding
	end := last(&op.Regions[0], "scf.condition")
	if end == nil {
		panic(failure("nothing decides when it ends"))
	}
	c.op = end
	condition := c.condition()
	for _, v := range op.Regions[1].Blocks[0].Arguments {
		passed = append(passed, c.declare(v))
	}
	after(decide, c.transfer(passed, c.values(end.Operands[1:])))
	body := c.region(&op.Regions[1], passed)
	c.op = op
	after(body, c.transfer(before, c.yielded(&op.Regions[1])))
	for i, v := range op.Results {
		c.slots[v] = passed[i]
	}
	m := c.m
	return chain(enter, func() {
		for m.run(decide); condition[0] != 0; m.run(decide) {
			m.run(body)
		}
	})
}

// execute runs a region once, which may have several blocks.
func execute(c *compiler) step {
	op := c.op
	results := c.defineAll()
	region := &op.Regions[0]
	blocks := c.region(region, nil)
	for i := range region.Blocks {
		ops := region.Blocks[i].Ops
		if n := len(ops); n > 0 && ops[n-1].Name == "scf.yield" && blocks[i].cost > 0 {
			if s := c.transfer(results, c.values(ops[n-1].Operands)); s != nil {
				blocks[i].steps = append(blocks[i].steps, s)
			}
		}
	}
	m := c.m
	return func() { m.run(blocks) }
}

func call(c *compiler) step {
	callee := c.m.module.Function(c.op.Keyword("callee", ""))
	if callee == nil {
		panic(failure("the function that it calls is not in the module"))
	}
	operands := c.values(c.op.Operands)
	f := c.function(callee)
	enter := c.transfer(f.arguments, operands)
	m := c.m
	results := c.defineAll()
	before, run, later := c.calling(callee, func() { m.run(f.body) })
	return chain(enter, before, run, c.transfer(results, f.results), later)
}
