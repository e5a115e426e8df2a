package interpreter

import (
	"fmt"
	"maps"
	"runtime/debug"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

// compiler makes the steps of one function, or of a region that is executed for several elements at once.
type compiler struct {
	m        *machine
	f        *ttir.Function
	slots    []*slot // by number of the value
	lanes    int     // scalars of the region have so many elements: see fold.go; 0 elsewhere
	block    *block
	op       *ttir.Op
	result   *function
	memory   *int // bytes of all values
	busy     map[*ttir.Function]bool
	quiet    bool                // in a region that combines elements: see observe.go
	point    *Point              // of the operation, for an observer
	marking  bool                // the operation is compiled for marks: see marks.go
	deciding bool                // in the region that decides whether a loop goes on
	uses     map[ttir.Value]bool // values of the function that an operation uses; nil if nothing has asked

	within *ttir.Op // whose region it is; nil in a function's body
}

// notCompiled is why a kernel cannot be run.
type notCompiled struct {
	text   string
	always bool // whether or not the operation is reached
}

func (e *notCompiled) Error() string { return e.text }

func failure(format string, args ...any) *notCompiled {
	return &notCompiled{text: fmt.Sprintf(format, args...)}
}

// maxMemory bounds the values of one program instance.
const maxMemory = 1 << 30

// compile returns a machine for a kernel.
func compile(module *ttir.Module, kernel *ttir.Function, with features) (m *machine, err error) {
	m = &machine{module: module, kernel: kernel, with: with, functions: map[*ttir.Function]*function{}, shapes: map[*ttir.Op][]int{}, divided: map[bit]int{}}
	c := &compiler{m: m, memory: new(int), busy: map[*ttir.Function]bool{}}
	defer func() {
		if r := recover(); r != nil {
			m, err = nil, c.failed(kernel, r)
		}
	}()
	m.main = c.function(kernel)
	m.findLines()
	compact(m.blocks)
	m.bytes = *c.memory
	return m, nil
}

// position is the operation that a panic of the compiler is about.
type position struct {
	op    *ttir.Op
	cause any
}

func (c *compiler) failed(kernel *ttir.Function, r any) error {
	at, ok := r.(*position)
	if !ok {
		at = &position{nil, r}
	}
	name, where := "tt.func", ""
	if at.op != nil {
		name, where = at.op.Name, fmt.Sprintf(" at line %d of the TTIR", at.op.Line)
		if frames := c.m.module.Frames(at.op); len(frames) > 0 {
			where = fmt.Sprintf(" at %s:%d (line %d of the TTIR)", frames[0].File, frames[0].Line, at.op.Line)
		}
	}
	if f, ok := at.cause.(*notCompiled); ok {
		return fmt.Errorf("%s cannot be run: %s%s: %s", kernel.Name, name, where, f.text)
	}
	return fmt.Errorf("the interpreter failed in %s: %s%s: %v\n%s", kernel.Name, name, where, at.cause, debug.Stack())
}

// room counts memory that values need.
func (c *compiler) room(n int) {
	if *c.memory += n; n < 0 || *c.memory > maxMemory || *c.memory < 0 {
		panic(failure("the values of one program instance need more than %d bytes", maxMemory))
	}
}

// maxElements bounds tensors; Triton's own bound is 1<<20.
const maxElements = 1 << 22

// perStep is how many elements count as one operation of MaxSteps.
const perStep = 1024

func (c *compiler) function(f *ttir.Function) *function {
	if done := c.m.functions[f]; done != nil {
		return done
	}
	if c.busy[f] {
		panic(failure("%s calls itself", f.Name))
	}
	if len(f.Body.Blocks) == 0 {
		panic(failure("%s has no body", f.Name))
	}
	c.busy[f] = true
	inner := &compiler{m: c.m, f: f, slots: make([]*slot, len(f.Values)), memory: c.memory, busy: c.busy, result: &function{}}
	for _, a := range f.Arguments {
		s := inner.declare(a.Value)
		if f == c.m.kernel {
			s.marks = [layers]*slot{}
		}
		inner.result.arguments = append(inner.result.arguments, s)
	}
	for _, t := range f.Results {
		inner.result.results = append(inner.result.results, inner.make(t, dims(t)))
	}
	inner.result.body = inner.region(&f.Body, inner.result.arguments)
	c.m.functions[f] = inner.result
	return inner.result
}

// make returns a slot for a stored shape.
func (c *compiler) make(t *ttir.Type, shape []int) *slot {
	k := classOf(t)
	if k == noClass {
		if t == nil {
			panic(failure("the type of a value is not known"))
		}
		panic(failure("values of %s are not supported", t.Text))
	}
	if t.Elements() > maxElements {
		panic(failure("%s has more than %d elements", t.Text, maxElements))
	}
	n := ttir.Count(shape)
	c.room(n * sizeOf(k))
	s := &slot{t: t, shape: shape, data: makeData(k, n)}
	s.root = s
	c.mark(s)
	return s
}

// full is the shape in which a value of a type has all of its elements.
func (c *compiler) full(t *ttir.Type) []int {
	if t.Kind == ttir.TensorType {
		return dims(t)
	}
	if c.lanes > 0 {
		return []int{c.lanes}
	}
	return nil
}

// declare makes the slot of a value that is set from elsewhere: an argument.
func (c *compiler) declare(v ttir.Value) *slot {
	t := c.f.Type(v)
	if t == nil {
		panic(failure("the type of %%%s is not known", c.f.Values[v].Name))
	}
	c.slots[v] = c.make(t, c.full(t))
	return c.slots[v]
}

// use returns an operand.
func (c *compiler) use(n int) *slot {
	s := c.optional(n)
	if s == nil {
		panic(failure("the operand %d is missing", n))
	}
	return s
}

func (c *compiler) optional(n int) *slot {
	v := c.op.Operand(n)
	if v == ttir.NoValue {
		return nil
	}
	return c.value(v)
}

func (c *compiler) value(v ttir.Value) *slot {
	s := c.passed(v)
	if s.data == nil {
		panic(failure("%%%s comes from an operation that is not supported", c.f.Values[v].Name))
	}
	return s
}

// passed is a value that may come from an operation that is not supported: its slot has no data then.
func (c *compiler) passed(v ttir.Value) *slot {
	if s := c.slots[v]; s != nil {
		s.ask()
		return s
	}
	panic(failure("%%%s is used before it is set", c.f.Values[v].Name))
}

func (c *compiler) values(list []ttir.Value) []*slot {
	slots := make([]*slot, len(list))
	for i, v := range list {
		slots[i] = c.passed(v)
	}
	return slots
}

// resultType is the type of a result.
func (c *compiler) resultType(n int) *ttir.Type {
	if n >= len(c.op.Results) || c.f.Type(c.op.Results[n]) == nil {
		panic(failure("the result %d is missing, or its type", n))
	}
	if c.marking {
		return c.markType(c.f.Type(c.op.Results[n]))
	}
	return c.f.Type(c.op.Results[n])
}

// define makes the slot of a result.
func (c *compiler) define(n int, shape []int) *slot {
	s := c.make(c.resultType(n), shape)
	c.slots[c.op.Results[n]] = s
	return s
}

// alias makes a result that shares the elements of an operand.
func (c *compiler) alias(of *slot, shape []int) step {
	t := c.resultType(0)
	if classOf(t) != classOf(of.t) {
		panic(failure("%s is used as %s", of.t.Text, t.Text))
	}
	if ttir.Count(shape) != of.len() {
		panic(failure("%s does not turn into %s", of.t.Text, t.Text))
	}
	c.slots[c.op.Results[0]] = &slot{t: t, shape: shape, data: of.data, root: of.root, constant: of.constant, late: of.late, some: of.some}
	c.aliasMarks(c.slots[c.op.Results[0]], of)
	return nil
}

// pure ends an operation without effects: if all operands are constant it is executed now.
func (c *compiler) pure(out *slot, run step, operands ...*slot) step {
	for _, o := range operands {
		if !o.constant {
			return run
		}
	}
	if out.constant = true; run != nil {
		run()
	}
	return nil
}

// region compiles the blocks of a region. Arguments are those of the first block.
func (c *compiler) region(r *ttir.Region, arguments []*slot) []*block {
	outer, op, within := c.block, c.op, c.within
	defer func() { c.block, c.op, c.within = outer, op, within }()
	c.within = op
	blocks := make([]*block, len(r.Blocks))
	for i := range r.Blocks {
		blocks[i] = &block{}
		c.m.blocks = append(c.m.blocks, blocks[i])
		for k, v := range r.Blocks[i].Arguments {
			if i == 0 && arguments != nil {
				if k >= len(arguments) {
					panic(failure("a block has too many arguments"))
				}
				c.slots[v] = arguments[k]
			} else {
				c.declare(v)
			}
			blocks[i].arguments = append(blocks[i].arguments, c.slots[v])
			blocks[i].values = append(blocks[i].values, v)
		}
	}
	for _, s := range arguments {
		if s.line != nil { // of a loop: its elements are made at the beginning of each turn, if they are needed
			s.late = &late{out: s, block: blocks[0], at: len(blocks[0].steps)}
			blocks[0].steps = append(blocks[0].steps, nil)
		}
	}
	for _, i := range orderOf(r) {
		b := &r.Blocks[i]
		c.block = blocks[i]
		if c.block.cost = int64(len(b.Ops)) + 1; len(b.Ops) > 0 {
			c.block.first = &b.Ops[0]
		}
		for k := range b.Ops {
			c.operation(&b.Ops[k], blocks)
		}
	}
	return blocks
}

// orderOf is the order in which blocks are compiled: those that can be reached, each after one that leads to it.
func orderOf(r *ttir.Region) (order []int) {
	seen := make([]bool, len(r.Blocks))
	order, seen[0] = []int{0}, true
	for i := 0; i < len(order); i++ {
		ops := r.Blocks[order[i]].Ops
		if len(ops) == 0 {
			continue
		}
		for _, s := range ops[len(ops)-1].Successors {
			if !seen[s.Block] {
				seen[s.Block] = true
				order = append(order, s.Block)
			}
		}
	}
	return order
}

// operation compiles one operation. One that cannot be executed fails when it is reached, which may be never.
func (c *compiler) operation(op *ttir.Op, blocks []*block) {
	c.op = op
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *position:
			panic(r)
		case *notCompiled:
			if r.always {
				panic(&position{op, r})
			}
			c.refuse(op, r)
		default:
			panic(&position{op, r})
		}
	}()
	c.point = nil
	if c.m.with.observed && !c.quiet {
		point := c.observed(op)
		c.point = point
		defer func() { point.Results = c.resultsOf(op) }()
	}
	if silent[op.Name] && len(op.Results) == 0 {
		return
	}
	if !op.Known() {
		panic(failure("the operation is not known"))
	}
	build := builders[op.Name]
	if build == nil {
		if c.ending(op, blocks) {
			return
		}
		panic(failure("the operation is not supported"))
	}
	if s := c.sink(op); s != nil {
		c.block.steps = append(c.block.steps, s)
	}
	at := len(c.block.costs)
	c.block.costs = append(c.block.costs, cost{op: op})
	if s := build(c); s != nil {
		c.block.steps = append(c.block.steps, s)
	}
	c.op = op
	for _, v := range op.Results {
		if c.slots[v] == nil {
			panic(failure("its result is not set"))
		}
		c.block.cost += int64(c.slots[v].len() / perStep)
	}
	if s := c.follow(op); s != nil {
		c.block.steps = append(c.block.steps, s)
	}
	if s := c.hinted(op); s != nil {
		c.block.steps = append(c.block.steps, s)
	}
	if t := c.flops(op); t.flops > 0 {
		c.block.costs[at] = t
	}
}

