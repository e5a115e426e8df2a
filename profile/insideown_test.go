package profile_test

import (
	"math"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

// TestOwnCyclesAddUp finds the cycles again that kernels were made of.
func TestOwnCyclesAddUp(t *testing.T) {
	crossing := 0
	for seed := range uint64(200) {
		_, own := profiletest.Specialised(seed)
		for n, want := range own {
			below, whole := uint64(0), n.Inside.Scope.Cycles
			n.Walk(func(inner *profile.Node, _ int) bool {
				below += own[inner]
				return true
			})
			if below > whole {
				crossing++
			}
			for _, c := range []struct {
				name string
				of   func(string) (profile.Value, bool)
				want uint64
			}{{"own", n.OwnValue, want}, {"whole", n.WholeValue, below}} {
				cycles, _ := c.of(profile.CyclesMetric)
				v, _ := c.of(profile.NormalizedCyclesMetric)
				normalized, _ := v.Float()
				if cycles.Int() != int64(c.want) || math.Abs(normalized-float64(c.want)/4) > 1e-9*float64(c.want) {
					t.Fatalf("seed %d: %s of %s: %d cycles, normalized %g; want %d", seed, c.name, n.Name, cycles.Int(), normalized, c.want)
				}
			}
		}
	}
	if crossing < 100 {
		t.Errorf("only %d scopes have inner ones of other warps", crossing)
	}
}

// Of a file it may be unknown which warps were in a scope, or scopes may overlap: no value is negative, or more than there is.
func TestOwnCyclesOfOddScopes(t *testing.T) {
	shares := func(amounts ...uint64) (list []profile.InsideShare) {
		for i, a := range amounts {
			list = append(list, profile.InsideShare{At: uint32(i), Count: 1, Amount: a})
		}
		return list
	}
	for _, c := range []struct {
		name         string
		outer, inner *profile.InsideScope
		own, whole   int64
	}{
		{"warps of neither", &profile.InsideScope{Cycles: 100}, &profile.InsideScope{Cycles: 30}, 70, 100},
		{"warps of the outer one", &profile.InsideScope{Cycles: 100, ByWarp: shares(60, 40)}, &profile.InsideScope{Cycles: 30}, 70, 100},
		{"warps of the inner one", &profile.InsideScope{Cycles: 100}, &profile.InsideScope{Cycles: 30, ByWarp: shares(30)}, 70, 100},
		{"inner scopes overlap", &profile.InsideScope{Cycles: 100, ByWarp: shares(60, 40)}, &profile.InsideScope{Cycles: 150, ByWarp: shares(130, 20)}, 20, 170},
		{"more in unknown warps", &profile.InsideScope{Cycles: 20, ByWarp: shares(20)}, &profile.InsideScope{Cycles: 50}, 0, 50},
		{"other warps", &profile.InsideScope{Cycles: 100, ByWarp: shares(100)}, &profile.InsideScope{Cycles: 50, ByWarp: shares(0, 50)}, 100, 150},
	} {
		n := &profile.Node{Inside: &profile.Inside{Scope: c.outer}, Children: []*profile.Node{{Inside: &profile.Inside{Scope: c.inner}}}}
		n.Set(profile.CyclesMetric, profile.IntValue(int64(c.outer.Cycles)))
		own, _ := n.OwnValue(profile.CyclesMetric)
		whole, _ := n.WholeValue(profile.CyclesMetric)
		if own.Int() != c.own || whole.Int() != c.whole {
			t.Errorf("%s: own %d, whole %d; want %d and %d", c.name, own.Int(), whole.Int(), c.own, c.whole)
		}
	}
}
