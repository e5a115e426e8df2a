package debug

import (
	"fmt"

	"github.com/goproton/goproton/triton/ttir"
)

// index cuts a part out of a tensor or a tuple, or reads memory behind a pointer.
func (e *environment) index(v *value, list []subscript) value {
	switch {
	case v.kind == tuple:
		return e.item(v, list)
	case v.kind == text:
		panic(wrong("a text has no elements"))
	case v.kind == pointer && len(v.shape) == 0:
		return e.memory(v, list)
	}
	used := 0
	for _, s := range list {
		if !s.isNone {
			used++
		}
	}
	if used > len(v.shape) {
		if len(v.shape) == 0 {
			panic(wrong("%s is a scalar and has no elements", v.typeText()))
		}
		panic(wrong("%s has %d dimensions, and %d indices are given", v.typeText(), len(v.shape), used))
	}
	var cut []axis  // of the dimensions of v
	var shape []int // of the result
	var from []int  // the dimensions of v that remain, and -1 for a new one
	var axes []axis
	for _, s := range list {
		if s.isNone {
			shape, from, axes = append(shape, 1), append(from, -1), append(axes, axis{0, 1})
			continue
		}
		d := len(cut)
		a, n := e.span(&s, v.shape[d])
		cut = append(cut, a)
		if s.isRange {
			shape, from, axes = append(shape, n), append(from, d), append(axes, v.axis(d).within(a))
		}
	}
	for d := len(cut); d < len(v.shape); d++ {
		shape, from, axes, cut = append(shape, v.shape[d]), append(from, d), append(axes, v.axis(d)), append(cut, axis{0, 1})
	}
	w := v.like(shape)
	if w.axes = axes; len(shape) == 0 {
		w.shape, w.axes = nil, nil
	}
	e.spend(w.len())
	all, start, n := ttir.Strides(v.shape), 0, 0
	for d, a := range cut {
		start += a.from * all[d]
	}
	ttir.Each(shape, func(at []int) {
		place := start
		for i, d := range from {
			if d >= 0 {
				place += at[i] * cut[d].step * all[d]
			}
		}
		w.copyElement(n, v, place)
		n++
	})
	return w
}

func (v *value) axis(d int) axis {
	if d < len(v.axes) {
		return v.axes[d]
	}
	return axis{0, 1}
}

// within is a part of an axis, by the indices of what the axis is a part of.
func (a axis) within(part axis) axis { return axis{a.from + part.from*a.step, part.step * a.step} }

// span is where a subscript begins and how many elements it has.
func (e *environment) span(s *subscript, length int) (axis, int) {
	n := int64(length)
	if !s.isRange {
		i := e.whole(s.from, 0)
		if i < 0 {
			i += n
		}
		if i < 0 || i >= n {
			panic(wrong("the index %d is outside of a dimension of %d", i, length))
		}
		return axis{int(i), 1}, 1
	}
	step := e.whole(s.step, 1)
	if step < 1 || step > max(n, 1) {
		panic(wrong("the step of a slice is a number from 1 to %d, and %d is given", max(n, 1), step))
	}
	bound := func(x part, otherwise int64) int64 {
		i := e.whole(x, otherwise)
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	from := bound(s.from, 0)
	to := bound(s.to, n)
	return axis{int(from), int(step)}, int(max(0, (to-from+step-1)/step))
}

// whole is a whole number, or otherwise where there is none.
func (e *environment) whole(x part, otherwise int64) int64 {
	if x == nil {
		return otherwise
	}
	v := x(e)
	if v.kind > boolean || v.len() != 1 {
		panic(wrong("an index is a whole number, and %s is given", v.typeText()))
	}
	return v.ints[0]
}

func (e *environment) item(v *value, list []subscript) value {
	if len(list) != 1 || list[0].isNone {
		panic(wrong("a tuple has one index"))
	}
	a, n := e.span(&list[0], len(v.items))
	if !list[0].isRange {
		return v.items[a.from]
	}
	w := value{kind: tuple}
	for i := range n {
		w.items = append(w.items, v.items[a.from+i*a.step])
	}
	return w
}

// memory reads elements that a scalar pointer leads to: x_ptr[5], x_ptr[0:8].
func (e *environment) memory(v *value, list []subscript) value {
	if len(list) != 1 || list[0].isNone {
		panic(wrong("a pointer has one index: x_ptr[5], or x_ptr[0:8]"))
	}
	s := &list[0]
	if s.isRange && (s.from == nil || s.to == nil) {
		panic(wrong("memory has no end of its own: write both bounds, as in x_ptr[0:8]"))
	}
	from, to, step := e.whole(s.from, 0), e.whole(s.to, 0), e.whole(s.step, 1)
	if step < 1 {
		panic(wrong("the step of a slice is at least 1, and %d is given", step))
	}
	p := value{kind: pointer, bits: 64, dtype: v.dtype, to: v.to}
	if !s.isRange {
		p.ints = []int64{v.ints[0] + from*elementBytes(v)}
		return e.load(&p)
	}
	n := (to - from + step - 1) / step
	if n < 0 || to < from {
		n = 0
	}
	if n > maxComputed {
		panic(wrong("the result has more than %d elements", maxComputed))
	}
	e.spend(int(n))
	p.shape = []int{int(n)}
	for i := range n {
		p.ints = append(p.ints, v.ints[0]+(from+i*step)*elementBytes(v))
	}
	w := e.load(&p)
	w.axes = []axis{{int(from), int(step)}}
	return w
}

// load reads what pointers lead to.
func (e *environment) load(p *value) value {
	if p.kind != pointer || p.to == nil {
		panic(wrong("%s is not a pointer", p.typeText()))
	}
	if e.instance == nil {
		panic(wrong("there is no memory to read"))
	}
	e.spend(len(p.ints))
	if e.addresses != nil {
		e.addresses.ints = append(e.addresses.ints, p.ints...)
	}
	w := typed(p.to.Scalar())
	w.shape = p.shape
	list, bad := e.instance.Load(p.to, p.ints)
	if bad >= 0 && bad < len(p.ints) {
		panic(wrong("%s is not in a buffer", e.address(p.ints[bad], elementBytes(p))))
	}
	if bad >= 0 {
		panic(wrong("what %s leads to cannot be read", p.typeText()))
	}
	w.take(list)
	return w
}

// address names an address by its buffer.
func (e *environment) address(a, size int64) string {
	if e.instance != nil {
		if b, at := e.instance.Buffer(a); b != nil {
			if at%size == 0 {
				return fmt.Sprintf("%s[%d]", b.Name, at/size)
			}
			return fmt.Sprintf("%s + %d bytes", b.Name, at)
		}
	}
	if a == 0 {
		return "the null pointer"
	}
	return fmt.Sprintf("%#x", uint64(a))
}
