package figures

import (
	"cmp"
	"iter"
	"math"
	"strconv"
	"strings"
)

// Form is how the numbers of one column are printed: all with the same decimals, so that they align.
type Form struct {
	decimals int
	exponent bool // some are too large or too small to be written out
	short    bool // zeros at a number's end are not known

	own    *Quantity // set: each number in the unit of it that suits it
	factor float64   // of the column's unit to the quantity's base unit
}

// FormFor chooses a column's form by its values: whole numbers have no decimals, others enough for a thousandth of the largest to
// be seen.
func FormFor(values iter.Seq[float64]) Form {
	largest, all := 0.0, true
	for v := range values {
		if Finite(v) {
			largest = max(largest, math.Abs(v))
			all = all && v == math.Trunc(v)
		}
	}
	switch {
	case largest >= 1e15:
		return Form{exponent: true}
	case all:
		return Form{}
	case largest >= 10_000:
		return Form{decimals: 1}
	case largest >= 1000:
		return Form{decimals: 2}
	case largest >= 0.1:
		return Form{decimals: 3}
	case largest < 1e-12:
		return Form{exponent: true}
	}
	return Form{decimals: 2 - int(math.Floor(math.Log10(largest)))}
}

// InOwnUnits is the form of a column in which each number is in the unit that suits it. factor is what one of the column's unit is
// in the quantity's base unit.
func InOwnUnits(q *Quantity, factor float64) Form { return Form{own: q, factor: factor} }

// AtMost limits the decimals.
func (f Form) AtMost(decimals int) Form {
	f.decimals = min(f.decimals, decimals)
	return f
}

// Short is the form without the zeros at the end of decimals, for numbers that have no more digits than are known. Blanks keep
// their places, so that the points stay below each other.
func (f Form) Short() Form {
	f.short = true
	return f
}

// Text writes a number of the column.
func (f Form) Text(v float64) string { return string(f.Append(nil, v)) }

// Append adds a number of the column to a text.
func (f Form) Append(b []byte, v float64) []byte {
	at := len(b)
	switch {
	case !Finite(v):
		return append(b, Missing...)
	case f.own != nil && f.short:
		return append(b, Short(f.own.Text(v*f.factor))...)
	case f.own != nil:
		return f.own.append(b, v*f.factor)
	case f.exponent:
		return strconv.AppendFloat(b, v, 'g', 5, 64)
	}
	b = appendPlaces(b, v, f.decimals)
	if f.short && f.decimals > 0 {
		for i := len(b) - 1; i > at && (b[i] == '0' || b[i] == '.'); i-- {
			point := b[i] == '.'
			if b[i] = ' '; point {
				break
			}
		}
	}
	return b
}

// Natural puts rank10 after rank9: runs of digits are compared as numbers, of any length, and all else byte by byte. Names that differ
// in leading zeros only are in the order of their bytes.
func Natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		m, n := digits(x), digits(y)
		if m > 0 && n > 0 {
			if order := numbers(x[:m], y[:n]); order != 0 {
				return order
			}
		} else if m, n = 1, 1; x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[m:], y[n:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// digits is how many digits a text begins with.
func digits(text string) int {
	return len(text) - len(strings.TrimLeft(text, "0123456789"))
}

func numbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
