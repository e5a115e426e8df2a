package interpreter

import (
	"math"
	"math/big"
	"math/bits"
	"strings"

	"github.com/goproton/goproton/triton/ttir"
)

// scalar is an argument or the result of a function that takes or gives integers: f of a number, i of an integer, with its sign.
type scalar struct {
	f float64
	i int64
}

type mixedFunction func(x []scalar) scalar

func number1(f func(x []scalar) float64) mixedFunction {
	return func(x []scalar) scalar { return scalar{f: f(x)} }
}

func integer(f func(x []scalar) int64) mixedFunction {
	return func(x []scalar) scalar { return scalar{i: f(x)} }
}

// mixedTable are functions of the vendors' libraries that take or give integers, and those of several numbers, by their names without the
// ending for f32. Of those with a sign and without, the unsigned begin with u.
var mixedTable = map[string]struct {
	arguments int
	f         mixedFunction
}{
	"isnan": {1, predicate(math.IsNaN)}, "isinf": {1, predicate(func(x float64) bool { return math.IsInf(x, 0) })}, "finite": {1, predicate(func(x float64) bool { return x-x == 0 })},
	"isfinite": {1, predicate(func(x float64) bool { return x-x == 0 })}, "signbit": {1, predicate(math.Signbit)},
	"ilogb": {1, integer(func(x []scalar) int64 {
		switch f := x[0].f; {
		case f == 0 || f != f:
			return math.MinInt32
		case math.IsInf(f, 0):
			return math.MaxInt32
		}
		return int64(math.Ilogb(x[0].f))
	})},
	"llrint": {1, integer(func(x []scalar) int64 { return saturated(math.RoundToEven(x[0].f), 64, false) })}, "llround": {1, integer(func(x []scalar) int64 { return saturated(math.Round(x[0].f), 64, false) })},
	"ldexp": {2, number1(func(x []scalar) float64 { return math.Ldexp(x[0].f, int(x[1].i)) })}, "scalbn": {2, number1(func(x []scalar) float64 { return math.Ldexp(x[0].f, int(x[1].i)) })},
	"powi": {2, number1(func(x []scalar) float64 { return math.Pow(x[0].f, float64(x[1].i)) })}, "pown": {2, number1(func(x []scalar) float64 { return math.Pow(x[0].f, float64(x[1].i)) })},
	"jn": {2, number1(func(x []scalar) float64 { return math.Jn(int(x[0].i), x[1].f) })}, "yn": {2, number1(func(x []scalar) float64 { return math.Yn(int(x[0].i), x[1].f) })},
	"norm3d": {3, number1(func(x []scalar) float64 { return length(x) })}, "rnorm3d": {3, number1(func(x []scalar) float64 { return 1 / length(x) })},
	"norm4d": {4, number1(func(x []scalar) float64 { return length(x) })}, "rnorm4d": {4, number1(func(x []scalar) float64 { return 1 / length(x) })},

	"abs": {1, integer(func(x []scalar) int64 { return max(x[0].i, -x[0].i) })}, "llabs": {1, integer(func(x []scalar) int64 { return max(x[0].i, -x[0].i) })},
	"iabs": {1, integer(func(x []scalar) int64 { return max(x[0].i, -x[0].i) })},
	"clz":  {1, integer(func(x []scalar) int64 { return int64(bits.LeadingZeros32(uint32(x[0].i))) })}, "clzll": {1, integer(func(x []scalar) int64 { return int64(bits.LeadingZeros64(uint64(x[0].i))) })},
	"popc": {1, integer(func(x []scalar) int64 { return int64(bits.OnesCount32(uint32(x[0].i))) })}, "popcll": {1, integer(func(x []scalar) int64 { return int64(bits.OnesCount64(uint64(x[0].i))) })},
	"ffs": {1, integer(func(x []scalar) int64 { return int64(bits.TrailingZeros32(uint32(x[0].i))+1) % 33 })}, "ffsll": {1, integer(func(x []scalar) int64 { return int64(bits.TrailingZeros64(uint64(x[0].i))+1) % 65 })},
	"brev": {1, integer(func(x []scalar) int64 { return int64(int32(bits.Reverse32(uint32(x[0].i)))) })}, "brevll": {1, integer(func(x []scalar) int64 { return int64(bits.Reverse64(uint64(x[0].i))) })},
	"byte_perm": {3, integer(func(x []scalar) int64 {
		return int64(int32(permuted(uint32(x[0].i), uint32(x[1].i), uint32(x[2].i)&0x7777)))
	})},
	"mulhi": {2, integer(func(x []scalar) int64 { return x[0].i * x[1].i >> 32 })}, "umulhi": {2, integer(func(x []scalar) int64 { return int64(low32(x[0]) * low32(x[1]) >> 32) })},
	"mul64hi": {2, integer(func(x []scalar) int64 { return signedHigh(x[0].i, x[1].i) })}, "umul64hi": {2, integer(func(x []scalar) int64 {
		h, _ := bits.Mul64(uint64(x[0].i), uint64(x[1].i))
		return int64(h)
	})},
	"mul24": {2, integer(func(x []scalar) int64 { return int64(int32(x[0].i<<8)>>8) * int64(int32(x[1].i<<8)>>8) })}, "umul24": {2, integer(func(x []scalar) int64 { return (x[0].i & 0xFFFFFF) * (x[1].i & 0xFFFFFF) })},
	"sad": {3, integer(func(x []scalar) int64 { return max(x[0].i-x[1].i, x[1].i-x[0].i) + x[2].i })}, "usad": {3, integer(func(x []scalar) int64 {
		a, b := low32(x[0]), low32(x[1])
		return int64(max(a, b)-min(a, b)) + x[2].i
	})},
	"hadd": {2, integer(func(x []scalar) int64 { return (x[0].i + x[1].i) >> 1 })}, "rhadd": {2, integer(func(x []scalar) int64 { return (x[0].i + x[1].i + 1) >> 1 })},
	"uhadd": {2, integer(func(x []scalar) int64 { return int64((low32(x[0]) + low32(x[1])) >> 1) })}, "urhadd": {2, integer(func(x []scalar) int64 { return int64((low32(x[0]) + low32(x[1]) + 1) >> 1) })},
	"max": {2, integer(func(x []scalar) int64 { return max(x[0].i, x[1].i) })}, "min": {2, integer(func(x []scalar) int64 { return min(x[0].i, x[1].i) })},
	"llmax": {2, integer(func(x []scalar) int64 { return max(x[0].i, x[1].i) })}, "llmin": {2, integer(func(x []scalar) int64 { return min(x[0].i, x[1].i) })},
	"umax": {2, integer(func(x []scalar) int64 { return int64(max(low32(x[0]), low32(x[1]))) })}, "umin": {2, integer(func(x []scalar) int64 { return int64(min(low32(x[0]), low32(x[1]))) })},
	"ullmax": {2, integer(func(x []scalar) int64 { return int64(max(uint64(x[0].i), uint64(x[1].i))) })}, "ullmin": {2, integer(func(x []scalar) int64 { return int64(min(uint64(x[0].i), uint64(x[1].i))) })},

	"float_as_int": {1, integer(func(x []scalar) int64 { return int64(math.Float32bits(float32(x[0].f))) })}, "float_as_uint": {1, integer(func(x []scalar) int64 { return int64(math.Float32bits(float32(x[0].f))) })},
	"int_as_float": {1, number1(func(x []scalar) float64 { return float64(math.Float32frombits(uint32(x[0].i))) })}, "uint_as_float": {1, number1(func(x []scalar) float64 { return float64(math.Float32frombits(uint32(x[0].i))) })},
	"double_as_longlong": {1, integer(func(x []scalar) int64 { return int64(math.Float64bits(x[0].f)) })}, "longlong_as_double": {1, number1(func(x []scalar) float64 { return math.Float64frombits(uint64(x[0].i)) })},
	"double2hiint": {1, integer(func(x []scalar) int64 { return int64(math.Float64bits(x[0].f)) >> 32 })}, "double2loint": {1, integer(func(x []scalar) int64 { return int64(int32(math.Float64bits(x[0].f))) })},
	"hiloint2double": {2, number1(func(x []scalar) float64 { return math.Float64frombits(uint64(x[0].i)<<32 | low32(x[1])) })},
	"popcount":       {1, integer(func(x []scalar) int64 { return int64(bits.OnesCount64(uint64(x[0].i))) })},
}

