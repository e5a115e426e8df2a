package figures

import (
	"cmp"
	"strings"
)

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
