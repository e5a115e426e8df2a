package debug

import "fmt"

// index cuts a part out of a tensor or a tuple, or reads memory behind a pointer.
func (e *environment) index(v *value, list []subscript) (value, error) {
	switch {
	case v.kind == tuple:
		return e.item(v, list)
	case v.kind == text:
		return value{}, fmt.Errorf("a text has no elements")
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
			return value{}, fmt.Errorf("%s is a scalar and has no elements", v.typeText())
		}
		return value{}, fmt.Errorf("%s has %d dimensions, and %d indices are given", v.typeText(), len(v.shape), used)
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
		a, n, err := e.span(&s, v.shape[d])
		if err != nil {
			return value{}, err
		}
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
	if err := e.spend(w.len()); err != nil {
		return value{}, err
	}
	all, start, n := strides(v.shape), 0, 0
	for d, a := range cut {
		start += a.from * all[d]
	}
	each(shape, func(at []int) {
		place := start
		for i, d := range from {
			if d >= 0 {
				place += at[i] * cut[d].step * all[d]
			}
		}
		w.copyElement(n, v, place)
		n++
	})
	return w, nil
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
func (e *environment) span(s *subscript, length int) (axis, int, error) {
	if !s.isRange {
		i, err := e.whole(s.from)
		if err != nil {
			return axis{}, 0, err
		}
		if i < 0 {
			i += int64(length)
		}
		if i < 0 || i >= int64(length) {
			return axis{}, 0, fmt.Errorf("the index %d is outside of a dimension of %d", i, length)
		}
		return axis{int(i), 1}, 1, nil
	}
	bounds, step := [2]int64{0, int64(length)}, int64(1)
	if s.step != nil {
		n, err := e.whole(s.step)
		if err != nil {
			return axis{}, 0, err
		}
		if step = n; step < 1 || step > int64(max(length, 1)) {
			return axis{}, 0, fmt.Errorf("the step of a slice is a number from 1 to %d, and %d is given", max(length, 1), step)
		}
	}
	for i, x := range []expression{s.from, s.to} {
		if x == nil {
			continue
		}
		n, err := e.whole(x)
		if err != nil {
			return axis{}, 0, err
		}
		if n < 0 {
			n += int64(length)
		}
		bounds[i] = min(max(n, 0), int64(length))
	}
	return axis{int(bounds[0]), int(step)}, int(max(0, (bounds[1]-bounds[0]+step-1)/step)), nil
}

func (e *environment) whole(x expression) (int64, error) {
	v, err := x(e)
	if err != nil {
		return 0, err
	}
	if v.kind > boolean || v.len() != 1 {
		return 0, fmt.Errorf("an index is a whole number, and %s is given", v.typeText())
	}
	return v.ints[0], nil
}

func (e *environment) item(v *value, list []subscript) (value, error) {
	if len(list) != 1 || list[0].isNone {
		return value{}, fmt.Errorf("a tuple has one index")
	}
	a, n, err := e.span(&list[0], len(v.items))
	if err != nil {
		return value{}, err
	}
	if !list[0].isRange {
		return v.items[a.from], nil
	}
	w := value{kind: tuple}
	for i := range n {
		w.items = append(w.items, v.items[a.from+i*a.step])
	}
	return w, nil
}

// memory reads elements that a scalar pointer leads to: x_ptr[5], x_ptr[0:8].
func (e *environment) memory(v *value, list []subscript) (value, error) {
	if len(list) != 1 || list[0].isNone {
		return value{}, fmt.Errorf("a pointer has one index: x_ptr[5], or x_ptr[0:8]")
	}
	s := &list[0]
	if s.isRange && (s.from == nil || s.to == nil) {
		return value{}, fmt.Errorf("memory has no end of its own: write both bounds, as in x_ptr[0:8]")
	}
	bounds := [2]int64{}
	for i, x := range []expression{s.from, s.to} {
		if x == nil {
			continue
		}
		n, err := e.whole(x)
		if err != nil {
			return value{}, err
		}
		bounds[i] = n
	}
	step := int64(1)
	if s.step != nil {
		n, err := e.whole(s.step)
		if err != nil {
			return value{}, err
		}
		if step = n; step < 1 {
			return value{}, fmt.Errorf("the step of a slice is at least 1, and %d is given", n)
		}
	}
	p := value{kind: pointer, bits: 64, dtype: v.dtype, to: v.to}
	if !s.isRange {
		p.ints = []int64{v.ints[0] + bounds[0]*elementBytes(v)}
		return e.load(&p)
	}
	n := (bounds[1] - bounds[0] + step - 1) / step
	if n < 0 || bounds[1] < bounds[0] {
		n = 0
	}
	if n > maxComputed {
		return value{}, fmt.Errorf("the result has more than %d elements", maxComputed)
	}
	if err := e.spend(int(n)); err != nil {
		return value{}, err
	}
	p.shape = []int{int(n)}
	for i := range n {
		p.ints = append(p.ints, v.ints[0]+(bounds[0]+i*step)*elementBytes(v))
	}
	w, err := e.load(&p)
	w.axes = []axis{{int(bounds[0]), int(step)}}
	return w, err
}

// load reads what pointers lead to.
func (e *environment) load(p *value) (value, error) {
	if p.kind != pointer || p.to == nil {
		return value{}, fmt.Errorf("%s is not a pointer", p.typeText())
	}
	if e.instance == nil {
		return value{}, fmt.Errorf("there is no memory to read")
	}
	if err := e.spend(len(p.ints)); err != nil {
		return value{}, err
	}
	if e.addresses != nil {
		e.addresses.ints = append(e.addresses.ints, p.ints...)
	}
	w := typed(p.to.Scalar())
	w.shape = p.shape
	list, bad := e.instance.Load(p.to, p.ints)
	if bad >= 0 {
		if bad < len(p.ints) {
			return value{}, fmt.Errorf("%s is not in a buffer", e.address(p.ints[bad], elementBytes(p)))
		}
		return value{}, fmt.Errorf("what %s leads to cannot be read", p.typeText())
	}
	switch list := list.(type) {
	case []int64:
		w.ints = list
	case []float64:
		w.floats = list
	}
	return w, nil
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
