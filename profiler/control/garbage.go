package control

import (
	"runtime/debug"

	"github.com/goproton/goproton/internal/procstat"
)

const (
	mostGarbage  = 16 << 20 // bytes
	mostPercent  = 400      // garbage of what is alive
	leastPercent = 50
)

// CollectGarbage lets a small heap, of a few MB of trees, grow to five times what is alive before it is collected, and a larger one by 16 MiB:
// the memory of the program is not the profiler's. Above 32 MiB alive, half as much may be garbage. What is free is given
// back once in a minute.
func CollectGarbage() {
	now := mostPercent
	debug.SetGCPercent(now)
	giveBack := procstat.GiveBack()
	procstat.AfterCollection(func(live uint64) (again bool) {
		if want := garbagePercent(live); want > now+now/8 || want < now-now/8 { // a change stops the goroutines for a moment
			debug.SetGCPercent(want)
			now = want
		}
		giveBack()
		return true
	})
}

func garbagePercent(live uint64) int {
	return int(min(mostPercent, max(leastPercent, mostGarbage*100/max(live, 1))))
}
