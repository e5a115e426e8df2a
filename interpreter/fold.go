package interpreter

import (
	"slices"

	"github.com/goproton/goproton/triton/ttir"
)

func init() {
	register(map[string]func(c *compiler) step{"tt.reduce": reduce, "tt.scan": scan, "tt.map_elementwise": mapElements})
}

// vectorized says whether a region can be executed for many elements at once: it has one block and no control flow.
func vectorized(r *ttir.Region) bool {
	if len(r.Blocks) != 1 {
		return false
	}
	for i := range r.Blocks[0].Ops {
		op := &r.Blocks[0].Ops[i]
		switch op.Name {
		case "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return", "arith.select", "arith.constant", "ub.poison", "tt.int_to_ptr", "tt.ptr_to_int", "tt.bitcast", "tt.fp_to_fp", "tt.clampf",
			"tt.precise_sqrt", "tt.precise_divf", "tt.mulhiui", "tt.addptr", "tt.extern_elementwise":
			continue
		}
		if len(op.Regions) > 0 || len(op.Name) < 5 || op.Name[:5] != "arith" && op.Name[:5] != "math." {
			return false
		}
	}
	return true
}

// combine is a region with its arguments and results, for so many elements at once.
type combine struct {
	blocks             []*block
	arguments, results []*slot
}

// combiner compiles the region of the operation for n elements at once; 1 for one after another. For each result of the operation, the
// region returns as many values as a pack has.
func (c *compiler) combiner(n, pack int) *combine {
	op, lanes, quiet := c.op, c.lanes, c.quiet
	defer func() { c.op, c.lanes, c.quiet = op, lanes, quiet }()
	if c.lanes, c.quiet = n, true; n == 1 {
		c.lanes = 0
	}
	region := &op.Regions[0]
	k := &combine{}
	for _, v := range region.Blocks[0].Arguments {
		k.arguments = append(k.arguments, c.declare(v))
	}
	k.blocks = c.region(region, k.arguments)
	for _, v := range op.Results {
		for range pack {
			t := c.f.Type(v).Scalar()
			k.results = append(k.results, c.make(t, c.full(t)))
		}
	}
	for i := range region.Blocks {
		ops := region.Blocks[i].Ops
		if len(ops) == 0 || len(ops[len(ops)-1].Successors) > 0 || k.blocks[i].cost == 0 {
			continue
		}
		if s := c.transfer(k.results, c.values(ops[len(ops)-1].Operands)); s != nil {
			k.blocks[i].steps = append(k.blocks[i].steps, s)
		}
	}
	return k
}

// alongAxis is the order in which elements are combined: the places of the first ones along an axis, then those of the second ones.
func alongAxis(outer, n, inner int, backwards bool) []int32 {
	order := make([]int32, 0, outer*n*inner)
	for k := range n {
		if backwards {
			k = n - 1 - k
		}
		for o := range outer {
			for i := range inner {
				order = append(order, int32((o*n+k)*inner+i))
			}
		}
	}
	return order
}

// ordered are the elements of an operand in an order, and what puts them there.
func (c *compiler) ordered(s *slot, order []int32) (*slot, step) {
	all, list := places(s), make([]int32, len(order))
	for i, at := range order {
		list[i] = all[at]
	}
	to := c.make(s.t, dims(s.t))
	return to, reorder(to, s, list)
}

// inOrder makes the result i of elements in an order.
func (c *compiler) inOrder(i int, from *slot, order []int32) step {
	back := make([]int32, len(order))
	for k, at := range order {
		back[at] = int32(k)
	}
	out := c.make(c.resultType(i), dims(c.resultType(i)))
	c.slots[c.op.Results[i]] = out
	return reorder(out, from, back)
}

// lines is how an axis lies in a tensor: outer · length · inner elements.
func lines(shape []int, axis int) (outer, length, inner int) {
	return ttir.Count(shape[:axis]), shape[axis], ttir.Count(shape[axis+1:])
}

