package interpreter

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strings"
	"testing"

	"github.com/goproton/goproton/triton/ttir"
)

// exactly rounds a number of any precision once to a format: to the nearest, ties to even, or toward zero. It knows of the format only how many
// bits its mantissa has, and its least and largest exponents.
func exactly(f ttir.Float, x *big.Float, zero bool) float64 {
	format := map[ttir.Float]struct {
		mantissa, least int
		largest         float64
		infinite        bool
	}{ttir.F16: {10, -14, 65504, true}, ttir.BF16: {7, -126, 0x1.FEp127, true}, ttir.F32: {23, -126, math.MaxFloat32, true},
		ttir.F8E4M3FN: {3, -6, 448, false}, ttir.F8E5M2: {2, -14, 57344, false}, ttir.F8E4M3FNUZ: {3, -7, 240, false}, ttir.F8E5M2FNUZ: {2, -15, 57344, false}}[f]
	if x.Sign() == 0 {
		v, _ := x.Float64()
		return v
	}
	mode := big.ToNearestEven
	if zero {
		mode = big.ToZero
	}
	keep := format.mantissa + 1
	if e := x.MantExp(nil) - 1; e < format.least {
		keep -= format.least - e
	}
	var v float64
	switch half := math.Ldexp(1, format.least-format.mantissa-1); {
	case keep > 0:
		v, _ = new(big.Float).SetPrec(uint(keep)).SetMode(mode).Set(x).Float64()
	case keep == 0 && !zero && new(big.Float).Abs(x).Cmp(big.NewFloat(half)) > 0:
		v = 2 * half
	}
	if math.Abs(v) > format.largest {
		if v = format.largest; format.infinite && !zero {
			v = math.Inf(1)
		}
	}
	return math.Copysign(v, float64(x.Sign()))
}

// patternsOf are all patterns of a format of 8 or 16 bits, and partners of theirs: some of which are the same for all, most at random.
func patternsOf(f ttir.Float, turn int) (x, y []byte) {
	special := []uint32{0, 1, 0x8000, 0x3C00, 0x7C00, 0xFC00, 0x7E00, 0x7BFF, 0x03FF, 0x0400}
	for p := range uint32(1) << f.Bits() {
		q := (p*40503 + uint32(turn)*30011) >> 3
		if turn < len(special) {
			q = special[turn]
			if f == ttir.BF16 {
				q = uint32(ttir.BF16.Pattern(f16AsNumber(q)))
			}
		}
		if f.Bits() == 8 {
			x, y = append(x, byte(p)), append(y, byte(q))
		} else {
			x, y = little.AppendUint16(x, uint16(p)), little.AppendUint16(y, uint16(q))
		}
	}
	return x, y
}

func f16AsNumber(p uint32) float64 { return ttir.F16.Value(uint64(p)) }

func valueAt(f ttir.Float, raw []byte, i int) float64 {
	switch f.Bits() {
	case 8:
		return f.Value(uint64(raw[i]))
	case 16:
		return f.Value(uint64(little.Uint16(raw[2*i:])))
	case 32:
		return f.Value(uint64(little.Uint32(raw[4*i:])))
	}
	return f.Value(little.Uint64(raw[8*i:]))
}

func same(a, b float64) bool {
	return a != a && b != b || a == b && (a != 0 || math.Signbit(a) == math.Signbit(b))
}

// partners is how many partners each pattern has.
func partners() int {
	if testing.Short() {
		return 3
	}
	return 8
}

