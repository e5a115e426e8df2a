package profiler

import (
	"testing"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
)

// What the program launched before its end and the GPU finishes after it is progress. What threads launch that do not know of
// the end is not: they would keep a process alive whose other kernel hangs.
func TestProgressOfAProgramThatEnds(t *testing.T) {
	m, f := stage(t)
	start(t, m, "p", StartOptions{})
	moves := func() uint64 {
		m.Collect()
		n, onGPU := m.Progress()
		if onGPU {
			t.Error("nothing waits for the GPU yet")
		}
		return n
	}
	hotpathtest.Launch(1, 1)
	hotpathtest.Launch(2, 1)
	f.kernel(1, "before", 10)
	before := moves()
	m.Ending()
	hotpathtest.Launch(3, 1)
	f.kernel(3, "of another thread", 10)
	if n := moves(); n != before {
		t.Errorf("%d moves by a launch after the end", n-before)
	}
	f.kernel(2, "late", 10)
	if n := moves(); n != before+1 {
		t.Errorf("%d moves by one kernel", n-before)
	}
	asked := false
	f.awaited = func() { _, asked = m.Progress() }
	m.Flush()
	if n := moves(); !asked || n != before+2 {
		t.Errorf("waiting for a context: %v, %d moves", asked, n-before)
	}
}

// CUPTI hands back a buffer only when all of its records are complete. Of 16 queued kernels of 1.5 s each the first 15 to end
// are seen in the buffer that it holds, which distinguishes a GPU that works from one that hangs.
func TestProgressInABufferThatIsNotHandedBack(t *testing.T) {
	m, _ := stage(t)
	start(t, m, "p", StartOptions{})
	if !hotpathtest.HoldBuffer() {
		t.Fatal("the pool has no buffer")
	}
	m.Ending()
	step := func(what string, want uint64) {
		t.Helper()
		before, _ := m.Progress()
		m.Collect()
		if after, _ := m.Progress(); after-before != want {
			t.Errorf("%s: %d signs of progress, want %d", what, after-before, want)
		}
	}
	step("nothing happened", 0)
	hotpathtest.WriteHeld(100, 1)
	step("a thread that goes on launched something", 0)
	hotpathtest.WriteHeld(0, 2)
	step("a record was completed", 1)
	step("nothing happened since", 0)
	hotpathtest.ReturnHeld()
	step("the buffer came back", 1)
	step("nothing happened after that", 0)
}

// Threads that go on while the process ends have no part in the profile, and nothing waits for them.
func TestLaunchesWhileTheProcessEnds(t *testing.T) {
	for _, mark := range []uint64{0, 2} { // without a mark they are known by their records
		m, f := stage(t)
		id := start(t, m, "p", StartOptions{})
		hotpathtest.Launch(1, 1)
		f.mark = mark
		m.Ending()
		hotpathtest.Launch(3, 1)
		if records := hotpath.Drain(func(uintptr, []hotpath.Record) {}); mark > 0 && records > 0 {
			t.Errorf("%d records of launches outside of sessions", records)
		}
		hotpathtest.Launch(4, 1)
		f.kernel(1, "k", 1)
		f.kernel(4, "late", 1)
		same(t, m.outline(t, id, 0), "ROOT\n  k count=1 time (ns)=1\n")
		f.mark = 0
		start(t, m, "q", StartOptions{}) // as an exit handler of the program may
		hotpathtest.Launch(5, 1)
		f.kernel(5, "k", 1)
		same(t, m.outline(t, id, 0), "ROOT\n  k count=2 time (ns)=2\n")
		finalize(t, m, id, "")
		m.Finalize(nil, "")
	}
}
