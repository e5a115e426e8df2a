package interpreter

import (
	"math"
)

func init() {
	register(map[string]func(c *compiler) step{
		"arith.extsi": integerCast(false), "arith.extui": integerCast(true), "arith.trunci": integerCast(false), "arith.index_cast": integerCast(false), "arith.index_castui": integerCast(true),
		"arith.extf": widen, "arith.truncf": shorten, "tt.fp_to_fp": shorten, "arith.sitofp": fromInteger(false), "arith.uitofp": fromInteger(true),
		"arith.fptosi": toInteger(false), "arith.fptoui": toInteger(true), "arith.bitcast": recast, "tt.bitcast": recast,
		"tt.int_to_ptr": func(c *compiler) step { return c.alias(c.use(0), c.use(0).shape) },
		"tt.ptr_to_int": func(c *compiler) step { return c.alias(c.use(0), c.use(0).shape) },
	})
}

func integerCast(isUnsigned bool) func(c *compiler) step {
	return func(c *compiler) step {
		from := c.peek(0)
		if classOf(from.t) != bits1 {
			return integralAs(from.t, notTaken).cast(c, isUnsigned)
		}
		if isUnsigned {
			return castTo(c, func(a bit) int64 { return int64(a) })
		}
		return castTo(c, func(a bit) int64 { return -int64(a) })
	}
}

func (integralOf[T, U]) cast(c *compiler, isUnsigned bool) step {
	if isUnsigned {
		return castTo(c, func(a T) int64 { return int64(U(a)) })
	}
	return castTo(c, func(a T) int64 { return int64(a) })
}

// castTo keeps the lower bits of an integer.
func castTo[T any](c *compiler, wide func(a T) int64) step {
	switch classOf(c.resultType(0)) {
	case bits1:
		return each1(c, with(func(a T) bit { return bit(wide(a) & 1) }))
	case i8:
		return each1(c, with(func(a T) int8 { return int8(wide(a)) }))
	case i16:
		return each1(c, with(func(a T) int16 { return int16(wide(a)) }))
	case i32:
		return each1(c, with(func(a T) int32 { return int32(wide(a)) }))
	case i64:
		return each1(c, with(wide))
	}
	panic(failure("it does not give %s", c.resultType(0).Text))
}

// widen converts to a format that has all values of the other.
func widen(c *compiler) step {
	from := c.use(0)
	switch {
	case classOf(from.t) == f32 && classOf(c.resultType(0)) == f32:
		return c.alias(from, from.shape)
	case classOf(from.t) == f32:
		return each1(c, with(func(a float32) float64 { return float64(a) }))
	case classOf(from.t) == f64:
		return c.alias(from, from.shape)
	}
	panic(failure("it does not take %s", from.t.Text))
}

// shorten converts between formats, and rounds where needed.
func shorten(c *compiler) step {
	from, to := c.use(0), c.resultType(0)
	rounding := c.op.Keyword("rounding", c.op.Keyword("roundingmode", "rtne"))
	zero := rounding == "rtz" || rounding == "toward_zero"
	if !zero && rounding != "rtne" && rounding != "to_nearest_even" {
		panic(failure("the rounding %s is not supported", rounding))
	}
	n := narrows[to.Scalar().Float]
	switch classOf(from.t) {
	case f64:
		if classOf(to) == f64 {
			return c.alias(from, from.shape)
		}
		return each1(c, with(func(a float64) float32 {
			switch {
			case n != nil && zero:
				return n.towardZero(downward(a))
			case n != nil:
				return n.nearest(oddly(a))
			case zero:
				return downward(a)
			}
			return float32(a)
		}))
	case f32:
		switch {
		case classOf(to) == f64:
			return each1(c, with(func(a float32) float64 { return float64(a) }))
		case n == nil:
			return c.alias(from, from.shape)
		case zero:
			return each1(c, with(n.towardZero))
		}
		return each1(c, func(o, a []float32) { copy(o, a) }) // each1 rounds
	}
	panic(failure("it does not take %s", from.t.Text))
}

// downward is the next float32 that is not larger in its absolute value.
func downward(a float64) float32 {
	x := float32(a)
	if math.Abs(float64(x)) > math.Abs(a) {
		return math.Float32frombits(math.Float32bits(x) - 1)
	}
	return x
}

