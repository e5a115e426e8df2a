package interpreter

import (
	"bytes"
	"math"
	"slices"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

func init() {
	register(map[string]func(c *compiler) step{
		"tt.make_tensor_descriptor": makeDescriptor, "tt.make_tensor_ptr": makeBlock, "tt.advance": advance,
		"tt.descriptor_load": loadWindow, "tt.descriptor_store": storeWindow, "tt.experimental_descriptor_load": loadWindow, "tt.experimental_descriptor_store": storeWindow,
		"tt.descriptor_reduce": reduceWindow, "tt.descriptor_gather": gatherRows, "tt.descriptor_scatter": scatterRows,
	})
}

// window is a descriptor, or a block pointer: a tensor in memory, and where a block of it begins. Strides are in elements.
type window struct {
	base                    int64
	shape, strides, offsets []int64
	nan                     bool // elements outside are NaN, and not 0
}

// numbersOf reads scalars as int64 when the operation is executed.
func (c *compiler) numbersOf(list []ttir.Value) func() []int64 {
	var get []func() int64
	for _, s := range c.values(list) {
		if s.len() != 1 {
			panic(failure("%s is not a scalar", s.t.Text))
		}
		switch a := s.data.(type) {
		case []int64:
			get = append(get, func() int64 { return a[0] })
		case []int32:
			get = append(get, func() int64 { return int64(a[0]) })
		default:
			panic(failure("%s is not a place", s.t.Text))
		}
	}
	return func() []int64 {
		list := make([]int64, len(get))
		for i, f := range get {
			list[i] = f()
		}
		return list
	}
}

func makeDescriptor(c *compiler) step {
	base := dataOf[int64](c.use(0))
	shape, strides := c.numbersOf(c.op.List(0)), c.numbersOf(c.op.List(1))
	rank := len(c.op.List(0))
	out := dataOf[window](c.define(0, nil))
	nan := c.op.Keyword("padding", "zero") == "nan"
	if rank != len(c.op.List(1)) || rank != len(c.resultType(0).Shape) {
		panic(failure("shape and strides differ in their number of dimensions"))
	}
	return func() { out[0] = window{base[0], shape(), strides(), make([]int64, rank), nan} }
}

func makeBlock(c *compiler) step {
	base := dataOf[int64](c.use(0))
	shape, strides, offsets := c.numbersOf(c.op.List(0)), c.numbersOf(c.op.List(1)), c.numbersOf(c.op.List(2))
	out := dataOf[window](c.define(0, nil))
	return func() { out[0] = window{base[0], shape(), strides(), offsets(), false} }
}

func advance(c *compiler) step {
	from, by := dataOf[window](c.use(0)), c.numbersOf(c.op.Operands[1:])
	out := dataOf[window](c.define(0, nil))
	return func() {
		w := from[0]
		w.offsets = slices.Clone(w.offsets)
		for i, n := range by() {
			w.offsets[i] += n
		}
		out[0] = w
	}
}

// blockOf is the addresses of a window's elements, and which are inside of the tensor.
type blockOf struct {
	m         *machine
	op        *ttir.Op
	shape     []int
	size      int64
	addresses []int64
	inside    []bit
	checked   []bool // which dimensions are compared with the tensor's
}

func (c *compiler) blockOf(t *ttir.Type, checked func(dim int) bool) *blockOf {
	b := &blockOf{m: c.m, op: c.op, size: int64(max(1, t.Element.Bits/8))}
	for _, n := range t.Shape {
		b.checked = append(b.checked, checked(len(b.shape)))
		b.shape = append(b.shape, int(n))
	}
	n := ttir.Count(b.shape)
	c.room(n * 9)
	b.addresses, b.inside = make([]int64, n), make([]bit, n)
	return b
}

func everyDimension(int) bool { return true }

// set computes the addresses of the block of a window at offsets.
func (b *blockOf) set(w *window, offsets []int64) {
	rank := len(b.shape)
	if len(w.shape) != rank || len(offsets) != rank {
		panic(b.m.finding(b.op, check.Descriptor, "the descriptor has another number of dimensions", 0))
	}
	b.fill(w, offsets, 0, 0, w.base, 1)
}

func (b *blockOf) fill(w *window, offsets []int64, dim, at int, address int64, inside bit) int {
	if dim == len(b.shape) {
		b.addresses[at], b.inside[at] = address, inside
		return at + 1
	}
	for i := range b.shape[dim] {
		k := offsets[dim] + int64(i)
		in := inside
		if b.checked[dim] && (k < 0 || k >= w.shape[dim]) {
			in = 0
		}
		at = b.fill(w, offsets, dim+1, at, address+k*w.strides[dim]*b.size, in)
	}
	return at
}

// boundary are the dimensions that a block pointer's access checks.
func (c *compiler) boundary() func(dim int) bool {
	a := c.op.Attribute("boundaryCheck")
	return func(dim int) bool { return a != nil && slices.Contains(a.Ints, int64(dim)) }
}

func loadBlock(c *compiler) step {
	w := dataOf[window](c.use(0))
	b := c.blockOf(c.use(0).t.Pointee(), c.boundary())
	nan := c.op.Keyword("padding", "") == "nan"
	return c.loadInto(b, func() { b.set(&w[0], w[0].offsets) }, func() bool { return nan })
}

func storeBlock(c *compiler) step {
	w := dataOf[window](c.use(0))
	b := c.blockOf(c.use(0).t.Pointee(), c.boundary())
	return c.storeFrom(b, c.use(1), func() { b.set(&w[0], w[0].offsets) })
}

func loadWindow(c *compiler) step {
	w := dataOf[window](c.use(0))
	b := c.blockOf(c.use(0).t, everyDimension)
	offsets := c.numbersOf(c.op.Operands[1:])
	return c.loadInto(b, func() { b.set(&w[0], offsets()) }, func() bool { return w[0].nan })
}

func storeWindow(c *compiler) step {
	w := dataOf[window](c.use(0))
	b := c.blockOf(c.use(0).t, everyDimension)
	offsets := c.numbersOf(c.op.Operands[2:])
	return c.storeFrom(b, c.use(1), func() { b.set(&w[0], offsets()) })
}

// rowsOf sets the addresses of rows of one tensor, which need not be neighbours.
func (b *blockOf) rowsOf(w *window, rows []int64, column int64) {
	if len(w.shape) != 2 {
		panic(b.m.finding(b.op, check.Descriptor, "the descriptor has another number of dimensions", 0))
	}
	at := 0
	for _, r := range rows {
		for i := range b.shape[1] {
			k := column + int64(i)
			b.addresses[at] = w.base + (r*w.strides[0]+k*w.strides[1])*b.size
			b.inside[at] = truth(r >= 0 && r < w.shape[0] && k >= 0 && k < w.shape[1])
			at++
		}
	}
}

func gatherRows(c *compiler) step {
	w := dataOf[window](c.use(0))
	rows, fill := c.indices(c.use(1))
	column := c.numbersOf(c.op.Operands[2:3])
	b := c.blockOf(c.resultType(0), everyDimension)
	return chain(fill, c.loadInto(b, func() { b.rowsOf(&w[0], rows, column()[0]) }, func() bool { return w[0].nan }))
}

func scatterRows(c *compiler) step {
	w := dataOf[window](c.use(0))
	rows, fill := c.indices(c.use(1))
	column := c.numbersOf(c.op.Operands[2:3])
	b := c.blockOf(c.use(3).t, everyDimension)
	return chain(fill, c.storeFrom(b, c.use(3), func() { b.rowsOf(&w[0], rows, column()[0]) }))
}

// loadInto loads a block into the result, which may lack leading dimensions of 1.
func (c *compiler) loadInto(b *blockOf, set step, nan func() bool) step {
	t := c.resultType(0)
	if t.Elements() != int64(len(b.addresses)) {
		panic(failure("%s is not a window of the descriptor", t.Text))
	}
	return typedAs(t, bits1, f64, notGiven).loadInto(c, b, set, nan)
}

func (typedOf[T]) loadInto(c *compiler, b *blockOf, set step, nan func() bool) step {
	t := c.resultType(0)
	o := dataOf[T](c.define(0, dims(t)))
	padding := make([]T, 1) // where the descriptor asks for NaN, which integers have not
	switch p := any(padding).(type) {
	case []float32:
		p[0] = valueOf(t.Scalar().Float, quietNaN[t.Scalar().Float])
	case []float64:
		p[0] = math.NaN()
	}
	a := &accessor[T]{c.m, c.access(t, loading), codecOf[T](t)}
	use := c.touching(a.site, b.addresses, func(from, to int, raw []byte) { a.get(o[from:to], raw) })
	watch := c.watch(a.site, &accessOf{shape: dims(t), addresses: b.addresses, masks: b.inside, padded: true})
	return func() {
		if set(); nan() {
			fillOf(o, padding[0])
		} else {
			clear(o)
		}
		watch.before(false)
		a.runs(b.addresses, b.inside, use)
		watch.loaded(false)
	}
}

func (c *compiler) storeFrom(b *blockOf, v *slot, set step) step {
	if v.t.Elements() != int64(len(b.addresses)) {
		panic(failure("%s is not a window of the descriptor", v.t.Text))
	}
	return typedAs(v.t, bits1, f64, notTaken).storeFrom(c, b, v, set)
}

func (typedOf[T]) storeFrom(c *compiler, b *blockOf, v *slot, set step) step {
	values, fill := operand[T](c, v, dims(v.t))
	a := &accessor[T]{c.m, c.access(v.t, storing), codecOf[T](v.t)}
	use := c.touching(a.site, b.addresses, func(from, to int, raw []byte) { a.put(raw, values[from:to]) })
	watch := c.watch(a.site, &accessOf{value: v, shape: dims(v.t), addresses: b.addresses, masks: b.inside, put: func(raw []byte, from, to int) { a.put(raw, values[from:to]) }})
	return chain(fill, set, func() {
		watch.before(false)
		a.runs(b.addresses, b.inside, use)
		watch.after()
	})
}

// reduceWindow is an atomic operation on each element of a window. Whether max and min have a sign is in the descriptor's type.
func reduceWindow(c *compiler) step {
	kind := c.op.Keyword("kind", "")
	t := c.use(1).t
	if e := c.use(0).t.Element; e.Unsigned && (kind == "max" || kind == "min") {
		kind = "u" + kind
	}
	switch classOf(t) {
	case i32:
		return reduceWindowOf(c, atomicInteger[int32, uint32](kind))
	case i64:
		return reduceWindowOf(c, atomicInteger[int64, uint64](kind))
	case f32:
		return reduceWindowOf(c, atomicFloat32(kind, t))
	case f64:
		return reduceWindowOf(c, atomicFloat(kind, func(x float64) float64 { return x }))
	}
	panic(failure("it does not take %s", t.Text))
}

func reduceWindowOf[T any](c *compiler, f func(old, v T) T) step {
	w, v := dataOf[window](c.use(0)), c.use(1)
	b := c.blockOf(c.use(0).t, everyDimension)
	offsets := c.numbersOf(c.op.Operands[2:])
	values, fill := operand[T](c, v, dims(v.t))
	s, k, m := c.access(v.t, changing), codecOf[T](v.t), c.m
	if len(values) != len(b.addresses) {
		panic(failure("%s is not a window of the descriptor", v.t.Text))
	}
	watch := c.watch(s, &accessOf{value: v, shape: dims(v.t), addresses: b.addresses, masks: b.inside})
	return chain(fill, func() {
		b.set(&w[0], offsets())
		m.memory.atomics.Lock()
		defer m.memory.atomics.Unlock()
		watch.before(false)
		one, before := make([]T, 1), make([]byte, k.size)
		for i, address := range b.addresses {
			if b.inside[i] == 0 {
				continue
			}
			raw := m.atomicBytes(s, address, k.size, i)
			copy(before, raw)
			k.get(one, raw)
			one[0] = f(one[0], values[i])
			if k.put(raw, one); !bytes.Equal(before, raw) {
				m.progress++ // an instance that does this does not wait
			}
			s.counts.active++
		}
		watch.after()
		s.counts.operations++
		s.counts.lanes += int64(len(values))
	})
}
