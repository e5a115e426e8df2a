package profile

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// sketchOf is the sketch of values, made of parts that are cut and merged at random.
func sketchOf(r *rand.Rand, values []uint64) *Sketch {
	if len(values) < 2 || r.IntN(8) == 0 {
		s := &Sketch{}
		for _, v := range values {
			s.Add(v)
		}
		return s
	}
	cut := r.IntN(len(values) + 1)
	left, right := sketchOf(r, values[:cut]), sketchOf(r, values[cut:])
	if r.IntN(2) == 0 {
		left, right = right, left
	}
	left.Merge(right)
	return left
}

// drawn are times of kernels in ns, of one of several shapes: nearly equal, spread over orders of magnitude, in two groups, equal.
func drawn(r *rand.Rand, shape, n int) []uint64 {
	values := make([]uint64, n)
	for i := range values {
		switch shape {
		case 0:
			values[i] = uint64(2000 + 50*math.Abs(r.NormFloat64()))
		case 1:
			values[i] = uint64(math.Exp(r.Float64() * 40))
		case 2:
			values[i] = []uint64{900, 1_000_000}[r.IntN(2)] + r.Uint64N(100)
		case 3:
			values[i] = 4096
		case 4:
			values[i] = r.Uint64N(64)
		default:
			values[i] = r.Uint64()
		}
	}
	return values
}

// TestPercentilesOfMergedSketches: whatever the values, and however they are spread over sketches and these merged, every
// percentile is within one part in 128 of the value of that rank, counts, bounds and buckets are those of one sketch of all, and the
// mean and the deviation are exact up to rounding.
func TestPercentilesOfMergedSketches(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 4))
	for round := range 300 {
		values := drawn(r, round%6, 1+r.IntN(2000))
		merged, whole := sketchOf(r, values), &Sketch{}
		for _, v := range values {
			whole.Add(v)
		}
		if err := merged.Check(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if merged.Count != whole.Count || merged.Min != whole.Min || merged.Max != whole.Max || !reflect.DeepEqual(merged.Buckets, whole.Buckets) {
			t.Fatalf("round %d: merged sketches are not the sketch of all values", round)
		}
		slices.Sort(values)
		for range 50 {
			q := r.Float64()
			exact := float64(values[max(int(math.Ceil(q*float64(len(values)))), 1)-1])
			if got := merged.Quantile(q); math.Abs(got-exact) > exact/64 {
				t.Fatalf("round %d: of %d values the quantile %g is %g, exactly it is %g", round, len(values), q, got, exact)
			}
		}
		mean, square := 0.0, 0.0
		for _, v := range values {
			mean += float64(v) / float64(len(values))
		}
		for _, v := range values {
			square += (float64(v) - mean) * (float64(v) - mean)
		}
		if math.Abs(merged.Mean-mean) > 1e-9*mean {
			t.Fatalf("round %d: the mean is %g, exactly it is %g", round, merged.Mean, mean)
		}
		if want := math.Sqrt(square / float64(len(values)-1)); len(values) > 1 && math.Abs(merged.StdDev()-want) > 1e-9*mean {
			t.Fatalf("round %d: the deviation is %g, exactly it is %g", round, merged.StdDev(), want)
		}
	}
}
