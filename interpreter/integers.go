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
	if classOf(t) != bits1 {
		return integralAs(t, notTaken).zip(c, c.kind())
	}
	loop := bitLoops[c.kind()]
	if loop == nil {
		panic(failure("it does not take i1"))
	}
	return zip(c, loop)
}

func (k integralOf[T, U]) zip(c *compiler, kind string) step { return zip(c, k.loops.of(kind)) }

// bitLoops are the operations of i1: true is -1 where its sign counts.
var bitLoops = loops[bit]{
	"addi": xorAll[bit], "subi": xorAll[bit], "xori": xorAll[bit],
	"muli": andAll[bit], "andi": andAll[bit], "maxsi": andAll[bit], "minui": andAll[bit], "divui": andAll[bit], "divsi": andAll[bit],
	"ori": orAll[bit], "minsi": orAll[bit], "maxui": orAll[bit],
	"remui": func(o, a, b []bit) { clear(o) },
	"remsi": func(o, a, b []bit) { clear(o) },
	"shli":  by(func(a, b bit) bit { return a &^ b }),
	"shrui": by(func(a, b bit) bit { return a &^ b }),
	"shrsi": by(func(a, _ bit) bit { return a }),
}

func integerLoops[T signed, U unsigned]() loops[T] {
	size := int(unsafe.Sizeof(T(0))) * 8
	return loops[T]{
		"addi": addAll[T], "subi": subtractAll[T], "muli": multiplyAll[T], "andi": andAll[T], "ori": orAll[T], "xori": xorAll[T],
		"divsi": divided(func(a, b T) T { return a / b }),
		"remsi": divided(func(a, b T) T { return a % b }),
		"divui": divided(func(a, b T) T { return T(U(a) / U(b)) }),
		"remui": divided(func(a, b T) T { return T(U(a) % U(b)) }),
		"ceildivsi": divided(func(a, b T) T {
			q := a / b
			if a%b != 0 && (a < 0) == (b < 0) {
				q++
			}
			return q
		}),
		"floordivsi": divided(func(a, b T) T {
			q := a / b
			if a%b != 0 && (a < 0) != (b < 0) {
				q--
			}
			return q
		}),
		"ceildivui": divided(func(a, b T) T {
			q := U(a) / U(b)
			if U(a)%U(b) != 0 {
				q++
			}
			return T(q)
		}),
		"shli":  by(func(a, b T) T { return a << U(b) }),
		"shrsi": by(func(a, b T) T { return a >> U(b) }),
		"shrui": by(func(a, b T) T { return T(U(a) >> U(b)) }),
		"maxsi": by(func(a, b T) T { return max(a, b) }),
		"minsi": by(func(a, b T) T { return min(a, b) }),
		"maxui": by(func(a, b T) T { return T(max(U(a), U(b))) }),
		"minui": by(func(a, b T) T { return T(min(U(a), U(b))) }),
		"mulhiui": by(func(a, b T) T {
			h, l := bits.Mul64(uint64(U(a)), uint64(U(b)))
			if size == 64 {
				return T(h)
			}
			return T(l >> size)
		}),
		"mulhisi": by(func(a, b T) T {
			if size == 64 {
				return T(signedHigh(int64(a), int64(b)))
			}
			return T(int64(a) * int64(b) >> size)
		}),
	}
}

// divided makes a loop of a division, which is 0 where the divisor is.
func divided[T signed](f func(a, b T) T) func(o, a, b []T) {
	return func(o, a, b []T) {
		for i := range o {
			if o[i] = 0; b[i] != 0 {
				o[i] = f(a[i], b[i])
			}
		}
	}
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
	return zip(c, bitComparisons.of(predicate))
}

func (k integralOf[T, U]) compare(c *compiler, predicate string) step {
	return zip(c, k.comparisons.of(predicate))
}

var bitComparisons = integerComparisons[bit, bit]()

func integerComparisons[T signed | bit, U unsigned | bit]() comparisons[T] {
	return comparisons[T]{
		"eq": equalAll[T], "ne": differAll[T], "slt": lessAll[T], "sle": mostAll[T], "sgt": swapped(lessAll[T]), "sge": swapped(mostAll[T]),
		"ult": by(func(a, b T) bit { return truth(U(a) < U(b)) }),
		"ule": by(func(a, b T) bit { return truth(U(a) <= U(b)) }),
		"ugt": by(func(a, b T) bit { return truth(U(a) > U(b)) }),
		"uge": by(func(a, b T) bit { return truth(U(a) >= U(b)) }),
	}
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

func (k integralOf[T, U]) half(c *compiler, kind string, n int) step {
	return zipTo(c, n, k.loops.of(kind))
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