// TestArithmeticOf16Bits: arithmetic of f16 and bf16 for every pattern with several others, against numbers of 600 bits that are rounded once.
func TestArithmeticOf16Bits(t *testing.T) {
	finite := func(x float64) bool { return x-x == 0 }
	wide := func(x float64) *big.Float { return new(big.Float).SetPrec(600).SetFloat64(x) }
	ops := map[string]func(a, b float64) (*big.Float, float64){ // an exact result, or what f64 says where it is not finite or zero
		"arith.addf": func(a, b float64) (*big.Float, float64) {
			if !finite(a+b) || a+b == 0 {
				return nil, a + b
			}
			return wide(a).Add(wide(a), wide(b)), 0
		},
		"arith.subf": func(a, b float64) (*big.Float, float64) {
			if !finite(a-b) || a-b == 0 {
				return nil, a - b
			}
			return wide(a).Sub(wide(a), wide(b)), 0
		},
		"arith.mulf": func(a, b float64) (*big.Float, float64) {
			if !finite(a) || !finite(b) || a == 0 || b == 0 {
				return nil, a * b
			}
			return wide(a).Mul(wide(a), wide(b)), 0
		},
		"arith.divf": func(a, b float64) (*big.Float, float64) {
			if !finite(a) || !finite(b) || a == 0 || b == 0 {
				return nil, a / b
			}
			return wide(a).Quo(wide(a), wide(b)), 0
		},
		"arith.remf": func(a, b float64) (*big.Float, float64) { return nil, math.Mod(a, b) },
	}
	for _, f := range []ttir.Float{ttir.F16, ttir.BF16} {
		for turn := range partners() {
			if testing.Short() {
				turn *= 5
			}
			x, y := patternsOf(f, turn)
			for op, want := range ops {
				got := apply(t, op+" %a, %b", f.String(), f.String(), x, y, 1<<16, 2)
				for i := range 1 << 16 {
					a, b := valueAt(f, x, i), valueAt(f, y, i)
					exact, v := want(a, b)
					if exact != nil {
						v = exactly(f, exact, false)
					}
					if g := valueAt(f, got, i); !same(g, v) && !(v == 0 && g == 0 && exact != nil) {
						t.Fatalf("%s of %v and %v in %v is %v and not %v", op, a, b, f, g, v)
					}
				}
			}
			for predicate, want := range map[string]func(a, b float64) bool{"oeq": func(a, b float64) bool { return a == b }, "une": func(a, b float64) bool { return a != b }, "olt": func(a, b float64) bool { return a < b }, "uge": func(a, b float64) bool { return !(a < b) }, "one": func(a, b float64) bool { return a < b || a > b }} {
				got := apply(t, "arith.cmpf "+predicate+", %a, %b", f.String(), "i1", x, y, 1<<16, 1)
				for i := range 1 << 16 {
					if a, b := valueAt(f, x, i), valueAt(f, y, i); (got[i] != 0) != want(a, b) {
						t.Fatalf("%s of %v and %v in %v is %v", predicate, a, b, f, got[i])
					}
				}
			}
		}
	}
}

