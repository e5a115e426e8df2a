package control

import (
	"runtime/debug"
	"time"

	"github.com/goproton/goproton/internal/garbage"
)

const (
	mostGarbage  = 16 << 20 // bytes
	mostPercent  = 400      // garbage of what is alive
	leastPercent = 50
	fewFree      = 4 << 20 // bytes that are not worth a collection
)

// Variables for tests. Go leaves a tenth more than the heap's goal resident, and uses that bit by bit: resident memory rose for an hour in a
// soak. Giving back what is free takes a collection; of two programs for ten minutes, one with it took no more processor time.
var (
	releaseEvery = time.Minute
	release      = debug.FreeOSMemory
)

// CollectGarbage lets a small heap, of a few MB of trees, grow to five times what is alive before it is collected, and a larger one by 16 MiB:
// the memory of the program is not the profiler's. Above 32 MiB alive, half as much may be garbage. What is free is given
// back once in a minute.
func CollectGarbage() {
	now, released := mostPercent, time.Now()
	debug.SetGCPercent(now)
	garbage.AfterCollection(func(live uint64) (again bool) {
		if want := garbagePercent(live); want > now+now/8 || want < now-now/8 { // a change stops the goroutines for a moment
			debug.SetGCPercent(want)
			now = want
		}
		if time.Since(released) >= releaseEvery && garbage.Free() >= fewFree {
			released = time.Now()
			go release() // it collects, and this is part of a collection
		}
		return true
	})
}

func garbagePercent(live uint64) int {
	return int(min(mostPercent, max(leastPercent, mostGarbage*100/max(live, 1))))
}