func low32(x scalar) uint64 { return uint64(uint32(x.i)) }

func predicate(test func(x float64) bool) mixedFunction {
	return integer(func(x []scalar) int64 { return int64(truth(test(x[0].f))) })
}

func length(x []scalar) float64 {
	n := 0.0
	for _, v := range x {
		n = math.Hypot(n, v.f)
	}
	return n
}

func signedHigh(a, b int64) int64 {
	h, _ := bits.Mul64(uint64(a), uint64(b))
	if a < 0 {
		h -= uint64(b)
	}
	if b < 0 {
		h -= uint64(a)
	}
	return int64(h)
}

// permuted picks four of the eight bytes of two words; the highest bit of a selector spreads the byte's sign.
func permuted(a, b, selectors uint32) (r uint32) {
	all := uint64(b)<<32 | uint64(a)
	for i := range 4 {
		s := selectors >> (4 * i)
		v := uint32(all>>(8*(s&7))) & 0xFF
		if s&8 != 0 {
			v = uint32(int32(int8(v))>>7) & 0xFF
		}
		r |= v << (8 * i)
	}
	return r
}

// mixed is a function by its name, without the ending for f32; nil if there is none.
func mixed(name string, arguments int, double bool) mixedFunction {
	if f, ok := mixedTable[name]; ok && f.arguments == arguments {
		return f.f
	}
	if name == "nextafter" && arguments == 2 {
		return number1(func(x []scalar) float64 {
			if double {
				return math.Nextafter(x[0].f, x[1].f)
			}
			return float64(math.Nextafter32(float32(x[0].f), float32(x[1].f)))
		})
	}
	what, mode, _ := strings.Cut(name, "_")
	round, known := roundings[mode]
	if !known {
		return nil
	}
	for _, operation := range []string{strings.TrimSuffix(what, "f"), strings.TrimPrefix(what, "d"), strings.TrimPrefix(what, "f")} {
		if f, ok := directedFunctions[operation]; ok && f.arguments == arguments {
			return number1(func(x []scalar) float64 { return f.f(x, round, !double) })
		}
	}
	if arguments != 1 {
		return nil
	}
	return conversion(what, round)
}