// TestConversionsOf8And16Bits: every pattern of the formats of 8 and 16 bits into each other format, to the nearest and toward zero; and to integers.
func TestConversionsOf8And16Bits(t *testing.T) {
	small := []ttir.Float{ttir.F16, ttir.BF16, ttir.F8E4M3FN, ttir.F8E5M2, ttir.F8E4M3FNUZ, ttir.F8E5M2FNUZ}
	for _, from := range small {
		x, _ := patternsOf(from, 0)
		n := 1 << from.Bits()
		for _, to := range append(small, ttir.F32, ttir.F64) {
			for _, rounding := range []string{"rtne", "rtz"} {
				op := fmt.Sprintf("tt.fp_to_fp %%a, rounding = %s : tensor<NxOF> -> tensor<NxTO>\n%%d = arith.select %%m, %%a, %%a", rounding)
				if to == from {
					continue
				}
				got := convert(t, op, from.String(), to.String(), x, n, to.Bits()/8)
				for i := range n {
					v := valueAt(from, x, i)
					want := v
					if v-v == 0 && to.Bits() < 32 {
						want = exactly(to, new(big.Float).SetFloat64(v), rounding == "rtz")
						if want == 0 {
							want = math.Copysign(0, v)
						}
					} else if math.IsInf(v, 0) && to.Bits() == 8 {
						want = math.Copysign(narrowLargest[to], v)
					}
					if to == ttir.F8E4M3FNUZ || to == ttir.F8E5M2FNUZ {
						if want == 0 {
							want = 0
						}
					}
					if g := valueAt(to, got, i); !same(g, want) && !(g == 0 && want == 0 && (to == ttir.F8E4M3FNUZ || to == ttir.F8E5M2FNUZ)) {
						t.Errorf("%v in %v is %v in %v (%s) and not %v", v, from, g, to, rounding, want)
						break
					}
				}
			}
		}
		if from.Bits() == 8 {
			continue
		}
		for _, kind := range []string{"i8", "i16", "i32"} {
			size := map[string]int{"i8": 8, "i16": 16, "i32": 32}[kind]
			for _, op := range []string{"fptosi", "fptoui"} {
				got := convert(t, "arith."+op+" %a : tensor<NxOF> to tensor<NxTO>", from.String(), kind, x, n, size/8)
				for i := range n {
					v := valueAt(from, x, i)
					low, high := -math.Ldexp(1, size-1), math.Ldexp(1, size-1)-1
					if op == "fptoui" {
						low, high = 0, math.Ldexp(1, size)-1
					}
					want := math.Max(low, math.Min(high, math.Trunc(v)))
					if v != v {
						want = 0
					}
					if g := integerAt(got, i, size/8); masked(uint64(int64(want)), size) != masked(uint64(g), size) {
						t.Fatalf("%s of %v in %v is %v and not %v", op, v, kind, g, want)
					}
				}
			}
		}
	}
	for _, kind := range []string{"i8", "i16"} {
		size := map[string]int{"i8": 8, "i16": 16}[kind]
		var x []byte
		for p := range 1 << size {
			if x = append(x, byte(p)); size == 16 {
				x = append(x, byte(p>>8))
			}
		}
		for _, to := range []ttir.Float{ttir.F16, ttir.BF16, ttir.F32} {
			for _, op := range []string{"sitofp", "uitofp"} {
				got := convert(t, "arith."+op+" %a : tensor<NxOF> to tensor<NxTO>", kind, to.String(), x, 1<<size, to.Bits()/8)
				for i := range 1 << size {
					v := integerAt(x, i, size/8)
					if op == "uitofp" {
						v = int64(masked(uint64(v), size))
					}
					if g, want := valueAt(to, got, i), exactly(to, new(big.Float).SetInt64(v), false); g != want {
						t.Fatalf("%s of %d in %v is %v and not %v", op, v, to, g, want)
					}
				}
			}
		}
	}
}

var narrowLargest = map[ttir.Float]float64{ttir.F8E4M3FN: 448, ttir.F8E5M2: 57344, ttir.F8E4M3FNUZ: 240, ttir.F8E5M2FNUZ: 57344}

func integerAt(raw []byte, i, size int) int64 {
	switch size {
	case 1:
		return int64(int8(raw[i]))
	case 2:
		return int64(int16(little.Uint16(raw[2*i:])))
	case 4:
		return int64(int32(little.Uint32(raw[4*i:])))
	}
	return int64(little.Uint64(raw[8*i:]))
}

// convert runs an operation on one list: %a is its elements of the type OF, and %c, the result, is of the type TO.
func convert(t *testing.T, op, of, to string, x []byte, n, size int) []byte {
	t.Helper()
	text := body("%x: !tt.ptr<OF>, %z: !tt.ptr<TO>", ` %r = tt.make_range {end = N : i32, start = 0 : i32} : tensor<Nxi32>
 %xs = tt.splat %x : !tt.ptr<OF> -> tensor<Nx!tt.ptr<OF>>
 %zs = tt.splat %z : !tt.ptr<TO> -> tensor<Nx!tt.ptr<TO>>
 %xp = tt.addptr %xs, %r : tensor<Nx!tt.ptr<OF>>, tensor<Nxi32>
 %zp = tt.addptr %zs, %r : tensor<Nx!tt.ptr<TO>>, tensor<Nxi32>
 %a = tt.load %xp : tensor<Nx!tt.ptr<OF>>
 %c = `+strings.Split(op, "\n")[0]+`
 tt.store %zp, %c : tensor<Nx!tt.ptr<TO>>`)
	number := fmt.Sprint(n)
	text = strings.NewReplacer("tensor<N", "tensor<"+number, "end = N", "end = "+number, "OF", of, "TO", to).Replace(text)
	z := &Buffer{Name: "z", Data: make([]byte, n*size)}
	if _, err := program(t, text).Launch("", [3]int32{1, 1, 1}, []Argument{Pointer(&Buffer{Data: x}, 0), Pointer(z, 0)}, Options{}); err != nil {
		t.Fatal(err)
	}
	return z.Data
}

