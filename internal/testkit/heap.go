package testkit

import (
	"fmt"
	"os"
	"runtime"
	"testing"
)

// Heap returns how many bytes of Go's heap are in use. What a sync.Pool keeps is freed at the second collection.
func Heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// ResidentKiB is the resident memory of this process, in KiB.
func ResidentKiB(t testing.TB) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("needs /proc: %v", err)
	}
	var size, resident int
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize() >> 10
}
