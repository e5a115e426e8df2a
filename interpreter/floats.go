package interpreter

import (
	"math"
)

func init() {
	register(map[string]func(c *compiler) step{
		"arith.cmpf": compareFloats, "arith.negf": negate, "math.absf": absolute, "math.copysign": copySign, "math.fma": fused, "math.clampf": clamp, "tt.clampf": clamp,
		"math.fpowi": powerOfInteger, "tt.precise_sqrt": function1, "tt.precise_divf": float2, "tt.approx_divf": float2,
		"math.isnan": classify, "math.isinf": classify, "math.isfinite": classify, "math.isnormal": classify,
		"tt.extern_elementwise": library,
	})
	for _, name := range []string{"addf", "subf", "mulf", "divf", "remf", "maxnumf", "minnumf", "maximumf", "minimumf"} {
		builders["arith."+name] = float2
	}
	for name := range functions {
		if builders["math."+name] == nil {
			builders["math."+name] = function1
		}
	}
	builders["math.powf"], builders["math.atan2"] = function2, function2
}

func isDouble(c *compiler) bool {
	switch t := c.use(0).t; classOf(t) {
	case f64:
		return true
	case f32:
		if t.Scalar().Bits == 8 {
			panic(failure("it does not take %s", t.Text))
		}
		return false
	}
	panic(failure("it does not take %s", c.use(0).t.Text))
}

func floatingOf(c *compiler) floating {
	if isDouble(c) {
		return doubles
	}
	return singles
}

func float2(c *compiler) step {
	kind := c.kind()
	if c.op.Name == "tt.precise_divf" || c.op.Name == "tt.approx_divf" {
		kind = "divf"
	}
	return floatingOf(c).zip(c, kind)
}

func (k floatOf[T]) zip(c *compiler, kind string) step { return zip(c, k.loops.of(kind)) }

func floatLoops[T float]() loops[T] {
	return loops[T]{
		"addf": addAll[T], "subf": subtractAll[T], "mulf": multiplyAll[T], "divf": divideAll[T], "maxnumf": maxAll[T], "minnumf": by(smaller[T]),
		"remf":     by(func(a, b T) T { return T(math.Mod(float64(a), float64(b))) }),
		"maximumf": by(func(a, b T) T { return max(a, b) }),
		"minimumf": by(func(a, b T) T { return min(a, b) }),
	}
}

// larger is the larger number, and the other one if one is NaN.
func larger[T float](a, b T) T {
	switch {
	case a > b || b != b:
		return a
	case a == b:
		return max(a, b) // +0 is larger than -0
	}
	return b
}

func smaller[T float](a, b T) T {
	switch {
	case a < b || b != b:
		return a
	case a == b:
		return min(a, b)
	}
	return b
}

func maxAll[T float](o, a, b []T) {
	a, b = a[:len(o)], b[:len(o)]
	for i := range o {
		m := max(a[i], b[i])
		if m != m {
			m = larger(a[i], b[i])
		}
		o[i] = m
	}
}

func compareFloats(c *compiler) step {
	return floatingOf(c).compare(c, c.op.Keyword("predicate", ""))
}

func (k floatOf[T]) compare(c *compiler, predicate string) step {
	return zip(c, k.comparisons.of(predicate))
}

func floatComparisons[T float]() comparisons[T] {
	return comparisons[T]{
		"oeq": equalAll[T], "une": differAll[T], "olt": lessAll[T], "ole": mostAll[T], "ogt": swapped(lessAll[T]), "oge": swapped(mostAll[T]),
		"false": func(o []bit, _, _ []T) { clear(o) },
		"true":  func(o []bit, _, _ []T) { fillOf(o, 1) },
		"one":   by(func(a, b T) bit { return truth(a < b || a > b) }),
		"ord":   by(func(a, b T) bit { return truth(a == a && b == b) }),
		"uno":   by(func(a, b T) bit { return truth(a != a || b != b) }),
		"ueq":   by(func(a, b T) bit { return truth(!(a < b || a > b)) }),
		"ult":   by(func(a, b T) bit { return truth(!(a >= b)) }),
		"ule":   by(func(a, b T) bit { return truth(!(a > b)) }),
		"ugt":   by(func(a, b T) bit { return truth(!(a <= b)) }),
		"uge":   by(func(a, b T) bit { return truth(!(a < b)) }),
	}
}

// The sign is a bit: of NaN too.
func negate(c *compiler) step {
	if isDouble(c) {
		return each1(c, with(func(a float64) float64 { return math.Float64frombits(math.Float64bits(a) ^ 1<<63) }))
	}
	return each1(c, with(func(a float32) float32 { return math.Float32frombits(math.Float32bits(a) ^ 1<<31) }))
}

func absolute(c *compiler) step {
	if isDouble(c) {
		return each1(c, with(math.Abs))
	}
	return each1(c, with(func(a float32) float32 { return math.Float32frombits(math.Float32bits(a) &^ (1 << 31)) }))
}

