package tensor

import (
	"encoding/binary"
	"math"
	"math/cmplx"
	"strconv"
	"strings"

	"github.com/goproton/goproton/triton/ttir"
)

var little = binary.LittleEndian

// several says whether an element of a type is more than one number.
func several(dtype string) bool {
	return dtype == "complex128" || dtype == "complex64" || dtype == "float4_e2m1fn_x2"
}

// element is a type of elements.
type element struct {
	size    int64 // bytes
	numbers func(to []float64, from []byte)
	// distance is how much two elements differ; nil where that is the difference of their numbers.
	distance func(a, b []byte) float64
}

// elements are the types by torch's names. The number of a complex element is its distance from 0; the number of two 4-bit
// numbers in a byte is the larger one, without its sign.
var elements = map[string]element{
	"float64": each(8, func(b []byte) float64 { return math.Float64frombits(little.Uint64(b)) }),
	"float32": {size: 4, numbers: func(to []float64, from []byte) { // common, and a third faster than one call for each element
		for i := range to {
			to[i] = float64(math.Float32frombits(little.Uint32(from[4*i:])))
		}
	}},
	"float16": each(2, func(b []byte) float64 { return ttir.F16.Value(uint64(little.Uint16(b))) }),
	"bfloat16": {size: 2, numbers: func(to []float64, from []byte) {
		for i := range to {
			to[i] = float64(math.Float32frombits(uint32(little.Uint16(from[2*i:])) << 16))
		}
	}},
	"float8_e4m3fn":   byTable(eighth(ttir.F8E4M3FN)),
	"float8_e5m2":     byTable(eighth(ttir.F8E5M2)),
	"float8_e4m3fnuz": byTable(eighth(ttir.F8E4M3FNUZ)),
	"float8_e5m2fnuz": byTable(eighth(ttir.F8E5M2FNUZ)),
	"float8_e8m0fnu":  byTable(eighth(ttir.F8E8M0FNU)),
	"float4_e2m1fn_x2": byTable(func(b byte) float64 {
		low, high := quarters(b)
		return max(math.Abs(low), math.Abs(high))
	}).with(func(a, b []byte) float64 {
		lowA, highA := quarters(a[0])
		lowB, highB := quarters(b[0])
		return max(math.Abs(lowA-lowB), math.Abs(highA-highB))
	}),
	"int64": each(8, func(b []byte) float64 { return float64(int64(little.Uint64(b))) }).with(func(a, b []byte) float64 {
		x, y := int64(little.Uint64(a)), int64(little.Uint64(b))
		return float64(uint64(max(x, y)) - uint64(min(x, y)))
	}),
	"int32": each(4, func(b []byte) float64 { return float64(int32(little.Uint32(b))) }),
	"int16": each(2, func(b []byte) float64 { return float64(int16(little.Uint16(b))) }),
	"int8":  byTable(func(b byte) float64 { return float64(int8(b)) }),
	"uint64": each(8, func(b []byte) float64 { return float64(little.Uint64(b)) }).with(func(a, b []byte) float64 {
		x, y := little.Uint64(a), little.Uint64(b)
		return float64(max(x, y) - min(x, y))
	}),
	"uint32":     each(4, func(b []byte) float64 { return float64(little.Uint32(b)) }),
	"uint16":     each(2, func(b []byte) float64 { return float64(little.Uint16(b)) }),
	"uint8":      byTable(func(b byte) float64 { return float64(b) }),
	"bool":       byTable(func(b byte) float64 { return float64(min(b, 1)) }),
	"complex128": each(16, func(b []byte) float64 { return abs(complexOf(b)) }).with(complexDistance),
	"complex64":  each(8, func(b []byte) float64 { return abs(complexOf(b)) }).with(complexDistance),
}

func (e element) with(distance func(a, b []byte) float64) element {
	e.distance = distance
	return e
}

func complexDistance(a, b []byte) float64 { return abs(complexOf(a) - complexOf(b)) }

// number is the number of one element.
func number(dtype string, b []byte) float64 {
	var one [1]float64
	elements[dtype].numbers(one[:], b)
	return one[0]
}

func each(size int, value func([]byte) float64) element {
	return element{size: int64(size), numbers: func(to []float64, from []byte) {
		for i := range to {
			to[i] = value(from[i*size:][:size])
		}
	}}
}

func byTable(value func(byte) float64) element {
	var table [256]float64
	for i := range table {
		table[i] = value(byte(i))
	}
	return element{size: 1, numbers: func(to []float64, from []byte) {
		for i := range to {
			to[i] = table[from[i]]
		}
	}}
}

func eighth(format ttir.Float) func(b byte) float64 {
	return func(b byte) float64 { return format.Value(uint64(b)) }
}

// quarters are the two 4-bit numbers in a byte.
func quarters(b byte) (low, high float64) {
	return ttir.F4E2M1FN.Value(uint64(b & 0xf)), ttir.F4E2M1FN.Value(uint64(b >> 4))
}

func complexOf(b []byte) complex128 {
	if len(b) == 8 {
		return complex(float64(math.Float32frombits(little.Uint32(b))), float64(math.Float32frombits(little.Uint32(b[4:]))))
	}
	return complex(math.Float64frombits(little.Uint64(b)), math.Float64frombits(little.Uint64(b[8:])))
}

// abs is NaN if a part is.
func abs(c complex128) float64 {
	if math.IsNaN(real(c)) || math.IsNaN(imag(c)) {
		return math.NaN()
	}
	return cmplx.Abs(c)
}

// show writes an element as Python does, with the fewest digits that distinguish it from other values of its type.
func show(dtype string, b []byte) string {
	switch dtype {
	case "int64":
		return strconv.FormatInt(int64(little.Uint64(b)), 10)
	case "uint64":
		return strconv.FormatUint(little.Uint64(b), 10)
	case "int32", "uint32":
		return strconv.FormatInt(int64(number(dtype, b)), 10)
	case "bool":
		return strconv.FormatBool(b[0] != 0)
	case "complex128", "complex64":
		return strings.ReplaceAll(strings.ToLower(strconv.FormatComplex(complexOf(b), 'g', -1, len(b)*8)), "i)", "j)")
	case "float4_e2m1fn_x2":
		low, high := quarters(b[0])
		return "(" + float(low, -1, 64) + ", " + float(high, -1, 64) + ")"
	case "float64":
		return float(number(dtype, b), -1, 64)
	case "float32":
		return float(number(dtype, b), -1, 32)
	}
	return float(number(dtype, b), 5, 64) // of 16 bits at most
}

func float(v float64, digits, bits int) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+"))
	}
	return strconv.FormatFloat(v, 'g', digits, bits)
}
