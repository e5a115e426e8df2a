package callpath

import (
	"testing"

	"github.com/goproton/goproton/internal/hotpath"
	"github.com/goproton/goproton/profiler/record"
)

// TestFailedLaunchesDoNotPileUp: without a flush, launches whose kernels never come are forgotten in the end,
// and launches from just now are not.
func TestFailedLaunchesDoNotPileUp(t *testing.T) {
	r := New()
	add := func(first, n uint32) {
		records := make([]hotpath.Record, n)
		for i := range records {
			records[i] = hotpath.Record{Corr: first + uint32(i), Set: 1, Type: hotpath.Launch}
		}
		r.Add(1, records)
	}
	add(1, maxWaiting+1)
	for range 2 * settledCycles {
		r.NextCycle()
	}
	if n := r.Waiting(); n != 0 {
		t.Errorf("%d launches from long ago still wait", n)
	}
	add(1<<30, maxWaiting+1)
	for range settledCycles {
		r.NextCycle()
	}
	if _, ok := r.Resolve(&record.Activity{Correlation: 1 << 30}); !ok {
		t.Error("a launch that may still get its kernel was forgotten")
	}
}
