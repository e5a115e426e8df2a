package debug

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/triton/ttir"
)

// environment is where an expression is computed: the names of a frame, and the memory of the launch.
type environment struct {
	names     func(name string) (value, error)
	instance  *interpreter.Instance
	addresses *value // gets the addresses that are read
	computed  int    // elements
}

// spend counts the elements that are computed, so that no expression takes long.
func (e *environment) spend(n int) {
	if e.computed += n; e.computed > maxComputed*4 {
		panic(wrong("the expression computes more than %d elements", maxComputed*4))
	}
}

func (e *environment) name(name string) value {
	if e.names == nil {
		panic(wrong("there is no variable %s here", name))
	}
	v, err := e.names(name)
	if err != nil {
		panic(problem{err})
	}
	return v
}

// maxComputed bounds the elements of what an expression computes.
const maxComputed = 1 << 20

// broadcast is the shape of two values together.
func broadcast(a, b []int) []int {
	if len(a) < len(b) {
		a, b = b, a
	}
	shape := slices.Clone(a)
	n := 1
	for i := range shape {
		if k := i - (len(a) - len(b)); k >= 0 && b[k] != shape[i] {
			if b[k] != 1 && shape[i] != 1 {
				panic(wrong("the shapes %s and %s do not fit", shapeText(a), shapeText(b)))
			}
			shape[i] = b[k] * shape[i] // one of them is 1
		}
		if n *= shape[i]; n > maxComputed {
			panic(wrong("the result has more than %d elements", maxComputed))
		}
	}
	return shape
}

// pairs calls visit for the elements of two values that belong together.
func pairs(shape []int, a, b *value, visit func(at, i, j int)) {
	sa, sb := ttir.Strides(a.shape), ttir.Strides(b.shape)
	at := 0
	place := func(shape, strides, index []int) int {
		n, k := 0, len(index)-len(shape)
		for i, d := range shape {
			if d > 1 {
				n += index[k+i] * strides[i]
			}
		}
		return n
	}
	ttir.Each(shape, func(index []int) {
		visit(at, place(a.shape, sa, index), place(b.shape, sb, index))
		at++
	})
}

func operate(operator string, a, b *value) value {
	if a.kind >= text || b.kind >= text {
		if (operator == "==" || operator == "!=") && a.kind == b.kind {
			return truth(sameTuple(a, b) == (operator == "=="))
		}
		panic(undefined(operator, a, b))
	}
	shape := broadcast(a.shape, b.shape)
	switch operator {
	case "==", "!=", "<", "<=", ">", ">=":
		return compared(operator, shape, a, b)
	}
	if a.kind == float || b.kind == float || operator == "/" {
		return floats(operator, shape, a, b)
	}
	return integers(operator, shape, a, b)
}

func undefined(operator string, a, b *value) problem {
	return wrong("%s %s %s is not defined", a.typeText(), operator, b.typeText())
}

// sameTuple compares tuples and texts, numbers by their values.
func sameTuple(a, b *value) bool {
	if a.kind == tuple && b.kind == tuple {
		return slices.EqualFunc(a.items, b.items, func(x, y value) bool { return sameTuple(&x, &y) })
	}
	if a.kind < text && b.kind < text {
		return slices.Equal(a.shape, b.shape) && a.len() == b.len() && !slices.Contains(compared("==", a.shape, a, b).ints, 0)
	}
	return a.kind == b.kind && a.text == b.text
}

func compared(operator string, shape []int, a, b *value) value {
	v := value{kind: boolean, bits: 1, dtype: "int1"}
	v = v.like(shape)
	asInts := a.kind != float && b.kind != float
	pairs(shape, a, b, func(at, i, j int) {
		is := false
		if asInts {
			is = holds(operator, a.ints[i], b.ints[j])
		} else {
			is = holds(operator, a.at(i), b.at(j))
		}
		v.ints[at] = figures.OneIf[int64](is)
	})
	return v
}

func holds[T int64 | float64](operator string, x, y T) bool {
	switch operator {
	case "==":
		return x == y
	case "!=":
		return x != y
	case "<":
		return x < y
	case "<=":
		return x <= y
	case ">":
		return x > y
	}
	return x >= y
}

// wider is the value whose type the result of two has: a number takes the type of the tensor that it is combined with.
func wider(a, b *value) *value {
	switch {
	case len(a.shape) == 0 && len(b.shape) > 0 && (a.kind == b.kind || a.kind < b.kind):
		return b
	case len(b.shape) == 0 && len(a.shape) > 0 && (a.kind == b.kind || b.kind < a.kind):
		return a
	case a.kind != b.kind && a.kind > b.kind, a.kind == b.kind && a.bits >= b.bits:
		return a
	}
	return b
}

