package figures

import "testing"

// The median is the quantile of a half, and both have the ends of what they are of.
func TestMedianAndQuantile(t *testing.T) {
	for _, values := range [][]float64{{}, {3}, {5, 1}, {2, 9, 4}, {8, -1, 0.5, 3}} {
		if m, q := Median(values), Quantile(values, 0.5); m != q {
			t.Errorf("%v: median %g, quantile %g", values, m, q)
		}
	}
	values := []float64{40, 10, 30, 20}
	for q, want := range map[float64]float64{0: 10, 0.25: 17.5, 0.5: 25, 1: 40} {
		if got := Quantile(values, q); got != want {
			t.Errorf("quantile %g is %g, want %g", q, got, want)
		}
	}
	if values[0] != 40 || Median([]int{7, 4}) != 5 || Median([]int{9, 1, 2}) != 2 {
		t.Error("values were moved, or whole ones are wrong")
	}
}
