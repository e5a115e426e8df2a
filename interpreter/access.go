package interpreter

import (
	"bytes"
	"math"
	"runtime"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

func init() {
	register(map[string]func(c *compiler) step{"tt.load": load, "tt.store": store, "tt.atomic_rmw": atomic, "tt.atomic_cas": compareAndSwap,
		"tt.atomic_load": loadAtomically, "tt.atomic_store": storeAtomically, "tt.atomic_poll": poll})
}

// accessor is one operation that accesses memory.
type accessor[T any] struct {
	m    *machine
	site *site
	codec[T]
}

func (c *compiler) access(t *ttir.Type, kind accessKind) *site {
	s := &site{op: c.op, number: len(c.m.sites), size: max(1, t.Scalar().Bits/8), kind: kind, watched: c.m.with.touched}
	c.m.sites = append(c.m.sites, s)
	c.named(c.peek(0).t)
	return s
}

// runs calls use for runs of elements that are neighbours in memory, without those that the mask leaves out.
func (a *accessor[T]) runs(addresses []int64, mask []bit, use func(from, to int, raw []byte)) {
	size := int64(a.size)
	n := len(addresses)
	active := 0
	for i := 0; i < n; {
		if mask != nil && mask[i] == 0 {
			i++
			continue
		}
		start := addresses[i]
		next, j := start+size, i+1
		if mask == nil {
			for j < n && addresses[j] == next {
				next += size
				j++
			}
		} else {
			for j < n && addresses[j] == next && mask[j] != 0 {
				next += size
				j++
			}
		}
		raw := a.m.memory.bytes(start, int(next-start))
		if raw == nil {
			a.outside(addresses, i, j, use)
		} else {
			use(i, j, raw)
		}
		active += j - i
		i = j
	}
	a.site.counts.operations++
	a.site.counts.lanes += int64(n)
	a.site.counts.active += int64(active)
}

// outside reports the first element that is in no buffer: it is read as 0, and not written. Neighbours may cross from one range of addresses
// into another.
func (a *accessor[T]) outside(addresses []int64, from, to int, use func(from, to int, raw []byte)) {
	reported := false
	for i := from; i < to; i++ {
		raw := a.m.memory.bytes(addresses[i], a.size)
		if raw == nil {
			if !reported {
				a.m.bad(a.site, addresses[i], i)
			}
			reported, raw = true, make([]byte, a.size) // it is not kept
		}
		use(i, i+1, raw)
	}
}

// named has findings of the operation name an element by its dimensions: those of a type, or of the block that it points to.
func (c *compiler) named(t *ttir.Type) {
	if to := t.Pointee(); to != nil && to.Kind == ttir.TensorType {
		t = to
	}
	shape := []int{}
	for _, n := range t.Shape {
		shape = append(shape, int(n))
	}
	c.m.shapes[c.op] = shape
}

func (m *machine) bad(s *site, address int64, lane int) {
	m.report(m.accessFinding(s, check.OutOfBounds, s.kind.String()+" of "+m.memory.describe(address, s.size), address, lane))
}

// accessFinding is a finding of an access at an address.
func (m *machine) accessFinding(s *site, kind, text string, address int64, lane int) *Finding {
	f := m.finding(s.op, kind, text, lane)
	f.Access = s.kind.String()
	if b, _ := m.memory.find(address); b != nil {
		f.Buffer = b.Name
	}
	return f
}

func load(c *compiler) step {
	if to := c.peek(0).t.Pointee(); to == nil {
		panic(failure("%s is not a pointer", c.use(0).t.Text))
	} else if to.Kind == ttir.TensorType {
		return loadBlock(c)
	}
	return typedAs(c.resultType(0), bits1, f64, notGiven).load(c)
}

func (typedOf[T]) load(c *compiler) step {
	p, t := c.peek(0), c.resultType(0)
	shape := p.shape
	mask, other := c.maskOf(1), c.optional(2)
	if mask != nil {
		shape = join(shape, mask.shape)
	}
	if other != nil {
		shape = join(shape, other.shape)
	}
	var masks []bit
	var others []T
	var fillMask, fillOther step
	if mask != nil {
		masks, fillMask = operand[bit](c, mask, shape)
	}
	if other != nil {
		others, fillOther = operand[T](c, other, shape)
	}
	addresses, fill := operand[int64](c, p, shape)
	o := dataOf[T](c.define(0, shape))
	a := &accessor[T]{c.m, c.access(t, loading), codecOf[T](t)}
	times := t.Elements() / int64(max(len(o), 1)) // elements that are equal are loaded once
	get := a.get
	use := c.touching(a.site, addresses, func(from, to int, raw []byte) { get(o[from:to], raw) })
	fill = chain(fill, fillMask)
	rows := c.rowsOf(p, mask, shape, a.site)
	watch := c.watch(a.site, &accessOf{p: p, mask: mask, other: other, shape: shape, addresses: addresses, masks: masks, fill: fill, rows: rows})
	m, polls := c.m, c.polls()
	if polls {
		asked(nil, p, mask)
	}
	return chain(fillOther, func() {
		simple := rows.set() && !polls
		switch {
		case simple && rows.all:
		case others != nil:
			copy(o, others)
		case masks != nil:
			clear(o)
		}
		before := a.site.counts
		if !simple {
			elements(p, mask, fill)
		}
		watch.before(simple)
		if simple {
			readRows(rows, o, a.codec)
		} else {
			a.runs(addresses, masks, use)
		}
		watch.loaded(simple)
		if polls {
			m.polled(a.site, addresses, masks, false)
		}
		if times > 1 {
			a.site.counts.lanes += (a.site.counts.lanes - before.lanes) * (times - 1)
			a.site.counts.active += (a.site.counts.active - before.active) * (times - 1)
		}
	})
}

func store(c *compiler) step {
	if to := c.peek(0).t.Pointee(); to == nil {
		panic(failure("%s is not a pointer", c.use(0).t.Text))
	} else if to.Kind == ttir.TensorType {
		return storeBlock(c)
	}
	return typedAs(c.use(1).t, bits1, f64, notTaken).store(c)
}

func (typedOf[T]) store(c *compiler) step {
	p, v := c.peek(0), c.use(1)
	shape := dims(p.t)
	addresses, fill := operand[int64](c, p, shape)
	values, fillValues := operand[T](c, v, shape)
	var masks []bit
	mask := c.maskOf(2)
	if mask != nil {
		var fillMask step
		masks, fillMask = operand[bit](c, mask, shape)
		fill = chain(fill, fillMask)
	}
	a := &accessor[T]{c.m, c.access(v.t, storing), codecOf[T](v.t)}
	put := a.put
	use := c.touching(a.site, addresses, func(from, to int, raw []byte) { put(raw, values[from:to]) })
	rows := c.rowsOf(p, mask, shape, a.site)
	watch := c.watch(a.site, &accessOf{p: p, mask: mask, value: v, shape: shape, addresses: addresses, masks: masks, fill: fill, rows: rows, put: func(raw []byte, from, to int) { put(raw, values[from:to]) }})
	return chain(fillValues, func() {
		simple := rows.set()
		if !simple {
			elements(p, mask, fill)
		}
		watch.before(simple)
		if simple {
			writeRows(rows, values, a.codec)
		} else {
			a.runs(addresses, masks, use)
		}
		watch.after()
	})
}

// maskOf is an operand that says which elements take part; nil for all. Its elements are not asked for.
func (c *compiler) maskOf(n int) *slot {
	if c.op.Operand(n) == ttir.NoValue {
		return nil
	}
	return c.peek(n)
}

// elements makes the addresses and the mask of an access that has no line.
func elements(p, mask *slot, fill step) {
	if p.ensure(); mask != nil {
		mask.ensure()
	}
	if fill != nil {
		fill()
	}
}

// mask returns an operand that says which elements take part; nil for all.
func (c *compiler) mask(n int, shape []int) ([]bit, step) {
	if s := c.optional(n); s != nil {
		return operand[bit](c, s, shape)
	}
	return nil, nil
}

// atomicFloat32 is an operation on floats of 32 bits or fewer, whose results are rounded to the type.
func atomicFloat32(kind string, t *ttir.Type) func(old, v float32) float32 {
	n := narrows[t.Scalar().Float]
	return atomicFloat(kind, func(x float32) float32 {
		if n != nil {
			return n.nearest(x)
		}
		return x
	})
}

func atomic(c *compiler) step {
	kind := c.op.Keyword("atomic_rmw_op", "")
	switch t := c.use(1).t; classOf(t) {
	case bits1:
		return atomicOf(c, atomicBit(kind))
	case f32:
		return atomicOf(c, atomicFloat32(kind, t))
	case f64:
		return atomicOf(c, atomicFloat(kind, func(x float64) float64 { return x }))
	default:
		return integralAs(t, notTaken).atomic(c, kind)
	}
}

func (integralOf[T, U]) atomic(c *compiler, kind string) step {
	return atomicOf(c, atomicInteger[T, U](kind))
}

func atomicBit(kind string) func(old, v bit) bit {
	switch kind {
	case "and", "umin", "max": // true is -1
		return func(old, v bit) bit { return old & v }
	case "or", "umax", "min":
		return func(old, v bit) bit { return old | v }
	case "xor", "add":
		return func(old, v bit) bit { return old ^ v }
	case "exch":
		return second[bit]
	}
	panic(failure("the atomic operation %s is not supported", kind))
}

func atomicInteger[T signed, U unsigned](kind string) func(old, v T) T {
	switch kind {
	case "add":
		return func(old, v T) T { return old + v }
	case "and":
		return func(old, v T) T { return old & v }
	case "or":
		return func(old, v T) T { return old | v }
	case "xor":
		return func(old, v T) T { return old ^ v }
	case "max":
		return func(old, v T) T { return max(old, v) }
	case "min":
		return func(old, v T) T { return min(old, v) }
	case "umax":
		return func(old, v T) T { return T(max(U(old), U(v))) }
	case "umin":
		return func(old, v T) T { return T(min(U(old), U(v))) }
	case "exch":
		return func(_, v T) T { return v }
	}
	panic(failure("the atomic operation %s is not supported", kind))
}

func atomicFloat[T float](kind string, round func(T) T) func(old, v T) T {
	switch kind {
	case "fadd", "add":
		return func(old, v T) T { return round(old + v) }
	case "exch":
		return func(_, v T) T { return v }
	case "max":
		return func(old, v T) T { return larger(old, v) }
	case "min":
		return func(old, v T) T { return smaller(old, v) }
	}
	panic(failure("the atomic operation %s is not supported", kind))
}

// atomicOf changes elements one by one, in row-major order, and returns what was there before.
func atomicOf[T any](c *compiler, f func(old, v T) T) step {
	return atomicWith(c, c.use(1), 2, dataOf[T](c.define(0, dims(c.use(0).t))), f)
}

// atomicWith does so with values, or without, and a mask that is an operand. Without f, elements are only read, into o; without o, they are
// not returned.
func atomicWith[T any](c *compiler, v *slot, mask int, o []T, f func(old, v T) T) step {
	p := c.use(0)
	shape := dims(p.t)
	addresses, fill := operand[int64](c, p, shape)
	element, kind := p.t.Pointee(), changing
	var values []T
	var fillValues step
	if v != nil {
		values, fillValues = operand[T](c, v, shape)
	} else {
		kind = loading
	}
	if o == nil {
		kind, o = storing, make([]T, len(addresses))
	}
	masks, fillMask := c.mask(mask, shape)
	s, k, m := c.access(element, kind), codecOf[T](element), c.m
	watch := c.watch(s, &accessOf{p: p, mask: c.optional(mask), value: v, shape: shape, addresses: addresses, masks: masks})
	changed, was := false, [8]byte{}
	return chain(fill, fillValues, fillMask, func() {
		m.memory.atomics.Lock()
		defer m.memory.atomics.Unlock()
		watch.before(false)
		clear(o)
		one := make([]T, 1)
		changed = false
		for i, address := range addresses {
			if masks != nil && masks[i] == 0 {
				continue
			}
			raw := m.atomicBytes(s, address, k.size, i)
			k.get(o[i:i+1], raw)
			if f != nil {
				copy(was[:], raw)
				one[0] = f(o[i], values[i])
				k.put(raw, one)
				changed = changed || !bytes.Equal(raw, was[:len(raw)])
			}
			s.counts.active++
		}
		watch.after()
		s.counts.operations++
		s.counts.lanes += int64(len(o))
	}, func() { m.polled(s, addresses, masks, changed) })
}

func loadAtomically(c *compiler) step {
	return typedAs(c.resultType(0), i8, f64, notGiven).loadAtomically(c)
}

func (typedOf[T]) loadAtomically(c *compiler) step {
	return atomicWith(c, nil, 1, dataOf[T](c.define(0, dims(c.resultType(0)))), nil)
}

func second[T any](_, v T) T { return v }

func storeAtomically(c *compiler) step {
	return typedAs(c.use(1).t, i8, f64, notTaken).storeAtomically(c)
}

func (typedOf[T]) storeAtomically(c *compiler) step {
	return atomicWith(c, c.use(1), 2, nil, second[T])
}

// poll waits until each element has the value that is expected, or for a time.
func poll(c *compiler) step {
	return typedAs(c.use(1).t, i16, i64, notTaken).poll(c)
}

// noMask is an operand that no access has.
const noMask = 1 << 10

// patience is how often an element is read that has a time limit: other instances that run may change it meanwhile.
const patience = 1 << 10

func (typedOf[T]) poll(c *compiler) step {
	p, v := c.use(0), c.use(1)
	shape := dims(p.t)
	expected, fill := operand[T](c, v, shape)
	found := make([]T, len(expected))
	read := atomicWith(c, nil, noMask, found, nil)
	o := dataOf[bit](c.define(0, shape))
	limited := c.optional(2) != nil
	m, op := c.m, c.op
	return chain(fill, func() {
		clear(o)
		for turn := 1; ; turn++ {
			read()
			all := true
			for i, x := range found {
				if x == expected[i] {
					o[i] = 1
				}
				all = all && o[i] != 0
			}
			if all || limited && turn == patience {
				return
			}
			m.wait(op)
		}
	})
}

// wait lets other instances run.
func (m *machine) wait(op *ttir.Op) {
	if m.steps++; m.steps >= m.check {
		m.pause(op)
	}
	runtime.Gosched()
}

func (m *machine) atomicBytes(s *site, address int64, size, lane int) []byte {
	raw := m.memory.bytes(address, size)
	if raw == nil {
		m.bad(s, address, lane)
		return make([]byte, size) // it is not kept
	}
	if s.watched {
		s.touch(m.memory, address, size)
	}
	return raw
}

func compareAndSwap(c *compiler) step {
	return typedAs(c.use(1).t, bits1, f64, notTaken).swap(c)
}

// sameBits compares elements as memory has them: NaN is the same as itself, and -0 is not 0.
func sameBits[T element](a, b T) bool {
	switch a := any(a).(type) {
	case float32:
		return math.Float32bits(a) == math.Float32bits(any(b).(float32))
	case float64:
		return math.Float64bits(a) == math.Float64bits(any(b).(float64))
	}
	return a == b
}

func (typedOf[T]) swap(c *compiler) step {
	p, old, v := c.use(0), c.use(1), c.use(2)
	shape := dims(p.t)
	addresses, fill := operand[int64](c, p, shape)
	expected, fillExpected := operand[T](c, old, shape)
	values, fillValues := operand[T](c, v, shape)
	o := dataOf[T](c.define(0, shape))
	s, k, m := c.access(v.t, changing), codecOf[T](v.t), c.m
	watch := c.watch(s, &accessOf{p: p, value: v, compared: old, shape: shape, addresses: addresses})
	changed := false
	return chain(fill, fillExpected, fillValues, func() {
		m.memory.atomics.Lock()
		defer m.memory.atomics.Unlock()
		watch.before(false)
		changed = false
		for i, address := range addresses {
			raw := m.atomicBytes(s, address, k.size, i)
			k.get(o[i:i+1], raw)
			swap := sameBits(o[i], expected[i])
			if swap {
				k.put(raw, values[i:i+1])
				changed = changed || !sameBits(o[i], values[i])
			}
			watch.swapped(i, swap)
			s.counts.active++
		}
		watch.after()
		s.counts.operations++
		s.counts.lanes += int64(len(o))
	}, func() { m.polled(s, addresses, nil, changed) })
}
