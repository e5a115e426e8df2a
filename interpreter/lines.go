package interpreter

import (
	"math"
	"slices"
)

// A kernel computes addresses and masks of tensors, and most of them are simple: element (i, j) is base + i·step + j·step. A line is this
// form; it is computed instead of the elements, which are made where something else needs them. A box is the same for masks.

// line is the elements of a tensor of i32, i64 or pointers: base and a part for each dimension of the stored shape, modulo the type's size.
type line struct {
	ok    bool // whether it holds in this turn; if not, the elements have to be made
	base  int64
	parts []part
}

// part is what the index of a dimension adds: index · step, or an entry of a list.
type part struct {
	step int64
	list []int64
}

func (p *part) at(i int) int64 {
	if p.list != nil {
		return p.list[i]
	}
	return p.step * int64(i)
}

// box is the elements of a mask: those are true whose index is from from to to (excluded) in each dimension of the stored shape.
type box struct {
	ok       bool
	from, to []int
}

// late is an operation that is executed where its elements are needed.
type late struct {
	out      *slot
	run      step // the operation itself
	operands []*slot
	asked    bool // something always needs the elements: they are made in the operation's place
	block    *block
	at       int // in the steps of the block
}

// withoutLines is set by tests, which compare.
var withoutLines = false

// lined says whether lines are used here: not where the elements of all values are looked at. Checks ask for those that they need.
func (c *compiler) lined() bool {
	with := c.m.with
	with.touched, with.checks = false, 0
	return !withoutLines && c.lanes == 0 && with == features{}
}

// ask says that the elements of a value are needed.
func (s *slot) ask() {
	if l := s.late; l != nil && !l.asked {
		l.asked = true
		l.block.steps[l.at] = l.make
	}
}

// asked says that an operation needs the elements of its operands, of which some may be nil: it is not put off.
func asked(run step, operands ...*slot) step {
	for _, s := range operands {
		if s != nil {
			s.ask()
		}
	}
	return run
}

// ensure makes the elements now, if they are not made in their place.
func (s *slot) ensure() {
	if l := s.late; l != nil && !l.asked {
		l.make()
	}
}

func (l *late) make() {
	switch s := l.out; {
	case s.line != nil && s.line.ok:
		s.line.fill(s)
	case s.box != nil && s.box.ok:
		s.box.fill(dataOf[bit](s), s.shape)
	default:
		for _, o := range l.operands {
			o.ensure()
		}
		if l.run != nil {
			l.run()
		}
	}
}

// later puts an operation off: set computes its line or box, and run its elements.
func (c *compiler) later(out *slot, set, run step, operands ...*slot) step {
	if set != nil {
		c.block.steps = append(c.block.steps, set)
	}
	out.late = &late{out: out, run: run, operands: operands, block: c.block, at: len(c.block.steps)}
	c.block.steps = append(c.block.steps, nil)
	return nil
}

// compact removes the places of operations that nothing needs.
func compact(blocks []*block) {
	for _, b := range blocks {
		kept := b.steps[:0]
		for _, s := range b.steps {
			if s != nil {
				kept = append(kept, s)
			}
		}
		b.steps = kept
	}
}

// peek is an operand whose elements are not asked for.
func (c *compiler) peek(n int) *slot {
	v := c.op.Operand(n)
	if v < 0 || c.slots[v] == nil || c.slots[v].data == nil {
		return c.use(n)
	}
	return c.slots[v]
}

// lineOf is the line of a value; nil if it has none.
func (c *compiler) lineOf(s *slot) *line {
	if !c.lined() || len(s.shape) == 0 {
		return nil
	}
	if s.line != nil || !s.constant {
		return s.line
	}
	switch a := s.data.(type) {
	case []int32:
		s.line = lineOfConstant(a, s.shape)
	case []int64:
		s.line = lineOfConstant(a, s.shape)
	}
	return s.line
}

func lineOfConstant[T int32 | int64](a []T, shape []int) *line {
	l := newLine(shape)
	l.ok, l.base = true, int64(a[0])
	for d, n := range shape {
		if n == len(a) && n > 1 {
			l.parts[d].step = int64(a[1]) - int64(a[0])
		} else if n != 1 {
			return nil
		}
	}
	for i, v := range a {
		if len(a) > 1 && int64(v) != l.base+int64(i)*(int64(a[1])-l.base) {
			return nil
		}
	}
	return l
}

func newLine(shape []int) *line { return &line{parts: make([]part, len(shape))} }

