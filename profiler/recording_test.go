package profiler

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/internal/when"
	"github.com/goproton/goproton/profile"
)

// watchingSource also reports marks.
type watchingSource struct {
	fakeSource
	marks []record.Marks
}

func (w *watchingSource) Watch(m record.Marks) error { w.marks = append(w.marks, m); return nil }

// Kernels that end after their window belong to it, and those of launches between two windows to none. Scopes that were opened
// before a window are above its kernels.
func TestWindowsOfSteps(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{When: &when.Conditions{Schedule: &when.Schedule{Wait: 1, Active: 1, Repeat: 2}}})
	outer := hotpathtest.Enter("outer")
	for step := range uint64(6) {
		inner := hotpathtest.Enter("inner")
		hotpathtest.Int("items", int64(step)) // counts inside windows
		hotpathtest.Launch(step+1, 1)
		m.Step(false)
		hotpathtest.Leave(inner)
	}
	hotpathtest.Leave(outer)
	for step := range uint64(6) {
		f.kernel(step+1, string(rune('a'+step)), 1)
	}
	same(t, m.outline(t, id, 0), `ROOT
  outer
    inner items=4
      b count=1 time (ns)=1
      d count=1 time (ns)=1
`)
	p, err := m.Profile(id, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Info[profile.InfoWindows]; !strings.HasPrefix(got, "2 windows of ") || !strings.Contains(got, "from step 1 to step 2; 2: ") || !strings.HasSuffix(got, "from step 3 to step 4") {
		t.Error(got)
	}
	if w := m.Status().Windows; w == nil || w.Opened != 2 || w.Open || w.Steps != 6 || w.Why != "" {
		t.Errorf("%+v", w)
	}
	same(t, strings.Join(f.log, ", "), "attach, listen false, listen true, listen false, listen true, listen false")
}

// The gate opens and closes on the thread that enters and leaves the scope, also where it nests.
func TestWindowsOfAGate(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{When: &when.Conditions{Gate: "gate"}})
	correlation := uint64(0)
	launch := func() { correlation++; hotpathtest.Launch(correlation, 1) }
	launch()
	outer := hotpathtest.Enter("outer")
	gate := hotpathtest.Enter("gate")
	launch()
	again := hotpathtest.EnterNamed("gate")
	launch()
	hotpathtest.Leave(again)
	launch()
	hotpathtest.Leave(gate)
	launch()
	similar := hotpathtest.Enter("gates")
	launch()
	hotpathtest.Leave(similar)
	hotpathtest.Leave(outer)
	for c := uint64(1); c <= correlation; c++ {
		f.kernel(c, "k", 1)
	}
	same(t, m.outline(t, id, 0), `ROOT
  outer
    gate
      k count=2 time (ns)=2
      gate
        k count=1 time (ns)=1
`)
	if hotpath.GateIsOpen() || m.Status().Windows.Opened != 1 {
		t.Errorf("the gate is open: %v; %+v", hotpath.GateIsOpen(), m.Status().Windows)
	}
}

// A control call that takes long does not hold up the thread that opens the gate.
func TestGateWhileAControlCallHangs(t *testing.T) {
	defer func(before time.Duration) { gatePatience = before }(gatePatience)
	gatePatience = 10 * time.Millisecond
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{When: &when.Conditions{Gate: "gate"}})
	m.control.Lock()
	gate := hotpathtest.Enter("gate")
	if m.Status().Windows.Open {
		t.Error("the window opened during a control call")
	}
	m.control.Unlock()
	testkit.Await(t, "the window opens", func() bool { return windows(m).Opened == 1 }) // it may have closed since
	hotpathtest.Launch(1, 1)
	hotpathtest.Leave(gate)
	f.kernel(1, "k", 1)
	same(t, m.outline(t, id, 0), `ROOT
  gate
    k count=1 time (ns)=1
`)
}

// windows is the status of windows when no control call is under way. The status alone says that a window has closed a moment before the
// launches of the program are not recorded any more.
func windows(m *Manager) *runinfo.Windows {
	m.control.Lock()
	defer m.control.Unlock()
	return m.Status().Windows
}

