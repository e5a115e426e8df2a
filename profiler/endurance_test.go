package profiler

import (
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/internal/testkit"
)

// A checkpoint belongs to the drainer and holds no lock of the program's calls: phases come and go under it.
func TestCheckpointsWhilePhasesComeAndGo(t *testing.T) {
	m, _ := stage(t)
	id := start(t, m, "p", StartOptions{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for {
			select {
			case <-stop:
				return
			default:
				if _, err := m.WriteDrained(); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	for i := range 300 {
		phase, err := m.AdvancePhase(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.ClearPhase(id, phase-1, true); err != nil {
			t.Fatal(err)
		}
		if i%50 == 0 {
			runtime.Gosched()
		}
	}
	close(stop)
	wg.Wait()
}

// Threads may fill buffers faster than they are read: a round reads those that were full when it began.
func TestARoundEndsWhileBuffersAreFilled(t *testing.T) {
	m, _ := stage(t)
	start(t, m, "p", StartOptions{})
	m.drainer.do(func(d *drainer) {
		hotpathtest.FillBuffers(100)
		d.drain()
		if left := hotpathtest.LeftToFill(); left != 98 {
			t.Errorf("one buffer was full, and %d were filled while it was read, want 1", 99-left)
		}
	})
	testkit.Await(t, "later rounds read the others", func() bool { return hotpathtest.LeftToFill() == 0 && hotpath.BuffersInUse() == 0 })
}

// What arrives between the last flush of one session and the first moment of the next belongs to neither: its
// call paths are forgotten, and the strings its records point to may be gone.
func TestWhatCameTooLateForASessionIsNotTheNextOnes(t *testing.T) {
	m, f := stage(t)
	first := start(t, m, "first", StartOptions{})
	s := hotpathtest.Enter("first's own scope")
	hotpathtest.Launch(1, 1)
	f.kernel(1, "early", 1)
	m.Flush()
	f.late = func() { // as the source lets go: a launch made meanwhile, and its kernel's buffer
		hotpathtest.Launch(2, 1)
		hotpathtest.Deliver([]hotpath.Activity{{Correlation: 2, Start: 1, End: 2}})
	}
	if files, err := m.Finalize(&first, ""); err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	hotpathtest.Leave(s)
	hotpathtest.Launch(3, 1) // of a thread that had passed the last look at whether a session listens
	hotpathtest.Deliver([]hotpath.Activity{{Correlation: 2, Start: 1, End: 2}})
	second := start(t, m, "second", StartOptions{})
	if _, full := hotpath.TakeBuffer(hotpath.BuffersReturned()); full {
		t.Error("the second session found a buffer of the first")
	}
	if n := hotpath.Drain(func(uintptr, []hotpath.Record) {}); n != 0 {
		t.Errorf("the second session found %d records of the first", n)
	}
	hotpathtest.Launch(4, 1)
	f.kernel(4, "new", 1)
	same(t, m.outline(t, second, 0), "ROOT\n  new count=1 time (ns)=1\n")
}

func TestADrainerThatFailsIsNotTheProgramsEnd(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{})
	done := make(chan struct{})
	m.OnFirstWork(func() { defer close(done); panic("on purpose") })
	hotpathtest.Launch(1, 1)
	hotpath.Kick()
	<-done
	f.kernel(1, "k", 5)
	same(t, m.outline(t, id, 0), "ROOT\n  k count=1 time (ns)=5\n")
	if files, err := m.Finalize(&id, ""); err != nil || len(files) != 1 {
		t.Errorf("finalize: %v, %v", files, err)
	}
	if got := m.Problems(); len(got) != 1 {
		t.Errorf("problems: %q, want one that reports the failure", got)
	}
}

// Taking the vendor library into use may initialise the GPU, which calls back (InitializeInjection), on the
// same thread or, should another be initialising it at that moment, on that one.
func TestGPUStartsWhileTheSourceIsTaken(t *testing.T) {
	m, f := stage(t)
	f.onAttach = func() {
		m.GPUStarts(func() {})
		elsewhere(func() { m.GPUStarts(func() {}) })
	}
	start(t, m, "p", StartOptions{})
	if len(f.log) == 0 || f.log[0] != "attach" {
		t.Errorf("the source was used like this: %q", f.log)
	}
}

func TestFinalizeFromManyThreads(t *testing.T) {
	m, f := stage(t)
	for round := range 50 {
		id := start(t, m, "p", StartOptions{})
		hotpathtest.Launch(uint64(round+1), 1)
		f.kernel(uint64(round+1), "k", 5)
		var wg sync.WaitGroup
		var mu sync.Mutex
		written := 0
		for range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				files, err := m.Finalize(&id, "")
				mu.Lock()
				defer mu.Unlock()
				written += len(files)
				if err != nil {
					t.Error(err)
				}
			}()
		}
		wg.Wait()
		if written != 1 {
			t.Fatalf("round %d: %d files were written, want 1", round, written)
		}
	}
}

func TestManySessionsOneAfterAnother(t *testing.T) {
	m, f := stage(t)
	keep := filepath.Join(t.TempDir(), "p")
	cycle := func(n int) {
		for i := range n {
			id, err := m.Start(StartOptions{Name: keep, Backend: "fake"})
			if err != nil {
				t.Fatal(err)
			}
			s := hotpathtest.Enter("scope")
			hotpathtest.Int("tokens", 1)
			hotpathtest.Launch(uint64(i+1), 1)
			hotpathtest.Leave(s)
			f.kernel(uint64(i+1), "k", 5)
			m.Flush()
			m.Discard(id)
			f.log = f.log[:0]
		}
	}
	cycle(100)
	before := testkit.Heap()
	cycle(10_000)
	if after := testkit.Heap(); after > before+1<<20 {
		t.Errorf("10,000 sessions left %d KiB behind", (after-before)>>10)
	}
	if n := len(hotpath.Nodes()); n > 100 {
		t.Errorf("%d call paths are left of 10,000 sessions of one", n)
	}
}

// While one session stays, others and their phases come and go. Their memory must be freed.
func TestManySessionsAndPhasesDuringOneThatStays(t *testing.T) {
	m, _ := stage(t)
	stays := start(t, m, "stays", StartOptions{})
	keep := filepath.Join(t.TempDir(), "p")
	cycle := func(n int) {
		for range n {
			id, err := m.Start(StartOptions{Name: keep, Backend: "fake"})
			if err != nil {
				t.Fatal(err)
			}
			phase, err := m.AdvancePhase(stays)
			if err != nil {
				t.Fatal(err)
			}
			m.ClearPhase(stays, phase-1, true)
			m.Discard(id)
		}
	}
	cycle(100)
	before := testkit.Heap()
	cycle(3_000)
	if after := testkit.Heap(); after > before+1<<20 { // what the scopes of the one need to be distinguished: 200 bytes each
		t.Errorf("3,000 sessions and phases during another left %d KiB behind", (after-before)>>10)
	}
}

func TestLaunchesWhoseKernelsNeverCome(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{})
	for at := uint32(0); at < 100_000; at += 10_000 {
		hotpathtest.Launches(at+1, 10_000)
		m.drainer.do(func(*drainer) {})
	}
	if n := waiting(m); n != 100_000 {
		t.Fatalf("%d launches wait, want 100,000", n)
	}
	m.Flush()
	if n := waiting(m); n != 0 {
		t.Errorf("%d launches still wait after a flush that waited for the GPU", n)
	}
	// While a capture keeps the flush from waiting, they may still be running.
	hotpathtest.Launch(200_000, 1)
	f.busy = true
	m.Flush()
	f.busy = false
	f.kernel(200_000, "slow", 5)
	same(t, m.outline(t, id, 0), "ROOT\n  slow count=1 time (ns)=5\n")
}

func TestShortLivedThreads(t *testing.T) {
	m, _ := stage(t)
	start(t, m, "p", StartOptions{})
	run := func(first, n int) {
		for i := first; i < first+n; i++ {
			hotpathtest.Threads([]hotpathtest.Job{{First: uint32(i), Count: 1, Scope: "worker"}})
			if i%100 == 0 {
				m.Flush()
			}
		}
	}
	run(1, 200)
	before, states := testkit.Heap(), hotpath.Threads()
	run(1000, 5000)
	m.Flush()
	if after := testkit.Heap(); after > before+1<<20 {
		t.Errorf("5,000 threads left %d KiB behind", (after-before)>>10)
	}
	if n := hotpath.Threads(); n > states+200 {
		t.Errorf("5,000 threads, one at a time, took %d states; %d were there before", n, states)
	}
}
