package interpreter

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// calling is a kernel that calls a function of a library with scalars.
func calling(symbol, result string, arguments []string) string {
	var given, names []string
	for i, a := range arguments {
		given, names = append(given, fmt.Sprintf("%%a%d: %s", i, a)), append(names, fmt.Sprintf("%%a%d", i))
	}
	return body("%z: !tt.ptr<"+result+">, "+strings.Join(given, ", "), " %y = tt.extern_elementwise "+strings.Join(names, ", ")+` {libname = "", libpath = "", pure = true, symbol = "`+symbol+`"} : (`+strings.Join(arguments, ", ")+") -> "+result+"\n tt.store %z, %y : !tt.ptr<"+result+">")
}

// callOf returns what a function of a library gives: a number, or an integer.
func callOf(t testing.TB, symbol, result string, arguments []string, x ...float64) (float64, error) {
	t.Helper()
	z := &Buffer{Name: "z", Data: make([]byte, 8)}
	list := []Argument{Pointer(z, 0)}
	for i, a := range arguments {
		if a[0] == 'f' {
			list = append(list, Float(x[i]))
		} else {
			list = append(list, Int(int64(x[i])))
		}
	}
	_, err := program(t, calling(symbol, result, arguments)).Launch("", [3]int32{1, 1, 1}, list, Options{})
	switch result {
	case "i32":
		return float64(int32(little.Uint32(z.Data))), err
	case "i64":
		return float64(int64(little.Uint64(z.Data))), err
	}
	return numberAt("float"+result[1:], z.Data, 0), err
}

// TestDocumentedLibrary: every function that Triton's libdevice knows for NVIDIA's and AMD's GPUs is in the table.
func TestDocumentedLibrary(t *testing.T) {
	n := 0
	for s := bufio.NewScanner(bytes.NewReader(testkit.Python(t, "triton-3.9.0", "interpreter/testdata/library.py", nil))); s.Scan(); n++ {
		f := strings.Fields(s.Text())
		x := make([]float64, len(f)-2)
		for i := range x {
			x[i] = 0.5
			if f[2+i][0] == 'i' {
				x[i] = 3
			}
		}
		if _, err := callOf(t, f[0], f[1], f[2:], x...); err != nil {
			t.Errorf("%s: %v", s.Text(), err)
		}
	}
	if n < 400 {
		t.Errorf("%d functions", n)
	}
}

