package interpreter

import (
	"slices"

	"github.com/goproton/goproton/triton/ttir"
)

// bit is a value of i1: 0 or 1.
type bit uint8

type signed interface{ int8 | int16 | int32 | int64 }

type float interface{ float32 | float64 }

type number interface{ signed | float }

// class is how values of a type are kept. Floating-point numbers of at most 32 bits are kept as float32, which has all of their values;
// pointers are addresses.
type class uint8

const (
	noClass class = iota
	bits1
	i8
	i16
	i32
	i64
	f32
	f64
	windows // descriptors and block pointers
)

// classOf is the class of a type's elements, and noClass if the interpreter has none.
func classOf(t *ttir.Type) class {
	if t == nil {
		return noClass
	}
	switch t = t.Scalar(); t.Kind {
	case ttir.IntegerType:
		switch t.Bits {
		case 1:
			return bits1
		case 8:
			return i8
		case 16:
			return i16
		case 32:
			return i32
		case 64:
			return i64
		}
	case ttir.IndexType:
		return i64
	case ttir.PointerType:
		if t.Element.Kind == ttir.TensorType {
			return windows
		}
		return i64
	case ttir.DescriptorType:
		return windows
	case ttir.FloatType:
		if t.Wide {
			return f64
		}
		switch t.Float {
		case ttir.F64:
			return f64
		case ttir.F32, ttir.TF32, ttir.F16, ttir.BF16, ttir.F8E4M3FN, ttir.F8E5M2, ttir.F8E4M3FNUZ, ttir.F8E5M2FNUZ:
			return f32
		}
	}
	return noClass
}

// slot is where a value of the kernel is kept.
type slot struct {
	t        *ttir.Type
	shape    []int // as stored: a dimension is 1 where all elements along it are equal
	data     any   // []bit, []int8, …, []float64, []window
	root     *slot // whose data it shares; itself for most
	constant bool  // set when the kernel is compiled, and never again

	line  *line // what is known of the elements, and nil for others; see lines.go
	box   *box
	marks [layers]*slot // see marks.go; nil if there are none
	some  *bool         // of marks: whether one is not 0

	late *late // how the elements are made; nil if they are always there
}

// dims is the shape of a value of a type.
func dims(t *ttir.Type) []int {
	if t.Kind != ttir.TensorType {
		return nil
	}
	list := make([]int, len(t.Shape))
	for i, n := range t.Shape {
		list[i] = int(n)
	}
	return list
}

func (s *slot) len() int { return ttir.Count(s.shape) }

// join is the shape that holds the elements of several stored shapes. A shape with one element fits all.
func join(shapes ...[]int) []int {
	var to []int
	for _, s := range shapes {
		switch {
		case len(to) == 0:
			to = slices.Clone(s)
		case len(s) == len(to):
			for i, d := range s {
				to[i] = max(to[i], d)
			}
		case ttir.Count(s) > 1:
			panic(failure("values of the shapes %v and %v are combined", s, to))
		}
	}
	return to
}

func makeData(c class, n int) any {
	if c == windows {
		return make([]window, n)
	}
	return classes[c].make(n)
}

// sizeOf is the size of an element of a class.
func sizeOf(c class) int {
	return [...]int{bits1: 1, i8: 1, i16: 2, i32: 4, i64: 8, f32: 4, f64: 8, windows: 128}[c]
}

// operand returns the elements of a slot in a larger shape, and what has to be done before they are read: nil for nothing.
func operand[T any](c *compiler, s *slot, shape []int) ([]T, step) {
	from, ok := s.data.([]T)
	if !ok {
		panic(failure("an operand is %s", s.t.Text))
	}
	n := ttir.Count(shape)
	if len(from) == n {
		return from, nil
	}
	c.room(n * sizeOf(classOf(s.t)))
	to := make([]T, n)
	var fill step
	if len(from) == 1 {
		fill = func() { fillOf(to, from[0]) }
	} else {
		fill = spread(to, from, shape, s.shape)
	}
	if s.constant {
		fill()
		return to, nil
	}
	return to, fill
}

// fillOf sets all elements. It doubles what is set, since copy is faster than a loop.
func fillOf[T any](to []T, v T) {
	if len(to) == 0 {
		return
	}
	to[0] = v
	for n := 1; n < len(to); n *= 2 {
		copy(to[n:], to[:n])
	}
}

// spread repeats elements along the dimensions that are stored as 1.
func spread[T any](to, from []T, shape, stored []int) step {
	if len(shape) != len(stored) {
		panic(failure("a value of the shape %v is used as %v", stored, shape))
	}
	last := len(shape) - 1
	row := shape[last]
	starts := make([]int32, 0, len(to)/max(row, 1))
	strides := ttir.Strides(stored)
	for i, d := range stored {
		if d == 1 {
			strides[i] = 0
		}
	}
	ttir.Each(shape[:last], func(at []int) {
		start := 0
		for i, k := range at {
			start += k * strides[i]
		}
		starts = append(starts, int32(start))
	})
	if stored[last] == row {
		return func() {
			for i, start := range starts {
				copy(to[i*row:(i+1)*row], from[start:])
			}
		}
	}
	return func() {
		for i, start := range starts {
			fillOf(to[i*row:(i+1)*row], from[start])
		}
	}
}

// mover copies a value into another slot of its type.
func (c *compiler) mover(to, from *slot) step {
	if from.data == nil { // of an operation that is not supported
		return nil
	}
	if classOf(to.t) != classOf(from.t) {
		panic(failure("%s is passed on as %s", from.t.Text, to.t.Text))
	}
	if classOf(to.t) == windows {
		return moverOf[window](to, from, nil)
	}
	return classes[classOf(to.t)].mover(to, from, c.shapeFor(from, to.len()))
}

func (typedOf[T]) mover(to, from *slot, shape []int) step { return moverOf[T](to, from, shape) }

// shapeFor is the shape in which a value has n elements: that of its type, or of the lanes of a region.
func (c *compiler) shapeFor(from *slot, n int) []int {
	if shape := dims(from.t); shape != nil && ttir.Count(shape) == n {
		return shape
	}
	if n == 1 {
		return nil
	}
	return []int{n}
}

func moverOf[T any](into, from *slot, shape []int) step {
	to, source := dataOf[T](into), dataOf[T](from)
	switch {
	case len(source) == len(to) && len(to) == 1:
		return func() { to[0] = source[0] }
	case len(source) == len(to):
		return func() { copy(to, source) }
	case len(source) == 1:
		return func() { fillOf(to, source[0]) }
	}
	return spread(to, source, shape, from.shape)
}
