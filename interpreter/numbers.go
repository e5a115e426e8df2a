package interpreter

import (
	"encoding/binary"
	"math"

	"github.com/goproton/goproton/triton/ttir"
)

// narrow is a format of at most 16 bits, whose numbers are kept as float32.
type narrow struct {
	mantissa uint    // bits
	normal   float32 // the smallest normal number
	unit     float64 // the distance of subnormal numbers
	largest  float32
	infinite bool // too large numbers turn into infinity; in the formats of 8 bits, into the largest
	noZero   bool // there is no -0
}

// narrows are the formats of at most 16 bits, and that of TF32.
var narrows = map[ttir.Float]*narrow{
	ttir.F16:        {10, 0x1p-14, 0x1p-24, 65504, true, false},
	ttir.BF16:       {7, 0x1p-126, 0x1p-133, math.MaxFloat32 - 0x1p119 + 0x1p104, true, false},
	ttir.TF32:       {10, 0x1p-126, 0x1p-136, math.MaxFloat32 - 0x1p116 + 0x1p104, true, false},
	ttir.F8E4M3FN:   {3, 0x1p-6, 0x1p-9, 448, false, false},
	ttir.F8E5M2:     {2, 0x1p-14, 0x1p-16, 57344, false, false},
	ttir.F8E4M3FNUZ: {3, 0x1p-7, 0x1p-10, 240, false, true},
	ttir.F8E5M2FNUZ: {2, 0x1p-15, 0x1p-17, 57344, false, true},
}

func init() {
	narrows[ttir.BF16].largest = math.Float32frombits(0x7F7F0000)
	narrows[ttir.TF32].largest = math.Float32frombits(0x7F7FE000)
}

// nearest rounds to the nearest number of the format, ties to even.
func (n *narrow) nearest(x float32) float32 {
	u := math.Float32bits(x)
	drop := 23 - n.mantissa
	abs := math.Float32frombits(u &^ (1 << 31))
	switch {
	case abs != abs && !n.infinite: // the NaN that GPUs write has all bits
		return math.Float32frombits(u&^(1<<drop-1) | (1<<23 - 1<<drop))
	case abs != abs:
		return math.Float32frombits(u&^(1<<drop-1) | 1<<22)
	case abs >= n.normal:
		u += 1<<(drop-1) - 1 + u>>drop&1
		u &^= 1<<drop - 1
		if x = math.Float32frombits(u); x > n.largest || x < -n.largest {
			return n.over(x)
		}
		return x
	}
	magic := 0x1.8p52 * n.unit // a sum with it is a multiple of unit
	y := float32(float64(x) + magic - magic)
	if y == 0 {
		if n.noZero {
			return 0
		}
		return math.Float32frombits(u & (1 << 31))
	}
	return y
}

func (n *narrow) over(x float32) float32 {
	top := n.largest
	if n.infinite {
		top = float32(math.Inf(1))
	}
	return float32(math.Copysign(float64(top), float64(x)))
}

// towardZero rounds to the next number that is not larger in its absolute value.
func (n *narrow) towardZero(x float32) float32 {
	u := math.Float32bits(x)
	drop := 23 - n.mantissa
	abs := math.Float32frombits(u &^ (1 << 31))
	switch {
	case abs != abs:
		return n.nearest(x)
	case math.IsInf(float64(x), 0):
		return n.over(x)
	case abs > n.largest:
		return float32(math.Copysign(float64(n.largest), float64(x)))
	case abs >= n.normal:
		return math.Float32frombits(u &^ (1<<drop - 1))
	}
	return n.nearest(float32(math.Trunc(float64(x)/n.unit) * n.unit))
}

// rounded rounds results in place to what a type has; nil if there is nothing to do.
func rounded(t *ttir.Type) func([]float32) {
	n := narrows[t.Scalar().Float]
	if n == nil {
		return nil
	}
	drop, low, high := 23-n.mantissa, math.Float32bits(n.normal), math.Float32bits(n.largest)
	half, mask := uint32(1)<<(drop-1)-1, uint32(1)<<drop-1
	return func(list []float32) {
		for i, x := range list {
			u := math.Float32bits(x)
			if abs := u &^ (1 << 31); abs < low || abs > high { // the same as nearest
				list[i] = n.nearest(x)
				continue
			}
			list[i] = math.Float32frombits((u + half + u>>drop&1) &^ mask)
		}
	}
}

