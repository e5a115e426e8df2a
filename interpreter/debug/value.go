package debug

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/triton/ttir"
)

// value is what an expression gives: a text, a tuple, or a tensor whose elements are ints or floats, in row-major order.
type value struct {
	kind   kind
	shape  []int
	bits   int
	dtype  string     // as Triton names it: fp32
	to     *ttir.Type // of a pointer: what lies there
	ints   []int64
	floats []float64
	items  []value
	text   string
	axes   []axis // where the indices of a slice are in what it was cut from; nil for all from 0
}

// axis is the first index of a dimension, and the distance to the next.
type axis struct{ from, step int }

type kind uint8

const (
	number  kind = iota // an integer
	boolean             // 0 or 1
	float
	pointer // an address
	text
	tuple
)

func integer(n int64) value { return value{kind: number, bits: 64, dtype: "int64", ints: []int64{n}} }

func truth(b bool) value {
	v := value{kind: boolean, bits: 1, dtype: "int1", ints: []int64{0}}
	if b {
		v.ints[0] = 1
	}
	return v
}

func real(f float64) value { return value{kind: float, bits: 64, dtype: "fp64", floats: []float64{f}} }

func tupleOf(list ...int) value {
	v := value{kind: tuple}
	for _, n := range list {
		v.items = append(v.items, integer(int64(n)))
	}
	return v
}

// read takes a value of a kernel as it is now.
func read(from interpreter.Value) (value, error) {
	if !from.Known() {
		return value{}, fmt.Errorf("its value is not known: what sets it has not run, or is not supported")
	}
	t := from.Type()
	v := typed(t.Scalar())
	if !v.take(from.Elements()) {
		base, shape, strides, offsets, _ := from.Window()
		return value{kind: text, text: fmt.Sprintf("%s at %#x, shape %v, strides %v, offsets %v", t.Text, uint64(base), shape, strides, offsets)}, nil
	}
	if t.Kind == ttir.TensorType {
		for _, n := range t.Shape {
			v.shape = append(v.shape, int(n))
		}
		if len(v.shape) == 0 {
			v.shape = nil
		}
	}
	return v, nil
}

// take gives a value its elements as the interpreter has them, and is false if it has none.
func (v *value) take(elements any) bool {
	v.ints, _ = elements.([]int64)
	v.floats, _ = elements.([]float64)
	return elements != nil
}

// typed is a value of a scalar type without its elements.
func typed(t *ttir.Type) value {
	v := value{dtype: typeName(t), bits: t.Bits}
	switch t.Kind {
	case ttir.FloatType:
		v.kind = float
	case ttir.PointerType:
		v.kind, v.bits, v.to = pointer, 64, t.Pointee()
	case ttir.IndexType:
		v.bits = 64
	default:
		if t.Bits == 1 {
			v.kind = boolean
		}
	}
	return v
}

var floatNames = map[ttir.Float]string{ttir.F64: "fp64", ttir.F32: "fp32", ttir.TF32: "tf32", ttir.F16: "fp16", ttir.BF16: "bf16",
	ttir.F8E4M3FN: "fp8e4nv", ttir.F8E5M2: "fp8e5", ttir.F8E4M3FNUZ: "fp8e4b8", ttir.F8E5M2FNUZ: "fp8e5b16"}

// typeName is the name that Triton's language gives to a scalar type.
func typeName(t *ttir.Type) string {
	switch t.Kind {
	case ttir.IntegerType:
		return fmt.Sprintf("int%d", t.Bits)
	case ttir.IndexType:
		return "int64"
	case ttir.FloatType:
		if name := floatNames[t.Float]; name != "" {
			return name
		}
	case ttir.PointerType:
		if t.Element != nil && t.Element.Kind != ttir.TensorType {
			return "pointer<" + typeName(t.Element) + ">"
		}
	}
	return t.Text
}

// unsigned reads the bits of integers as numbers that are not negative; those of 64 bits stay as they are.
func (v *value) unsigned() {
	if v.kind != number || v.bits >= 64 {
		return
	}
	v.dtype = "u" + v.dtype
	for i, n := range v.ints {
		v.ints[i] = n & (1<<v.bits - 1)
	}
}

// typeText is a type with its shape: fp32[16, 16].
func (v *value) typeText() string {
	switch v.kind {
	case text:
		return "text"
	case tuple:
		return "tuple"
	}
	if len(v.shape) == 0 {
		return v.dtype
	}
	return v.dtype + shapeText(v.shape)
}

func shapeText(shape []int) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}

func (v *value) len() int {
	if v.kind == float {
		return len(v.floats)
	}
	return len(v.ints)
}

func (v *value) isTensor() bool { return v.kind < text && len(v.shape) > 0 }

// at is an element as a number.
func (v *value) at(i int) float64 {
	if v.kind == float {
		return v.floats[i]
	}
	return float64(v.ints[i])
}

// true says whether a value counts as true: a scalar other than 0.
func (v *value) true() bool {
	switch {
	case v.kind == text:
		return v.text != ""
	case v.kind == tuple:
		return len(v.items) > 0
	case v.len() != 1:
		panic(wrong("%s has many elements and is neither true nor false: write any(…) or all(…)", v.typeText()))
	}
	return v.at(0) != 0
}

// holds is true for those who do not compute an expression.
func (v *value) holds() (is bool, err error) {
	defer catch(&err)
	return v.true(), nil
}

// equal says whether two values are the same, bit by bit of what is shown of them.
func (v *value) equal(w *value) bool {
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	return v.kind == w.kind && v.text == w.text && slices.Equal(v.shape, w.shape) && slices.Equal(v.ints, w.ints) && slices.EqualFunc(v.floats, w.floats, same) &&
		slices.EqualFunc(v.items, w.items, func(a, b value) bool { return a.equal(&b) })
}

// like is a value of a shape with the type of another, with room for its elements.
func (v *value) like(shape []int) value {
	n := ttir.Count(shape)
	w := value{kind: v.kind, shape: shape, bits: v.bits, dtype: v.dtype, to: v.to}
	if v.kind == float {
		w.floats = make([]float64, n)
	} else {
		w.ints = make([]int64, n)
	}
	return w
}

func (v *value) copyElement(at int, from *value, i int) {
	if v.kind == float {
		v.floats[at] = from.floats[i]
	} else {
		v.ints[at] = from.ints[i]
	}
}