// ofFloats are the operations of floating-point numbers.
var ofFloats = map[string]func(x, y float64) float64{
	"+":  func(x, y float64) float64 { return x + y },
	"-":  func(x, y float64) float64 { return x - y },
	"*":  func(x, y float64) float64 { return x * y },
	"/":  func(x, y float64) float64 { return x / y },
	"//": func(x, y float64) float64 { return math.Floor(x / y) },
	"%":  func(x, y float64) float64 { return x - y*math.Floor(x/y) },
}

func floats(operator string, shape []int, a, b *value) value {
	as := wider(a, b)
	v := value{kind: float, bits: as.bits, dtype: as.dtype}
	if as.kind != float || as.bits < 32 {
		v.bits, v.dtype = 32, "fp32"
		if as.bits == 64 && as.kind != float {
			v.bits, v.dtype = 64, "fp64"
		}
	}
	v = v.like(shape)
	f := ofFloats[operator]
	if f == nil {
		panic(undefined(operator, a, b))
	}
	pairs(shape, a, b, func(at, i, j int) {
		x := f(a.at(i), b.at(j))
		if v.bits == 32 {
			x = float64(float32(x))
		}
		v.floats[at] = x
	})
	return v
}

func integers(operator string, shape []int, a, b *value) value {
	as := wider(a, b)
	v := value{kind: as.kind, bits: as.bits, dtype: as.dtype, to: as.to}
	logic := strings.Contains("&|^", operator)
	if v.kind == boolean && !logic {
		v.kind, v.bits, v.dtype = number, 32, "int32"
	}
	scale := [2]int64{1, 1}
	if v.kind == pointer && (operator == "+" || operator == "-") {
		switch { // a number that is added to an address counts elements
		case a.kind == pointer && b.kind == pointer && operator == "-":
			v.kind, v.dtype, v.to = number, "int64", nil
		case a.kind == pointer && b.kind != pointer:
			scale[1] = elementBytes(a)
		case b.kind == pointer && operator == "+":
			scale[0] = elementBytes(b)
		}
	}
	v = v.like(shape)
	pairs(shape, a, b, func(at, i, j int) {
		x, y := a.ints[i]*scale[0], b.ints[j]*scale[1]
		var z int64
		switch operator {
		case "+":
			z = x + y
		case "-":
			z = x - y
		case "*":
			z = x * y
		case "//", "%":
			if y == 0 {
				panic(wrong("%s %s %s divides by 0", a.typeText(), operator, b.typeText()))
			}
			if z = x / y; x%y != 0 && (x < 0) != (y < 0) {
				z--
			}
			if operator == "%" {
				z = x - z*y
			}
		case "&":
			z = x & y
		case "|":
			z = x | y
		case "^":
			z = x ^ y
		case "<<":
			z = x << min(uint64(y), 64)
		case ">>":
			z = x >> min(uint64(y), 63)
		}
		v.ints[at] = wrapped(z, v.bits)
	})
	return v
}

// wrapped is a number as a signed one of so many bits.
func wrapped(n int64, bits int) int64 {
	if bits == 1 {
		return n & 1
	}
	if bits <= 0 || bits >= 64 {
		return n
	}
	return n << (64 - bits) >> (64 - bits)
}

func elementBytes(p *value) int64 {
	if p.to == nil {
		return 1
	}
	return int64(max(1, p.to.Scalar().Bits/8))
}

func negate(operator string, v *value) value {
	if v.kind >= text || operator == "~" && v.kind == float {
		panic(wrong("%s%s is not defined", operator, v.typeText()))
	}
	w := v.like(v.shape)
	for i := range w.len() {
		switch {
		case operator == "+":
			w.copyElement(i, v, i)
		case v.kind == float:
			w.floats[i] = -v.floats[i]
		case operator == "-":
			w.ints[i] = wrapped(-v.ints[i], max(v.bits, 2))
		default:
			w.ints[i] = wrapped(^v.ints[i], v.bits)
		}
	}
	return w
}

func attribute(v *value, name string) value {
	switch name {
	case "shape":
		return tupleOf(v.shape...)
	case "dtype":
		element := *v
		element.shape = nil
		return value{kind: text, text: element.typeText()}
	case "numel":
		return integer(int64(v.len()))
	}
	panic(wrong("a value has .shape, .dtype, .numel and functions such as .max(), and no .%s", name))
}

// folding is a function of the elements of a line.
type folding struct {
	fold  func(v *value, line []int) float64
	plain func(v *value, i int) bool // of each element; the result is a tensor of int1
	exact bool                       // the result has the type of the tensor
}