// oddly converts to float32 so that rounding the result to fewer bits is the same as rounding v: an inexact result has an odd mantissa.
func oddly(v float64) float32 {
	x := float32(v)
	if float64(x) == v || v != v || math.IsInf(float64(x), 0) && math.Abs(v) > math.MaxFloat32*2 {
		return x
	}
	u := math.Float32bits(x)
	if math.Abs(float64(x)) > math.Abs(v) {
		u--
	}
	return math.Float32frombits(u | 1)
}

func halfValue(h uint16) float32 {
	u := uint32(h&0x7FFF) << 13
	switch {
	case h&0x7C00 == 0x7C00:
		u |= 0x7F800000
	default:
		u = math.Float32bits(math.Float32frombits(u) * 0x1p112)
	}
	return math.Float32frombits(u | uint32(h&0x8000)<<16)
}

// halfPattern is the bits of a number that f16 has.
func halfPattern(x float32) uint16 {
	u := math.Float32bits(x)
	sign := uint16(u >> 16 & 0x8000)
	if u &= 0x7FFFFFFF; u >= 0x7F800000 {
		return sign | 0x7C00 | uint16(u>>13&0x3FF)
	}
	return sign | uint16(math.Float32bits(math.Float32frombits(u)*0x1p-112)>>13)
}

// bytesOf are the values of the formats of 8 bits.
var bytesOf = func() map[ttir.Float]*[256]float32 {
	all := map[ttir.Float]*[256]float32{}
	for f, n := range narrows {
		if n.mantissa <= 3 {
			all[f] = &[256]float32{}
			for i := range all[f] {
				all[f][i] = smallValue(f, uint8(i))
			}
		}
	}
	return all
}()

func smallValue(f ttir.Float, b uint8) float32 {
	if f == ttir.F8E5M2 {
		return halfValue(uint16(b) << 8)
	}
	v := float32(f.Value(uint64(b)))
	if f == ttir.F8E4M3FN && b == 0xFF { // NaN has a sign
		return float32(math.Copysign(float64(v), -1))
	}
	return v
}

// valueOf is the number that a pattern of a type of at most 32 bits stands for.
func valueOf(f ttir.Float, pattern uint32) float32 {
	switch f {
	case ttir.F16:
		return halfValue(uint16(pattern))
	case ttir.BF16:
		return math.Float32frombits(pattern << 16)
	case ttir.F32, ttir.TF32:
		return math.Float32frombits(pattern)
	}
	return bytesOf[f][uint8(pattern)]
}

// patternOf is the bits of a number that the type has.
func patternOf(f ttir.Float, x float32) uint32 {
	switch f {
	case ttir.F16:
		return uint32(halfPattern(x))
	case ttir.BF16:
		return math.Float32bits(x) >> 16
	case ttir.F32, ttir.TF32:
		return math.Float32bits(x)
	case ttir.F8E5M2:
		return uint32(halfPattern(x) >> 8)
	}
	return uint32(f.Pattern(float64(x)))
}

// codec reads and writes elements in memory.
type codec[T any] struct {
	size int
	get  func(to []T, raw []byte)
	put  func(raw []byte, from []T)
}

func bytesCodec[T bit | int8]() codec[T] {
	return codec[T]{1,
		func(to []T, raw []byte) {
			for i := range to {
				to[i] = T(raw[i])
			}
		},
		func(raw []byte, from []T) {
			for i, v := range from {
				raw[i] = byte(v)
			}
		}}
}

func wordsCodec[T any](size int, get func(raw []byte) T, put func(raw []byte, v T)) codec[T] {
	return codec[T]{size,
		func(to []T, raw []byte) {
			for i := range to {
				to[i] = get(raw[i*size:])
			}
		},
		func(raw []byte, from []T) {
			for i, v := range from {
				put(raw[i*size:], v)
			}
		}}
}

var (
	little    = binary.LittleEndian
	codecI16  = wordsCodec(2, func(b []byte) int16 { return int16(little.Uint16(b)) }, func(b []byte, v int16) { little.PutUint16(b, uint16(v)) })
	codecI64  = wordsCodec(8, func(b []byte) int64 { return int64(little.Uint64(b)) }, func(b []byte, v int64) { little.PutUint64(b, uint64(v)) })
	codecF64  = wordsCodec(8, func(b []byte) float64 { return math.Float64frombits(little.Uint64(b)) }, func(b []byte, v float64) { little.PutUint64(b, math.Float64bits(v)) })
	codecBits = codec[bit]{1, func(to []bit, raw []byte) {
		for i := range to {
			if to[i] = 0; raw[i] != 0 {
				to[i] = 1
			}
		}
	}, bytesCodec[bit]().put}
	codecI32 = wordsCodec(4, func(b []byte) int32 { return int32(little.Uint32(b)) }, func(b []byte, v int32) { little.PutUint32(b, uint32(v)) })
	codec32  = wordsCodec(4, func(b []byte) float32 { return math.Float32frombits(little.Uint32(b)) }, func(b []byte, v float32) { little.PutUint32(b, math.Float32bits(v)) })
)

