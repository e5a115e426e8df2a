package conformance

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profiler"
)

// CUPTI has a buffer for each thread that launches, also for one that has ended. A program may have very many threads in turn. Under the race detector
// and load the drainer may not run while the pool's 1,024 buffers are taken: short runs wait for it after fewer threads.
func TestNoKernelOfShortThreadsIsLost(t *testing.T) {
	gpu := fakeCUDA(t).(FakeCUDA)
	times, turns := 3000, 1
	switch {
	case testing.Short():
		times, turns = 500, 6
	case testkit.All():
		times = 30_000
	}
	for _, c := range []struct{ times, atATime int }{{times, 1}, {times / 50, 50}} {
		m := profiler.NewManager()
		s := &stage{T: t, GPU: gpu, m: m, options: profiler.StartOptions{Name: filepath.Join(t.TempDir(), "p"), Backend: "cupti", NoStats: true}}
		s.start()
		for range turns {
			gpu.LaunchInThreads("add", c.times, c.atATime)
			if turns > 1 {
				m.Flush()
			}
		}
		s.expect(s.finish(), fmt.Sprintf("\nadd: count %d\n", turns*c.times*c.atATime))
		if said := m.Problems(); len(said) > 0 {
			t.Errorf("%d threads at a time: %q", c.atATime, said)
		}
	}
}
