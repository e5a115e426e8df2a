package profiler

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// there reports whether there is such a file.
func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// aRound is one of the drainer's, in which everything is due that it does more rarely, and what the files' goroutines do
// with it. Tests that stop the drainer know when it is.
func aRound(m *Manager) {
	(&rounds{m: m}).round()
	for _, s := range m.drainer.list {
		s.deliver()
	}
}

func readTree(t *testing.T, path string) *profile.Profile {
	t.Helper()
	p, err := formats.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func advance(t *testing.T, m *Manager, id int) {
	t.Helper()
	if _, err := m.AdvancePhase(id); err != nil {
		t.Fatal(err)
	}
}

// No activity comes for the waits of a trace, which shows them by their calls.
func TestWaitsDoNotHoldUpAPhase(t *testing.T) {
	m, _ := stage(t)
	id := start(t, m, "p", StartOptions{Mode: "periodic_flushing", Data: "trace"})
	m.stopRounds()
	hotpathtest.Work(1)
	hotpathtest.Returned(1, 126)
	advance(t, m, id)
	aRound(m)
	if !there(m.Name(id) + ".part_0.chrome_trace") {
		t.Error("the phase is not written")
	}
	if n := waiting(m); n != 0 {
		t.Errorf("%d calls wait for an activity", n)
	}
}

// Patience counts from the end of a phase, however often others end after it.
func TestPatienceIsWithEachPhase(t *testing.T) {
	m, _ := stage(t)
	id := start(t, m, "p", StartOptions{Mode: "periodic_flushing"})
	m.stopRounds()
	hotpathtest.Launch(1, 1) // fails
	advance(t, m, id)
	m.drainer.list[0].over[0] = time.Now().Add(-phasePatience)
	advance(t, m, id)
	aRound(m)
	if !there(m.Name(id) + ".part_0.hatchet") {
		t.Error("the phase waits with the next one")
	}
}

// A trace keeps a file and a buffer for what can still come, and not for every phase that ever was.
func TestCompletePhasesOfATraceAreClosed(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{Data: "trace"})
	m.stopRounds()
	name := m.Name(id)
	f.call(1, "first")
	advance(t, m, id)
	f.call(2, "second")
	advance(t, m, id)
	aRound(m)
	if !there(name+".part_0.chrome_trace") || !there(name+".part_1.chrome_trace") {
		t.Fatal("the phases are still open")
	}
	m.Flush()
	if open := len(m.drainer.list[0].timelines); open != 1 {
		t.Errorf("%d files are open", open)
	}
	if err := m.ClearPhase(id, 0, false); err != nil {
		t.Fatal(err)
	}
	files := finalize(t, m, id, "")
	left, _ := filepath.Glob(filepath.Dir(name) + "/*")
	if want := []string{name + ".part_1.chrome_trace", name + ".part_2.chrome_trace"}; fmt.Sprint(files) != fmt.Sprint(want) || len(left) != 2 {
		t.Errorf("wrote %q, want %q; left are %q", files, want, left)
	}
}

// The program ends a session while a checkpoint goes through those that there are.
func TestCheckpointOfATraceThatEnds(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{Data: "trace"})
	f.call(1, "kernel")
	defer m.Discard(id)
	for _, last := range []bool{true, false} { // what Finalize begins with, and what a checkpoint does
		if _, err := m.write(m.drainer.list[0], "chrome_trace", last); err != nil {
			t.Errorf("last %v: %v", last, err)
		}
	}
}

// One phase that cannot be written does not take the others with it.
func TestPhasesNextToOneThatCannotBeWritten(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{Data: "trace"})
	hotpathtest.Launch(1, 1) // holds the phase open
	m.drainer.do(func(d *drainer) {
		d.flushTimelines()
		d.list[0].timelines[0].writer.Flush()
		d.list[0].timelines[0].file.Close()
	})
	advance(t, m, id)
	f.call(2, "k")
	files, err := m.Finalize(&id, "")
	if err == nil || len(files) != 1 || !strings.HasSuffix(files[0], ".part_1.chrome_trace") {
		t.Fatalf("finalize: %q, %v", files, err)
	}
	if got := lanes(t, readTrace(t, files[0])); !strings.Contains(got, "  k [ROOT k]") {
		t.Errorf("the other phase is\n%s", got)
	}
}

