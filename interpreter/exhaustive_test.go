package interpreter

import (
	"math"
	"math/big"
	"strings"
	"testing"
)

// apply runs one operation on all pairs of the patterns of i8, or on lists of numbers.
func apply(t *testing.T, op, of, to string, x, y []byte, n, size int) []byte {
	t.Helper()
	text := body("%x: !tt.ptr<OF>, %y: !tt.ptr<OF>, %z: !tt.ptr<TO>", ` %r = tt.make_range {end = N : i32, start = 0 : i32} : tensor<Nxi32>
 %xs = tt.splat %x : !tt.ptr<OF> -> tensor<Nx!tt.ptr<OF>>
 %ys = tt.splat %y : !tt.ptr<OF> -> tensor<Nx!tt.ptr<OF>>
 %zs = tt.splat %z : !tt.ptr<TO> -> tensor<Nx!tt.ptr<TO>>
 %xp = tt.addptr %xs, %r : tensor<Nx!tt.ptr<OF>>, tensor<Nxi32>
 %yp = tt.addptr %ys, %r : tensor<Nx!tt.ptr<OF>>, tensor<Nxi32>
 %zp = tt.addptr %zs, %r : tensor<Nx!tt.ptr<TO>>, tensor<Nxi32>
 %a = tt.load %xp : tensor<Nx!tt.ptr<OF>>
 %b = tt.load %yp : tensor<Nx!tt.ptr<OF>>
 %c = `+op+` : tensor<NxOF>
 tt.store %zp, %c : tensor<Nx!tt.ptr<TO>>`)
	text = strings.NewReplacer("tensor<N", "tensor<"+big.NewInt(int64(n)).String(), "end = N", "end = "+big.NewInt(int64(n)).String(), "OF", of, "TO", to).Replace(text)
	z := &Buffer{Name: "z", Data: make([]byte, n*size)}
	if _, err := program(t, text).Launch("", [3]int32{1, 1, 1}, []Argument{Pointer(&Buffer{Data: x}, 0), Pointer(&Buffer{Data: y}, 0), Pointer(z, 0)}, Options{}); err != nil {
		t.Fatal(err)
	}
	return z.Data
}

// TestIntegersOf8Bits: every operation for all pairs, against integers without bounds.
func TestIntegersOf8Bits(t *testing.T) {
	var x, y []byte
	for i := range 1 << 16 {
		x, y = append(x, byte(i)), append(y, byte(i>>8))
	}
	yes := func(b bool) int { return int(truth(b)) }
	nonzero := func(f func(a, b int) int) func(a, b int) int {
		return func(a, b int) int {
			if b == 0 {
				return 0
			}
			return f(a, b)
		}
	}
	type pair func(a, b int) int // of signed numbers; u is their unsigned reading
	u := func(f func(a, b int) int) pair { return func(a, b int) int { return f(a&255, b&255) } }
	floor := func(a, b int) int { return int(math.Floor(float64(a) / float64(b))) }
	ceil := func(a, b int) int { return int(math.Ceil(float64(a) / float64(b))) }
	for op, want := range map[string]pair{
		"arith.addi": func(a, b int) int { return a + b }, "arith.subi": func(a, b int) int { return a - b }, "arith.muli": func(a, b int) int { return a * b },
		"arith.divsi": nonzero(func(a, b int) int { return a / b }), "arith.remsi": nonzero(func(a, b int) int { return a % b }),
		"arith.divui": u(nonzero(func(a, b int) int { return a / b })), "arith.remui": u(nonzero(func(a, b int) int { return a % b })),
		"arith.floordivsi": nonzero(floor), "arith.ceildivsi": nonzero(ceil), "arith.ceildivui": u(nonzero(ceil)),
		"arith.andi": func(a, b int) int { return a & b }, "arith.ori": func(a, b int) int { return a | b }, "arith.xori": func(a, b int) int { return a ^ b },
		"arith.maxsi": func(a, b int) int { return max(a, b) }, "arith.minsi": func(a, b int) int { return min(a, b) },
		"arith.maxui": u(func(a, b int) int { return max(a, b) }), "arith.minui": u(func(a, b int) int { return min(a, b) }),
		"arith.shli":  func(a, b int) int { return a << min(b&255, 8) },
		"arith.shrui": func(a, b int) int { return (a & 255) >> min(b&255, 8) }, "arith.shrsi": func(a, b int) int { return a >> min(b&255, 8) },
		"tt.mulhiui": u(func(a, b int) int { return a * b >> 8 }),
	} {
		got := apply(t, op+" %a, %b", "i8", "i8", x, y, 1<<16, 1)
		for i := range got {
			if w := byte(want(int(int8(x[i])), int(int8(y[i])))); got[i] != w {
				t.Errorf("%s of %d and %d is %d and not %d", op, int8(x[i]), int8(y[i]), got[i], w)
				break
			}
		}
	}
	for predicate, want := range map[string]pair{
		"eq": func(a, b int) int { return yes(a == b) }, "ne": func(a, b int) int { return yes(a != b) },
		"slt": func(a, b int) int { return yes(a < b) }, "sle": func(a, b int) int { return yes(a <= b) }, "sgt": func(a, b int) int { return yes(a > b) }, "sge": func(a, b int) int { return yes(a >= b) },
		"ult": u(func(a, b int) int { return yes(a < b) }), "ule": u(func(a, b int) int { return yes(a <= b) }), "ugt": u(func(a, b int) int { return yes(a > b) }), "uge": u(func(a, b int) int { return yes(a >= b) }),
	} {
		got := apply(t, "arith.cmpi "+predicate+", %a, %b", "i8", "i1", x, y, 1<<16, 1)
		for i := range got {
			if w := byte(want(int(int8(x[i])), int(int8(y[i])))); got[i] != w {
				t.Errorf("%s of %d and %d is %d", predicate, int8(x[i]), int8(y[i]), got[i])
				break
			}
		}
	}
}

