package profiler

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/internal/testkit"
)

// hangStage is a session that is watched, on a GPU that is busy while the test says so.
type hangStage struct {
	m    *Manager
	f    *fakeSource
	busy atomic.Bool
	mu   sync.Mutex
	last Hang
	hung int
	work GPUWork
}

func watchedStage(t *testing.T, after time.Duration) *hangStage {
	s := &hangStage{}
	s.m, s.f = stage(t)
	s.f.awaited = func() {
		for s.busy.Load() {
			time.Sleep(time.Millisecond)
		}
	}
	t.Cleanup(func() { s.busy.Store(false) })
	start(t, s.m, "p", StartOptions{})
	s.m.WatchHang(after, func(h Hang) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if h.Hung && !s.last.Hung {
			s.hung++
			s.work = h.Work()
		}
		s.last = h
	})
	return s
}

func (s *hangStage) now() (hung bool, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last.Hung, s.hung
}

// A launch that has failed has no record. The GPU is idle, which a wait for it says, and it is asked once.
func TestAFailedLaunchDoesNotHang(t *testing.T) {
	s := watchedStage(t, 200*time.Millisecond)
	var asked atomic.Int32
	s.f.awaited = func() { asked.Add(1) }
	hotpathtest.Launch(1, 1)
	testkit.Await(t, "the GPU is asked", func() bool { return asked.Load() > 0 })
	time.Sleep(time.Second)
	if _, times := s.now(); times != 0 || asked.Load() != 1 {
		t.Errorf("%d hangs, and the GPU was asked %d times", times, asked.Load())
	}
}

// While a long queue is worked off, the first kernels to end are seen only in a buffer that CUPTI holds.
func TestAQueueThatIsWorkedOffDoesNotHang(t *testing.T) {
	s := watchedStage(t, 400*time.Millisecond)
	if !hotpathtest.HoldBuffer() {
		t.Fatal("the pool has no buffer")
	}
	defer hotpathtest.ReturnHeld()
	hotpathtest.WriteHeld(100, 1) // what CUPTI writes at the launches
	s.busy.Store(true)
	hotpathtest.Launches(1, 20)
	for i := range 20 {
		time.Sleep(100 * time.Millisecond)
		hotpathtest.WriteHeld(i, 7)
	}
	if _, times := s.now(); times != 0 {
		t.Errorf("%d hangs of a GPU that completes a record every 100 ms", times)
	}
	testkit.Await(t, "nothing is completed any more", func() bool { hung, _ := s.now(); return hung })
}

// The launch to blame is the first of its stream that has not ended. One that failed before another of its stream ended is not.
func TestTheLaunchThatHangs(t *testing.T) {
	s := watchedStage(t, 300*time.Millisecond)
	hotpathtest.Launch(1, 10)
	hotpathtest.StreamOf(1, 10, 0x5500, 0, "failed without a result")
	hotpathtest.Launch(2, 11)
	hotpathtest.StreamOf(2, 11, 0x5500, 0, "before")
	hotpathtest.Launch(3, 12)
	hotpathtest.StreamOf(3, 12, 0x6600, 700, "refused")
	s.f.ends(record.Activity{Correlation: 2, Name: "before", Start: 1, End: 2, Stream: 9})
	s.m.Collect()
	s.busy.Store(true)
	scope := hotpathtest.Enter("step")
	hotpathtest.Launch(4, 13)
	hotpathtest.StreamOf(4, 13, 0x5500, 0, "hangs")
	hotpathtest.Leave(scope)
	hotpathtest.Launch(5, 11)
	testkit.Await(t, "it is said", func() bool { hung, _ := s.now(); return hung })
	w := s.work
	if len(w.Running) != 1 || w.Queued != 1 || w.Running[0].Kernel != "hangs" || w.Running[0].Stream != 9 || !slices.Equal(w.Running[0].Path, []string{"step"}) {
		t.Errorf("running %+v, %d queued", w.Running, w.Queued)
	}
	if w.Last.Kernel != "before" || w.Counts["before"] != 2 || w.Counts["hangs"] != 1 {
		t.Errorf("the last is %+v, counts %v", w.Last, w.Counts)
	}
	s.busy.Store(false)
	s.f.kernel(4, "hangs", 10)
	s.m.Collect()
	testkit.Await(t, "it goes on", func() bool { hung, _ := s.now(); return !hung })
}

// A session may end while a thread of the watch is in the driver: CUPTI must not be taken down then.
func TestASessionThatEndsWhileTheGPUHangs(t *testing.T) {
	s := watchedStage(t, 100*time.Millisecond)
	var waits atomic.Int32
	s.f.awaited = func() {
		if waits.Add(1) == 1 { // the watch; the session's own wait has ended
			for s.busy.Load() {
				time.Sleep(time.Millisecond)
			}
		}
	}
	s.busy.Store(true)
	hotpathtest.Launch(1, 1)
	testkit.Await(t, "it hangs", func() bool { hung, _ := s.now(); return hung })
	if _, err := s.m.Finalize(nil, ""); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(s.f.log, "detach at the end") {
		t.Errorf("the log: %v", s.f.log)
	}
}