// A checkpoint writes what it can.
func TestCheckpointNextToATraceThatCannotBeWritten(t *testing.T) {
	m, f := stage(t)
	startThenBlock(t, m, StartOptions{Data: "trace"})
	start(t, m, "tree", StartOptions{})
	f.call(1, "k")
	if files, err := m.WriteDrained(); err == nil || len(files) != 1 || !strings.HasSuffix(files[0], "tree.hatchet") {
		t.Errorf("wrote %q, %v", files, err)
	}
}

// A program may change its folder; what is written while it runs stays together where it began.
func TestTraceOfAProgramThatChangesItsFolder(t *testing.T) {
	m, f := stage(t)
	home := t.TempDir()
	t.Chdir(home)
	id, err := m.Start(StartOptions{Name: "p", Backend: "fake", Data: "trace"})
	if err != nil {
		t.Fatal(err)
	}
	f.call(1, "k")
	m.Flush()
	m.drainer.do((*drainer).flushTimelines)
	t.Chdir(t.TempDir())
	files := finalize(t, m, id, "")
	if len(files) != 1 || files[0] != filepath.Join(home, "p.chrome_trace") {
		t.Errorf("wrote %q", files)
	}
}

// A vector that is added twice to a slice is one metric of it.
func TestVectorsOfASliceAddUp(t *testing.T) {
	m, _ := stage(t)
	id := start(t, m, "p", StartOptions{Data: "trace"})
	s := hotpathtest.Enter("s")
	node := uint32(len(hotpath.Nodes()) - 1)
	for range 2 {
		if err := m.AddVector(node, 0, m.drainer.sets.newest, "v", []float64{1, 2}, true); err != nil {
			t.Fatal(err)
		}
	}
	hotpathtest.Leave(s)
	if got := lanes(t, readTrace(t, finalize(t, m, id, "")[0])); !strings.Contains(got, "s [ROOT s] map[v:[2 4]]") {
		t.Errorf("got\n%s", got)
	}
}

// A program may keep a place and add to it after the phase is over, and even after it is written.
func TestMetricsThatComeAfterTheirPhase(t *testing.T) {
	m, _ := stage(t)
	id := start(t, m, "p", StartOptions{Mode: "periodic_flushing"})
	m.stopRounds()
	scope := hotpathtest.Enter("s")
	leaf := hotpathtest.LeafNow()
	hotpathtest.IntAt(leaf, "tokens", 1)
	advance(t, m, id)
	hotpathtest.IntAt(leaf, "tokens", 10)
	hotpathtest.Int("tokens", 100)
	same(t, m.outline(t, id, 0), "ROOT\n  s tokens=11\n")
	same(t, m.outline(t, id, 1), "ROOT\n  s tokens=100\n")
	aRound(m)
	hotpathtest.IntAt(leaf, "tokens", 1000)
	hotpathtest.Leave(scope)
	files := finalize(t, m, id, "")
	same(t, outline(readTree(t, files[0])), "ROOT tokens=0\n  s tokens=11\n")
	same(t, outline(readTree(t, files[1])), "ROOT tokens=0\n  s tokens=100\n")
	if late := m.Status().Loss.Late; late != 1 {
		t.Errorf("%d metrics are said to have come late, want 1", late)
	}
	if problems := m.Problems(); len(problems) != 1 {
		t.Errorf("problems: %q, want one that says so", problems)
	}
}

// Phases of one session end while those of another go on: the other one's metrics move out of the slots with them.
func TestPhasesOfOneSessionDuringThePhaseOfAnother(t *testing.T) {
	m, _ := stage(t)
	stays := start(t, m, "stays", StartOptions{})
	id := start(t, m, "p", StartOptions{})
	scope := hotpathtest.Enter("s")
	for range 10 {
		hotpathtest.Int("tokens", 1)
		hotpathtest.Int("step (pty)", 7)
		advance(t, m, id)
	}
	hotpathtest.Int("tokens", 1)
	hotpathtest.Leave(scope)
	same(t, m.outline(t, stays, 0), "ROOT\n  s tokens=11 step=7\n")
	same(t, m.outline(t, id, 9), "ROOT\n  s tokens=1 step=7\n")
	same(t, m.outline(t, id, 10), "ROOT\n  s tokens=1\n")
}
