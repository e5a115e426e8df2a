package control

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	mostGarbage  = 16 << 20 // bytes
	mostPercent  = 400      // garbage of what is alive
	leastPercent = 50
)

// CollectGarbage lets a small heap, of a few MB of trees, grow to five times what is alive before it is collected, and a larger one by 16 MiB:
// the memory of the program is not the profiler's. Above 32 MiB alive, half as much may be garbage.
func CollectGarbage() {
	type marker struct{ _ [64]byte } // not so small that it shares its memory with others
	live, now := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}, mostPercent
	debug.SetGCPercent(now)
	var collected func(*marker)
	collected = func(*marker) { // runs after each collection
		metrics.Read(live)
		if want := garbagePercent(live[0].Value.Uint64()); want > now+now/8 || want < now-now/8 { // a change stops the goroutines for a moment
			debug.SetGCPercent(want)
			now = want
		}
		runtime.SetFinalizer(&marker{}, collected)
	}
	runtime.SetFinalizer(&marker{}, collected)
}

func garbagePercent(live uint64) int {
	return int(min(mostPercent, max(leastPercent, mostGarbage*100/max(live, 1))))
}