func codecF32(f ttir.Float) codec[float32] {
	switch f {
	case ttir.F32, ttir.TF32:
		return copied(codec32)
	case ttir.F16:
		return codec[float32]{2, readHalves, writeHalves}
	case ttir.BF16:
		return codec[float32]{2, func(to []float32, raw []byte) {
			for i := range to {
				to[i] = math.Float32frombits(uint32(little.Uint16(raw[2*i:])) << 16)
			}
		}, func(raw []byte, from []float32) {
			for i, v := range from {
				little.PutUint16(raw[2*i:], uint16(math.Float32bits(v)>>16))
			}
		}}
	}
	return wordsCodec(1, func(b []byte) float32 { return bytesOf[f][b[0]] }, func(b []byte, v float32) { b[0] = byte(patternOf(f, v)) })
}

// wideCodec is that of numbers that are kept as f64 (see ttir.Widen): they are rounded where they are stored.
func wideCodec(f ttir.Float) codec[float64] {
	k, n := codecF32(f), narrows[f]
	var list []float32
	return codec[float64]{k.size, func(to []float64, raw []byte) {
		list = append(list[:0], make([]float32, len(to))...)
		k.get(list, raw)
		for i, v := range list {
			to[i] = float64(v)
		}
	}, func(raw []byte, from []float64) {
		list = list[:0]
		for _, v := range from {
			if n != nil {
				list = append(list, n.nearest(oddly(v)))
			} else {
				list = append(list, float32(v))
			}
		}
		k.put(raw, list)
	}}
}

// wideBits are the bits of a number that is kept as f64, rounded to its format.
func wideBits(f ttir.Float, v float64) uint64 {
	if n := narrows[f]; n != nil {
		return uint64(patternOf(f, n.nearest(oddly(v))))
	}
	return f.Pattern(v)
}

func readHalves(to []float32, raw []byte) {
	if words := wordsOf(raw); len(words) >= len(to) {
		for i, h := range words[:len(to)] {
			u := uint32(h&0x7FFF) << 13
			if v := math.Float32frombits(u) * 0x1p112; u < 0x7C00<<13 {
				to[i] = math.Float32frombits(math.Float32bits(v) | uint32(h&0x8000)<<16)
				continue
			}
			to[i] = halfValue(h)
		}
		return
	}
	for i := range to {
		to[i] = halfValue(little.Uint16(raw[2*i:]))
	}
}

func writeHalves(raw []byte, from []float32) {
	if words := wordsOf(raw); len(words) >= len(from) {
		words = words[:len(from)]
		for i, v := range from {
			words[i] = halfPattern(v)
		}
		return
	}
	for i, v := range from {
		little.PutUint16(raw[2*i:], halfPattern(v))
	}
}

// codecOf is how elements of a type lie in memory; T is that of the type's class.
func codecOf[T any](t *ttir.Type) codec[T] {
	var c any
	switch classOf(t) {
	case bits1:
		c = codecBits
	case i8:
		c = bytesCodec[int8]()
	case i16:
		c = copied(codecI16)
	case i32:
		c = copied(codecI32)
	case i64:
		c = copied(codecI64)
	case f32:
		c = codecF32(t.Scalar().Float)
	case f64:
		if c = copied(codecF64); t.Scalar().Float != ttir.F64 {
			c = wideCodec(t.Scalar().Float)
		}
	}
	typed, ok := c.(codec[T])
	if !ok {
		panic(failure("elements of %s are not in memory", t.Text))
	}
	return typed
}

// quietNaN are the bits of NaN.
var quietNaN = map[ttir.Float]uint32{ttir.F16: 0x7E00, ttir.BF16: 0x7FC0, ttir.F32: 0x7FC00000, ttir.TF32: 0x7FC00000,
	ttir.F8E4M3FN: 0x7F, ttir.F8E5M2: 0x7F, ttir.F8E4M3FNUZ: 0x80, ttir.F8E5M2FNUZ: 0x80}
