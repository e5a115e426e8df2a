package conformance

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profiler"
)

// CUPTI has a buffer for each thread that launches, also for one that has ended. A program may have very many threads in turn.
func TestNoKernelOfShortThreadsIsLost(t *testing.T) {
	gpu := fakeCUDA(t).(FakeCUDA)
	times := 3000
	if testkit.All() && !testing.Short() {
		times = 30_000
	}
	for _, c := range []struct{ times, atATime int }{{times, 1}, {times / 50, 50}} {
		m := profiler.NewManager()
		s := &stage{T: t, GPU: gpu, m: m, options: profiler.StartOptions{Name: filepath.Join(t.TempDir(), "p"), Backend: "cupti", NoStats: true}}
		s.start()
		gpu.LaunchInThreads("add", c.times, c.atATime)
		s.expect(s.finish(), fmt.Sprintf("\nadd: count %d\n", c.times*c.atATime))
		if said := m.Problems(); len(said) > 0 {
			t.Errorf("%d threads at a time: %q", c.atATime, said)
		}
	}
}
