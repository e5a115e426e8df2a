package callpath

import (
	"testing"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/testkit"
)

// The memory of a burst of launches is freed when no more of that size come, and not while they come.
func TestRoomOfABurst(t *testing.T) {
	const burst = 100_000
	r, correlation := New(), uint64(0)
	launch := func(n int) {
		first := correlation + 1
		for range n {
			correlation++
			r.Add(1, []hotpath.Record{{ID: correlation, Set: 1, Type: hotpath.Launch}})
		}
		for c := first; c <= correlation; c++ {
			if _, ok := r.Resolve(&record.Activity{Correlation: c}); !ok {
				t.Fatalf("launch %d is not known", c)
			}
		}
	}
	before := testkit.Heap()
	for range 3 {
		launch(burst)
		for range roomWatch {
			r.NextCycle()
		}
		if r.room.made != burst {
			t.Fatalf("after a burst there is room for %d launches", r.room.made)
		}
	}
	full := testkit.Heap()
	for range 2 * roomWatch {
		launch(10)
		r.NextCycle()
	}
	launch(10)
	after := testkit.Heap()
	if r.room.made != roomKept || after > before+(full-before)/4 {
		t.Errorf("there is room for %d launches, want %d; %d KiB are used before the bursts, %d after them, %d later", r.room.made, roomKept, before>>10, full>>10, after>>10)
	}
}
