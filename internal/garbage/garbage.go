// Package garbage reports how much of the heap is alive each time that Go has collected garbage, and how much is free.
package garbage

import (
	"runtime"
	"runtime/metrics"
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

// Free is how many bytes of the heap hold nothing and were not given back to the system.
func Free() uint64 { return read("/memory/classes/heap/free:bytes") }

func read(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
