package interpreter

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/triton/ttir"
)

// TestPatterns: every pattern of at most 16 bits is read as the number that the format has, and written with the same bits.
func TestPatterns(t *testing.T) {
	for f, n := range narrows {
		if f == ttir.TF32 {
			continue
		}
		for p := range uint32(1) << f.Bits() {
			v := valueOf(f, p)
			want := f.Value(uint64(p))
			if float64(v) != want && !(v != v && want != want) || math.Signbit(float64(v)) != math.Signbit(want) && want == 0 {
				t.Errorf("%v: %#x is %v and not %v", f, p, v, want)
			}
			if back := patternOf(f, v); back != p {
				t.Errorf("%v: %#x is written as %#x", f, p, back)
			}
			if r := n.nearest(v); v == v && !math.IsInf(want, 0) && math.Float32bits(r) != math.Float32bits(v) {
				t.Errorf("%v: %v is rounded to %v", f, v, r)
			}
		}
	}
}

// nearestOf searches the number of a format that is nearest to x, with exact differences; ties go to the even pattern.
func nearestOf(f ttir.Float, x float64) float64 {
	n := narrows[f]
	low, high := uint64(0), uint64(1)<<(f.Bits()-1)-1 // positive patterns are in the order of their numbers
	top := float64(n.largest)
	for high > low && !(f.Value(high) <= top) {
		high--
	}
	limit := high
	for low < high {
		if mid := (low + high + 1) / 2; f.Value(mid) <= x {
			low = mid
		} else {
			high = mid - 1
		}
	}
	if low == limit {
		half := (f.Value(limit) - f.Value(limit-1)) / 2
		if n.infinite && x >= top+half {
			return math.Inf(1)
		}
		return top
	}
	a, b, v := new(big.Float).SetFloat64(f.Value(low)), new(big.Float).SetFloat64(f.Value(low+1)), new(big.Float).SetFloat64(x)
	down, up := new(big.Float).Sub(v, a), new(big.Float).Sub(b, v)
	switch c := down.Cmp(up); {
	case c < 0 || c == 0 && low%2 == 0:
		return f.Value(low)
	}
	return f.Value(low + 1)
}

// TestRounding: numbers next to and between those of each format are rounded to the nearest, ties to even, and toward zero.
func TestRounding(t *testing.T) {
	for f, n := range narrows {
		if f == ttir.TF32 {
			continue
		}
		step := uint64(1)
		if f.Bits() == 16 {
			step = 7
		}
		for p := uint64(0); p < 1<<(f.Bits()-1)-1; p += step {
			a, b := f.Value(p), f.Value(p+1)
			if a != a || b != b || math.IsInf(b, 0) {
				continue
			}
			middle := float32(a + (b-a)/2)
			for _, x := range []float32{float32(a), middle, math.Nextafter32(middle, 0), math.Nextafter32(middle, 1e38), math.Nextafter32(float32(b), 0)} {
				one := []float32{x, -x}
				rounded(&ttir.Type{Kind: ttir.FloatType, Float: f})(one)
				if want := nearestOf(f, float64(x)); float64(one[0]) != want || float64(one[1]) != -want || float64(n.nearest(x)) != want || float64(n.nearest(-x)) != -want {
					t.Fatalf("%v: %v is rounded to %v and %v, and not to %v", f, x, n.nearest(x), n.nearest(-x), want)
				}
				want := a
				if float64(x) == b {
					want = b
				}
				if float64(n.towardZero(x)) != want {
					t.Fatalf("%v: %v is rounded toward zero to %v, and not to %v", f, x, n.towardZero(x), want)
				}
			}
		}
		for _, x := range []float32{n.largest, n.largest * 1.001, n.largest * 1.01, n.largest * 1.5, 1e38} {
			if want := nearestOf(f, float64(x)); float64(n.nearest(x)) != want {
				t.Errorf("%v: %v is rounded to %v and not to %v", f, x, n.nearest(x), want)
			}
		}
		if x := n.nearest(float32(math.NaN())); x == x {
			t.Errorf("%v: NaN is rounded to %v", f, x)
		}
	}
}

// TestOneRounding: what is computed in f64 is rounded once, whatever lies between.
func TestOneRounding(t *testing.T) {
	n := narrows[ttir.BF16]
	for _, c := range []struct{ x, want float64 }{
		{1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-7}, {1 + 0x1p-8, 1}, {1 + 0x1p-8 - 0x1p-40, 1}, {-1 - 0x1p-8 - 0x1p-40, -1 - 0x1p-7},
	} {
		if got := n.nearest(oddly(c.x)); float64(got) != c.want {
			t.Errorf("%v is rounded to %v and not to %v", c.x, got, c.want)
		}
	}
	if got := fma32(1+0x1p-12, 1+0x1p-12, -1); got != float32(0x1p-11+0x1p-24) {
		t.Errorf("fma: %v", got)
	}
	for range 1 << 16 {
		x := randomFloat()
		y, z := randomFloat(), randomFloat()
		p := new(big.Float).SetPrec(600).Mul(new(big.Float).SetFloat64(float64(x)), new(big.Float).SetFloat64(float64(y)))
		p.Add(p, new(big.Float).SetFloat64(float64(z)))
		want, _ := p.Float32()
		if got := fma32(x, y, z); got != want && !math.IsInf(float64(want), 0) {
			t.Fatalf("fma(%v, %v, %v) is %v and not %v", x, y, z, got, want)
		}
	}
}

var seed = uint32(1)

// randomFloat is a number with many different exponents.
func randomFloat() float32 {
	seed = seed*1664525 + 1013904223
	return math.Float32frombits(seed>>9 | (110+seed%32)<<23&0x7F800000 | seed&(1<<31))
}

