package procstat

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/testkit"
)

func TestFreeMemoryIsGivenBackAtMostOnceInATime(t *testing.T) {
	var given atomic.Int32
	give := every(time.Millisecond, func() { given.Add(1) })
	rarely := every(time.Hour, func() { t.Error("memory was given back in the first hour") })
	var ended atomic.Bool
	defer ended.Store(true)
	AfterCollection(func(uint64) (again bool) {
		if ended.Load() {
			return false
		}
		give()
		rarely()
		return true
	})
	testkit.Await(t, "what is free is given back", func() bool {
		leaveFree(64 << 20) // each time: Go gives back some of it, too
		return given.Load() > 1
	})
}

func TestNothingIsGivenBackInTheFirstMinute(t *testing.T) {
	give := GiveBack()
	leaveFree(64 << 20)
	before := free()
	give()
	if before < 32<<20 || free() < before/2 {
		t.Errorf("of 64 MiB that hold nothing %d bytes were free, and then %d", before, free())
	}
}

// leaveFree allocates bytes that nothing holds, and collects them.
func leaveFree(bytes int) {
	room := make([]byte, bytes)
	runtime.KeepAlive(room)
	runtime.GC()
}
