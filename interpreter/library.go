package interpreter

import (
	"math"
	"strings"
)

// functions of one number, by their names in MLIR.
var functions = map[string]func(x float64) float64{
	"exp": math.Exp, "exp2": math.Exp2, "expm1": math.Expm1, "log": math.Log, "log2": math.Log2, "log10": math.Log10, "log1p": math.Log1p,
	"cos": math.Cos, "sin": math.Sin, "tan": math.Tan, "cosh": math.Cosh, "sinh": math.Sinh, "tanh": math.Tanh,
	"acos": math.Acos, "asin": math.Asin, "atan": math.Atan, "acosh": math.Acosh, "asinh": math.Asinh, "atanh": math.Atanh,
	"sqrt": math.Sqrt, "rsqrt": func(x float64) float64 { return 1 / math.Sqrt(x) }, "cbrt": math.Cbrt, "erf": math.Erf, "erfc": math.Erfc,
	"floor": math.Floor, "ceil": math.Ceil, "trunc": math.Trunc, "round": math.Round, "roundeven": math.RoundToEven,
}

// more are functions of one number that only the vendors' libraries have, by their names there.
var more = map[string]func(x float64) float64{
	"fabs": math.Abs, "rint": math.RoundToEven, "nearbyint": math.RoundToEven, "exp10": func(x float64) float64 { return math.Pow(10, x) },
	"tgamma": math.Gamma, "lgamma": func(x float64) float64 { y, _ := math.Lgamma(x); return y }, "j0": math.J0, "j1": math.J1, "y0": math.Y0, "y1": math.Y1,
	"erfinv": math.Erfinv, "erfcinv": math.Erfcinv, "rcbrt": func(x float64) float64 { return 1 / math.Cbrt(x) }, "logb": math.Logb,
	"sinpi": func(x float64) float64 { return math.Sin(math.Pi * math.Mod(x, 2)) }, "cospi": func(x float64) float64 { return math.Cos(math.Pi * math.Mod(x, 2)) },
	"normcdf":   func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 },
	"saturatef": func(x float64) float64 { return smaller(larger(x, 0), 1) },
	"fast_exp":  math.Exp, "fast_sin": math.Sin, "fast_cos": math.Cos, "fast_tan": math.Tan, "fast_log": math.Log, "fast_log2": math.Log2, "fast_log10": math.Log10,
	"fsqrt_rn": math.Sqrt, "dsqrt_rn": math.Sqrt, "rcp_rn": func(x float64) float64 { return 1 / x }, "fast_tanh": math.Tanh,
}

// pairs are functions of two numbers.
var pairs = map[string]func(a, b float64) float64{
	"pow": math.Pow, "fast_pow": math.Pow, "atan2": math.Atan2, "fmod": math.Mod, "remainder": math.Remainder, "hypot": math.Hypot, "copysign": math.Copysign,
	"fmax": larger[float64], "fmin": smaller[float64], "fdim": func(a, b float64) float64 {
		if a <= b {
			return 0
		}
		return a - b
	},
	"div_rn": func(a, b float64) float64 { return a / b }, "fast_divide": func(a, b float64) float64 { return a / b }, "rhypot": func(a, b float64) float64 { return 1 / math.Hypot(a, b) },
}

// symbolOf is the name of a function in the tables, from that in a library: __nv_tanhf, __ocml_tanh_f32.
func symbolOf(symbol string, double bool) string {
	if name, ok := strings.CutPrefix(symbol, "__nv_"); ok {
		if _, known := more[name]; known || double {
			return name
		}
		return strings.TrimSuffix(name, "f")
	}
	if name, ok := strings.CutPrefix(symbol, "__ocml_"); ok {
		for _, end := range []string{"_f16", "_f32", "_f64"} {
			name = strings.TrimSuffix(name, end)
		}
		return strings.TrimPrefix(name, "native_")
	}
	return symbol
}

// library is a function of a vendor's library.
func library(c *compiler) step {
	symbol := c.op.Attribute("symbol")
	if symbol == nil {
		panic(failure("it has no symbol"))
	}
	if len(c.op.Operands) == 0 || classOf(c.use(0).t) != f32 && classOf(c.use(0).t) != f64 {
		panic(failure("the function %s is not in the table", symbol.String))
	}
	double := isDouble(c)
	name := symbolOf(symbol.String, double)
	t := c.resultType(0)
	switch f := functions[name]; {
	case len(c.op.Operands) == 1 && (name == "isnan" || name == "isinf" || name == "finite" || name == "isfinite" || name == "signbit") && classOf(t) == i32:
		return c.predicate(name)
	case classOf(t) != classOf(c.use(0).t):
	case len(c.op.Operands) == 1 && f != nil:
		return c.apply1(f)
	case len(c.op.Operands) == 1 && more[name] != nil:
		return c.apply1(more[name])
	case len(c.op.Operands) == 2 && pairs[name] != nil:
		return c.apply2(pairs[name])
	case len(c.op.Operands) == 3 && (name == "fma" || name == "fmaf" || name == "fma_rn"):
		return fused(c)
	}
	panic(failure("the function %s is not in the table", symbol.String))
}

// predicate is a question about a number, with an integer as the answer.
func (c *compiler) predicate(name string) step {
	test := func(x float64) int32 {
		yes := false
		switch name {
		case "isnan":
			yes = x != x
		case "isinf":
			yes = math.IsInf(x, 0)
		case "signbit":
			yes = math.Signbit(x)
		default:
			yes = x-x == 0
		}
		return int32(truth(yes))
	}
	if isDouble(c) {
		return each1(c, with(test))
	}
	return each1(c, with(func(a float32) int32 { return test(float64(a)) }))
}

// fastOf is a faster way to compute a function in f32; nil if there is none.
func fastOf(name string) func(o, a []float32) {
	switch name {
	case "math.exp":
		return func(o, a []float32) { exponentials(o, a, math.Log2E) }
	case "math.exp2":
		return func(o, a []float32) { exponentials(o, a, 1) }
	case "math.sqrt", "tt.precise_sqrt":
		return func(o, a []float32) {
			for i, x := range a[:len(o)] {
				o[i] = float32(math.Sqrt(float64(x)))
			}
		}
	}
	return nil
}

// exponentials computes 2^(x·by) in f64, by a table of 32 steps and a polynomial, with an error far below that of the rounding to f32.
func exponentials(o, a []float32, by float64) {
	const magic = 0x1.8p52 / 32
	a = a[:len(o)]
	for i, x := range a {
		y := float64(x) * by
		if !(y > -1000 && y < 1000) {
			o[i] = float32(math.Exp2(y))
			continue
		}
		m := y + magic
		n := int64(math.Float64bits(m)) - int64(math.Float64bits(magic))
		r := (y - (m - magic)) * math.Ln2
		p := 1 + r*(1+r*(0.5+r*(1.0/6+r*(1.0/24+r*(1.0/120)))))
		o[i] = float32(math.Float64frombits(powers[n&31]+uint64(n>>5)<<52) * p)
	}
}

// powers are the bits of 2^(i/32).
var powers = func() (t [32]uint64) {
	for i := range t {
		t[i] = math.Float64bits(math.Exp2(float64(i) / 32))
	}
	return t
}()
