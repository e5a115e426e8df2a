package interpreter

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/goproton/goproton/triton/ttir"
)

// without are instructions that have no meaning for values.
var without = map[string]bool{"griddepcontrol": true, "fence": true, "membar": true, "nanosleep": true, "bar": true, "barrier": true, "prefetch": true, "discard": true, "applypriority": true}

// compile returns what an instruction does; nil for nothing.
func (i *instruction) compile(m *machine) func(r []uint64) {
	switch i.name {
	case "mov":
		return i.move(m)
	case "setp":
		return i.setp()
	case "set":
		return i.set()
	case "cvt":
		return i.convert()
	}
	if without[i.name] {
		return nil
	}
	t := i.typ(len(i.types) - 1)
	if t.kind == "f" || t.kind == "bf" {
		if f := i.float(t); f != nil {
			return f
		}
	}
	if f := i.integer(t); f != nil {
		return f
	}
	panic(i.fail())
}

// move copies, packs {a, b} into a register, or takes one apart.
func (i *instruction) move(m *machine) func(r []uint64) {
	t := i.typ(0)
	if len(i.operands) != 2 {
		panic(i.fail())
	}
	to, from := i.operands[0], i.operands[1]
	parts := func(s string) []string { return operandsOf(strings.Trim(s, "{} ")) }
	_, declared := i.a.names[from]
	switch {
	case strings.HasPrefix(to, "{"):
		a := i.source(1, t)
		var list []int
		for _, name := range parts(to) {
			if name == "_" {
				list = append(list, i.a.register("_", 64))
			} else {
				list = append(list, i.a.named(name))
			}
		}
		if len(list) == 0 {
			panic(i.fail())
		}
		size := t.bits / len(list)
		return func(r []uint64) {
			v := r[a]
			for k, n := range list {
				r[n] = masked(v>>(size*k), size)
			}
		}
	case strings.HasPrefix(from, "{"):
		var list []int
		names := parts(from)
		if len(names) == 0 {
			panic(i.fail())
		}
		size := t.bits / len(names)
		for _, name := range names {
			list = append(list, i.a.value(name, ptxType{"b", size, 1}, i))
		}
		return i.result(func(r []uint64) (v uint64) {
			for k, n := range list {
				v |= masked(r[n], size) << (size * k)
			}
			return v
		})
	case strings.HasPrefix(from, "%") && !declared:
		return i.result(special(m, from))
	}
	a := i.source(1, t)
	return i.result(func(r []uint64) uint64 { return r[a] })
}

// special is a register of the machine. An instance has one thread here, and time is the operations that were executed.
func special(m *machine, name string) func(r []uint64) uint64 {
	axis := strings.IndexByte("xyz", name[len(name)-1])
	switch {
	case strings.HasPrefix(name, "%ctaid.") && axis >= 0:
		return func([]uint64) uint64 { return uint64(m.at[axis]) }
	case strings.HasPrefix(name, "%nctaid.") && axis >= 0:
		return func([]uint64) uint64 { return uint64(m.launch.grid[axis]) }
	case strings.HasPrefix(name, "%globaltimer"), strings.HasPrefix(name, "%clock"):
		return func([]uint64) uint64 {
			m.steps++
			return uint64(m.steps)
		}
	case strings.HasPrefix(name, "%ntid."), name == "%nwarpid", name == "%nsmid":
		return func([]uint64) uint64 { return 1 }
	case name == "%smid", name == "%laneid", name == "%warpid", strings.HasPrefix(name, "%tid."), strings.HasPrefix(name, "%cluster_"), name == "%gridid", name == "%lanemask_lt":
		return func([]uint64) uint64 { return 0 }
	}
	panic(badPTX("the register %s of its assembly is not supported", name))
}

