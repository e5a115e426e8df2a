package control

import (
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/goproton/goproton/internal/garbage"
)

const (
	mostGarbage  = 16 << 20 // bytes
	mostPercent  = 400      // garbage of what is alive
	leastPercent = 50
	fewFree      = 4 << 20 // bytes that are not worth a collection
)

// Variables for tests. Go keeps a tenth more than the heap ever had, so that resident memory rises for an hour until each place was used
// once. Giving back what is free takes a collection, 20 ms of another core in a minute.
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
		if time.Since(released) >= releaseEvery && free() >= fewFree {
			released = time.Now()
			go release() // it collects, and this is part of a collection
		}
		return true
	})
}

// free is how many bytes of the heap hold nothing and were not given back to the system.
func free() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func garbagePercent(live uint64) int {
	return int(min(mostPercent, max(leastPercent, mostGarbage*100/max(live, 1))))
}
