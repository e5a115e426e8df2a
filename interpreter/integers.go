package interpreter

import (
	"math/bits"
	"unsafe"
)

type unsigned interface {
	uint8 | uint16 | uint32 | uint64
}

func init() {
	register(map[string]func(c *compiler) step{
		"arith.cmpi": compareIntegers, "tt.mulhiui": high(true), "arith.mulsi_extended": extended(false), "arith.mului_extended": extended(true), "arith.addui_extended": carried,
		"math.absi": integer1, "math.ctlz": integer1, "math.cttz": integer1, "math.ctpop": integer1,
	})
	for _, name := range []string{"addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "andi", "ori", "xori", "shli", "shrsi", "shrui",
		"maxsi", "minsi", "maxui", "minui", "ceildivsi", "ceildivui", "floordivsi"} {
		builders["arith."+name] = integer2
	}
}

func (c *compiler) kind() string { return c.op.Name[6:] } // behind "arith."

func integer2(c *compiler) step {
	t := c.peek(0).t
	if classOf(t) == bits1 {
		return zip(c, bitLoop(c.kind()))
	}
	return integralAs(t, notTaken).zip(c, c.kind())
}

func (integralOf[T, U]) zip(c *compiler, kind string) step { return zip(c, integerLoop[T, U](kind)) }

// bitLoop is an operation of i1: true is -1 where its sign counts.
func bitLoop(kind string) func(o, a, b []bit) {
	switch kind {
	case "addi", "subi", "xori":
		return xorAll[bit]
	case "muli", "andi", "maxsi", "minui":
		return andAll[bit]
	case "ori", "minsi", "maxui":
		return orAll[bit]
	case "divui", "divsi":
		return andAll[bit]
	case "remui", "remsi":
		return func(o, a, b []bit) { clear(o) }
	case "shli", "shrui":
		return by(func(a, b bit) bit { return a &^ b })
	case "shrsi":
		return by(func(a, _ bit) bit { return a })
	}
	panic(failure("it does not take i1"))
}

func integerLoop[T signed, U unsigned](kind string) func(o, a, b []T) {
	size := int(unsafe.Sizeof(T(0))) * 8
	switch kind {
	case "addi":
		return addAll[T]
	case "subi":
		return subtractAll[T]
	case "muli":
		return multiplyAll[T]
	case "andi":
		return andAll[T]
	case "ori":
		return orAll[T]
	case "xori":
		return xorAll[T]
	case "divsi":
		return by(func(a, b T) T {
			if b == 0 {
				return 0
			}
			return a / b
		})
	case "remsi":
		return by(func(a, b T) T {
			if b == 0 {
				return 0
			}
			return a % b
		})
	case "divui":
		return by(func(a, b T) T {
			if b == 0 {
				return 0
			}
			return T(U(a) / U(b))
		})
	case "remui":
		return by(func(a, b T) T {
			if b == 0 {
				return 0
			}
			return T(U(a) % U(b))
		})
	case "ceildivsi":
		return by(func(a, b T) T {
			if b == 0 {
				return 0
			}
			q := a / b
			if a%b != 0 && (a < 0) == (b < 0) {
				q++
			}
			return q
		})
	case "floordivsi":
		return by(func(a, b T) T {
			if b == 0 {
				return 0
			}
			q := a / b
			if a%b != 0 && (a < 0) != (b < 0) {
				q--
			}
			return q
		})
	case "ceildivui":
		return by(func(a, b T) T {
			if b == 0 {
				return 0
			}
			q := U(a) / U(b)
			if U(a)%U(b) != 0 {
				q++
			}
			return T(q)
		})
	case "shli":
		return by(func(a, b T) T { return a << U(b) })
	case "shrsi":
		return by(func(a, b T) T { return a >> U(b) })
	case "shrui":
		return by(func(a, b T) T { return T(U(a) >> U(b)) })
	case "maxsi":
		return by(func(a, b T) T { return max(a, b) })
	case "minsi":
		return by(func(a, b T) T { return min(a, b) })
	case "maxui":
		return by(func(a, b T) T { return T(max(U(a), U(b))) })
	case "minui":
		return by(func(a, b T) T { return T(min(U(a), U(b))) })
	case "mulhiui":
		return by(func(a, b T) T {
			h, l := bits.Mul64(uint64(U(a)), uint64(U(b)))
			if size == 64 {
				return T(h)
			}
			return T(l >> size)
		})
	case "mulhisi":
		return by(func(a, b T) T {
			if size == 64 {
				return T(signedHigh(int64(a), int64(b)))
			}
			return T(int64(a) * int64(b) >> size)
		})
	}
	panic(failure("it is not supported"))
}