// series computes functions with many bits, by their power series.
type series struct{ prec uint }

func (s series) number(x float64) *big.Float { return new(big.Float).SetPrec(s.prec).SetFloat64(x) }

// exp halves its argument until the series is short, and squares the result.
func (s series) exp(x *big.Float) *big.Float {
	n := max(0, x.MantExp(nil)+8)
	y := s.number(0).SetMantExp(x, -n)
	sum, term := s.number(1), s.number(1)
	for k := 1; k < 40; k++ {
		term.Mul(term, y).Quo(term, s.number(float64(k)))
		sum.Add(sum, term)
	}
	for range n {
		sum.Mul(sum, sum)
	}
	return sum
}

// log begins with the logarithm of f64, and improves it twice: y + 2·(x - eʸ)/(x + eʸ).
func (s series) log(x *big.Float) *big.Float {
	m := s.number(0)
	e := x.MantExp(m)
	f, _ := m.Float64()
	y := s.number(math.Log(f))
	for range 2 {
		v := s.exp(y)
		step := s.number(2)
		step.Mul(step, s.number(0).Sub(m, v)).Quo(step, s.number(0).Add(m, v))
		y.Add(y, step)
	}
	return y.Add(y, s.number(0).Mul(s.ln2(), s.number(float64(e))))
}

// ln2 is Σ 1/(k·2ᵏ).
func (s series) ln2() *big.Float {
	sum := s.number(0)
	for k := 1; k < int(s.prec); k++ {
		sum.Add(sum, s.number(0).SetMantExp(s.number(0).Quo(s.number(1), s.number(float64(k))), -k))
	}
	return sum
}

// TestFunctionsOf16Bits: functions of f16 and bf16 for every pattern (every 61st with -short) where the result is finite, against power series with
// 160 bits: they are rounded once.
func TestFunctionsOf16Bits(t *testing.T) {
	s := series{160}
	ln2 := s.ln2()
	for name, want := range map[string]func(x float64) *big.Float{
		"exp":  func(x float64) *big.Float { return s.exp(s.number(x)) },
		"exp2": func(x float64) *big.Float { return s.exp(s.number(x).Mul(s.number(x), ln2)) },
		"log": func(x float64) *big.Float {
			if x <= 0 {
				return nil
			}
			return s.log(s.number(x))
		},
		"log2": func(x float64) *big.Float {
			if x <= 0 {
				return nil
			}
			return s.number(0).Quo(s.log(s.number(x)), ln2)
		},
		"sqrt": func(x float64) *big.Float {
			if x <= 0 {
				return nil
			}
			return s.number(0).Sqrt(s.number(x))
		},
		"rsqrt": func(x float64) *big.Float {
			if x <= 0 {
				return nil
			}
			return s.number(0).Quo(s.number(1), s.number(0).Sqrt(s.number(x)))
		},
		"tanh": func(x float64) *big.Float {
			if math.Abs(x) > 30 || x == 0 {
				return nil
			}
			e := s.exp(s.number(2 * x))
			return s.number(0).Quo(s.number(0).Sub(e, s.number(1)), s.number(0).Add(e, s.number(1)))
		},
		"floor": func(x float64) *big.Float { return s.number(math.Floor(x)) }, "ceil": func(x float64) *big.Float { return s.number(math.Ceil(x)) },
		"absf": func(x float64) *big.Float { return s.number(math.Abs(x)) },
	} {
		for _, f := range []ttir.Float{ttir.F16, ttir.BF16} {
			x, _ := patternsOf(f, 0)
			got := convert(t, "math."+name+" %a : tensor<NxOF>", f.String(), f.String(), x, 1<<16, 2)
			step := 61
			if !testing.Short() {
				step = 7
			}
			for i := 0; i < 1<<16; i += step {
				v := valueAt(f, x, i)
				if v-v != 0 || math.Abs(v) > 1e5 && name[:3] == "exp" {
					continue
				}
				exact := want(v)
				if exact == nil || exact.Sign() == 0 {
					continue
				}
				if g, w := valueAt(f, got, i), exactly(f, exact, false); g != w {
					t.Errorf("%s(%v) in %v is %v and not %v", name, v, f, g, w)
					break
				}
			}
		}
	}
}

