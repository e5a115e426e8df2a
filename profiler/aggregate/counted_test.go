package aggregate

import (
	"testing"

	"github.com/goproton/goproton/gpu/record"
)

// TestCountersOfSeveralDevicesAddUp: a node's kernels ran on two kinds of GPUs, which have some metrics in common.
func TestCountersOfSeveralDevicesAddUp(t *testing.T) {
	a, tree, set := stage(t)
	add := func(device uint32, c *record.Counters) {
		at := launched(set, 1)
		at.Counters = c
		a.Add(kernel("matmul", device, 10), at)
	}
	first, second := []string{"bytes", "cycles"}, []string{"cycles", "flops"}
	add(0, &record.Counters{Names: first, Values: []float64{1, 2}})
	add(0, nil)
	add(0, &record.Counters{Names: first, Values: []float64{3, 4}})
	add(1, &record.Counters{Names: second, Values: []float64{5, 6}})
	frozen(t, tree, "ROOT(matmul{count=4 device_id=0 time (ns)=40 counted_launches=3 bytes=4 cycles=11 flops=6})")
}