func compareIntegers(c *compiler) step {
	predicate, t := c.op.Keyword("predicate", ""), c.peek(0).t
	if classOf(t) != bits1 {
		return integralAs(t, notTaken).compare(c, predicate)
	}
	if len(predicate) == 3 && predicate[0] == 's' { // -1 < 0
		flip := map[byte]string{'l': "ug", 'g': "ul"}
		predicate = flip[predicate[1]] + predicate[2:]
	}
	return zip(c, comparison[bit, bit](predicate))
}

func (integralOf[T, U]) compare(c *compiler, predicate string) step {
	return zip(c, comparison[T, U](predicate))
}

func comparison[T signed | bit, U unsigned | bit](predicate string) func(o []bit, a, b []T) {
	switch predicate {
	case "eq":
		return equalAll[T]
	case "ne":
		return differAll[T]
	case "slt":
		return lessAll[T]
	case "sle":
		return mostAll[T]
	case "sgt":
		return swapped(lessAll[T])
	case "sge":
		return swapped(mostAll[T])
	case "ult":
		return by(func(a, b T) bit { return truth(U(a) < U(b)) })
	case "ule":
		return by(func(a, b T) bit { return truth(U(a) <= U(b)) })
	case "ugt":
		return by(func(a, b T) bit { return truth(U(a) > U(b)) })
	case "uge":
		return by(func(a, b T) bit { return truth(U(a) >= U(b)) })
	}
	panic(failure("there is no comparison %q", predicate))
}

// high is the upper half of a product.
func high(isUnsigned bool) func(c *compiler) step {
	kind := "mulhisi"
	if isUnsigned {
		kind = "mulhiui"
	}
	return func(c *compiler) step { return halves(c, kind, 0) }
}

// halves makes one half of a product the result n.
func halves(c *compiler, kind string, n int) step {
	return integralAs(c.use(0).t, notTaken).half(c, kind, n)
}

func (integralOf[T, U]) half(c *compiler, kind string, n int) step {
	return zipTo(c, n, integerLoop[T, U](kind))
}

func zipTo[T, R any](c *compiler, n int, loop func(o []R, a, b []T)) step {
	a, b := c.use(0), c.use(1)
	shape := join(a.shape, b.shape)
	x, fillX := operand[T](c, a, shape)
	y, fillY := operand[T](c, b, shape)
	o := dataOf[R](c.define(n, shape))
	return chain(fillX, fillY, func() { loop(o, x, y) })
}

// extended is a product in two halves: the lower is the first.
func extended(isUnsigned bool) func(c *compiler) step {
	kind := "mulhisi"
	if isUnsigned {
		kind = "mulhiui"
	}
	return func(c *compiler) step { return chain(halves(c, "muli", 0), halves(c, kind, 1)) }
}

// carried is a sum, and whether it is larger than its type.
func carried(c *compiler) step {
	return chain(halves(c, "addi", 0), integralAs(c.use(0).t, notTaken).carry(c))
}

func (integralOf[T, U]) carry(c *compiler) step {
	return zipTo(c, 1, by(func(a, b T) bit { return truth(U(a)+U(b) < U(a)) }))
}

func integer1(c *compiler) step { return integralAs(c.use(0).t, notTaken).each(c, c.op.Name[5:]) }

func (integralOf[T, U]) each(c *compiler, name string) step {
	return each1(c, integerFunction[T, U](name))
}

func integerFunction[T signed, U unsigned](name string) func(o, a []T) {
	size := int(unsafe.Sizeof(T(0))) * 8
	switch name {
	case "absi":
		return with(func(a T) T {
			if a < 0 {
				return -a
			}
			return a
		})
	case "ctlz":
		return with(func(a T) T { return T(size - bits.Len64(uint64(U(a)))) })
	case "cttz":
		return with(func(a T) T { return T(min(size, bits.TrailingZeros64(uint64(U(a))))) })
	}
	return with(func(a T) T { return T(bits.OnesCount64(uint64(U(a)))) })
}