// integer is an instruction on integers and bits; nil if there is none of the name.
func (i *instruction) integer(t ptxType) func(r []uint64) {
	n := t.bits
	isSigned := t.kind == "s"
	arguments := func(count int) (list [4]int) {
		for k := range count {
			list[k] = i.source(k+1, t)
		}
		return list
	}
	read := func(r []uint64, reg int) int64 {
		if isSigned {
			return signedOf(r[reg], n)
		}
		return int64(masked(r[reg], n))
	}
	one := func(f func(a uint64) uint64) func(r []uint64) {
		a := i.source(1, t)
		return i.result(func(r []uint64) uint64 { return f(masked(r[a], n)) })
	}
	two := func(f func(a, b int64) uint64) func(r []uint64) {
		x := arguments(2)
		return i.result(func(r []uint64) uint64 { return f(read(r, x[0]), read(r, x[1])) })
	}
	three := func(f func(a, b, c uint64) uint64) func(r []uint64) {
		x := arguments(3)
		return i.result(func(r []uint64) uint64 { return f(masked(r[x[0]], n), masked(r[x[1]], n), masked(r[x[2]], n)) })
	}
	less := func(a, b int64) bool {
		if isSigned {
			return a < b
		}
		return uint64(a) < uint64(b)
	}
	product := func(a, b int64) (high, low uint64) {
		if isSigned {
			return uint64(signedHigh(a, b)), uint64(a * b)
		}
		return bits.Mul64(uint64(a), uint64(b))
	}
	part := func(a, b int64) uint64 {
		h, l := product(a, b)
		if i.has["hi"] {
			if n == 64 {
				return h
			}
			return l >> n
		}
		return l // the width of the result cuts it; of wide products it is larger
	}
	narrowed := func(v uint64) uint64 {
		if i.has["wide"] {
			return v
		}
		return masked(v, n)
	}
	switch i.name {
	case "add":
		return two(func(a, b int64) uint64 { return i.saturated(a+b, t) })
	case "sub":
		return two(func(a, b int64) uint64 { return i.saturated(a-b, t) })
	case "mul", "mul24":
		return two(func(a, b int64) uint64 { return narrowed(part(a, b)) })
	case "mad", "mad24":
		x := arguments(2)
		wide := t
		if i.has["wide"] {
			wide.bits *= 2
		}
		c := i.source(3, wide)
		return i.result(func(r []uint64) uint64 { return narrowed(part(read(r, x[0]), read(r, x[1]))) + r[c] })
	case "div", "rem":
		return two(func(a, b int64) uint64 {
			switch {
			case b == 0:
				return math.MaxUint64
			case i.name == "div" && isSigned:
				return uint64(a / b)
			case i.name == "div":
				return uint64(a) / uint64(b)
			case isSigned:
				return uint64(a % b)
			}
			return uint64(a) % uint64(b)
		})
	case "min", "max":
		return two(func(a, b int64) uint64 {
			if less(a, b) == (i.name == "min") {
				return uint64(a)
			}
			return uint64(b)
		})
	case "abs":
		return one(func(a uint64) uint64 {
			if v := signedOf(a, n); v < 0 {
				return uint64(-v)
			}
			return a
		})
	case "neg":
		return one(func(a uint64) uint64 { return -a })
	case "not":
		return one(func(a uint64) uint64 { return masked(^a, n) })
	case "cnot":
		return one(func(a uint64) uint64 { return uint64(truth(a == 0)) })
	case "and":
		return two(func(a, b int64) uint64 { return uint64(a & b) })
	case "or":
		return two(func(a, b int64) uint64 { return uint64(a | b) })
	case "xor":
		return two(func(a, b int64) uint64 { return uint64(a ^ b) })
	case "popc":
		return one(func(a uint64) uint64 { return uint64(bits.OnesCount64(a)) })
	case "clz":
		return one(func(a uint64) uint64 { return uint64(bits.LeadingZeros64(a) - 64 + n) })
	case "brev":
		return one(func(a uint64) uint64 { return bits.Reverse64(a) >> (64 - n) })
	case "shl", "shr":
		a, by := i.source(1, t), i.source(2, ptxType{"u", 32, 1})
		return i.result(func(r []uint64) uint64 {
			k := masked(r[by], 32)
			switch {
			case i.name == "shl":
				return masked(r[a], n) << k
			case isSigned:
				return uint64(signedOf(r[a], n) >> k)
			}
			return masked(r[a], n) >> k
		})
	case "shf":
		return three(func(a, b, c uint64) uint64 {
			k := c & 31
			if i.has["clamp"] {
				k = min(c, 32)
			}
			if i.has["l"] {
				return (b<<32 | a) << k >> 32
			}
			return (b<<32 | a) >> k
		})
	case "lop3":
		x := arguments(3)
		table, err := strconv.ParseUint(i.operands[len(i.operands)-1], 0, 8)
		if err != nil || len(i.operands) != 5 {
			panic(i.fail())
		}
		return i.result(func(r []uint64) uint64 { return logic3(r[x[0]], r[x[1]], r[x[2]], uint8(table)) })
	case "prmt":
		for mode := range i.has {
			panic(badPTX("the mode .%s of prmt is not supported", mode))
		}
		return three(func(a, b, c uint64) uint64 { return uint64(permuted(uint32(a), uint32(b), uint32(c))) })
	case "bfe":
		a, from, length := i.source(1, t), i.source(2, ptxType{"u", 32, 1}), i.source(3, ptxType{"u", 32, 1})
		return i.result(func(r []uint64) uint64 {
			at, count := int(r[from]&0xFF), int(r[length]&0xFF)
			v := uint64(read(r, a)) >> min(at, 64)
			if isSigned {
				v = uint64(read(r, a) >> min(at, 63))
				return uint64(signedOf(v, max(count, 0)))
			}
			return masked(v, count)
		})
	case "bfi":
		a, b, from, length := i.source(1, t), i.source(2, t), i.source(3, ptxType{"u", 32, 1}), i.source(4, ptxType{"u", 32, 1})
		return i.result(func(r []uint64) uint64 {
			at, count := int(r[from]&0xFF), int(r[length]&0xFF)
			mask := masked(math.MaxUint64, count) << at
			return r[b]&^mask | r[a]<<at&mask
		})
	case "bfind":
		return one(func(a uint64) uint64 {
			if v := signedOf(a, n); isSigned && v < 0 {
				a = masked(^a, n)
			}
			if a == 0 {
				return math.MaxUint64
			}
			return uint64(bits.Len64(a) - 1)
		})
	case "sad":
		x := arguments(3)
		return i.result(func(r []uint64) uint64 {
			a, b := read(r, x[0]), read(r, x[1])
			if less(a, b) {
				a, b = b, a
			}
			return uint64(a-b) + r[x[2]]
		})
	case "selp":
		a, b, p := i.source(1, t), i.source(2, t), i.source(3, ptxType{"pred", 1, 1})
		return i.result(func(r []uint64) uint64 {
			if r[p] != 0 {
				return r[a]
			}
			return r[b]
		})
	}
	return nil
}