// reduce combines the elements along an axis: neighbours first, then their results, as a balanced tree; the odd one at the end of a level
// goes to the next.
func reduce(c *compiler) step {
	op := c.op
	full := dims(c.use(0).t)
	axis := c.axis(len(full))
	outer, n, inner := lines(full, axis)
	if s := c.knownReduction(outer, n, inner); s != nil {
		return s
	}
	rest := outer * inner
	var steps []step
	var now []*slot
	order := alongAxis(outer, n, inner, false)
	for i := range op.Operands {
		to, put := c.ordered(c.use(i), order)
		now, steps = append(now, to), append(steps, put)
	}
	many := vectorized(&op.Regions[0])
	for n > 1 {
		half := n / 2
		next := make([]*slot, len(now))
		lanes := half * rest
		if !many {
			lanes = 1
		}
		k := c.combiner(lanes, 1)
		for i, s := range now {
			next[i] = c.make(s.t, []int{(n + 1) / 2 * rest})
		}
		steps = append(steps, c.level(k, now, next, n, rest, many))
		now, n = next, (n+1)/2
	}
	for i, v := range op.Results {
		t := c.resultType(i)
		s, flat := c.make(t, dims(t)), *now[i]
		flat.shape = s.shape
		steps = append(steps, c.mover(s, &flat))
		c.slots[v] = s
	}
	return chain(steps...)
}

// maxOneByOne bounds how many elements are combined by a region that cannot be executed for many at once.
const maxOneByOne = 1 << 14

// level combines neighbours of n elements.
func (c *compiler) level(k *combine, now, next []*slot, n, rest int, many bool) step {
	var before, later []step
	half := n / 2
	count := len(now)
	m := c.m
	if many {
		for i := range now {
			for side := range 2 {
				list := make([]int32, 0, half*rest)
				for h := range half {
					for r := range rest {
						list = append(list, int32((2*h+side)*rest+r))
					}
				}
				before = append(before, reorder(k.arguments[side*count+i], now[i], list))
			}
			later = append(later, copyPart(next[i], 0, k.results[i], 0, half*rest))
		}
		before = append(before, func() { m.run(k.blocks) })
	} else {
		if half*rest > maxOneByOne {
			panic(failure("a region with control flow combines more than %d elements", maxOneByOne))
		}
		for h := range half {
			for r := range rest {
				for i := range now {
					before = append(before, copyPart(k.arguments[i], 0, now[i], 2*h*rest+r, 1), copyPart(k.arguments[count+i], 0, now[i], (2*h+1)*rest+r, 1))
				}
				before = append(before, func() { m.run(k.blocks) })
				for i := range now {
					before = append(before, copyPart(next[i], h*rest+r, k.results[i], 0, 1))
				}
			}
		}
	}
	if n%2 == 1 {
		for i := range now {
			later = append(later, copyPart(next[i], half*rest, now[i], (n-1)*rest, rest))
		}
	}
	return chain(append(before, later...)...)
}

const notCombined = "%s is not combined"

// copyPart copies n elements of one slot into another.
func copyPart(to *slot, at int, from *slot, start, n int) step {
	return typedAs(to.t, bits1, f64, notCombined).copyPart(to, at, from, start, n)
}

func (typedOf[T]) copyPart(to *slot, at int, from *slot, start, n int) step {
	a, o := dataOf[T](from)[start:start+n], dataOf[T](to)[at:at+n]
	if n == 1 {
		return func() { o[0] = a[0] }
	}
	return func() { copy(o, a) }
}

// reorder fills a slot with elements of another at known places.
func reorder(to, from *slot, places []int32) step {
	return typedAs(to.t, bits1, f64, notCombined).pick(to, from, places)
}