func TestTwoGates(t *testing.T) {
	m, _ := stage(t)
	start(t, m, "a", StartOptions{When: &when.Conditions{Gate: "one"}})
	start(t, m, "b", StartOptions{When: &when.Conditions{Gate: "one"}})
	_, err := m.Start(StartOptions{Name: filepath.Join(t.TempDir(), "c"), Backend: "fake", When: &when.Conditions{Gate: "two"}})
	var argument *ArgumentError
	if !errors.As(err, &argument) || !strings.Contains(err.Error(), "a process has one such scope") {
		t.Errorf("a second gate: %v", err)
	}
	if _, err = m.Start(StartOptions{Name: filepath.Join(t.TempDir(), "d"), Backend: "fake", When: &when.Conditions{Delay: -1}}); !errors.As(err, &argument) {
		t.Errorf("a negative delay: %v", err)
	}
}

// A source that reports marks is asked for them for as long as a session depends on them.
func TestMarks(t *testing.T) {
	m, _ := stage(t)
	w := &watchingSource{}
	register("watching", func(SourceOptions) Source { return w })
	id, err := m.Start(StartOptions{Name: filepath.Join(t.TempDir(), "p"), Backend: "watching", When: &when.Conditions{Gate: when.ProfilerAPI}})
	if err != nil {
		t.Fatal(err)
	}
	if last := w.marks[len(w.marks)-1]; !last.Ranges || !last.Profilers {
		t.Errorf("%+v is watched", last)
	}
	if err := m.Deactivate(&id, false); err != nil {
		t.Fatal(err)
	}
	if last := w.marks[len(w.marks)-1]; last != (record.Marks{}) {
		t.Errorf("%+v is watched for a deactivated session", last)
	}
}

func TestWindowsOfTime(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{When: &when.Conditions{Delay: 0.3, Duration: 0.1}})
	if m.Status().Windows.Open {
		t.Error("it records before the delay")
	}
	testkit.Await(t, "the window opens", func() bool { return windows(m).Opened == 1 }) // it may have closed since
	testkit.Await(t, "the window closes", func() bool { return !windows(m).Open })
	hotpathtest.Launch(1, 1)
	f.kernel(1, "late", 1)
	if w := m.Status().Windows; w.Opened != 1 || w.Nanos < (100*time.Millisecond).Nanoseconds() {
		t.Errorf("%+v", w)
	}
	same(t, m.outline(t, id, 0), "ROOT\n")
}

func TestPauseAndResume(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{When: &when.Conditions{Paused: true}})
	for c := uint64(1); c <= 6; c++ {
		switch c {
		case 2, 5:
			m.Resume()
			m.Resume()
		case 4, 6:
			m.Pause()
		}
		hotpathtest.Launch(c, 1)
		f.kernel(c, string(rune('0'+c)), 1)
	}
	same(t, m.outline(t, id, 0), `ROOT
  2 count=1 time (ns)=1
  3 count=1 time (ns)=1
  5 count=1 time (ns)=1
`)
	if w := m.Status().Windows; w.Opened != 2 || !w.Paused {
		t.Errorf("%+v", w)
	}
}

// With Split, each window is a phase, and its file is named after its number.
func TestAFileForEachWindow(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{When: &when.Conditions{Schedule: when.Every(2, 1), Split: true}})
	name := m.Name(id)
	for step := range uint64(6) {
		hotpathtest.Launch(step+1, 1)
		f.kernel(step+1, string(rune('a'+step)), 1)
		m.Step(false)
	}
	files, err := m.Finalize(&id, "")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, window := range []string{"1", "2", "3"} {
		want = append(want, name+".window"+window+".hatchet")
	}
	same(t, strings.Join(files, "\n"), strings.Join(want, "\n"))
	for n, file := range files {
		same(t, outline(readTree(t, file)), "ROOT count=0 time (ns)=0\n  "+[]string{"b", "d", "f"}[n]+" count=1 time (ns)=1\n")
	}
}

// Steps, the gate, commands and the clock may come from many threads at once.
func TestEverythingAtOnce(t *testing.T) {
	m, _ := stage(t)
	start(t, m, "p", StartOptions{When: &when.Conditions{Schedule: when.Every(2, 1), Delay: 0.001, Split: true}})
	start(t, m, "q", StartOptions{When: &when.Conditions{Schedule: when.Every(3, 2)}})
	var all sync.WaitGroup
	for thread := range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 200 {
				switch thread {
				case 0:
					m.Step(false)
				case 1:
					m.Pause()
					m.Resume()
				case 2:
					m.Status()
				default:
					m.Step(true)
				}
			}
		}()
	}
	all.Wait()
	if w := m.Status().Windows; w.Steps < 100 || w.Opened == 0 {
		t.Errorf("%+v", w)
	}
}
