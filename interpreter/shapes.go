package interpreter

import (
	"slices"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

func init() {
	register(map[string]func(c *compiler) step{
		"arith.constant": constant, "ub.poison": poison, "arith.select": choose, "tt.make_range": makeRange, "tt.splat": splat, "tt.unsplat": unsplat, "tt.broadcast": broadcast,
		"tt.expand_dims": expand, "tt.reshape": reshape, "tt.trans": transpose, "tt.join": joinTwo, "tt.split": split, "tt.cat": concatenate, "tt.gather": gather,
		"tt.addptr": offset, "tt.histogram": histogram,
	})
}

// ones is a shape of one element.
func ones(rank int) []int {
	if rank == 0 {
		return nil
	}
	shape := make([]int, rank)
	for i := range shape {
		shape[i] = 1
	}
	return shape
}

func constant(c *compiler) step {
	a := c.op.Attribute("value")
	t := c.resultType(0)
	if a == nil {
		panic(failure("it has no value"))
	}
	var patterns []uint64
	switch a.Kind {
	case ttir.Bool:
		patterns = []uint64{uint64(a.Int)}
	case ttir.Integer, ttir.Number:
		patterns = []uint64{a.Bits}
	case ttir.Dense:
		list, err := a.Elements()
		if err != nil {
			panic(failure("%v", err))
		}
		patterns = list
	default:
		panic(failure("the constant %.40s is not supported", a.Text))
	}
	shape := ones(len(dims(t)))
	if len(patterns) > 1 {
		shape = dims(t)
	}
	if len(patterns) != ttir.Count(shape) {
		panic(failure("it has %d elements", len(patterns)))
	}
	s := c.define(0, shape)
	put := bitsInto(s)
	for i := range s.len() {
		put(i, patterns[min(i, len(patterns)-1)])
	}
	s.constant = true
	return nil
}

func poison(c *compiler) step {
	c.define(0, ones(len(dims(c.resultType(0))))).constant = true
	return nil
}

func makeRange(c *compiler) step {
	start := c.op.Attribute("start")
	t := c.resultType(0)
	if start == nil || len(t.Shape) != 1 {
		panic(failure("it has no start"))
	}
	s := c.define(0, dims(t))
	for i, list := 0, dataOf[int32](s); i < len(list); i++ {
		list[i] = int32(start.Int) + int32(i)
	}
	s.constant = true
	return nil
}

func splat(c *compiler) step {
	s := c.use(0)
	if s.len() != 1 {
		panic(failure("it repeats a tensor"))
	}
	c.alias(s, ones(len(c.resultType(0).Shape)))
	c.splatted(c.slots[c.op.Results[0]], s)
	return nil
}

func unsplat(c *compiler) step { return c.alias(c.use(0), nil) }

func broadcast(c *compiler) step {
	s := c.peek(0)
	if len(s.shape) != len(c.resultType(0).Shape) {
		panic(failure("%s does not turn into %s", s.t.Text, c.resultType(0).Text))
	}
	c.alias(s, s.shape)
	out := c.slots[c.op.Results[0]]
	out.line, out.box = s.line, s.box
	return nil
}

func (c *compiler) axis(rank int) int {
	a := c.op.Attribute("axis")
	if a == nil || a.Int < 0 || a.Int >= int64(rank) {
		panic(failure("there is no such dimension"))
	}
	return int(a.Int)
}

func expand(c *compiler) step {
	s := c.peek(0)
	axis := c.axis(len(s.shape) + 1)
	c.alias(s, slices.Insert(slices.Clone(s.shape), axis, 1))
	places := make([]int, len(s.shape))
	for d := range places {
		if places[d] = d; d >= axis {
			places[d]++
		}
	}
	out := c.slots[c.op.Results[0]]
	if c.viewed(out, s, places); out.box == nil && out.line == nil {
		s.ask()
		c.listed(out)
	}
	return nil
}

// picked makes a result whose elements are those of an operand at places that are known now.
func (c *compiler) picked(n int, from *slot, shape []int, places []int32) step {
	out := c.define(n, shape)
	if len(places) != out.len() || classOf(out.t) != classOf(from.t) {
		panic(failure("%s does not turn into %s", from.t.Text, out.t.Text))
	}
	return c.pure(out, reorder(out, from, places), from)
}

func (typedOf[T]) pick(to, from *slot, places []int32) step {
	a, o := dataOf[T](from), dataOf[T](to)
	return func() {
		for i, p := range places {
			o[i] = a[p]
		}
	}
}

// storedAt is where a slot has the element of its type at an index.
func storedAt(s *slot, at []int) int32 {
	place, n := 0, 1
	for i := len(s.shape) - 1; i >= 0; i-- {
		if s.shape[i] != 1 {
			place += at[i] * n
		}
		n *= s.shape[i]
	}
	return int32(place)
}

// places are where a slot has all elements of its type, in row-major order.
func places(s *slot) []int32 {
	list := make([]int32, 0, s.t.Elements())
	ttir.Each(dims(s.t), func(at []int) { list = append(list, storedAt(s, at)) })
	return list
}

func reshape(c *compiler) step {
	s, t := c.use(0), c.resultType(0)
	switch {
	case s.len() == 1:
		return c.alias(s, ones(len(t.Shape)))
	case int64(s.len()) == s.t.Elements():
		return c.alias(s, dims(t))
	}
	return c.picked(0, s, dims(t), places(s))
}

func transpose(c *compiler) step {
	s, order := c.use(0), c.op.Attribute("order")
	if order == nil || len(order.Ints) != len(s.shape) {
		panic(failure("the order of dimensions is missing"))
	}
	shape := make([]int, len(s.shape))
	strides, wide := ttir.Strides(s.shape), 0
	for i, k := range order.Ints {
		if shape[i] = s.shape[k]; shape[i] > 1 {
			wide++
		}
	}
	if wide <= 1 {
		return c.alias(s, shape)
	}
	list := make([]int32, 0, s.len())
	ttir.Each(shape, func(at []int) {
		place := 0
		for i, k := range order.Ints {
			place += at[i] * strides[k]
		}
		list = append(list, int32(place))
	})
	return c.picked(0, s, shape, list)
}

// joinTwo puts elements of two tensors next to each other, along a new last dimension.
func joinTwo(c *compiler) step {
	return c.both(func(i int) (first bool, place int) { return i%2 == 0, i / 2 })
}

// concatenate puts one tensor behind the other.
func concatenate(c *compiler) step {
	half := int(c.use(0).t.Elements())
	return c.both(func(i int) (first bool, place int) { return i < half, i % max(half, 1) })
}

func (c *compiler) both(from func(i int) (first bool, place int)) step {
	a, b := c.use(0), c.use(1)
	out := c.define(0, dims(c.resultType(0)))
	n := out.len()
	left, right := make([]int32, 0, n), make([]int32, 0, n)
	pa, pb := places(a), places(b)
	for i := range n {
		first, k := from(i)
		if first {
			left = append(left, pa[k], int32(i))
		} else {
			right = append(right, pb[k], int32(i))
		}
	}
	return c.pure(out, typedAs(out.t, bits1, f64, notCombined).merge(out, a, b, left, right), a, b)
}

// merge copies elements: lists have where each is, and where it goes.
func (typedOf[T]) merge(to, a, b *slot, left, right []int32) step {
	o, x, y := dataOf[T](to), dataOf[T](a), dataOf[T](b)
	return func() {
		for i := 0; i < len(left); i += 2 {
			o[left[i+1]] = x[left[i]]
		}
		for i := 0; i < len(right); i += 2 {
			o[right[i+1]] = y[right[i]]
		}
	}
}

func split(c *compiler) step {
	s := c.use(0)
	all := places(s)
	var steps []step
	for n := range 2 {
		list := make([]int32, 0, len(all)/2)
		for i := n; i < len(all); i += 2 {
			list = append(list, all[i])
		}
		steps = append(steps, c.picked(n, s, dims(c.resultType(n)), list))
	}
	return chain(steps...)
}

// choose is arith.select; one condition may decide for all elements.
func choose(c *compiler) step {
	if t := c.resultType(0); classOf(t) != windows {
		return typedAs(t, bits1, f64, notTaken).choose(c)
	}
	return chooseOf[window](c)
}

func (typedOf[T]) choose(c *compiler) step { return chooseOf[T](c) }

func chooseOf[T any](c *compiler) step {
	condition, a, b := c.use(0), c.use(1), c.use(2)
	shape := join(a.shape, b.shape)
	if condition.len() > 1 || len(shape) == 0 && c.lanes > 0 {
		shape = join(shape, condition.shape)
	}
	x, fillX := operand[T](c, a, shape)
	y, fillY := operand[T](c, b, shape)
	out := c.define(0, shape)
	o := dataOf[T](out)
	if condition.len() == 1 {
		one := dataOf[bit](condition)
		return c.pure(out, chain(fillX, fillY, func() {
			if one[0] != 0 {
				copy(o, x)
			} else {
				copy(o, y)
			}
		}), condition, a, b)
	}
	mask, fillMask := operand[bit](c, condition, shape)
	return c.pure(out, chain(fillX, fillY, fillMask, func() {
		x, y, mask := x[:len(o)], y[:len(o)], mask[:len(o)]
		for i := range o {
			v := y[i]
			if mask[i] != 0 {
				v = x[i]
			}
			o[i] = v
		}
	}), condition, a, b)
}

// offset adds a number of elements to pointers.
func offset(c *compiler) step {
	size := int64(1)
	if to := c.peek(0).t.Pointee(); to != nil {
		size = int64(max(1, to.Bits/8))
	} else {
		panic(failure("%s is not a pointer", c.use(0).t.Text))
	}
	return integralAs(c.peek(1).t, "it adds %s").offset(c, size)
}

func (integralOf[T, U]) offset(c *compiler, size int64) step {
	a, b := c.peek(0), c.peek(1)
	shape := join(a.shape, b.shape)
	y, fillY := operand[T](c, b, shape)
	out := c.define(0, shape)
	o := dataOf[int64](out)
	if a.len() == 1 {
		base := dataOf[int64](a)
		return c.displaced(chain(fillY, func() {
			p, y := base[0], y[:len(o)]
			for i := range o {
				o[i] = p + int64(y[i])*size
			}
		}), out, a, b, size)
	}
	x, fillX := operand[int64](c, a, shape)
	return c.displaced(chain(fillX, fillY, func() {
		x, y := x[:len(o)], y[:len(o)]
		for i := range o {
			o[i] = x[i] + int64(y[i])*size
		}
	}), out, a, b, size)
}

// indices returns a tensor of integers with all of its elements, as int64.
func (c *compiler) indices(s *slot) ([]int64, step) {
	n := int(s.t.Elements())
	list := make([]int64, n)
	return list, integralAs(s.t, "%s are not indices").widen(list, s, places(s))
}

func (integralOf[T, U]) widen(o []int64, s *slot, at []int32) step {
	a := dataOf[T](s)
	return func() {
		for i, p := range at {
			o[i] = int64(a[p])
		}
	}
}

func gather(c *compiler) step {
	s, by := c.use(0), c.use(1)
	axis := c.axis(len(s.shape))
	list, fill := c.indices(by)
	shape, strides := dims(s.t), ttir.Strides(s.shape)
	stride := strides[axis]
	for i, n := range s.shape {
		if n == 1 {
			strides[i] = 0
		}
	}
	if s.shape[axis] == 1 {
		stride = 0
	}
	starts := make([]int32, 0, len(list))
	ttir.Each(dims(by.t), func(at []int) {
		place := 0
		for i, k := range at {
			if i != axis {
				place += k * strides[i]
			}
		}
		starts = append(starts, int32(place))
	})
	at := make([]int32, len(list))
	m, op, size := c.m, c.op, int64(shape[axis])
	take := c.picked(0, s, dims(c.resultType(0)), at)
	c.slots[op.Results[0]].constant = false
	if take == nil { // of a constant
		s.constant = false
		take = c.picked(0, s, dims(c.resultType(0)), at)
		s.constant = true
	}
	return chain(fill, func() {
		for i, k := range list {
			if k < 0 || k >= size {
				panic(m.finding(op, check.OutOfBounds, "an index of tt.gather is outside of the tensor", i))
			}
			at[i] = starts[i] + int32(k)*int32(stride)
		}
	}, take)
}

func histogram(c *compiler) step {
	list, fill := c.indices(c.use(0))
	out := c.define(0, dims(c.resultType(0)))
	var mask []bit
	var fillMask step
	if s := c.optional(1); s != nil {
		mask, fillMask = operand[bit](c, s, dims(c.use(0).t))
	}
	bins, ok := out.data.([]int32)
	wide, _ := out.data.([]int64)
	if !ok && wide == nil {
		panic(failure("it does not give %s", out.t.Text))
	}
	return chain(fill, fillMask, func() {
		clear(bins)
		clear(wide)
		for i, k := range list {
			if mask != nil && mask[i] == 0 || k < 0 {
				continue
			}
			if k < int64(len(bins)) {
				bins[k]++
			} else if k < int64(len(wide)) {
				wide[k]++
			}
		}
	})
}