// known is the only operation of a region that combines its two arguments with it; "" if the region does something else.
func known(r *ttir.Region) string {
	if len(r.Blocks) != 1 || len(r.Blocks[0].Ops) != 2 || len(r.Blocks[0].Arguments) != 2 {
		return ""
	}
	op, end, arguments := &r.Blocks[0].Ops[0], &r.Blocks[0].Ops[1], r.Blocks[0].Arguments
	if len(op.Results) != 1 || !slices.Equal(end.Operands, op.Results) || !slices.Equal(op.Operands, arguments) {
		return ""
	}
	return op.Name
}

// combining are the operations of known reductions.
var combining = map[string]bool{
	"arith.addf": true, "arith.mulf": true, "arith.maxnumf": true, "arith.minnumf": true, "arith.maximumf": true, "arith.minimumf": true,
	"arith.addi": true, "arith.muli": true, "arith.andi": true, "arith.ori": true, "arith.xori": true,
	"arith.maxsi": true, "arith.minsi": true, "arith.maxui": true, "arith.minui": true,
}

// withoutKnown is set by tests, which compare with the regions.
var withoutKnown = false

// knownReduction is a reduction with one usual operation; nil for others.
func (c *compiler) knownReduction(outer, n, inner int) step {
	name := known(&c.op.Regions[0])
	if withoutKnown || !combining[name] {
		return nil
	}
	var s step
	switch kind, t := name[6:], c.use(0).t; classOf(t) {
	case f32:
		loop := singles.loops[kind]
		if round := rounded(t); round != nil && (kind == "addf" || kind == "mulf") { // others have a result that is an operand
			exact := loop
			loop = func(o, a, b []float32) {
				exact(o, a, b)
				round(o)
			}
		}
		s = reductionOf(c, loop, outer, n, inner)
	case f64:
		s = reductionOf(c, doubles.loops[kind], outer, n, inner)
	case i32, i64:
		s = integrals[classOf(t)].reduce(c, kind, outer, n, inner)
	}
	if s != nil {
		c.block.costs = append(c.block.costs, c.foldFlops((n-1)*outer*inner))
		c.block.cost += int64(n * outer * inner / 64)
	}
	return s
}

// foldFlops is what the operation of a region does that combines n times.
func (c *compiler) foldFlops(n int) cost {
	k := cost{op: &c.op.Regions[0].Blocks[0].Ops[0]}
	if t := c.use(0).t.Scalar(); t.Kind == ttir.FloatType {
		k.of, k.flops = t.Text, ttir.FloatOperations(k.op.Name)*int64(n)
	}
	return k
}

func (k integralOf[T, U]) reduce(c *compiler, kind string, outer, n, inner int) step {
	return reductionOf(c, k.loops[kind], outer, n, inner)
}

func reductionOf[T any](c *compiler, loop func(o, a, b []T), outer, n, inner int) step {
	if loop == nil {
		return nil
	}
	s := c.use(0)
	a, fill := operand[T](c, s, dims(s.t))
	t := c.resultType(0)
	o := dataOf[T](c.define(0, dims(t)))
	line := n * inner
	work, even, odd := make([]T, line), make([]T, line/2+1), make([]T, line/2+1)
	c.room(2 * line * sizeOf(classOf(t)))
	return chain(fill, func() {
		for i := range outer {
			if inner == 1 {
				o[i] = treeOf(loop, a[i*n:(i+1)*n], work, even, odd)
				continue
			}
			left := n
			copy(work, a[i*line:(i+1)*line])
			for left > 1 {
				half := left / 2
				for h := range half {
					loop(work[h*inner:(h+1)*inner], work[2*h*inner:(2*h+1)*inner], work[(2*h+1)*inner:(2*h+2)*inner])
				}
				if left%2 == 1 {
					copy(work[half*inner:(half+1)*inner], work[(left-1)*inner:left*inner])
				}
				left = (left + 1) / 2
			}
			copy(o[i*inner:(i+1)*inner], work)
		}
	})
}

