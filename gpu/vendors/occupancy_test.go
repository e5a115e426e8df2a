package vendors

import (
	"fmt"
	"math"
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

// TestOccupancyOfWrongFiles: numbers that no launch can ask for have no occupancy.
func TestOccupancyOfWrongFiles(t *testing.T) {
	if o, ok := Occupancy("CUDA", "90", 64, 256, 1024); !ok || o.Share() != 0.5 || o.Limits[0] != "registers" {
		t.Errorf("64 registers, 256 threads: %+v, %v", o, ok)
	}
	for _, huge := range []int{1 << 59, math.MaxInt, math.MinInt, 1 << 30} {
		for _, asks := range [][3]int{{huge, 256, 0}, {64, huge, 0}, {64, 256, huge}} {
			if _, ok := Occupancy("CUDA", "90", asks[0], asks[1], asks[2]); ok && asks[2] >= 0 {
				t.Errorf("%v has an occupancy", asks)
			}
		}
	}
	if _, ok := Occupancy("", "", 64, 256, 0); ok {
		t.Error("a device of no vendor has an occupancy")
	}
}