// saturated is a sum in the range of its type, if the instruction says so.
func (i *instruction) saturated(v int64, t ptxType) uint64 {
	if !i.has["sat"] || t.kind != "s" || t.bits != 32 {
		return uint64(v)
	}
	return uint64(max(min(v, math.MaxInt32), math.MinInt32))
}

// logic3 is the function of three bits that a table gives.
func logic3(a, b, c uint64, table uint8) (v uint64) {
	for k := range 8 {
		if table>>k&1 == 0 {
			continue
		}
		x, y, z := a, b, c
		if k&4 == 0 {
			x = ^x
		}
		if k&2 == 0 {
			y = ^y
		}
		if k&1 == 0 {
			z = ^z
		}
		v |= x & y & z
	}
	return v
}

// lanesOf calls f for the numbers of registers, and joins what it gives.
func (i *instruction) lanesOf(t ptxType, count int, f func(x []float64) float64) func(r []uint64) {
	var from [3]int
	for k := range count {
		from[k] = i.source(k+1, t)
	}
	get, put := ptxGet(t), ptxPut(t)
	size := t.bits / t.lanes
	flush := i.has["ftz"] && t.kind == "f" && size == 32
	return i.result(func(r []uint64) (v uint64) {
		var x [3]float64
		for lane := range t.lanes {
			for k := range count {
				if x[k] = get(masked(r[from[k]]>>(lane*size), size)); flush {
					x[k] = flushed(x[k])
				}
			}
			y := i.limited(f(x[:count]))
			if flush {
				y = flushed(y)
			}
			v |= masked(put(y), size) << (lane * size)
		}
		return v
	})
}

// limited is a number from 0 to 1 with .sat, and one that is not negative with .relu.
func (i *instruction) limited(y float64) float64 {
	if i.has["sat"] {
		y = smaller(larger(y, 0), 1)
	}
	if i.has["relu"] && !(y > 0) && y == y {
		y = 0
	}
	return y
}