func copySign(c *compiler) step {
	if isDouble(c) {
		return zip(c, by(math.Copysign))
	}
	return zip(c, by(func(a, b float32) float32 {
		return math.Float32frombits(math.Float32bits(a)&^(1<<31) | math.Float32bits(b)&(1<<31))
	}))
}

// fused multiplies and adds with one rounding.
func fused(c *compiler) step {
	if isDouble(c) {
		return zip3(c, math.FMA)
	}
	if narrows[c.resultType(0).Scalar().Float] != nil {
		return zip3(c, func(a, b, d float32) float32 { return oddSum(float64(a)*float64(b), float64(d)) })
	}
	return zip3(c, fma32)
}

// fma32 rounds a·b+d once: the product is exact in f64, and the sum is rounded to odd before it is rounded to f32.
func fma32(a, b, d float32) float32 {
	p := float64(a) * float64(b)
	s := p + float64(d)
	if e := sumError(p, float64(d), s); e != 0 && math.Float64bits(s)&1 == 0 && !math.IsInf(s, 0) && s == s {
		s = towards(s, e)
	}
	return float32(s)
}

// oddSum is a sum as float32 that is right after one more rounding to fewer bits.
func oddSum(p, d float64) float32 {
	s := p + d
	if e := sumError(p, d, s); e != 0 && math.Float64bits(s)&1 == 0 && !math.IsInf(s, 0) && s == s {
		s = towards(s, e)
	}
	return oddly(s)
}

// sumError is what the sum s of a and b lacks.
func sumError(a, b, s float64) float64 {
	if math.IsInf(s, 0) || s != s {
		return 0
	}
	t := s - a
	return (a - (s - t)) + (b - t)
}

// towards is the neighbour of s, whose mantissa is odd, on the side of e.
func towards(s, e float64) float64 {
	if u := math.Float64bits(s); (e > 0) == (s > 0) {
		return math.Float64frombits(u + 1)
	} else if u<<1 != 0 {
		return math.Float64frombits(u - 1)
	}
	return s
}

func clamp(c *compiler) step {
	propagate := c.op.Keyword("propagateNan", "none") == "all" || c.op.Name == "math.clampf"
	return floatingOf(c).clamp(c, propagate)
}

func (floatOf[T]) clamp(c *compiler, propagate bool) step {
	return zip3(c, func(x, low, high T) T {
		if propagate && x != x {
			return x
		}
		return smaller(larger(x, low), high)
	})
}

func powerOfInteger(c *compiler) step {
	a, b := c.use(0), c.use(1)
	shape := join(a.shape, b.shape)
	n, fillN := operand[int32](c, b, shape)
	out := c.define(0, shape)
	if isDouble(c) {
		x, fillX := operand[float64](c, a, shape)
		o := dataOf[float64](out)
		return chain(fillX, fillN, func() {
			for i := range o {
				o[i] = math.Pow(x[i], float64(n[i]))
			}
		})
	}
	x, fillX := operand[float32](c, a, shape)
	o := dataOf[float32](out)
	return chain(fillX, fillN, func() {
		for i := range o {
			o[i] = oddly(math.Pow(float64(x[i]), float64(n[i])))
		}
	}, roundingOf(out))
}

func classify(c *compiler) step {
	test := map[string]func(x float64) bool{"isnan": math.IsNaN, "isinf": func(x float64) bool { return math.IsInf(x, 0) },
		"isfinite": func(x float64) bool { return x-x == 0 }}[c.op.Name[5:]]
	if test == nil {
		panic(failure("it is not supported"))
	}
	if isDouble(c) {
		return each1(c, with(func(a float64) bit { return truth(test(a)) }))
	}
	return each1(c, with(func(a float32) bit { return truth(test(float64(a))) }))
}

func function1(c *compiler) step {
	name := c.op.Name[5:]
	if c.op.Name == "tt.precise_sqrt" {
		name = "sqrt"
	}
	return c.apply1(functions[name])
}

// apply1 is a function that is computed in f64 and rounded.
func (c *compiler) apply1(f func(x float64) float64) step {
	if isDouble(c) {
		return each1(c, with(f))
	}
	if n := narrows[c.resultType(0).Scalar().Float]; n != nil {
		return each1(c, with(func(a float32) float32 { return oddly(f(float64(a))) }))
	}
	if fast := fastOf(c.op.Name); fast != nil {
		return each1(c, fast)
	}
	return each1(c, with(func(a float32) float32 { return float32(f(float64(a))) }))
}

func function2(c *compiler) step {
	f := math.Pow
	if c.op.Name == "math.atan2" {
		f = math.Atan2
	}
	return c.apply2(f)
}

func (c *compiler) apply2(f func(a, b float64) float64) step {
	if isDouble(c) {
		return zip(c, by(f))
	}
	if n := narrows[c.resultType(0).Scalar().Float]; n != nil {
		return zip(c, by(func(a, b float32) float32 { return oddly(f(float64(a), float64(b))) }))
	}
	return zip(c, by(func(a, b float32) float32 { return float32(f(float64(a), float64(b))) }))
}
