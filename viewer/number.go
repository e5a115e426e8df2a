package viewer

import (
	"math"
	"strconv"

	"github.com/goproton/goproton/viewer/internal/grid"
)

// form is how the numbers of one column are printed: all with the same decimals, so that they align.
type form struct {
	decimals int
	exponent bool // some are too large to be written out

	own    *quantity // set: each number in the unit of it that suits it
	factor float64   // of the column's unit to the quantity's base unit
}

// formFor chooses a column's form by its values: whole numbers have no decimals, others enough for a thousandth of
// the largest to be seen.
func formFor(values func(yield func(v float64) bool)) form {
	largest, whole := 0.0, true
	for v := range values {
		if finite(v) {
			largest = max(largest, math.Abs(v))
			whole = whole && v == math.Trunc(v)
		}
	}
	switch {
	case largest >= 1e15:
		return form{exponent: true}
	case whole:
		return form{}
	case largest >= 10_000:
		return form{decimals: 1}
	case largest >= 1000:
		return form{decimals: 2}
	case largest >= 0.1:
		return form{decimals: 3}
	case largest < 1e-12:
		return form{exponent: true}
	}
	return form{decimals: 2 - int(math.Floor(math.Log10(largest)))}
}

func (f form) text(v float64) string { return string(f.append(nil, v)) }

// append adds the number to a text.
func (f form) append(b []byte, v float64) []byte {
	switch {
	case !finite(v):
		return append(b, grid.Missing...)
	case f.own != nil:
		return f.own.append(b, v*f.factor)
	case f.exponent:
		return strconv.AppendFloat(b, v, 'g', 5, 64)
	case v < 0 && v > -math.Pow10(-f.decimals)/2:
		v = 0 // not -0.00
	}
	return strconv.AppendFloat(b, v, 'f', f.decimals, 64)
}
