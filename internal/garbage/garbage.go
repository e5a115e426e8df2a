// Package garbage reports how much of the heap is alive each time that Go has collected garbage.
package garbage

import (
	"runtime"
	"runtime/metrics"
)

// AfterCollection calls check after each collection, with the bytes that are alive, as long as it returns true.
func AfterCollection(check func(live uint64) (again bool)) {
	type marker struct{ _ [64]byte } // not so small that it shares its memory with others
	runtime.SetFinalizer(&marker{}, func(*marker) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if check(live[0].Value.Uint64()) {
			AfterCollection(check)
		}
	})
}
