package interpreter

import (
	"math"

	"github.com/goproton/goproton/triton/ttir"
)

// smallFormats are the formats of conversions with two numbers in a register.
var smallFormats = map[string]ttir.Float{"e4m3": ttir.F8E4M3FN, "e5m2": ttir.F8E5M2, "e2m3": ttir.F6E2M3FN, "e3m2": ttir.F6E3M2FN, "e2m1": ttir.F4E2M1FN, "ue8m0": ttir.F8E8M0FNU}

// convert is cvt.
func (i *instruction) convert() func(r []uint64) {
	if len(i.types) != 2 {
		panic(i.fail())
	}
	to, from := i.types[0], i.types[1]
	if to.kind == "tf32" {
		return i.toTF32()
	}
	write, read := i.writer(to), reader(from)
	switch {
	case to.lanes == 2 && from.lanes == 1: // the first operand is the upper half
		high, low := i.source(1, from), i.source(2, from)
		size := to.bits / 2
		return i.result(func(r []uint64) uint64 { return write(read(r[high]))<<size | write(read(r[low])) })
	case to.lanes == 2:
		a := i.source(1, from)
		size, given := to.bits/2, from.bits/2
		return i.result(func(r []uint64) uint64 {
			return write(read(masked(r[a]>>given, given)))<<size | write(read(masked(r[a], given)))
		})
	case from.lanes != 1:
		panic(i.fail())
	}
	a := i.source(1, from)
	isFloat := func(t ptxType) bool { return t.kind == "f" || t.kind == "bf" }
	if !isFloat(to) && !isFloat(from) {
		return i.integers(to, from, a)
	}
	if !isFloat(from) && from.bits == 64 { // f64 has not all of its values
		f := conversion(map[bool]string{true: "ll", false: "ull"}[from.kind == "s"]+"2"+map[bool]string{true: "double", false: "float"}[to.bits == 64], i.direction())
		return i.result(func(r []uint64) uint64 { return write(f([]scalar{{i: int64(r[a])}}).f) })
	}
	return i.result(func(r []uint64) uint64 { return write(read(r[a])) })
}

// integers converts between integers: the sign is that of what is read, and .sat keeps what is written in its range.
func (i *instruction) integers(to, from ptxType, a int) func(r []uint64) {
	return i.result(func(r []uint64) uint64 {
		v := int64(masked(r[a], from.bits))
		if from.kind == "s" {
			v = signedOf(r[a], from.bits)
		}
		if i.has["sat"] {
			low, high := int64(0), int64(math.MaxInt64)
			if to.kind == "s" {
				low, high = -1<<(to.bits-1), int64(uint64(1)<<(to.bits-1)-1)
			} else if to.bits < 64 {
				high = 1<<to.bits - 1
			}
			return uint64(max(low, min(v, high)))
		}
		if to.kind == "s" { // a wider register has the sign
			return uint64(signedOf(uint64(v), to.bits))
		}
		return masked(uint64(v), to.bits)
	})
}

// reader returns the numbers of a type.
func reader(t ptxType) func(v uint64) float64 {
	switch t.kind {
	case "f", "bf":
		return ptxGet(t)
	case "s":
		return func(v uint64) float64 { return float64(signedOf(v, t.bits)) }
	}
	if f, ok := smallFormats[t.kind]; ok {
		return func(v uint64) float64 { return f.Value(v) }
	}
	return func(v uint64) float64 { return float64(masked(v, t.bits)) }
}

// writer rounds a number to a type.
func (i *instruction) writer(t ptxType) func(v float64) uint64 {
	mode := i.direction()
	isUnsigned := t.kind == "u" || t.kind == "b"
	switch t.kind {
	case "f", "bf":
		return i.floatWriter(t, mode)
	case "s", "u", "b":
		if !i.has["rni"] && !i.has["rmi"] && !i.has["rpi"] {
			mode = toZero
		}
		return func(v float64) uint64 { return masked(uint64(saturated(whole(v, mode), t.bits, isUnsigned)), t.bits) }
	}
	f := smallFormats[t.kind]
	if f == ttir.F8E8M0FNU {
		return func(v float64) uint64 { return scaleOf(v, mode) }
	}
	largest, n := f.Value(1<<(f.Bits()-1)-1), narrows[f]
	if n != nil { // which has NaN and perhaps infinity behind its largest number
		largest = float64(n.largest)
	}
	return func(v float64) uint64 {
		if i.has["relu"] && !(v > 0) && v == v {
			v = 0
		}
		if v != v && n == nil { // there is no NaN: the largest
			v = largest
		}
		return f.Pattern(max(-largest, min(v, largest)))
	}
}

// scaleOf is the exponent of a power of two, rounded as its mode says; what is too large is the largest.
func scaleOf(v float64, mode rounding) uint64 {
	if v != v {
		return 0xFF
	}
	m, e := math.Frexp(math.Abs(v)) // m·2^e, m from 1/2
	if v == 0 {
		return 0
	}
	if e--; mode == upward && m > 0.5 {
		e++
	}
	return uint64(max(0, min(e+127, 254)))
}

func (i *instruction) floatWriter(t ptxType, mode rounding) func(v float64) uint64 {
	f, put := ptxFormat(t), ptxPut(t)
	n := narrows[f]
	return func(v float64) uint64 {
		if i.has["rni"] || i.has["rzi"] || i.has["rmi"] || i.has["rpi"] {
			v = whole(v, mode)
		}
		v = i.limited(v)
		switch {
		case mode == toNearest || i.has["rni"] || i.has["rzi"] || i.has["rmi"] || i.has["rpi"]:
		case n != nil && mode == toZero:
			return uint64(patternOf(f, n.towardZero(downward(v))))
		case f == ttir.F32:
			v = directed(v, mode, true, func(y float64) int { return exact(v).Cmp(exact(y)) }, v)
		case n != nil:
			panic(i.fail())
		}
		return put(v)
	}
}

// toTF32 rounds to 10 bits: to the nearest, where .rna takes ties away from zero.
func (i *instruction) toTF32() func(r []uint64) {
	a, round := i.source(1, ptxType{"f", 32, 1}), narrows[ttir.TF32].nearest
	switch {
	case i.has["rz"]:
		round = narrows[ttir.TF32].towardZero
	case i.has["rna"]:
		round = awayTF32
	}
	return i.result(func(r []uint64) uint64 {
		u := uint32(r[a])
		if x := math.Float32frombits(u); x-x == 0 {
			u = math.Float32bits(round(x))
		}
		return uint64(u)
	})
}
