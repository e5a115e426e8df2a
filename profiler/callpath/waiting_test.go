package callpath

import (
	"testing"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
)

// Where no kernel ever comes there are no cycles either.
func TestLaunchesWithoutAnyKernelDoNotPileUp(t *testing.T) {
	r := New()
	rec := []hotpath.Record{{Set: 1, Type: hotpath.Launch}}
	for range 4 * maxWaiting {
		rec[0].ID++
		r.Add(1, rec)
		if r.Waiting() > 2*maxWaiting+1 {
			t.Fatalf("%d launches wait", r.Waiting())
		}
	}
	if _, ok := r.Resolve(&record.Activity{Correlation: rec[0].ID - maxWaiting/2}); !ok {
		t.Error("a launch that may still get its kernel was forgotten")
	}
}

// What other threads' kernels fill buffers with says nothing of a graph that still runs.
func TestAGraphIsCompleteBetweenMarks(t *testing.T) {
	r := New()
	all := func(uint32) bool { return true }
	r.Mark()
	r.Mark()
	r.Add(1, []hotpath.Record{{ID: 1, Set: 1, Type: hotpath.GraphLaunch}})
	r.Resolve(&record.Activity{Correlation: 1})
	for range 10 {
		r.NextCycle()
	}
	if r.Mark(); !r.Waits(all) {
		t.Error("a graph whose kernels may still come is complete")
	}
	if r.Mark(); r.Waits(all) {
		t.Error("a graph is waited for after nothing came between two marks")
	}
}

// A copy in an op does not get what was said of its kernel.
func TestMetricsOfAnOpGoToItsKernel(t *testing.T) {
	r := New()
	r.Event = func(uintptr, *hotpath.Record) {}
	r.Add(1, []hotpath.Record{
		{Type: hotpath.MetricAdded, Op: 3, ID: 1},
		{Type: hotpath.Launch, ID: 1, Set: 1, Op: 3, Flags: hotpath.FlagTimed},
		{Type: hotpath.Launch, ID: 2, Set: 1, Op: 3, Flags: hotpath.FlagTimed | hotpath.FlagOp},
	})
	for corr, want := range map[uint64]int{1: 0, 2: 1} {
		if a, _ := r.Resolve(&record.Activity{Correlation: corr}); len(a.Metrics) != want {
			t.Errorf("call %d has the metrics %v", corr, a.Metrics)
		}
	}
}

// TestFailedLaunchesDoNotPileUp: without a flush, launches whose kernels never come are forgotten in the end,
// and launches from just now are not.
func TestFailedLaunchesDoNotPileUp(t *testing.T) {
	r := New()
	add := func(first, n uint64) {
		records := make([]hotpath.Record, n)
		for i := range records {
			records[i] = hotpath.Record{ID: first + uint64(i), Set: 1, Type: hotpath.Launch}
		}
		r.Add(1, records)
	}
	add(1, maxWaiting+1)
	for range 2 * quietCycles {
		r.NextCycle()
	}
	if n := r.Waiting(); n != 0 {
		t.Errorf("%d launches from long ago still wait", n)
	}
	add(1<<30, maxWaiting+1)
	for range quietCycles {
		r.NextCycle()
	}
	if _, ok := r.Resolve(&record.Activity{Correlation: 1 << 30}); !ok {
		t.Error("a launch that may still get its kernel was forgotten")
	}
}
