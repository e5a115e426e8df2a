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
	"erfinv": math.Erfinv, "erfcinv": math.Erfcinv, "erfcx": scaledErfc, "rcbrt": func(x float64) float64 { return 1 / math.Cbrt(x) }, "logb": math.Logb,
	"sinpi": func(x float64) float64 { return math.Sin(math.Pi * math.Mod(x, 2)) }, "cospi": func(x float64) float64 { return math.Cos(math.Pi * math.Mod(x, 2)) },
	"normcdf": func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }, "normcdfinv": func(x float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*x) },
	"cyl_bessel_i0": func(x float64) float64 { return besselI(0, x) }, "cyl_bessel_i1": func(x float64) float64 { return besselI(1, x) },
	"i0": func(x float64) float64 { return besselI(0, x) }, "i1": func(x float64) float64 { return besselI(1, x) },
	"saturatef": func(x float64) float64 { return smaller(larger(x, 0), 1) }, "rcp64h": func(x float64) float64 { return 1 / x }, "frsqrt_rn": func(x float64) float64 { return 1 / math.Sqrt(x) },
	"fast_exp": math.Exp, "fast_exp10": func(x float64) float64 { return math.Pow(10, x) }, "fast_sin": math.Sin, "fast_cos": math.Cos, "fast_tan": math.Tan,
	"fast_log": math.Log, "fast_log2": math.Log2, "fast_log10": math.Log10, "fast_tanh": math.Tanh,
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
	"fast_divide": func(a, b float64) float64 { return a / b }, "fast_fdivide": func(a, b float64) float64 { return a / b }, "rhypot": func(a, b float64) float64 { return 1 / math.Hypot(a, b) },
}

// scaledErfc is exp(x²)·erfc(x).
func scaledErfc(x float64) float64 {
	if x < 25 {
		return math.Exp(x*x) * math.Erfc(x)
	}
	y := 1 / (2 * x * x)
	return (1 - y*(1-3*y*(1-5*y*(1-7*y)))) / (x * math.Sqrt(math.Pi))
}

// besselI is a modified Bessel function of the first kind: its power series, and for large numbers the asymptotic one.
func besselI(order int, x float64) float64 {
	n, z := float64(order), math.Abs(x)
	sum, term := 1.0, 1.0
	if z < 40 {
		if order == 1 {
			term, sum = x/2, x/2
		}
		for k := 1.0; k < 200 && math.Abs(term) > 1e-18*math.Abs(sum); k++ {
			term *= z * z / 4 / (k * (k + n))
			sum += term
		}
		return sum
	}
	for k := 1.0; k < 20; k++ {
		term *= ((2*k-1)*(2*k-1) - 4*n*n) / (8 * z * k)
		sum += term
	}
	sum *= math.Exp(z/2) / math.Sqrt(2*math.Pi*z) * math.Exp(z/2)
	if order == 1 {
		return math.Copysign(sum, x)
	}
	return sum
}

// symbolOf is the name of a function in the tables, from that in a library: __nv_tanhf, __ocml_tanh_f32, __ockl_clz_u32.
func symbolOf(symbol string, known func(name string) bool) string {
	for _, library := range []string{"__nv_", "__triton_hip_"} {
		if name, ok := strings.CutPrefix(symbol, library); ok {
			for _, short := range []string{name, strings.TrimSuffix(name, "f"), strings.TrimSuffix(name, "d")} {
				if known(short) {
					return short
				}
			}
			return name
		}
	}
	for _, library := range []string{"__ocml_", "__ockl_"} {
		if name, ok := strings.CutPrefix(symbol, library); ok {
			for _, end := range []string{"_f16", "_f32", "_f64", "_u32", "_u64"} {
				name = strings.TrimSuffix(name, end)
			}
			return strings.TrimPrefix(name, "native_")
		}
	}
	return symbol
}

// library is a function of a vendor's library.
func library(c *compiler) step {
	symbol := c.op.Attribute("symbol")
	if symbol == nil {
		panic(failure("it has no symbol"))
	}
	n := len(c.op.Operands)
	if n == 0 {
		panic(failure("the function %s has no arguments", symbol.String))
	}
	from, to := classOf(c.use(0).t), classOf(c.resultType(0))
	numeric := (from == f32 || from == f64) && to == from
	name := symbolOf(symbol.String, func(name string) bool {
		return name == "fma" || functions[name] != nil || more[name] != nil || pairs[name] != nil || mixed(name, n, from == f64) != nil
	})
	switch f := functions[name]; {
	case numeric && n == 1 && f != nil:
		return c.apply1(f)
	case numeric && n == 1 && more[name] != nil:
		return c.apply1(more[name])
	case numeric && n == 2 && pairs[name] != nil && classOf(c.use(1).t) == from:
		return c.apply2(pairs[name])
	case numeric && n == 3 && name == "fma":
		return fused(c)
	}
	if f := mixed(name, n, from == f64); f != nil {
		return c.applyMixed(f)
	}
	panic(failure("the function %s is not in the table", symbol.String))
}
