package compat

import (
	"math"
	"strconv"
	"strings"
)

// fixed prints a number with three decimals, and nan and inf as Python does.
func fixed(v float64) string {
	if s, special := notFinite(v); special {
		return s
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// short prints a number with four digits as Python's {:.4} does: 0.5, 12.34, 1.234e+05, and always with a
// decimal point or an exponent.
func short(v float64) string {
	if s, special := notFinite(v); special {
		return s
	}
	const digits = 4
	e := strconv.FormatFloat(v, 'e', digits-1, 64) // rounds first: 9999.9 has exponent 4, not 3
	mantissa, exponent, _ := strings.Cut(e, "e")
	exp, _ := strconv.Atoi(exponent)
	if exp < -4 || exp >= digits-1 {
		return trimZeros(mantissa) + "e" + exponent
	}
	s := trimZeros(strconv.FormatFloat(v, 'f', max(digits-1-exp, 0), 64))
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func notFinite(v float64) (string, bool) {
	switch {
	case math.IsNaN(v):
		return "nan", true
	case math.IsInf(v, 1):
		return "inf", true
	case math.IsInf(v, -1):
		return "-inf", true
	}
	return "", false
}

// trimZeros drops zeros behind the point, and the point if nothing is left behind it.
func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}