// TestIntegersOf16Bits: every number with several others, and functions of one number of 8 and 16 bits.
func TestIntegersOf16Bits(t *testing.T) {
	type pair func(a, b int) int
	u := func(f pair) pair { return func(a, b int) int { return f(a&0xFFFF, b&0xFFFF) } }
	nonzero := func(f pair) pair {
		return func(a, b int) int {
			if b == 0 {
				return 0
			}
			return f(a, b)
		}
	}
	ops := map[string]pair{"arith.addi": func(a, b int) int { return a + b }, "arith.subi": func(a, b int) int { return a - b }, "arith.muli": func(a, b int) int { return a * b }, "arith.divsi": nonzero(func(a, b int) int { return a / b }), "arith.remsi": nonzero(func(a, b int) int { return a % b }),
		"arith.divui": u(nonzero(func(a, b int) int { return a / b })), "arith.remui": u(nonzero(func(a, b int) int { return a % b })), "arith.maxsi": func(a, b int) int { return max(a, b) }, "arith.minui": u(func(a, b int) int { return min(a, b) }),
		"arith.shli": func(a, b int) int { return a << min(b&0xFFFF, 16) }, "arith.shrui": func(a, b int) int { return (a & 0xFFFF) >> min(b&0xFFFF, 16) }, "arith.shrsi": func(a, b int) int { return a >> min(b&0xFFFF, 16) }, "tt.mulhiui": u(func(a, b int) int { return a * b >> 16 }), "arith.xori": func(a, b int) int { return a ^ b }}
	for turn := range partners() {
		x, y := patternsOf(ttir.F16, turn)
		if turn == 0 { // shifts of every distance
			for i := range 1 << 16 {
				little.PutUint16(y[2*i:], uint16(i%19))
			}
		}
		for op, want := range ops {
			got := apply(t, op+" %a, %b", "i16", "i16", x, y, 1<<16, 2)
			for i := range 1 << 16 {
				a, b := integerAt(x, i, 2), integerAt(y, i, 2)
				if w := int16(want(int(a), int(b))); int16(integerAt(got, i, 2)) != w {
					t.Fatalf("%s of %d and %d is %d and not %d", op, a, b, integerAt(got, i, 2), w)
				}
			}
		}
	}
	for _, size := range []int{8, 16} {
		var x []byte
		for p := range 1 << size {
			if x = append(x, byte(p)); size == 16 {
				x = append(x, byte(p>>8))
			}
		}
		kind := fmt.Sprintf("i%d", size)
		for op, want := range map[string]func(v int64, p uint) int{
			"math.absi": func(v int64, _ uint) int { return int(max(v, -v)) }, "math.ctpop": func(_ int64, p uint) int { return bits.OnesCount(p) },
			"math.ctlz": func(_ int64, p uint) int { return size - bits.Len(p) }, "math.cttz": func(_ int64, p uint) int { return min(size, bits.TrailingZeros(p)) },
		} {
			got := convert(t, op+" %a : tensor<NxOF>", kind, kind, x, 1<<size, size/8)
			for i := range 1 << size {
				v := integerAt(x, i, size/8)
				if g, w := integerAt(got, i, size/8), want(v, uint(masked(uint64(v), size))); masked(uint64(g), size) != masked(uint64(w), size) {
					t.Fatalf("%s of %d is %d and not %d", op, v, g, w)
				}
			}
		}
		for to, bytes := range map[string]int{"i32": 4, "i64": 8} {
			for _, op := range []string{"extsi", "extui"} {
				got := convert(t, "arith."+op+" %a : tensor<NxOF> to tensor<NxTO>", kind, to, x, 1<<size, bytes)
				for i := range 1 << size {
					want := integerAt(x, i, size/8)
					if op == "extui" {
						want = int64(masked(uint64(want), size))
					}
					if g := integerAt(got, i, bytes); g != want {
						t.Fatalf("%s to %s of %d is %d", op, to, want, g)
					}
				}
			}
		}
	}
}