// fill makes the elements.
func (l *line) fill(s *slot) {
	switch o := s.data.(type) {
	case []int32:
		fillLine(o, l.base, l.parts, s.shape)
	case []int64:
		fillLine(o, l.base, l.parts, s.shape)
	}
}

func fillLine[T int32 | int64](o []T, base int64, parts []part, shape []int) {
	if len(shape) > 1 {
		n := len(o) / shape[0]
		for i := range shape[0] {
			fillLine(o[i*n:(i+1)*n], base+parts[0].at(i), parts[1:], shape[1:])
		}
		return
	}
	p := &parts[0]
	if p.list != nil {
		for i, v := range p.list[:len(o)] {
			o[i] = T(base + v)
		}
		return
	}
	v, step := T(base), T(p.step)
	for i := range o {
		o[i] = v
		v += step
	}
}

// combined returns the line of a result whose parts are those of operands, of which some have lists.
func combined(out *slot, operands ...*slot) *line {
	l := newLine(out.shape)
	for d, n := range out.shape {
		for _, s := range operands {
			if s.shape[d] > 1 && s.line.parts[d].list != nil && l.parts[d].list == nil {
				l.parts[d].list = make([]int64, n)
			}
		}
	}
	return l
}

// sum sets l to a + b·by.
func (l *line) sum(a, b *line, by int64) {
	l.ok, l.base = a.ok && b.ok, a.base+b.base*by
	for d := range l.parts {
		p, x, y := &l.parts[d], &a.parts[d], &b.parts[d]
		if p.list == nil {
			p.step = x.step + y.step*by
			continue
		}
		if len(x.list) == len(p.list) && y.list == nil && y.step == 0 {
			copy(p.list, x.list)
			continue
		}
		for i := range p.list {
			p.list[i] = x.at(i) + y.at(i)*by
		}
	}
}

// product sets l to a · k.
func (l *line) product(a *line, k int64, ok bool) {
	l.ok, l.base = a.ok && ok, a.base*k
	for d := range l.parts {
		p, x := &l.parts[d], &a.parts[d]
		p.step = x.step * k
		for i := range p.list {
			p.list[i] = x.list[i] * k
		}
	}
}

// copied sets l to a, whose parts may be in other places.
func (l *line) copied(a *line, places []int) {
	l.ok, l.base = a.ok, a.base
	for d, to := range places {
		l.parts[to] = a.parts[d]
	}
}

const farthest = 1 << 61

// least returns the least number of the line as numbers of a signed type; false if an element is not in the type's range,
// so that the elements are others than the sums.
func (l *line) least(shape []int, bits int) (low int64, ok bool) {
	if bits == 32 {
		l.base = int64(int32(l.base))
	}
	if l.base > farthest || l.base < -farthest {
		return 0, false
	}
	low, high := l.base, l.base
	for d, n := range shape {
		p := &l.parts[d]
		switch {
		case p.list != nil:
			least, most := int64(math.MaxInt64), int64(math.MinInt64)
			for i, v := range p.list {
				if bits == 32 {
					v = int64(int32(v))
					p.list[i] = v
				}
				least, most = min(least, v), max(most, v)
			}
			if least < -farthest || most > farthest {
				return 0, false
			}
			low, high = low+least, high+most
		case n > 1:
			if bits == 32 {
				p.step = int64(int32(p.step))
			}
			if p.step > farthest/maxElements || p.step < -farthest/maxElements {
				return 0, false
			}
			if end := p.step * int64(n-1); end > 0 {
				high += end
			} else {
				low += end
			}
		}
	}
	if bits == 32 {
		return low, low >= math.MinInt32 && high <= math.MaxInt32
	}
	return low, low >= -farthest && high <= farthest
}

// exact says whether no element has wrapped around, if none of the operands' has.
func (l *line) exact(shape []int, bits int) bool {
	least, most := int64(-1)<<(bits-1), int64(1)<<(bits-1)-1
	low, high := l.base, l.base
	for d, n := range shape {
		if low < least || high > most {
			return false
		}
		p := &l.parts[d]
		first, last := p.at(0), p.at(n-1)
		if p.list != nil {
			first, last = slices.Min(p.list), slices.Max(p.list)
		}
		low, high = low+min(first, last), high+max(first, last)
	}
	return l.ok && low >= least && high <= most
}

