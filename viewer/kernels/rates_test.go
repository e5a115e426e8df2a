package kernels

import (
	"math"
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestTogether: rates of several kinds of launches are all work over all time; a rate that one of them lacks is unknown for all.
func TestTogether(t *testing.T) {
	group := func(launches, nanos uint64, bytes, flops, roof float64, bound string) *Group {
		g := &Group{Times: profile.Durations{Count: launches, Nanos: nanos}}
		g.Work.Bytes, g.Work.Flops = bytes, flops
		seconds := float64(nanos) / float64(launches) / 1e9
		g.Work.Rates = Rates{bytes / seconds, flops / seconds, roof, bound}
		return g
	}
	large := group(3, 3000, 6000, 1000, 0.5, "memory") // three of 1 us
	small := group(1, 1000, 2000, 9000, 0.9, "compute")
	silent := group(1, 1000, 0, 0, 0, "")
	traced := &Group{Traced: 5}
	for name, c := range map[string]struct {
		all    profile.Durations
		groups []*Group
		want   Rates
	}{
		"two":                      {profile.Durations{Count: 4, Nanos: 4000}, []*Group{large, small}, Rates{20000 / 4e-6, 12000 / 4e-6, 0.6, "memory"}},
		"one that was only traced": {profile.Durations{Count: 1, Nanos: 1000}, []*Group{small, traced}, Rates{2000 / 1e-6, 9000 / 1e-6, 0.9, "compute"}},
		"one of unknown work":      {profile.Durations{Count: 2, Nanos: 2000}, []*Group{small, silent}, Rates{}},
		"launches of unknown work": {profile.Durations{Count: 5, Nanos: 5000}, []*Group{large, small}, Rates{}},
		"none":                     {profile.Durations{}, nil, Rates{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := together(&c.all, c.groups)
			near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }
			if !near(got.BytesPerSecond, c.want.BytesPerSecond) || !near(got.FlopsPerSecond, c.want.FlopsPerSecond) || !near(got.Roof, c.want.Roof) || got.Bound != c.want.Bound {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