// flushed is 0 instead of a subnormal number of f32.
func flushed(x float64) float64 {
	if math.Abs(x) < 0x1p-126 {
		return math.Copysign(0, x)
	}
	return x
}

func ptxFormat(t ptxType) ttir.Float {
	switch size := t.bits / t.lanes; {
	case t.kind == "bf":
		return ttir.BF16
	case size == 16:
		return ttir.F16
	case size == 32:
		return ttir.F32
	}
	return ttir.F64
}

func ptxGet(t ptxType) func(v uint64) float64 {
	f := ptxFormat(t)
	if f == ttir.F64 {
		return math.Float64frombits
	}
	return func(v uint64) float64 { return float64(valueOf(f, uint32(v))) }
}

// ptxPut rounds a number to the nearest of a type.
func ptxPut(t ptxType) func(v float64) uint64 {
	switch f := ptxFormat(t); f {
	case ttir.F64:
		return math.Float64bits
	case ttir.F32:
		return func(v float64) uint64 { return uint64(math.Float32bits(float32(v))) }
	default:
		n := narrows[f]
		return func(v float64) uint64 { return uint64(patternOf(f, n.nearest(oddly(v)))) }
	}
}

// direction is the rounding that an instruction names.
func (i *instruction) direction() rounding {
	switch {
	case i.has["rz"], i.has["rzi"]:
		return toZero
	case i.has["rm"], i.has["rmi"]:
		return downwards
	case i.has["rp"], i.has["rpi"]:
		return upward
	}
	return toNearest
}

// ptxFunctions are the instructions that compute a function of one number, which GPUs approximate.
var ptxFunctions = map[string]func(x float64) float64{
	"ex2": math.Exp2, "lg2": math.Log2, "sin": math.Sin, "cos": math.Cos, "tanh": math.Tanh, "rsqrt": functions["rsqrt"], "abs": math.Abs,
	"neg": func(x float64) float64 { return math.Copysign(x, -1*math.Copysign(1, x)) },
}

// float is an instruction on floating-point numbers; nil if there is none of the name.
func (i *instruction) float(t ptxType) func(r []uint64) {
	mode := i.direction()
	single := ptxFormat(t) == ttir.F32
	arithmetic := func(name string, count int) func(r []uint64) {
		f, list := directedFunctions[name].f, make([]scalar, count)
		if mode != toNearest && ptxFormat(t) != ttir.F32 && ptxFormat(t) != ttir.F64 {
			panic(i.fail())
		}
		return i.lanesOf(t, count, func(x []float64) float64 {
			if name == "fma" && mode == toNearest && !single && ptxFormat(t) != ttir.F64 { // f64 has not all of its bits
				return float64(oddSum(x[0]*x[1], x[2]))
			}
			for k, v := range x {
				list[k].f = v
			}
			return f(list, mode, single && (mode != toNearest || name == "fma")) // others are rounded where they are written
		})
	}
	if f := ptxFunctions[i.name]; f != nil {
		return i.lanesOf(t, 1, func(x []float64) float64 { return f(x[0]) })
	}
	switch i.name {
	case "add", "sub", "mul", "div":
		return arithmetic(i.name, 2)
	case "fma", "mad":
		return arithmetic("fma", 3)
	case "rcp", "sqrt":
		return arithmetic(i.name, 1)
	case "copysign":
		return i.lanesOf(t, 2, func(x []float64) float64 { return math.Copysign(x[1], x[0]) })
	case "min", "max":
		count := len(i.operands) - 1
		if count < 2 || count > 3 {
			panic(i.fail())
		}
		return i.lanesOf(t, count, func(x []float64) float64 {
			y := i.extreme(x[0], x[1])
			if count == 3 {
				y = i.extreme(y, x[2])
			}
			return y
		})
	case "testp":
		a, get := i.source(1, t), ptxGet(t)
		return i.result(func(r []uint64) uint64 {
			x := get(r[a])
			switch {
			case i.has["finite"]:
				return uint64(truth(x-x == 0))
			case i.has["infinite"]:
				return uint64(truth(math.IsInf(x, 0)))
			case i.has["number"]:
				return uint64(truth(x == x))
			}
			return uint64(truth(x != x))
		})
	}
	return nil
}

