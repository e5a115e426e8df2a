package profile

import "math"

// Sum adds two values of one metric. Integers stay integers unless the sum leaves 64 bits; vectors add element by
// element, as long as the longer one; NaN counts as nothing. Of values that do not fit
// each other the later stands. The sum shares no memory with a vector that was added, but may be one of the two.
func Sum(a, b Value) Value {
	x, aNumber := a.Float()
	y, bNumber := b.Float()
	switch {
	case a.Type() == Int && b.Type() == Int:
		if s, ok := sumInts(a.Int(), b.Int()); ok {
			return IntValue(s)
		}
		return FloatValue(x + y)
	case aNumber && bNumber && math.IsNaN(x):
		return b
	case aNumber && bNumber && math.IsNaN(y):
		return a
	case aNumber && bNumber:
		return FloatValue(x + y)
	case a.isVector() && b.isVector():
		return sumVectors(a, b)
	}
	return b
}

func sumInts(a, b int64) (sum int64, ok bool) {
	sum = a + b
	return sum, (sum < a) == (b < 0)
}

func (v Value) isVector() bool { return v.Type() == Ints || v.Type() == Floats }

func sumVectors(a, b Value) Value {
	if a.Type() == Ints && b.Type() == Ints {
		x, y := a.Ints(), b.Ints()
		all := make([]int64, max(len(x), len(y)))
		copy(all, x)
		fits := true
		for i, v := range y {
			var ok bool
			all[i], ok = sumInts(all[i], v)
			fits = fits && ok
		}
		if fits {
			return IntsValue(all)
		}
	}
	x, y := a.asFloats(), b.asFloats()
	all := make([]float64, max(len(x), len(y)))
	copy(all, x)
	for i, v := range y {
		all[i] += v
	}
	return FloatsValue(all)
}

func (v Value) asFloats() []float64 {
	if v.Type() == Floats {
		return v.Floats()
	}
	all := make([]float64, len(v.Ints()))
	for i, n := range v.Ints() {
		all[i] = float64(n)
	}
	return all
}