// refuse makes a step that ends the launch with what is wrong with an operation, and slots for its results, which nothing will read.
func (c *compiler) refuse(op *ttir.Op, why *notCompiled) {
	m := c.m
	fail := func() { panic(m.finding(op, check.NotSupported, why.text, 0)) }
	c.block.steps = append(c.block.steps, fail)
	for _, v := range op.Results {
		if c.slots[v] == nil {
			c.slots[v] = &slot{t: c.f.Type(v)}
			c.slots[v].root = c.slots[v]
		}
	}
}

// silent are operations that have no meaning for values; not all of them are TTIR's.
var silent = map[string]bool{"gpu.barrier": true, "ttg.barrier": true, "ttg.local_barrier": true, "tt.grid_dependency_wait": true, "tt.grid_dependency_launch_dependents": true}

// chain is steps one after another; some may be nil.
func chain(list ...step) step {
	kept := list[:0]
	for _, s := range list {
		if s != nil {
			kept = append(kept, s)
		}
	}
	switch len(kept) {
	case 0:
		return nil
	case 1:
		return kept[0]
	case 2:
		a, b := kept[0], kept[1]
		return func() { a(); b() }
	case 3:
		a, b, c := kept[0], kept[1], kept[2]
		return func() { a(); b(); c() }
	}
	return func() {
		for _, s := range kept {
			s()
		}
	}
}

// builders make the step of an operation, by its name. A nil step has nothing to do.
var builders = map[string]func(c *compiler) step{}

// register adds operations; files do so when the program starts, since operations with regions compile others.
func register(list map[string]func(c *compiler) step) { maps.Copy(builders, list) }