// simplified puts off an operation on two tensors if the result has a line or a box.
func (c *compiler) simplified(run step, out, a, b *slot) step {
	switch c.op.Name {
	case "arith.addi":
		return c.summed(run, out, a, b, 1)
	case "arith.subi":
		return c.summed(run, out, a, b, -1)
	case "arith.muli":
		return c.scaled(run, out, a, b)
	case "arith.cmpi":
		return c.compared(run, out, a, b, c.op.Keyword("predicate", ""))
	case "arith.andi":
		return c.intersected(run, out, a, b)
	}
	return asked(run, a, b)
}

func bitsOf(s *slot) int { return 8 * sizeOf(classOf(s.t)) }

// summed puts off a sum, or a difference: by is -1.
func (c *compiler) summed(run step, out, a, b *slot, by int64) step {
	x, y := c.lineOf(a), c.lineOf(b)
	if x == nil || y == nil || out.constant || len(a.shape) != len(b.shape) {
		return asked(run, a, b)
	}
	l := combined(out, a, b)
	out.line = l
	return c.later(out, func() { l.sum(x, y, by) }, run, a, b)
}

// scaled puts off a product with a number that is the same for all elements.
func (c *compiler) scaled(run step, out, a, b *slot) step {
	if b.len() != 1 {
		a, b = b, a
	}
	x, y := c.lineOf(a), c.lineOf(b)
	if x == nil || y == nil || out.constant || b.len() != 1 || len(a.shape) != len(b.shape) {
		return asked(run, a, b)
	}
	l := combined(out, a)
	out.line = l
	return c.later(out, func() { l.product(x, y.base, y.ok) }, run, a, b)
}

// displaced puts off the addition of so many elements to addresses.
func (c *compiler) displaced(run step, out, a, b *slot, size int64) step {
	x, y := c.lineOf(a), c.lineOf(b)
	if x == nil || y == nil || len(a.shape) != len(b.shape) {
		return asked(run, a, b)
	}
	l, wide, bits := combined(out, a, b), combined(b, b), bitsOf(b)
	out.line = l
	set := func() { l.sum(x, y, size) }
	if bits == 32 {
		set = func() {
			wide.take(y)
			_, fits := wide.least(b.shape, 32)
			l.sum(x, wide, size)
			l.ok = l.ok && fits
		}
	}
	return c.later(out, set, run, a, b)
}

// take copies a line of the same shape, with its lists.
func (l *line) take(a *line) {
	l.ok, l.base = a.ok, a.base
	for d := range l.parts {
		l.parts[d].step = a.parts[d].step
		copy(l.parts[d].list, a.parts[d].list)
	}
}

// extended puts off a conversion of i32 to i64.
func (c *compiler) extended(run step, out, a *slot, isUnsigned bool) step {
	x := c.lineOf(a)
	if x == nil || out.constant || bitsOf(out) != 64 || bitsOf(a) != 32 {
		return asked(run, a)
	}
	l := combined(out, a)
	out.line = l
	return c.later(out, func() {
		l.take(x)
		low, fits := l.least(out.shape, 32)
		l.ok = l.ok && fits && (!isUnsigned || low >= 0)
	}, run, a)
}

// viewed gives the line or the box of an operand to a result that has the same elements, whose dimensions are in other places.
func (c *compiler) viewed(out, of *slot, places []int) {
	out.late = of.late
	switch {
	case !c.lined():
	case c.lineOf(of) != nil:
		l, x := newLine(out.shape), of.line
		if out.line = l; of.constant {
			l.copied(x, places)
		} else {
			c.block.steps = append(c.block.steps, func() { l.copied(x, places) })
		}
	case of.box != nil:
		b, x := newBox(out.shape), of.box
		out.box = b
		c.block.steps = append(c.block.steps, func() {
			b.ok = x.ok
			for d, to := range places {
				b.from[to], b.to[to] = x.from[d], x.to[d]
			}
		})
	}
}

// splatted gives a line to a scalar that is repeated.
func (c *compiler) splatted(out, s *slot) {
	if !c.lined() || len(out.shape) == 0 {
		return
	}
	switch a := s.data.(type) {
	case []int32:
		out.line = lineOfScalar(c, out, s, a)
	case []int64:
		out.line = lineOfScalar(c, out, s, a)
	case []bit:
		b := newBox(out.shape)
		out.box = b
		c.block.steps = append(c.block.steps, func() { b.ok, b.to[0] = true, int(a[0]) })
	}
}

func lineOfScalar[T int32 | int64](c *compiler, out, s *slot, a []T) *line {
	l := newLine(out.shape)
	if l.ok, l.base = true, int64(a[0]); !s.constant {
		c.block.steps = append(c.block.steps, func() { l.base = int64(a[0]) })
	}
	return l
}