// rounding is a direction of rounding.
type rounding uint8

const (
	toNearest rounding = iota
	toZero
	upward
	downwards
)

var roundings = map[string]rounding{"rn": toNearest, "rz": toZero, "ru": upward, "rd": downwards}

// directedFunctions are the arithmetic of the libraries with a direction of rounding.
var directedFunctions = map[string]struct {
	arguments int
	f         func(x []scalar, mode rounding, single bool) float64
}{
	"add": {2, func(x []scalar, mode rounding, single bool) float64 {
		return directedSum(x[0].f+x[1].f, x[0].f, x[1].f, mode, single)
	}},
	"sub": {2, func(x []scalar, mode rounding, single bool) float64 { // x - NaN has the sign of NaN, as x + -NaN has not
		return directedSum(x[0].f-x[1].f, x[0].f, -x[1].f, mode, single)
	}},
	"mul": {2, func(x []scalar, mode rounding, single bool) float64 {
		a, b := x[0].f, x[1].f
		return directed(a*b, mode, single, func(y float64) int { return exact(a).Mul(exact(a), exact(b)).Cmp(exact(y)) }, a, b)
	}},
	"div": {2, func(x []scalar, mode rounding, single bool) float64 {
		return directedQuotient(x[0].f, x[1].f, mode, single)
	}},
	"rcp": {1, func(x []scalar, mode rounding, single bool) float64 { return directedQuotient(1, x[0].f, mode, single) }},
	"sqrt": {1, func(x []scalar, mode rounding, single bool) float64 {
		a := x[0].f
		return directed(math.Sqrt(a), mode, single, func(y float64) int { return exact(a).Cmp(exact(y).Mul(exact(y), exact(y))) }, a)
	}},
	"fma": {3, func(x []scalar, mode rounding, single bool) float64 {
		a, b, d := x[0].f, x[1].f, x[2].f
		y := math.FMA(a, b, d)
		if single {
			y = float64(fma32(float32(a), float32(b), float32(d)))
		}
		return directed(y, mode, single, func(y float64) int {
			p := exact(a).Mul(exact(a), exact(b))
			return p.Add(p, exact(d)).Cmp(exact(y))
		}, a, b, d)
	}},
}

func directedSum(y, a, b float64, mode rounding, single bool) float64 {
	return directed(y, mode, single, func(y float64) int { return exact(a).Add(exact(a), exact(b)).Cmp(exact(y)) }, a, b)
}

func directedQuotient(a, b float64, mode rounding, single bool) float64 {
	if b == 0 {
		return a / b
	}
	return directed(a/b, mode, single, func(y float64) int {
		sign := exact(a).Cmp(exact(y).Mul(exact(y), exact(b)))
		if b < 0 {
			return -sign
		}
		return sign
	}, a, b)
}

// exact is a number with enough bits for a product of three, and a sum.
func exact(x float64) *big.Float { return new(big.Float).SetPrec(4500).SetFloat64(x) }

// directed returns the number of f32 or f64 that a result is rounded to. y is the nearest, and compare says whether the result is larger than
// a number (1), less (-1), or the same. Operands that are not finite have no other result.
func directed(y float64, mode rounding, single bool, compare func(y float64) int, operands ...float64) float64 {
	most := math.MaxFloat64
	if single {
		y, most = float64(float32(y)), math.MaxFloat32
	}
	for _, x := range operands {
		if x-x != 0 {
			return y
		}
	}
	if mode == toNearest || y != y {
		return y
	}
	next := func(y, to float64) float64 {
		if single {
			return float64(math.Nextafter32(float32(y), float32(to)))
		}
		return math.Nextafter(y, to)
	}
	if math.IsInf(y, 0) { // the largest finite number is on the other side of the result
		most = math.Copysign(most, y)
		if mode == toZero || mode == downwards && y > 0 || mode == upward && y < 0 {
			return most
		}
		return y
	}
	switch c := compare(y); {
	case c == 0:
		if y == 0 && mode == downwards && len(operands) == 2 && operands[0] == -operands[1] && operands[0] != 0 {
			return math.Copysign(0, -1)
		}
		return y
	case c < 0 && (mode == downwards || mode == toZero && (y > 0 || y == 0 && !math.Signbit(y))):
		return next(y, math.Inf(-1))
	case c > 0 && (mode == upward || mode == toZero && (y < 0 || y == 0 && math.Signbit(y))):
		return next(y, math.Inf(1))
	}
	return y
}

