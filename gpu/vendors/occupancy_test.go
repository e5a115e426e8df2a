package vendors

import (
	"fmt"
	"testing"
)

// TestOf: worked out by hand from the guide's table, one case for each limit.
func TestOf(t *testing.T) {
	for _, c := range []struct {
		kernel launchNeeds
		want   string
	}{
		{launchNeeds{90, 128, 32, 0}, "16 blocks, 64 of 64 warps, [registers warps]"},
		{launchNeeds{90, 256, 168, 147456}, "1 blocks, 8 of 64 warps, [registers shared memory]"},
		{launchNeeds{80, 128, 255, 0}, "2 blocks, 8 of 64 warps, [registers]"},
		{launchNeeds{80, 256, 64, 49152}, "3 blocks, 24 of 64 warps, [shared memory]"},
		{launchNeeds{86, 32, 16, 0}, "16 blocks, 16 of 48 warps, [blocks]"},
		{launchNeeds{75, 1024, 64, 0}, "1 blocks, 32 of 32 warps, [registers warps]"},
		{launchNeeds{90, 1024, 128, 0}, "0 blocks, 0 of 64 warps, [registers]"},
		{launchNeeds{90, 64, 40, 232448}, "1 blocks, 2 of 64 warps, [shared memory]"},
	} {
		o, ok := occupancyOf(c.kernel)
		if got := fmt.Sprintf("%d blocks, %d of %d warps, %v", o.Blocks, o.Warps, o.MaxWarps, o.Limits); !ok || got != c.want {
			t.Errorf("%+v: %s, want %s", c.kernel, got, c.want)
		}
	}
	for _, k := range []launchNeeds{{SM: 52, Threads: 128, Registers: 32}, {SM: 90, Registers: 32}, {SM: 90, Threads: 128}} {
		if _, ok := occupancyOf(k); ok {
			t.Errorf("%+v has an occupancy", k)
		}
	}
}
