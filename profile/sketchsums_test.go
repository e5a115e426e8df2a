package profile

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// TestExactSumsDoNotDependOnTheOrder: times that are merged in groups, in any order, have the same sums, mean and deviation to the
// last bit, and those of the values up to rounding.
func TestExactSumsDoNotDependOnTheOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for range 200 {
		var parts []*Sketch
		var values []float64
		for range 2 + r.IntN(20) {
			s := &Sketch{}
			for range 1 + r.IntN(50) {
				v := r.Uint64N(1 << (1 + r.IntN(40)))
				s.Add(v)
				values = append(values, float64(v))
			}
			parts = append(parts, s)
		}
		whole, grouped := &Sketch{}, &Sketch{}
		for _, s := range parts {
			whole.MergeExactly(s)
		}
		whole.Finish()
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		for group := range slices.Chunk(parts, 1+r.IntN(5)) {
			one := &Sketch{}
			for _, s := range group {
				one.MergeExactly(s)
			}
			one.Finish()
			grouped.MergeExactly(one.Clone())
		}
		grouped.Finish()
		if !reflect.DeepEqual(whole, grouped) {
			t.Fatalf("all at once %+v %+v, in groups %+v %+v", whole, whole.Sums, grouped, grouped.Sums)
		}
		sum, squares := 0.0, 0.0
		for _, v := range values {
			sum += v
		}
		for _, v := range values {
			squares += (v - sum/float64(len(values))) * (v - sum/float64(len(values)))
		}
		if near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }; !near(whole.Mean*float64(len(values)), sum) || !near(whole.M2, squares) {
			t.Fatalf("mean %g and m2 %g, of the values %g and %g", whole.Mean, whole.M2, sum/float64(len(values)), squares)
		}
		if err := whole.Check(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSumsThatDoNotFit: the distribution is merged all the same, with a rounded mean.
func TestSumsThatDoNotFit(t *testing.T) {
	huge, sum := &Sketch{}, &Sketch{}
	huge.Add(math.MaxUint64)
	huge.Add(math.MaxUint64 / 2)
	sum.MergeExactly(huge)
	sum.MergeExactly(huge)
	sum.Finish()
	if sum.Sums != nil || sum.Count != 4 || sum.Mean != huge.Mean || sum.Check() != nil {
		t.Errorf("merged to %+v", sum)
	}
}