func fromInteger(isUnsigned bool) func(c *compiler) step {
	return func(c *compiler) step {
		switch from := c.use(0); classOf(from.t) {
		case bits1:
			if isUnsigned {
				return floatsFrom(c, func(a bit) float64 { return float64(a) })
			}
			return floatsFrom(c, func(a bit) float64 { return -float64(a) })
		case i64:
			if classOf(c.resultType(0)) == f64 { // rounded once
				if isUnsigned {
					return each1(c, with(func(a int64) float64 { return float64(uint64(a)) }))
				}
				return each1(c, with(func(a int64) float64 { return float64(a) }))
			}
			if isUnsigned {
				return floatsFrom(c, func(a int64) float64 { return float64(sticky(uint64(a))) })
			}
			return floatsFrom(c, func(a int64) float64 {
				if a < 0 {
					return -float64(sticky(uint64(-a)))
				}
				return float64(sticky(uint64(a)))
			})
		default:
			return integralAs(from.t, notTaken).float(c, isUnsigned)
		}
	}
}

// sticky is a number that f64 has and that rounds to fewer bits as a does.
func sticky(a uint64) uint64 {
	if a < 1<<53 {
		return a
	}
	low := a & (1<<11 - 1)
	if a &^= 1<<11 - 1; low != 0 {
		a |= 1 << 11
	}
	return a
}

func (integralOf[T, U]) float(c *compiler, isUnsigned bool) step {
	if isUnsigned {
		return floatsFrom(c, func(a T) float64 { return float64(U(a)) })
	}
	return floatsFrom(c, func(a T) float64 { return float64(a) })
}

// floatsFrom converts numbers that f64 has.
func floatsFrom[T any](c *compiler, f func(a T) float64) step {
	to := c.resultType(0)
	switch classOf(to) {
	case f64:
		return each1(c, with(f))
	case f32:
		if narrows[to.Scalar().Float] != nil {
			return each1(c, with(func(a T) float32 { return oddly(f(a)) }))
		}
		return each1(c, with(func(a T) float32 { return float32(f(a)) }))
	}
	panic(failure("it does not give %s", to.Text))
}

// toInteger drops the fraction. What is too large is the largest integer, and NaN is 0.
func toInteger(isUnsigned bool) func(c *compiler) step {
	return func(c *compiler) step {
		if classOf(c.use(0).t) == f64 {
			return integersFrom(c, func(a float64) float64 { return a }, isUnsigned)
		}
		return integersFrom(c, func(a float32) float64 { return float64(a) }, isUnsigned)
	}
}

func integersFrom[T any](c *compiler, f func(a T) float64, isUnsigned bool) step {
	size := c.resultType(0).Scalar().Bits
	whole := func(a T) int64 { return saturated(f(a), size, isUnsigned) }
	return castTo(c, whole)
}

func saturated(x float64, size int, isUnsigned bool) int64 {
	if x != x {
		return 0
	}
	if isUnsigned {
		switch top := math.Ldexp(1, size); {
		case x <= 0:
			return 0
		case x >= top:
			return -1
		}
		return int64(uint64(x))
	}
	switch top := math.Ldexp(1, size-1); {
	case x >= top:
		return int64(uint64(1)<<(size-1) - 1)
	case x <= -top:
		return -1 << (size - 1)
	}
	return int64(x)
}

// recast keeps the bits of a value.
func recast(c *compiler) step {
	from, to := c.use(0), c.resultType(0)
	if from.t.Scalar().Bits != to.Scalar().Bits {
		panic(failure("%s and %s differ in their sizes", from.t.Text, to.Text))
	}
	a, b := classOf(from.t), classOf(to)
	of, as := from.t.Scalar().Float, to.Scalar().Float
	switch wide := from.t.Scalar().Wide || to.Scalar().Wide; {
	case a == b && of == as || a == b && a != f32 && !wide:
		return c.alias(from, from.shape)
	case a == f32 && b == i32 && !wide:
		return each1(c, with(func(x float32) int32 { return int32(patternOf(of, x)) }))
	case a == f32 && b == i16 && !wide:
		return each1(c, with(func(x float32) int16 { return int16(patternOf(of, x)) }))
	case a == i32 && b == f32 && !wide:
		return fromBits(c, from, func(x int32) float32 { return valueOf(as, uint32(x)) })
	case a == i16 && b == f32 && !wide:
		return fromBits(c, from, func(x int16) float32 { return valueOf(as, uint32(uint16(x))) })
	}
	out := c.define(0, from.shape)
	get, _ := c.bitsOf(from, from.shape)
	put := bitsInto(out)
	return c.pure(out, func() {
		for i := range out.len() {
			put(i, get(i))
		}
	}, from)
}

// fromBits makes numbers of their bits, without rounding, which would change NaN.
func fromBits[T any](c *compiler, from *slot, f func(x T) float32) step {
	out := c.define(0, from.shape)
	x, o := dataOf[T](from), dataOf[float32](out)
	return c.pure(out, func() {
		for i := range o {
			o[i] = f(x[i])
		}
	}, from)
}