// listed gives a line to a tensor of several dimensions that has one row or column, whatever its elements are.
func (c *compiler) listed(out *slot) {
	if !c.lined() || out.line != nil || len(out.shape) < 2 || out.constant {
		return
	}
	for d, n := range out.shape {
		if n == 1 || n != out.len() {
			continue
		}
		l := newLine(out.shape)
		list := make([]int64, n)
		l.ok, l.parts[d].list = true, list
		var set step
		switch a := out.data.(type) {
		case []int32:
			set = func() { widenList(list, a) }
		case []int64:
			set = func() { copy(list, a) }
		default:
			return
		}
		out.line = l
		c.block.steps = append(c.block.steps, set)
	}
}

func widenList(o []int64, a []int32) {
	for i, v := range a[:len(o)] {
		o[i] = int64(v)
	}
}

func newBox(shape []int) *box {
	return &box{from: make([]int, len(shape)), to: slices.Clone(shape)}
}

func (b *box) fill(o []bit, shape []int) {
	if len(shape) > 1 {
		n := len(o) / shape[0]
		for i := range shape[0] {
			row := o[i*n : (i+1)*n]
			if i < b.from[0] || i >= b.to[0] {
				clear(row)
				continue
			}
			(&box{true, b.from[1:], b.to[1:]}).fill(row, shape[1:])
		}
		return
	}
	clear(o)
	if b.from[0] < b.to[0] {
		fillOf(o[b.from[0]:b.to[0]], 1)
	}
}

// compared puts off a comparison of indices, which is a box if it depends on one dimension.
func (c *compiler) compared(run step, out, a, b *slot, predicate string) step {
	x, y := c.lineOf(a), c.lineOf(b)
	wide, at := 0, 0
	for d, n := range out.shape {
		if n > 1 {
			wide, at = wide+1, d
		}
	}
	sign, more := int64(1), int64(0) // sign·(a - b) - more < 0
	switch predicate {
	case "slt", "ult":
	case "sle", "ule":
		more = 1
	case "sgt", "ugt":
		sign = -1
	case "sge", "uge":
		sign, more = -1, 1
	default:
		wide = 2
	}
	if x == nil || y == nil || out.constant || wide > 1 || len(a.shape) != len(b.shape) || a.shape[at] > 1 && x.parts[at].list != nil || b.shape[at] > 1 && y.parts[at].list != nil {
		return asked(run, a, b)
	}
	k, p, q, bits, n := newBox(out.shape), newLine(a.shape), newLine(b.shape), bitsOf(a), out.shape[at]
	out.box = k
	return c.later(out, func() {
		p.take(x)
		q.take(y)
		low, fits := p.least(a.shape, bits)
		other, fit := q.least(b.shape, bits)
		k.ok = p.ok && q.ok && fits && fit && (predicate[0] == 's' || low >= 0 && other >= 0)
		k.from[at], k.to[at] = negative(sign*(p.base-q.base)-more, sign*(p.parts[at].step-q.parts[at].step), n)
	}, run, a, b)
}

// negative are the i of n for which base + i·step is negative.
func negative(base, step int64, n int) (from, to int) {
	switch {
	case step > 0:
		if base >= 0 {
			return 0, 0
		}
		return 0, int(min((-base+step-1)/step, int64(n)))
	case step < 0:
		if base < 0 {
			return 0, n
		}
		return int(min(base/-step+1, int64(n))), n
	case base < 0:
		return 0, n
	}
	return 0, 0
}

// intersected puts off the conjunction of two masks.
func (c *compiler) intersected(run step, out, a, b *slot) step {
	x, y := a.box, b.box
	if x == nil || y == nil || out.constant || len(a.shape) != len(b.shape) || !c.lined() {
		return asked(run, a, b)
	}
	k := newBox(out.shape)
	out.box = k
	return c.later(out, func() {
		k.ok = x.ok && y.ok
		for d, n := range out.shape {
			from, to := x.along(d, a.shape[d], n)
			low, high := y.along(d, b.shape[d], n)
			k.from[d], k.to[d] = max(from, low), min(to, high)
		}
	}, run, a, b)
}

// along is the range of a dimension that is stored as 1 or n elements.
func (b *box) along(d, stored, n int) (from, to int) {
	if stored == n {
		return b.from[d], b.to[d]
	}
	if b.from[d] < b.to[d] {
		return 0, n
	}
	return 0, 0
}
