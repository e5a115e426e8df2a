package pprofile

import (
	"math"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

// TestCyclesInside writes what adds up, and reads back what scopes have with those inside of them, also a second time.
func TestCyclesInside(t *testing.T) {
	for seed := range uint64(50) {
		p, own := profiletest.Specialised(seed)
		sum := uint64(0)
		for _, cycles := range own {
			sum += cycles
		}
		back := reread(t, p)
		for range 2 {
			written, err := New(back)
			if err != nil {
				t.Fatal(err)
			}
			total := int64(0)
			for _, s := range written.Sample {
				total += s.Value[0]
			}
			if written.SampleType[0].Type != "cycles" || total != int64(sum) {
				t.Fatalf("seed %d: %d %s in the file, want %d", seed, total, written.SampleType[0].Type, sum)
			}
			for n := range own {
				got := named(back.Root, n.Name)
				for _, metric := range []string{profile.CyclesMetric, profile.NormalizedCyclesMetric} {
					want, _ := n.WholeValue(metric)
					have, _ := got.Metric(metric)
					a, _ := want.Float()
					b, _ := have.Float()
					rounded := 0.5 * float64(len(own)) // the file has whole numbers
					if metric == profile.CyclesMetric && a != b || math.Abs(a-b) > rounded {
						t.Fatalf("seed %d: %s of %s is %v, want %v", seed, metric, n.Name, b, a)
					}
				}
			}
			back = reread(t, back)
		}
	}
}

func named(root *profile.Node, name string) (found *profile.Node) {
	root.Walk(func(n *profile.Node, _ int) bool {
		if n.Name == name {
			found = n
		}
		return found == nil
	})
	return found
}
