package ttir

import (
	"math"
	"strings"

	"github.com/goproton/goproton/internal/figures"
)

// Float is a format of floating-point numbers.
type Float uint8

const (
	NoFloat Float = iota
	F16
	BF16
	F32
	F64
	TF32
	F8E4M3FN
	F8E5M2
	F8E4M3FNUZ
	F8E5M2FNUZ
	F8E4M3B11FNUZ
	F8E8M0FNU
	F6E2M3FN
	F6E3M2FN
	F4E2M1FN
)

// layouts are the formats: the bits of exponent and mantissa, the exponent's bias, and what the largest exponent holds.
var layouts = [...]struct {
	name                     string
	exponent, mantissa, bias int
	special                  specials
}{
	F16: {"f16", 5, 10, 15, infinite}, BF16: {"bf16", 8, 7, 127, infinite}, F32: {"f32", 8, 23, 127, infinite}, F64: {"f64", 11, 52, 1023, infinite},
	TF32: {"tf32", 8, 10, 127, infinite}, F8E4M3FN: {"f8E4M3FN", 4, 3, 7, onlyNaN}, F8E5M2: {"f8E5M2", 5, 2, 15, infinite},
	F8E4M3FNUZ: {"f8E4M3FNUZ", 4, 3, 8, negativeZero}, F8E5M2FNUZ: {"f8E5M2FNUZ", 5, 2, 16, negativeZero}, F8E4M3B11FNUZ: {"f8E4M3B11FNUZ", 4, 3, 11, negativeZero},
	F8E8M0FNU: {"f8E8M0FNU", 8, 0, 127, onlyNaN}, F6E2M3FN: {"f6E2M3FN", 2, 3, 1, none}, F6E3M2FN: {"f6E3M2FN", 3, 2, 3, none}, F4E2M1FN: {"f4E2M1FN", 2, 1, 1, none},
}

// specials are the patterns that are not finite numbers.
type specials uint8

const (
	infinite     specials = iota // the largest exponent: infinities, and NaN
	onlyNaN                      // NaN is all ones; there is no infinity
	negativeZero                 // NaN is the pattern of -0; there is no infinity
	none
)

var floats = func() map[string]Float {
	m := map[string]Float{}
	for f := range layouts {
		if layouts[f].name != "" {
			m[layouts[f].name] = Float(f)
		}
	}
	return m
}()

// String is the name in a text.
func (f Float) String() string { return layouts[f].name }

// Bits is the size of a number.
func (f Float) Bits() int {
	switch f {
	case NoFloat:
		return 0
	case TF32:
		return 32
	case F8E8M0FNU:
		return 8
	}
	return 1 + layouts[f].exponent + layouts[f].mantissa
}

// Pattern returns the bits of a number, rounded to the nearest that the format has, ties to even. What is too large is an infinity, and
// NaN in a format without infinities, as in MLIR's texts.
func (f Float) Pattern(v float64) uint64 {
	switch f {
	case F64:
		return math.Float64bits(v)
	case F32:
		return uint64(math.Float32bits(float32(v)))
	case TF32:
		u := math.Float64bits(v)
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			u = (u + 1<<41 - 1 + u>>42&1) &^ (1<<42 - 1)
		}
		return F32.Pattern(math.Float64frombits(u))
	case F8E8M0FNU:
		return scale(v)
	}
	l := layouts[f]
	sign := uint64(0)
	if math.Signbit(v) {
		sign = 1 << (l.exponent + l.mantissa)
	}
	top := uint64(1)<<l.exponent - 1
	if math.IsNaN(v) {
		return f.nan() | sign*figures.OneIf[uint64](l.special != negativeZero)
	}
	if v = math.Abs(v); math.IsInf(v, 0) {
		return f.overflow(sign)
	}
	_, e := math.Frexp(v) // v = m·2^e with m from 1/2 up to 1
	e = max(e-1, 1-l.bias)
	steps := uint64(math.RoundToEven(math.Ldexp(v, l.mantissa-e)))
	bits := uint64(e-(1-l.bias))<<l.mantissa + steps // a carry of the mantissa goes into the exponent
	switch {
	case v == 0 || bits == 0:
		return sign * figures.OneIf[uint64](l.special != negativeZero)
	case l.special == infinite && bits >= top<<l.mantissa, l.special == onlyNaN && bits >= 1<<(l.exponent+l.mantissa)-1, bits >= 1<<(l.exponent+l.mantissa):
		return f.overflow(sign)
	}
	return sign | bits
}

// scale is the exponent of a power of two, which a scale is.
func scale(v float64) uint64 {
	if math.IsNaN(v) || v <= 0 {
		return 0xFF
	}
	return uint64(min(max(math.RoundToEven(math.Log2(v))+127, 0), 0xFF))
}

func (f Float) overflow(sign uint64) uint64 {
	l := layouts[f]
	switch l.special {
	case infinite:
		return sign | (1<<l.exponent-1)<<l.mantissa
	case none:
		return sign | 1<<(l.exponent+l.mantissa) - 1
	}
	return f.nan() | sign*figures.OneIf[uint64](l.special != negativeZero)
}

func (f Float) nan() uint64 {
	l := layouts[f]
	switch l.special {
	case infinite:
		return (1<<l.exponent-1)<<l.mantissa | 1<<(l.mantissa-1)
	case negativeZero:
		return 1 << (l.exponent + l.mantissa)
	}
	return 1<<(l.exponent+l.mantissa) - 1
}

// Value is the number that bits stand for.
func (f Float) Value(bits uint64) float64 {
	switch f {
	case F64:
		return math.Float64frombits(bits)
	case F32, TF32:
		return float64(math.Float32frombits(uint32(bits)))
	case F8E8M0FNU:
		if bits&0xFF == 0xFF {
			return math.NaN()
		}
		return math.Ldexp(1, int(bits&0xFF)-127)
	}
	l := layouts[f]
	sign, all := 1.0, l.exponent+l.mantissa
	if bits>>all&1 == 1 {
		sign = -1
	}
	exponent, mantissa := int(bits>>l.mantissa&(1<<l.exponent-1)), bits&(1<<l.mantissa-1)
	switch {
	case l.special == infinite && exponent == 1<<l.exponent-1 && mantissa == 0:
		return math.Inf(int(sign))
	case l.special == infinite && exponent == 1<<l.exponent-1, l.special == onlyNaN && bits&(1<<all-1) == 1<<all-1, l.special == negativeZero && bits == 1<<all:
		return math.NaN()
	case exponent == 0:
		return sign * math.Ldexp(float64(mantissa), 1-l.bias-l.mantissa)
	}
	return sign * math.Ldexp(float64(mantissa|1<<l.mantissa), exponent-l.bias-l.mantissa)
}

// isHex says whether a number is given by its bits.
func isHex(text string) bool { return strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "-0x") }