// TestLibraryValues: functions of one number against other formulas, and of integers against known values.
func TestLibraryValues(t *testing.T) {
	f := func(kinds ...string) []string { return kinds }
	for _, c := range []struct {
		symbol, result string
		arguments      []string
		x              []float64
		want           float64
	}{
		{"__nv_erfcxf", "f32", f("f32"), []float64{0.5}, 0.615690344}, {"__nv_erfcx", "f64", f("f64"), []float64{30}, 0.018795888861416}, {"__nv_normcdfinvf", "f32", f("f32"), []float64{0.975}, 1.9599644},
		{"__nv_cyl_bessel_i0f", "f32", f("f32"), []float64{1}, 1.266065878}, {"__nv_cyl_bessel_i1", "f64", f("f64"), []float64{2}, 1.5906368546373291}, {"__ocml_i0_f64", "f64", f("f64"), []float64{50}, 2.93255378384933e20},
		{"__nv_ldexpf", "f32", f("f32", "i32"), []float64{0.75, 3}, 6}, {"__ocml_ldexp_f32", "f32", f("f32", "i32"), []float64{0.75, -1}, 0.375}, {"__nv_powi", "f64", f("f64", "i32"), []float64{-2, 3}, -8}, {"__ocml_pown_f32", "f32", f("f32", "i32"), []float64{2, 5}, 32},
		{"__nv_jnf", "f32", f("i32", "f32"), []float64{2, 1}, 0.114903485}, {"__nv_norm3d", "f64", f("f64", "f64", "f64"), []float64{2, 3, 6}, 7}, {"__nv_rnorm4df", "f32", f("f32", "f32", "f32", "f32"), []float64{1, 1, 1, 1}, 0.5},
		{"__nv_nextafterf", "f32", f("f32", "f32"), []float64{1, 2}, 1 + 0x1p-23}, {"__nv_nextafter", "f64", f("f64", "f64"), []float64{1, 0}, 1 - 0x1p-53}, {"__nv_ilogbf", "i32", f("f32"), []float64{10}, 3}, {"__nv_llrintf", "i64", f("f32"), []float64{2.5}, 2}, {"__nv_llround", "i64", f("f64"), []float64{-2.5}, -3},
		{"__nv_isnand", "i32", f("f64"), []float64{math.NaN()}, 1}, {"__nv_isinff", "i32", f("f32"), []float64{math.Inf(-1)}, 1}, {"__nv_finitef", "i32", f("f32"), []float64{math.Inf(1)}, 0}, {"__nv_signbitd", "i32", f("f64"), []float64{math.Copysign(0, -1)}, 1}, {"__ocml_isfinite_f32", "i32", f("f32"), []float64{1}, 1},
		{"__nv_clz", "i32", f("i32"), []float64{1}, 31}, {"__nv_clzll", "i32", f("i64"), []float64{1}, 63}, {"__nv_popc", "i32", f("i32"), []float64{-1}, 32}, {"__nv_ffs", "i32", f("i32"), []float64{0}, 0}, {"__nv_ffs", "i32", f("i32"), []float64{8}, 4}, {"__nv_ffsll", "i32", f("i64"), []float64{0}, 0}, {"__nv_brev", "i32", f("i32"), []float64{1}, math.MinInt32},
		{"__nv_byte_perm", "i32", f("i32", "i32", "i32"), []float64{0x03020100, 0x07060504, 0x3456}, 0x03040506}, {"__nv_mulhi", "i32", f("i32", "i32"), []float64{-2, 3}, -1}, {"__nv_umulhi", "i32", f("i32", "i32"), []float64{-2, 3}, 2}, {"__nv_mul64hi", "i64", f("i64", "i64"), []float64{-1 << 62, 8}, -2},
		{"__nv_mul24", "i32", f("i32", "i32"), []float64{-3, 5}, -15}, {"__nv_umul24", "i32", f("i32", "i32"), []float64{0x1000001, 5}, 5}, {"__nv_sad", "i32", f("i32", "i32", "i32"), []float64{-3, 5, 1}, 9}, {"__nv_usad", "i32", f("i32", "i32", "i32"), []float64{1, -1, 0}, -2}, {"__nv_hadd", "i32", f("i32", "i32"), []float64{-3, 0}, -2}, {"__nv_rhadd", "i32", f("i32", "i32"), []float64{-3, 0}, -1}, {"__nv_uhadd", "i32", f("i32", "i32"), []float64{-1, -1}, -1},
		{"__nv_float_as_int", "i32", f("f32"), []float64{1}, 0x3F800000}, {"__nv_int_as_float", "f32", f("i32"), []float64{0x40000000}, 2}, {"__nv_double2hiint", "i32", f("f64"), []float64{1}, 0x3FF00000}, {"__nv_hiloint2double", "f64", f("i32", "i32"), []float64{0x40000000, 0}, 2}, {"__nv_abs", "i32", f("i32"), []float64{-7}, 7}, {"__nv_llabs", "i64", f("i64"), []float64{-7}, 7},
		{"__nv_float2int_rn", "i32", f("f32"), []float64{2.5}, 2}, {"__nv_float2int_ru", "i32", f("f32"), []float64{2.1}, 3}, {"__nv_float2uint_rd", "i32", f("f32"), []float64{-2.1}, 0}, {"__nv_double2ll_rz", "i64", f("f64"), []float64{-2.9}, -2}, {"__nv_float2int_rz", "i32", f("f32"), []float64{1e20}, math.MaxInt32},
		{"__nv_int2float_rz", "f32", f("i32"), []float64{0x7FFFFFFF}, 0x7FFFFF80}, {"__nv_int2float_rn", "f32", f("i32"), []float64{0x7FFFFFFF}, 0x80000000}, {"__nv_uint2float_ru", "f32", f("i32"), []float64{-1}, 0x1p32}, {"__nv_ull2double_rd", "f64", f("i64"), []float64{-1}, 0x1p64 - 2048}, {"__nv_ll2float_rd", "f32", f("i64"), []float64{-0x7FFFFFFF}, -0x80000000},
	} {
		got, err := callOf(t, c.symbol, c.result, c.arguments, c.x...)
		if err != nil || math.Abs(got-c.want) > 2e-7*math.Abs(c.want) {
			t.Errorf("%s(%v) is %v and not %v: %v", c.symbol, c.x, got, c.want, err)
		}
	}
}

// TestDirectedRounding: the result of each direction, against arithmetic with 4500 bits that is rounded once.
func TestDirectedRounding(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	modes := map[string]big.RoundingMode{"rn": big.ToNearestEven, "rz": big.ToZero, "ru": big.ToPositiveInf, "rd": big.ToNegativeInf}
	for range 4000 {
		var x []scalar
		for range 3 {
			x = append(x, scalar{f: float64(float32(math.Ldexp(r.NormFloat64(), r.IntN(40)-20)))})
		}
		a, b, c := exact(x[0].f), exact(x[1].f), exact(x[2].f)
		results := map[string]*big.Float{"add": exact(0).Add(a, b), "sub": exact(0).Sub(a, b), "mul": exact(0).Mul(a, b), "div": exact(0).Quo(a, b), "rcp": exact(0).Quo(exact(1), a), "fma": exact(0).Add(exact(0).Mul(a, b), c)}
		if x[0].f >= 0 {
			results["sqrt"] = exact(0).Sqrt(a)
		}
		for name, result := range results {
			for mode, direction := range modes {
				for _, single := range []bool{true, false} {
					bits := uint(53)
					if single {
						bits = 24
					}
					want, _ := new(big.Float).SetPrec(bits).SetMode(direction).Set(result).Float64()
					f := directedFunctions[name]
					if got := f.f(x[:f.arguments], roundings[mode], single); got != want {
						t.Fatalf("%s of %v, %s, single %v, is %v and not %v", name, x, mode, single, got, want)
					}
				}
			}
		}
	}
}
