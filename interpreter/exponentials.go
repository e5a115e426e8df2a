package interpreter

import "math"

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