// treeOf combines the elements of one line.
func treeOf[T any](loop func(o, a, b []T), a, work, even, odd []T) T {
	for len(a) > 1 {
		half := len(a) / 2
		x, y := even[:half], odd[:half]
		for h, rest := 0, a; h < len(x) && len(rest) >= 2; h, rest = h+1, rest[2:] {
			x[h], y[h] = rest[0], rest[1]
		}
		last := a[len(a)-1]
		next := work[:(len(a)+1)/2]
		loop(next[:half], x, y)
		if len(a)%2 == 1 {
			next[half] = last
		}
		a = next
	}
	return a[0]
}

// scan combines each element with all before it along an axis, one after another.
func scan(c *compiler) step {
	op := c.op
	full := dims(c.use(0).t)
	axis := c.axis(len(full))
	outer, n, inner := lines(full, axis)
	rest := outer * inner
	backwards := op.Flag("reverse")
	lanes := rest
	if !vectorized(&op.Regions[0]) {
		lanes = 1
	}
	k := c.combiner(lanes, 1)
	var before, later []step
	var sorted []*slot
	order := alongAxis(outer, n, inner, backwards)
	for i := range op.Operands {
		to, put := c.ordered(c.use(i), order)
		sorted, before, later = append(sorted, to), append(before, put), append(later, c.inOrder(i, to, order))
	}
	m := c.m
	var turns []step
	for i, s := range sorted {
		turns = append(turns, typedAs(s.t, bits1, f64, notCombined).scanParts(m, k.arguments[i], k.arguments[len(sorted)+i], k.results[i], s, lanes)...)
	}
	return chain(append(append(before, func() {
		for a := rest; a < n*rest; a += lanes {
			m.scanAt, m.scanBefore = a, a-rest
			for i := 0; i < len(turns); i += 2 {
				turns[i]()
			}
			m.run(k.blocks)
			for i := 1; i < len(turns); i += 2 {
				turns[i]()
			}
		}
	}), later...)...)
}

// scanParts are what comes before and after the region for one operand: the elements at scanBefore and scanAt are its arguments, and its
// result takes the place of the latter.
func (typedOf[T]) scanParts(m *machine, left, right, result, s *slot, lanes int) []step {
	a, x, y, o := dataOf[T](s), dataOf[T](left), dataOf[T](right), dataOf[T](result)
	return []step{func() {
		copy(x, a[m.scanBefore:m.scanBefore+lanes])
		copy(y, a[m.scanAt:m.scanAt+lanes])
	}, func() { copy(a[m.scanAt:m.scanAt+lanes], o) }}
}

func mapElements(c *compiler) step {
	op := c.op
	packed := op.Attribute("pack")
	if packed == nil || packed.Int < 1 {
		panic(failure("it has no pack"))
	}
	pack, n := int(packed.Int), int(c.use(0).t.Elements())
	if n%pack != 0 {
		panic(failure("%d elements are not packs of %d", n, pack))
	}
	groups := n / pack
	lanes := groups
	if !vectorized(&op.Regions[0]) {
		lanes = 1
	}
	k := c.combiner(lanes, pack)
	var steps, later []step
	m := c.m
	var inputs, outputs []*slot
	order := alongAxis(groups, pack, 1, false)
	for i := range op.Operands {
		to, put := c.ordered(c.use(i), order)
		inputs, steps = append(inputs, to), append(steps, put)
	}
	for i := range op.Results {
		sorted := c.make(c.resultType(i), dims(c.resultType(i)))
		outputs, later = append(outputs, sorted), append(later, c.inOrder(i, sorted, order))
	}
	if groups/lanes > maxOneByOne {
		panic(failure("a region with control flow is executed for more than %d elements", maxOneByOne))
	}
	for at := 0; at < groups; at += lanes {
		for i, s := range inputs {
			for p := range pack {
				steps = append(steps, copyPart(k.arguments[i*pack+p], 0, s, p*groups+at, lanes))
			}
		}
		steps = append(steps, func() { m.run(k.blocks) })
		for i, s := range outputs {
			for p := range pack {
				steps = append(steps, copyPart(s, p*groups+at, k.results[i*pack+p], 0, lanes))
			}
		}
	}
	return chain(append(steps, later...)...)
}
