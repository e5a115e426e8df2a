package control

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

func TestGarbagePercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 4 << 20: 400, 8 << 20: 200, 16 << 20: 100, 32 << 20: 50, 1 << 30: 50} {
		if got := garbagePercent(live); got != want {
			t.Errorf("%d MiB alive: %d %%, want %d %%", live>>20, got, want)
		}
	}
}

func TestCollectGarbage(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	CollectGarbage()
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	reaches := func(what string, is func(uint64) bool) {
		testkit.Await(t, what, func() bool {
			runtime.GC()
			metrics.Read(percent)
			return is(percent[0].Value.Uint64())
		})
	}
	large := make([]byte, 64<<20)
	reaches("a large heap is collected earlier", func(p uint64) bool { return p == leastPercent })
	runtime.KeepAlive(large)
	large = nil
	reaches("a small heap is collected later", func(p uint64) bool { return p > leastPercent })
}
