package procstat

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// AfterCollection calls check after each collection, with the bytes that are alive, as long as it returns true.
func AfterCollection(check func(live uint64) (again bool)) {
	type marker struct{ _ [64]byte } // not so small that it shares its memory with others
	runtime.SetFinalizer(&marker{}, func(*marker) {
		if check(read("/gc/heap/live:bytes")) {
			AfterCollection(check)
		}
	})
}

const fewFree = 1 << 20 // bytes that are not worth a collection

// GiveBack returns a function for AfterCollection to call. It gives back to the system what is free, once in a minute. Go itself
// leaves a tenth more than the heap's goal resident, and uses that bit by bit: resident memory rose for an hour in a soak. Giving back takes a
// collection; of two programs for ten minutes, one with it took no more processor time.
func GiveBack() func() { return every(time.Minute, debug.FreeOSMemory) }

func every(least time.Duration, release func()) func() {
	released := time.Now()
	return func() {
		if time.Since(released) >= least && free() >= fewFree {
			released = time.Now()
			go release() // it collects, and this is part of a collection
		}
	}
}

// free is how many bytes of the heap hold nothing and were not given back.
func free() uint64 { return read("/memory/classes/heap/free:bytes") }

func read(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
