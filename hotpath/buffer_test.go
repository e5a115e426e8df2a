package hotpath_test

import (
	"testing"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/internal/testkit"
)

// Buffers that a late drainer needed lose their memory, and come back with new one.
func TestBuffersThatAreNotNeededAreGivenBack(t *testing.T) {
	begin(t, false)
	const many, keep, size = 24, 4, 2 // MiB
	full := make([]hotpath.Activity, 20_000)
	for i := range full {
		full[i].Correlation = uint64(i + 1)
	}
	for round := range 3 {
		before := hotpath.BuffersInUse()
		for range many {
			if !hotpathtest.Deliver(full) {
				t.Fatal("the pool has no buffer")
			}
		}
		if used := hotpath.BuffersInUse() - before; used != many {
			t.Errorf("%d buffers are in use, want %d", used, many)
		}
		for range many {
			buffer, ok := hotpath.TakeBuffer(hotpath.BuffersReturned())
			if !ok {
				t.Fatal("a buffer did not come")
			}
			read := 0
			buffer.Activities(func(activities []hotpath.Activity) {
				for i := range activities {
					if read++; activities[i].Correlation != uint64(read) {
						t.Fatalf("round %d: activity %d is of %d", round, read, activities[i].Correlation)
					}
				}
			})
			buffer.Recycle()
			if read != len(full) {
				t.Fatalf("%d activities came, of %d", read, len(full))
			}
		}
		kept := testkit.ResidentKiB(t)
		hotpath.TrimBuffers(hotpath.BuffersInUse() + keep)
		if freed := (kept - testkit.ResidentKiB(t)) >> 10; freed < (many-keep)*size/2 { // another test has left some that are free
			t.Errorf("round %d: %d MiB were given back, of %d", round, freed, (many-keep)*size)
		}
		hotpath.PrepareBuffers(keep + 1)
	}
}
