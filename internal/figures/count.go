package figures

import (
	"strconv"
	"strings"
)

// whole are the types in which things are counted.
type whole interface{ ~int | ~int64 | ~uint64 }

// Count writes a number of things: 1 launch, 12,000 launches.
func Count[N whole](n N, noun string) string {
	plural := noun + "s"
	if strings.HasSuffix(noun, "ch") || strings.HasSuffix(noun, "ss") {
		plural = noun + "es"
	}
	return Plural(n, noun, plural)
}

// Plural writes a number of things whose plural is not Count's, or with words that depend on the number: 1 process was,
// 2 processes were.
func Plural[N whole](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Grouped(n) + " " + many
}

// Grouped writes a whole number with commas between thousands.
func Grouped[N whole](n N) string {
	digits, sign := strconv.FormatUint(uint64(n), 10), ""
	if n < 0 {
		digits, sign = strconv.FormatUint(-uint64(n), 10), "-"
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
