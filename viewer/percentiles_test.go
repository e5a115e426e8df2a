package viewer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// grown grows a random tree whose kernels have random times, and returns the times of a subtree by the path to it.
func grown(r *rand.Rand, n *profile.Node, path string, depth int, times map[string][]uint64) []uint64 {
	var all []uint64
	if r.IntN(2) == 0 || depth == 0 {
		n.Times = &profile.Sketch{}
		sum := uint64(0)
		for range 1 + r.IntN(300) {
			v := 500 + r.Uint64N(1<<(4+r.IntN(24)))
			n.Times.Add(v)
			sum += v
			all = append(all, v)
		}
		n.Set("time (ns)", profile.IntValue(int64(sum)))
		n.Set("count", profile.IntValue(int64(len(all))))
	}
	if depth > 0 {
		for i := range 1 + r.IntN(3) {
			child := &profile.Node{Name: fmt.Sprint("f", i)}
			n.Children = append(n.Children, child)
			all = append(all, grown(r, child, path+"/"+child.Name, depth-1, times)...)
		}
	}
	times[path] = slices.Clone(all)
	return all
}

// TestStatisticsAgainstSingleKernels: for every row of random trees, percentiles are within one part in 64 of those of the single
// kernels below it, smallest and largest are exact, and so are mean and deviation up to rounding.
func TestStatisticsAgainstSingleKernels(t *testing.T) {
	for seed := range uint64(10) {
		p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive}}
		times := map[string][]uint64{}
		grown(rand.New(rand.NewPCG(12, seed)), p.Root, "ROOT", 4, times)
		table, err := NewTable(p, Options{Metrics: []string{"median_time/ns", "p95_time/ns", "p99.9_time/ns", "min_time/ns", "max_time/ns", "mean_time/ns", "stddev_time/ns", "avg_time/ns"}})
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for row := range table.All() {
			single := times[strings.Join(row.Path(), "/")]
			slices.Sort(single)
			for i, want := range exactly(single) {
				within := want / 64
				if i > 2 {
					within = 1e-9 * want
				}
				if got := row.Values[i]; !(math.Abs(got-want) <= within) && !(math.IsNaN(got) && math.IsNaN(want)) {
					t.Errorf("seed %d, %v: %s is %g, of the %d single kernels it is %g", seed, row.Path(), table.Columns[i].Name, got, len(single), want)
				}
			}
			rows++
		}
		if rows != len(times) {
			t.Errorf("seed %d: %d rows for %d frames", seed, rows, len(times))
		}
	}
}

// exactly are the statistics of sorted values, in the order in which the test asks for them.
func exactly(sorted []uint64) []float64 {
	n := float64(len(sorted))
	at := func(q float64) float64 { return float64(sorted[max(int(math.Ceil(q*n)), 1)-1]) }
	mean, square := 0.0, 0.0
	for _, v := range sorted {
		mean += float64(v) / n
	}
	for _, v := range sorted {
		square += (float64(v) - mean) * (float64(v) - mean)
	}
	return []float64{at(0.5), at(0.95), at(0.999), at(0), at(1), mean, math.Sqrt(square / (n - 1)), mean}
}