// conversion is a conversion between kinds of numbers with a direction of rounding: float2int, ll2double.
func conversion(what string, mode rounding) mixedFunction {
	from, to, _ := strings.Cut(what, "2")
	isUnsigned := strings.HasPrefix(to, "u") || strings.HasPrefix(from, "u")
	wide := strings.HasSuffix(to, "ll") || strings.HasSuffix(from, "ll")
	switch {
	case from == "double" && to == "float":
		return number1(func(x []scalar) float64 {
			return directed(x[0].f, mode, true, func(y float64) int { return exact(x[0].f).Cmp(exact(y)) }, x[0].f)
		})
	case (from == "float" || from == "double") && (to == "int" || to == "uint" || to == "ll" || to == "ull"):
		size := 32
		if wide {
			size = 64
		}
		return integer(func(x []scalar) int64 { return saturated(whole(x[0].f, mode), size, isUnsigned) })
	case (from == "int" || from == "uint" || from == "ll" || from == "ull") && (to == "float" || to == "double"):
		return number1(func(x []scalar) float64 {
			n := new(big.Float).SetPrec(64).SetInt64(x[0].i)
			switch {
			case isUnsigned && wide:
				n.SetUint64(uint64(x[0].i))
			case isUnsigned:
				n.SetUint64(low32(x[0]))
			}
			if to == "float" {
				f, _ := n.Float32()
				return directed(float64(f), mode, true, func(y float64) int { return n.Cmp(exact(y)) })
			}
			f, _ := n.Float64()
			return directed(f, mode, false, func(y float64) int { return n.Cmp(exact(y)) })
		})
	}
	return nil
}

// whole rounds to an integer.
func whole(x float64, mode rounding) float64 {
	switch mode {
	case toZero:
		return math.Trunc(x)
	case upward:
		return math.Ceil(x)
	case downwards:
		return math.Floor(x)
	}
	return math.RoundToEven(x)
}

// applyMixed calls a function for each element.
func (c *compiler) applyMixed(f mixedFunction) step {
	var shape []int
	for i := range c.op.Operands {
		shape = join(shape, c.use(i).shape)
	}
	var fills []step
	var get []func(i int) scalar
	for i := range c.op.Operands {
		g, fill := c.scalars(c.use(i), shape)
		get, fills = append(get, g), append(fills, fill)
	}
	out := c.define(0, shape)
	put := scalarsInto(out)
	x, n := make([]scalar, len(get)), out.len()
	return chain(append(fills, func() {
		for i := range n {
			for k, g := range get {
				x[k] = g(i)
			}
			put(i, f(x))
		}
	}, roundingOf(out))...)
}

// scalars reads the elements of an operand.
func (c *compiler) scalars(s *slot, shape []int) (func(i int) scalar, step) {
	return typedAs(s.t, bits1, f64, notTaken).scalars(c, s, shape)
}

func (typedOf[T]) scalars(c *compiler, s *slot, shape []int) (func(i int) scalar, step) {
	a, fill := operand[T](c, s, shape)
	switch a := any(a).(type) {
	case []float32:
		return func(i int) scalar { return scalar{f: float64(a[i])} }, fill
	case []float64:
		return func(i int) scalar { return scalar{f: a[i]} }, fill
	}
	return func(i int) scalar { return scalar{i: int64(a[i])} }, fill
}

// scalarsInto writes the elements of a result.
func scalarsInto(s *slot) func(i int, v scalar) {
	return typedAs(s.t, bits1, f64, notGiven).scalarsInto(s)
}

func (typedOf[T]) scalarsInto(s *slot) func(i int, v scalar) {
	switch o := s.data.(type) {
	case []bit:
		return func(i int, v scalar) { o[i] = truth(v.i != 0) }
	case []float32:
		if s.t.Scalar().Float == ttir.F32 {
			return func(i int, v scalar) { o[i] = float32(v.f) }
		}
		return func(i int, v scalar) { o[i] = oddly(v.f) }
	case []float64:
		return func(i int, v scalar) { o[i] = v.f }
	}
	o := dataOf[T](s)
	return func(i int, v scalar) { o[i] = T(v.i) }
}
