// Package figures says how numbers are written: for people a number, a value with its unit, a share, a change and a count of things,
// and for programs all digits of a number. Every command, view and message takes them from here, so that the same value reads the
// same everywhere. Natural orders names with numbers in them as people do.
//
// A value that stands alone has four significant digits, and the unit in which it has one to three digits before the point:
// 9.899 ms. The values of a column have one unit and the same decimals, so that they can be compared at a glance: see FormFor and
// Quantity.Fit.
package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Missing is printed where there is no value, and where it is not finite: no time, no rate.
const Missing = "-"

// Finite is false for NaN and infinities.
func Finite(v float64) bool { return v-v == 0 }

// Descending orders numbers: the largest first, and NaN last.
func Descending(a, b float64) int { return cmp.Compare(b, a) } // cmp.Compare has NaN below all numbers

// Number prints a number with four significant digits, at most six decimals and no exponent: 0.1234, 12.34, 12345.
func Number(v float64) string { return string(appendNumber(nil, v)) }

func appendNumber(b []byte, v float64) []byte {
	if !Finite(v) {
		return append(b, Missing...)
	}
	return strconv.AppendFloat(b, v, 'f', decimals(v), 64)
}

func decimals(v float64) int {
	size := math.Abs(v)
	if size == 0 {
		return 0
	}
	digits := int(math.Floor(math.Log10(size) + 1e-9))
	if size >= 9.9995*math.Pow10(digits) {
		digits++ // 999.96 is rounded to 1000
	}
	return min(max(3-digits, 0), 6)
}

// Brief prints a count in at most five columns: whole up to 9999, above with three digits and a prefix: 52.1k, 376M.
func Brief(v float64) string {
	if !Finite(v) {
		return Missing
	}
	if math.Abs(v) < 9999.5 {
		return Places(v, 0)
	}
	prefixes := "kMGTPE"
	for v /= 1000; math.Abs(v) >= 999.5 && len(prefixes) > 1; v /= 1000 {
		prefixes = prefixes[1:]
	}
	places := 0
	if math.Abs(v) < 99.95 {
		places = 1
	}
	return Places(v, places) + prefixes[:1]
}

// Places prints a number with n decimals. A number that rounds to 0 has no sign.
func Places(v float64, n int) string {
	if !Finite(v) {
		return Missing
	}
	return string(appendPlaces(nil, v, n))
}

func appendPlaces(b []byte, v float64, n int) []byte {
	if v < 0 && v > -math.Pow10(-n)/2 {
		v = 0 // not -0.00
	}
	return strconv.AppendFloat(b, v, 'f', n, 64)
}

// Share prints a part of a whole as a percentage. A small part is not written as 0.
func Share(part float64) string {
	if part > 0 && part < 0.0005 {
		return "<0.1%"
	}
	return percent(Places(part*100, 1))
}

// BriefShare prints a part of a whole as a percentage without decimals, where there is no room for one.
func BriefShare(part float64) string { return percent(Places(part*100, 0)) }

// Change prints a change, given as a part of the value before it, as a percentage with a sign. An infinite one, of a value that was
// 0, is "new".
func Change(part float64) string {
	if math.IsInf(part, 0) {
		return "new"
	}
	return percent(Signed(Places(part*100, 1)))
}

func percent(number string) string {
	if number == Missing {
		return number
	}
	return number + "%"
}

// Signed puts a plus before a number, which may have a unit, if it is above 0 as it is printed.
func Signed(text string) string {
	if number, _, _ := strings.Cut(text, " "); number[0] != '-' && strings.ContainsAny(number, "123456789") {
		return "+" + text
	}
	return text
}

// Exact prints a number for programs, with the 15 digits that a float64 surely holds: a time that went through seconds and back is
// 8064 again, not 8064.000000000001. It is "" for NaN and infinities.
func Exact(v float64) string {
	if !Finite(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 15, 64)
}

// JSON is a number of a document for programs: exact, and null for NaN and infinities, which JSON lacks.
type JSON float64

// UnmarshalJSON reads what MarshalJSON writes.
func (v *JSON) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*v = JSON(math.NaN())
		return nil
	}
	number, err := strconv.ParseFloat(string(text), 64)
	*v = JSON(number)
	return err
}

// MarshalJSON writes the number.
func (v JSON) MarshalJSON() ([]byte, error) {
	if !Finite(float64(v)) {
		return []byte("null"), nil
	}
	return []byte(Exact(float64(v))), nil
}

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

// First lists the first of some names, and how many more there are.
func First(names []string, most int) string {
	text := strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
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

// Median is the middle of some values, the mean of both if there are two, and 0 of none.
func Median[T int | int64 | float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Quantile is the value below which a part q of the values lies, between two values on the line through them; 0 of none.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (sorted[high]-sorted[low])*(at-float64(low))
}

// OrZero is a number, and 0 for NaN.
func OrZero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// Rounded is a number with so many significant digits.
func Rounded(v float64, digits int) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	return v
}

// OneIf is 1 if a condition holds, and else 0: for sums, orders and C.
func OneIf[T ~int | ~int32 | ~int64 | ~uint8 | ~uint64 | ~float64](condition bool) T {
	if condition {
		return 1
	}
	return 0
}
