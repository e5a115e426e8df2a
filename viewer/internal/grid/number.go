package grid

import (
	"math"
	"strconv"
)

// Missing is printed where there is no value, and where it is not finite: no time, no rate.
const Missing = "-"

// Fixed prints a number with four significant digits, at most six decimals and no exponent: 0.1234, 12.34, 12345.
func Fixed(v float64) string {
	if math.IsNaN(v) {
		return Missing
	}
	return strconv.FormatFloat(v, 'f', decimals(v), 64)
}

func decimals(v float64) int {
	size := math.Abs(v)
	if size == 0 || math.IsInf(v, 0) {
		return 0
	}
	digits := int(math.Floor(math.Log10(size) + 1e-9))
	if size >= 9.9995*math.Pow10(digits) {
		digits++ // 999.96 is rounded to 1000
	}
	return min(max(3-digits, 0), 6)
}

// Places prints a number with n decimals; one that rounds to 0 has no sign.
func Places(v float64, n int) string {
	switch {
	case math.IsNaN(v):
		return Missing
	case v < 0 && v > -math.Pow10(-n)/2:
		v = 0 // not -0.00
	}
	return strconv.FormatFloat(v, 'f', n, 64)
}

// PlacesFor is the number of decimals with which the largest value of a column has four significant digits.
func PlacesFor(largest float64) int { return decimals(largest) }

// Signed prints a change with its sign. A change that rounds to 0 has no sign.
func Signed(v float64, places int) string {
	s := Places(v, places)
	if v > 0 && s != Places(0, places) {
		return "+" + s
	}
	return s
}

// Share prints a part of a whole as a percentage.
func Share(part float64) string {
	if math.IsNaN(part) || math.IsInf(part, 0) {
		return Missing
	}
	return Places(part*100, 1) + "%"
}

// Percent prints a change, given as a share, as a percentage. An infinite one, of a value that was 0, is "new".
func Percent(share float64) string {
	switch {
	case math.IsNaN(share):
		return Missing
	case math.IsInf(share, 0):
		return "new"
	}
	return Signed(share*100, 1) + "%"
}

// Time prints a time in ns with four digits and the unit that suits it.
func Time(ns float64) string {
	unit, size := TimeUnit(ns)
	return Fixed(ns/size) + " " + unit
}

// TimeUnit picks the largest unit of which a time in ns, in four digits, has at least one, and returns the unit's size in ns.
func TimeUnit(ns float64) (name string, size float64) {
	for _, u := range []struct {
		name string
		size float64
	}{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}} {
		if math.Abs(ns) >= 0.99995*u.size {
			return u.name, u.size
		}
	}
	return "ns", 1
}