// TestExponentials: the faster way is within half a unit in the last place, and a little.
func TestExponentials(t *testing.T) {
	for _, name := range []string{"math.exp", "math.exp2"} {
		fast, exact := fastOf(name), functions[name[5:]]
		for i := range 1 << 18 {
			x := float32(i-1<<17) / 800
			o := make([]float32, 1)
			fast(o, []float32{x})
			want := exact(float64(x))
			unit := math.Abs(float64(math.Nextafter32(float32(want), math.MaxFloat32)) - float64(float32(want)))
			if d := math.Abs(float64(o[0]) - want); d > 0.50001*unit && !(math.IsInf(float64(o[0]), 1) && want > math.MaxFloat32) {
				t.Fatalf("%s(%v) is %v and not %v", name, x, o[0], want)
			}
		}
		for _, x := range []float32{float32(math.Inf(1)), float32(math.Inf(-1)), 2000, -2000, 0} {
			o := make([]float32, 1)
			if fast(o, []float32{x}); o[0] != float32(exact(float64(x))) {
				t.Errorf("%s(%v) is %v", name, x, o[0])
			}
		}
	}
}

// TestLibrary: functions of the vendors' libraries, by the names that kernels call them by.
func TestLibrary(t *testing.T) {
	for _, c := range []struct {
		symbol, kind string
		x            float64
		want         float64
	}{
		{"__nv_tanhf", "f32", 0.5, math.Tanh(0.5)}, {"__nv_tanh", "f64", 0.5, math.Tanh(0.5)}, {"__ocml_tanh_f32", "f32", 0.5, math.Tanh(0.5)}, {"__nv_erff", "f32", 0.25, math.Erf(0.25)},
		{"__nv_erf", "f64", 0.25, math.Erf(0.25)}, {"__nv_rsqrtf", "f32", 4, 0.5}, {"__nv_saturatef", "f32", 1.5, 1}, {"__nv_fast_expf", "f32", 1, math.E}, {"__nv_ceil", "f64", 1.25, 2},
		{"__nv_rintf", "f32", 2.5, 2}, {"__nv_roundf", "f32", 2.5, 3}, {"__nv_exp10f", "f32", 2, 100}, {"__nv_normcdff", "f32", 0, 0.5}, {"__nv_fabs", "f64", -3, 3}, {"__ocml_native_exp2_f32", "f32", 3, 8},
	} {
		p := program(t, strings.ReplaceAll(body("%z: !tt.ptr<KIND>, %x: KIND", strings.ReplaceAll(` %y = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "SYMBOL"} : (KIND) -> KIND
 tt.store %z, %y : !tt.ptr<KIND>`, "SYMBOL", c.symbol)), "KIND", c.kind))
		z := &Buffer{Name: "z", Data: make([]byte, 8)}
		_, err := p.Launch("", [3]int32{1, 1, 1}, []Argument{Pointer(z, 0), Float(c.x)}, Options{})
		got := numberAt("float"+c.kind[1:], z.Data, 0)
		if err != nil || math.Abs(got-c.want) > 1e-7*math.Abs(c.want)+1e-12 {
			t.Errorf("%s(%v) is %v and not %v: %v", c.symbol, c.x, got, c.want, err)
		}
	}
}

// TestPieces: products of f32 in pieces are as exact as their pieces allow, and no more.
func TestPieces(t *testing.T) {
	s := sizes{1, 4, 4, 64}
	x, y := make([]float32, s.m*s.k), make([]float32, s.k*s.n)
	for i := range x {
		x[i], y[i] = 1+float32(i*7919%1000)/1000, 1+float32(i*104729%1000)/1000
	}
	for precision, c := range map[string]struct{ most, least float64 }{"tf32x3": {0x1p-20, 0}, "bf16x6": {0x1p-20, 0}, "bf16x3": {0x1p-15, 0x1p-22}} {
		o := make([]float32, s.m*s.n)
		inPieces(s, precision)(o, x, y, s)
		worst := 0.0
		for i := range s.m {
			for j := range s.n {
				want := 0.0
				for k := range s.k {
					want += float64(x[i*s.k+k]) * float64(y[k*s.n+j])
				}
				worst = max(worst, math.Abs(float64(o[i*s.n+j])-want)/want)
			}
		}
		if worst > c.most || worst < c.least {
			t.Errorf("%s is off by %v", precision, worst)
		}
		inf := slices.Clone(x)
		inf[0] = float32(math.Inf(1))
		inPieces(s, precision)(o, inf, y, s)
		if !math.IsInf(float64(o[0]), 1) {
			t.Errorf("%s: a sum with an infinity is %v", precision, o[0])
		}
	}
}

// TestProducts compares products of all small shapes with sums in the order of k, each product and each sum rounded, bit by bit.
func TestProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	special := []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.NaN()), math.MaxFloat32, math.SmallestNonzeroFloat32, 1e-20}
	list := func(n int) []float32 {
		l := make([]float32, n)
		for i := range l {
			if l[i] = float32(r.NormFloat64()); r.IntN(20) == 0 {
				l[i] = special[r.IntN(len(special))]
			}
		}
		return l
	}
	for size := range 5 * 13 * 11 {
		s := sizes{1, 1 + size%5, 1 + size/5%13, 1 + size/65}
		o, x, y := list(s.m*s.n), list(s.m*s.k), list(s.k*s.n)
		want := slices.Clone(o)
		for i := range want {
			for k := range s.k {
				want[i] += float32(x[i/s.n*s.k+k] * y[k*s.n+i%s.n])
			}
		}
		products(o, x, y, s)
		for i, w := range want {
			if math.Float32bits(o[i]) != math.Float32bits(w) && (w == w || o[i] == o[i]) {
				t.Fatalf("%+v: element %d is %v, want %v", s, i, o[i], w)
			}
		}
	}
}