// extreme is the smaller or the larger number; with .NaN, NaN if one is; with .xorsign.abs, of the absolute values, and the sign is the product's.
func (i *instruction) extreme(a, b float64) float64 {
	sign := math.Signbit(a) != math.Signbit(b)
	if i.has["abs"] {
		a, b = math.Abs(a), math.Abs(b)
	}
	var y float64
	switch {
	case i.has["NaN"] && (a != a || b != b):
		return math.NaN()
	case i.name == "min":
		y = smaller(a, b)
	default:
		y = larger(a, b)
	}
	if i.has["xorsign"] {
		if y = math.Abs(y); sign {
			y = -y
		}
	}
	return y
}

// comparison is what setp and set compare.
func (i *instruction) comparison(t ptxType) func(a, b uint64) bool {
	for name := range i.has {
		order, isUnsigned := strings.TrimSuffix(name, "u"), false
		switch name {
		case "lo", "ls", "hi", "hs":
			order, isUnsigned = map[string]string{"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}[name], true
		case "num", "nan", "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu":
		default:
			continue
		}
		if t.kind == "f" || t.kind == "bf" {
			get := ptxGet(t)
			return func(a, b uint64) bool {
				x, y := get(a), get(b)
				switch name {
				case "num":
					return x == x && y == y
				case "nan":
					return x != x || y != y
				}
				if x != x || y != y {
					return order != name
				}
				return ordered(order, x < y, x == y)
			}
		}
		return func(a, b uint64) bool {
			if t.kind == "s" && !isUnsigned {
				return ordered(order, signedOf(a, t.bits) < signedOf(b, t.bits), signedOf(a, t.bits) == signedOf(b, t.bits))
			}
			a, b = masked(a, t.bits), masked(b, t.bits)
			return ordered(order, a < b, a == b)
		}
	}
	panic(i.fail())
}

func ordered(order string, less, equal bool) bool {
	switch order {
	case "eq":
		return equal
	case "ne":
		return !equal
	case "lt":
		return less
	case "le":
		return less || equal
	case "gt":
		return !less && !equal
	}
	return !less
}

// setp sets a predicate, or two: p|q, of which the second is the opposite, or that of the upper half.
func (i *instruction) setp() func(r []uint64) {
	t := i.typ(len(i.types) - 1)
	compare := i.comparison(t)
	if len(i.operands) < 3 {
		panic(i.fail())
	}
	first, second, both := strings.Cut(i.operands[0], "|")
	p, q := i.a.named(first), -1
	if both {
		q = i.a.named(second)
	}
	a, b := i.source(1, t), i.source(2, t)
	size := t.bits / t.lanes
	join := func(_ []uint64, v bool) bool { return v }
	if len(i.operands) == 4 {
		name, negated := strings.CutPrefix(i.operands[3], "!")
		c := i.a.named(name)
		join = func(r []uint64, v bool) bool {
			other := r[c] != 0 != negated
			switch {
			case i.has["and"]:
				return v && other
			case i.has["or"]:
				return v || other
			}
			return v != other
		}
	}
	return func(r []uint64) {
		x, y := r[a], r[b]
		low := compare(masked(x, size), masked(y, size))
		if q >= 0 {
			other := !low
			if t.lanes == 2 {
				other = compare(masked(x>>size, size), masked(y>>size, size))
			}
			r[q] = uint64(truth(join(r, other)))
		}
		r[p] = uint64(truth(join(r, low)))
	}
}

// set is a comparison whose result is a number: all bits, or 1.0.
func (i *instruction) set() func(r []uint64) {
	if len(i.types) != 2 || i.types[1].lanes != 1 {
		panic(i.fail())
	}
	to, t := i.types[0], i.types[1]
	compare := i.comparison(t)
	a, b := i.source(1, t), i.source(2, t)
	yes := uint64(math.MaxUint64)
	if to.kind == "f" || to.kind == "bf" {
		yes = ptxPut(to)(1)
	}
	return i.result(func(r []uint64) uint64 {
		if compare(r[a], r[b]) {
			return yes
		}
		return 0
	})
}
