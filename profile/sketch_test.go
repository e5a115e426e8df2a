package profile

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

func TestBucketsCoverAllValuesWithinOnePartIn128(t *testing.T) {
	for _, v := range []uint64{0, 1, 63, 64, 127, 128, 129, 4095, 4096, 1e9, 1 << 40, math.MaxUint64 / 3, math.MaxUint64} {
		low, high := BucketBounds(BucketOf(v))
		if v < low || v > high {
			t.Errorf("%d fell into the bucket from %d to %d", v, low, high)
		}
		if middle := float64(low) + float64(high-low)/2; math.Abs(middle-float64(v)) > float64(v)/128 {
			t.Errorf("the middle of %d's bucket is %g, off by more than one part in 128", v, middle)
		}
	}
	for i := range BucketOf(math.MaxUint64) {
		_, high := BucketBounds(i)
		if low, _ := BucketBounds(i + 1); low != high+1 {
			t.Fatalf("bucket %d ends at %d and the next starts at %d", i, high, low)
		}
	}
}

func TestQuantilesAgainstSortedValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s Sketch
	var all []float64
	for range 10_000 {
		v := uint64(math.Exp(r.NormFloat64()*2 + 10))
		s.Add(v)
		all = append(all, float64(v))
	}
	slices.Sort(all)
	for _, q := range []float64{0, 0.01, 0.5, 0.95, 0.999, 1} {
		exact := all[max(int(math.Ceil(q*float64(len(all)))), 1)-1]
		if got := s.Quantile(q); math.Abs(got-exact) > exact/64 {
			t.Errorf("quantile %g is %g, exactly it is %g", q, got, exact)
		}
	}
	if s.Min != uint64(all[0]) || s.Max != uint64(all[len(all)-1]) {
		t.Errorf("min %d max %d, want %g and %g", s.Min, s.Max, all[0], all[len(all)-1])
	}
	mean, m2 := 0.0, 0.0
	for _, v := range all {
		mean += v / float64(len(all))
	}
	for _, v := range all {
		m2 += (v - mean) * (v - mean)
	}
	if want := math.Sqrt(m2 / float64(len(all)-1)); math.Abs(s.StdDev()-want) > want*1e-9 || math.Abs(s.Mean-mean) > mean*1e-9 {
		t.Errorf("mean %g ± %g, want %g ± %g", s.Mean, s.StdDev(), mean, want)
	}
}

// TestQuantilesHaveTheDigitsThatAreKnown: of 1 to 300 random times, whatever the distribution, each quantile that is the smallest or
// the largest is exact, and each other one is in the bucket of the true value; counted up from the bucket's lower end, no number
// of that bucket ends in more zeros, and none with as many is nearer to its middle.
func TestQuantilesHaveTheDigitsThatAreKnown(t *testing.T) {
	zeros := func(v uint64) (n int) {
		for ; v > 0 && v%10 == 0; v /= 10 {
			n++
		}
		return n
	}
	r := rand.New(rand.NewPCG(28, 17))
	for range 2000 {
		var s Sketch
		all := make([]uint64, 1+r.IntN(1+r.IntN(300)))
		around, spread := 3+r.Float64()*10, r.Float64()*2
		for i := range all {
			all[i] = uint64(math.Exp(around + spread*r.NormFloat64()))
			s.Add(all[i])
		}
		slices.Sort(all)
		for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1} {
			rank := max(int(math.Ceil(q*float64(len(all)))), 1)
			exact, got := all[rank-1], uint64(s.Quantile(q))
			if rank == 1 || rank == len(all) {
				if got != exact {
					t.Fatalf("of %d: quantile %g is %d, exactly it is %d", len(all), q, got, exact)
				}
				continue
			}
			low, high := BucketBounds(BucketOf(exact))
			if got < max(low, all[0]) || got > min(high, all[len(all)-1]) {
				t.Fatalf("of %d: quantile %g is %d, exactly it is %d, in the bucket from %d to %d", len(all), q, got, exact, low, high)
			}
			middle := max(low, all[0]) + min(high, all[len(all)-1])
			for v := max(low, all[0]); v <= min(high, all[len(all)-1]) && high-low < 5000; v++ {
				if zeros(v) > zeros(got) || zeros(v) == zeros(got) && max(2*v, middle)-min(2*v, middle) < max(2*got, middle)-min(2*got, middle) {
					t.Fatalf("of %d: quantile %g is %d, and %d would have fewer digits or be nearer to the middle: it is %d", len(all), q, got, v, exact)
				}
			}
		}
	}
}

func TestMergedSketchesAreTheSketchOfAllValues(t *testing.T) {
	var whole, left, right Sketch
	for v := range uint64(3000) {
		whole.Add(v * v)
		if v%3 == 0 {
			left.Add(v * v)
		} else {
			right.Add(v * v)
		}
	}
	merged := *left.Clone()
	merged.Merge(&right)
	merged.Merge(&Sketch{})
	merged.Merge(nil)
	if merged.Count != whole.Count || merged.Min != whole.Min || merged.Max != whole.Max || !reflect.DeepEqual(merged.Buckets, whole.Buckets) {
		t.Error("count, bounds or buckets differ from those of the sketch that saw all values")
	}
	if math.Abs(merged.StdDev()/whole.StdDev()-1) > 1e-9 {
		t.Errorf("deviation %g, want %g", merged.StdDev(), whole.StdDev())
	}
	var empty Sketch
	if empty.Merge(&whole); empty.Count != whole.Count || empty.Min != 0 {
		t.Errorf("an empty sketch took over %d values from %d", empty.Count, empty.Min)
	}
	if q := (&Sketch{}).Quantile(0.5); !math.IsNaN(q) {
		t.Errorf("the median of nothing is %g", q)
	}
}

func BenchmarkSketchAdd(b *testing.B) {
	var s Sketch
	for i := range b.N {
		s.Add(uint64(2000 + i*7919%300))
	}
}