var functions = map[string]*folding{
	"min":    {exact: true, fold: func(v *value, line []int) float64 { return float64(line[chosen(v, line, -1)]) }},
	"max":    {exact: true, fold: func(v *value, line []int) float64 { return float64(line[chosen(v, line, 1)]) }},
	"sum":    {fold: sum},
	"mean":   {fold: func(v *value, line []int) float64 { return sum(v, line) / float64(len(line)) }},
	"argmin": {fold: func(v *value, line []int) float64 { return float64(chosen(v, line, -1)) }},
	"argmax": {fold: func(v *value, line []int) float64 { return float64(chosen(v, line, 1)) }},
	"any": {fold: func(v *value, line []int) float64 {
		return figures.OneIf[float64](slices.ContainsFunc(line, func(i int) bool { return v.at(i) != 0 }))
	}},
	"all": {fold: func(v *value, line []int) float64 {
		return figures.OneIf[float64](!slices.ContainsFunc(line, func(i int) bool { return v.at(i) == 0 }))
	}},
	"isnan": {plain: func(v *value, i int) bool { return math.IsNaN(v.at(i)) }},
	"isinf": {plain: func(v *value, i int) bool { return math.IsInf(v.at(i), 0) }},
	"abs":   {},
	"len":   {},
}

func functionNames() string { return strings.Join(slices.Sorted(maps.Keys(functions)), ", ") }

func sum(v *value, line []int) (s float64) {
	for _, i := range line {
		s += v.at(i)
	}
	return s
}

// chosen is the place in a line of its largest or smallest element; a NaN is both.
func chosen(v *value, line []int, sign float64) int {
	best := 0
	for n, i := range line {
		if x := v.at(i); math.IsNaN(x) {
			return n
		} else if (x-v.at(line[best]))*sign > 0 {
			best = n
		}
	}
	return best
}

func apply(name string, f *folding, list []value) value {
	v := &list[0]
	if name == "len" && v.kind == tuple {
		return integer(int64(len(v.items)))
	}
	if v.kind >= text {
		panic(wrong("%s needs a tensor or a number, and this is a %s", name, v.typeText()))
	}
	switch {
	case name == "len":
		if len(v.shape) == 0 {
			panic(wrong("len needs a tensor, and this is a number"))
		}
		return integer(int64(v.shape[0]))
	case name == "abs":
		w := v.like(v.shape)
		for i := range w.len() {
			if v.kind == float {
				w.floats[i] = math.Abs(v.floats[i])
			} else {
				w.ints[i] = max(v.ints[i], -v.ints[i])
			}
		}
		return w
	case f.plain != nil:
		w := value{kind: boolean, bits: 1, dtype: "int1"}
		w = w.like(v.shape)
		for i := range w.ints {
			w.ints[i] = figures.OneIf[int64](f.plain(v, i))
		}
		return w
	}
	return folded(name, f, list)
}

// folded applies a function to all elements, or to the lines along an axis.
func folded(name string, f *folding, list []value) value {
	v := &list[0]
	if v.len() == 0 {
		panic(wrong("%s of no elements is not defined", name))
	}
	shape, length, inner := []int(nil), v.len(), 1
	if len(list) == 2 {
		axis := &list[1]
		if axis.kind != number || axis.len() != 1 || axis.ints[0] < int64(-len(v.shape)) || axis.ints[0] >= int64(len(v.shape)) {
			panic(wrong("the axis of a tensor with %d dimensions is a number from 0 to %d", len(v.shape), len(v.shape)-1))
		}
		a := int(axis.ints[0])
		if a < 0 {
			a += len(v.shape)
		}
		length, inner = v.shape[a], ttir.Count(v.shape[a+1:])
		shape = append(slices.Clone(v.shape[:a]), v.shape[a+1:]...)
	}
	w := value{kind: number, bits: 64, dtype: "int64"}
	switch {
	case f.exact:
		w = *v
	case name == "mean" || name == "sum" && v.kind == float:
		w.kind, w.bits, w.dtype = float, 64, "fp64"
	case name == "any" || name == "all":
		w.kind, w.bits, w.dtype = boolean, 1, "int1"
	}
	w = w.like(shape)
	line := make([]int, length)
	for i := range w.len() {
		for k := range line {
			line[k] = (i/inner*length+k)*inner + i%inner
		}
		x := f.fold(v, line)
		switch {
		case f.exact:
			w.copyElement(i, v, int(x))
		case name == "sum" && v.kind != float:
			for _, k := range line {
				w.ints[i] += v.ints[k]
			}
		case w.kind == float:
			w.floats[i] = x
		default:
			w.ints[i] = int64(x)
		}
	}
	return w
}
