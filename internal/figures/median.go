package figures

import "slices"

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

// OneIf is 1 if a condition holds, and else 0: for sums, orders and C.
func OneIf[T ~int | ~int32 | ~int64 | ~uint8 | ~uint64](condition bool) T {
	if condition {
		return 1
	}
	return 0
}