// TestFloatComparisons: all predicates and the four kinds of extremes, with NaN, infinities and zeros.
func TestFloatComparisons(t *testing.T) {
	list := []float64{math.NaN(), math.Inf(-1), -1, math.Copysign(0, -1), 0, 1, math.Inf(1)}
	var x, y []byte
	for _, a := range list {
		for _, b := range list {
			x, y = little.AppendUint32(x, math.Float32bits(float32(a))), little.AppendUint32(y, math.Float32bits(float32(b)))
		}
	}
	n := len(list) * len(list)
	for _, predicate := range strings.Fields("false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true") {
		got := apply(t, "arith.cmpf "+predicate+", %a, %b", "f32", "i1", x, y, n, 1)
		for i := range got {
			a, b := list[i/len(list)], list[i%len(list)]
			unordered := a != a || b != b
			want := predicate == "true" || predicate == "ord" && !unordered || predicate == "uno" && unordered
			if kind := predicate[1:]; len(predicate) == 3 && predicate != "ord" && predicate != "uno" {
				if want = predicate[0] == 'u'; !unordered {
					c := big.NewFloat(a).Cmp(big.NewFloat(b))
					want = map[string]bool{"eq": c == 0, "gt": c > 0, "ge": c >= 0, "lt": c < 0, "le": c <= 0, "ne": c != 0}[kind]
				}
			}
			if (got[i] != 0) != want {
				t.Errorf("%s of %v and %v is %d", predicate, a, b, got[i])
			}
		}
	}
	for _, op := range []string{"maxnumf", "minnumf", "maximumf", "minimumf"} {
		got := apply(t, "arith."+op+" %a, %b", "f32", "f32", x, y, n, 4)
		for i := range n {
			a, b, v := list[i/len(list)], list[i%len(list)], numberAt("float32", got, i)
			want := math.Max(a, b)
			if op[1] == 'i' {
				want = math.Min(a, b)
			}
			switch number := strings.HasSuffix(op, "numf"); {
			case number && a != a:
				want = b
			case number && b != b, !number && a != a:
				want = a
			case !number && b != b:
				want = b
			}
			if v != want && (v == v || want == want) || v == 0 && math.Signbit(v) != math.Signbit(want) {
				t.Errorf("%s of %v and %v is %v and not %v", op, a, b, v, want)
			}
		}
	}
}

// TestReverseScan: from the end, and from the beginning.
func TestReverseScan(t *testing.T) {
	x := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	for reverse, want := range map[string]string{"true": "\x24\x23\x21\x1e\x1a\x15\x0f\x08", "false": "\x01\x03\x06\x0a\x0f\x15\x1c\x24"} {
		got := apply(t, `"tt.scan"(%a) <{axis = 0 : i32, reverse = `+reverse+`}> ({
 ^bb0(%l: i8, %m: i8):
 %s = arith.addi %l, %m : i8
 tt.scan.return %s : i8
 }) : (tensor<Nxi8>) -> tensor<Nxi8>
 %d = arith.addi %a, %a`, "i8", "i8", x, x, 8, 1)
		if string(got) != want {
			t.Errorf("reverse = %s: %v", reverse, got)
		}
	}
}
