package profiler

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/profiler/budget"
)

// leavingSource is a fakeSource that numbers launches, and whose library can be left.
type leavingSource struct {
	*fakeSource
	listens      atomic.Bool
	left, rivals atomic.Int64 // how often it was left; how often another tool holds the library when it is returned to
}

func (l *leavingSource) Listen(kinds, calls record.Kinds) error {
	l.listens.Store(kinds != 0)
	return nil
}

func (l *leavingSource) Leave() (bool, time.Duration) {
	if l.listens.Load() {
		panic("left while something is listened to")
	}
	l.left.Add(1)
	return true, time.Microsecond
}

func (l *leavingSource) Return() (time.Duration, error) {
	if l.rivals.Add(-1) >= 0 {
		return 0, errors.New("another profiler holds the library")
	}
	return time.Microsecond, nil
}

// bound is a program that launches all the time, which takes longer while something listens. It returns what it launched by kernel.
type bound struct {
	f        *leavingSource
	number   uint64
	launched map[string]int64
}

func (b *bound) launch(kernel string) {
	b.number++
	b.launched[kernel]++
	spin := 20 * time.Microsecond
	if b.f.listens.Load() {
		hotpathtest.MeteredLaunch(b.number, 1, false)
		now := hotpath.Now()
		b.f.ends(record.Activity{Correlation: b.number, Name: kernel, Start: now, End: now + 1000, Number: b.number})
		spin += 10 * time.Microsecond
	}
	for end := time.Now().Add(spin); time.Now().Before(end); {
	}
}

func fileOf(t *testing.T, m *Manager, id int) *profile.Profile {
	t.Helper()
	p, err := formats.ReadFile(finalize(t, m, id, "")[0])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func timingStage(t *testing.T) (*Manager, *bound) {
	t.Helper()
	m, source := stage(t)
	f := &leavingSource{fakeSource: source}
	register("fake", func(SourceOptions) Source { return f })
	return m, &bound{f: f, launched: map[string]int64{}}
}

// With a budget kernels are timed in windows between which the vendor's library is left. Counts, times and metrics are estimates for all of
// the time, and the loss is what the program loses of its pace.
func TestKernelsAreTimedInWindows(t *testing.T) {
	m, program := timingStage(t)
	id := start(t, m, "p", StartOptions{Budget: 0.05})
	timing := map[bool]bool{}
	testkit.Await(t, "twenty windows and a comparison", func() bool {
		for range 100 {
			s := hotpathtest.Enter("step")
			hotpathtest.Int("flops", 7)
			for range 3 {
				program.launch("often")
			}
			hotpathtest.Leave(s)
			program.launch("rarely")
		}
		b := m.Status().Budget
		timing[b.Now] = true
		return b.Windows >= 20 && b.Timing.Known
	})
	if program.f.left.Load() < 10 {
		t.Errorf("the library was left %d times", program.f.left.Load())
	}
	if len(timing) != 2 {
		t.Errorf("kernels are timed now: %v", timing)
	}
	b := m.Status().Budget
	if b.All <= b.Timed || !b.Timing.Known || !strings.Contains(b.String(), "in which the program lost") {
		t.Errorf("%d windows, %v of %v: %s", b.Windows, b.Timed, b.All, b)
	}
	p := fileOf(t, m, id)
	for kernel, path := range map[string][]string{"often": {"step", "often"}, "rarely": {"rarely"}} {
		n := p.Root
		for _, name := range path {
			n = n.Child(name)
		}
		off := float64(count(n))/float64(program.launched[kernel]) - 1
		if math.Abs(off) > 0.3 { // other programs use the machine
			t.Errorf("%d of %d launches of %s", count(n), program.launched[kernel], kernel)
		}
		nanos, _ := n.Metric(profile.TimeMetric)
		if wrong, has := n.Metric(profile.TimeErrorMetric); math.Abs(float64(nanos.Int()-1000*count(n))) > 1000 || !has || wrong.Int() <= 0 || wrong.Int() > nanos.Int() {
			t.Errorf("%s: time %d ns ± %d ns of %d launches", kernel, nanos.Int(), wrong.Int(), count(n))
		}
	}
	steps := program.launched["rarely"]
	if flops, _ := p.Root.Child("step").Metric("flops"); math.Abs(float64(flops.Int())/float64(7*steps)-1) > 0.3 {
		t.Errorf("%d flops of %d steps", flops.Int(), steps)
	}
	if text := p.Info[profile.InfoEstimated]; !strings.Contains(text, "times, counts and metrics are estimates") {
		t.Errorf("the profile says %v", p.Info)
	}
}

// A tool that takes the library between two windows keeps it; kernels are timed again when it is free.
func TestAnotherToolBetweenWindows(t *testing.T) {
	m, program := timingStage(t)
	id := start(t, m, "p", StartOptions{Budget: 0.05})
	windows := func(n int) func() bool {
		return func() bool {
			for range 500 {
				program.launch("k")
			}
			return m.Status().Budget.Windows >= n
		}
	}
	testkit.Await(t, "three windows", windows(3))
	if b := m.Status().Budget; b.Windows == 3 && (b.Share() < b.Timing.Share*float64(b.Timed)/float64(b.All) || !strings.Contains(b.String(), "in which programs that launch as often lose")) {
		t.Errorf("before the loss is known: %g, %s", b.Share(), b)
	}
	program.f.rivals.Store(2)
	testkit.Await(t, "six windows", windows(6))
	if problems := fmt.Sprint(m.Status().Problems); !strings.Contains(problems, "kernels are not timed for now: another profiler holds the library") {
		t.Errorf("the problems are %s", problems)
	}
	m.Deactivate(&id, false)
	n := m.Status().Budget.Windows
	for range 5000 {
		program.launch("unseen")
	}
	m.Activate(&id)
	testkit.Await(t, "ten more windows", windows(n+10)) // a few say little on a machine that other programs use
	if p := fileOf(t, m, id); p.Root.Child("unseen") != nil || math.Abs(float64(count(p.Root.Child("k")))/float64(program.launched["k"])-1) > 0.3 {
		t.Errorf("%s of %v", outline(p), program.launched)
	}
}

// A library is left once after a session was deactivated, and not while it may go on at once; a rival's place is a problem.
func TestDeactivatedSessionsLeave(t *testing.T) {
	m, program := timingStage(t)
	id := start(t, m, "p", StartOptions{})
	program.launch("k")
	for range 20 {
		m.Deactivate(&id, false)
		m.Activate(&id)
	}
	m.Deactivate(&id, false)
	if n := program.f.left.Load(); n != 0 {
		t.Fatalf("the library was left %d times", n)
	}
	testkit.Await(t, "the library is left", func() bool { return program.f.left.Load() == 1 })
	m.Deactivate(nil, true)
	program.f.rivals.Store(1)
	m.Activate(&id)
	if problems := fmt.Sprint(m.Status().Problems); !strings.Contains(problems, "kernels are not timed: another profiler holds the library") {
		t.Errorf("the problems are %s", problems)
	}
	m.Deactivate(&id, false)
	m.Activate(&id)
	program.launch("k")
	if p := fileOf(t, m, id); count(p.Root.Child("k")) != 2 || program.f.left.Load() != 1 {
		t.Errorf("left %d times:\n%s", program.f.left.Load(), outline(p))
	}
}

// The account leaves out what a program does while no session records: it pays no window, and does not dilute the loss.
func TestNothingIsEarnedWhileDeactivated(t *testing.T) {
	m, program := timingStage(t)
	id := start(t, m, "p", StartOptions{Budget: 0.05})
	launches := func(n int) func() bool {
		return func() bool {
			for range 500 {
				program.launch("k")
			}
			return m.Status().Budget.Windows >= n
		}
	}
	testkit.Await(t, "three windows", launches(3))
	testkit.Await(t, "a rest", func() (rests bool) {
		program.launch("k")
		m.drainer.do(func(d *drainer) { rests = d.spending.resting() })
		return rests
	})
	before := m.Status().Budget
	m.Deactivate(&id, false)
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		program.launch("unseen")
	}
	m.Activate(&id)
	after := m.Status().Budget
	if wall, all := after.Wall-before.Wall, after.All-before.All; wall > time.Second || all > time.Second {
		t.Errorf("%v and %v of 3 s in which nothing recorded count as recorded", wall, all)
	}
	testkit.Await(t, "two more windows", launches(5))
	finalize(t, m, id, "")
}

// A program that launches twenty kernels at once, and then nothing for the rest of a window, does not launch often.
func TestBurstsAreNotManyLaunches(t *testing.T) {
	s := &spending{timing: newTiming(0.01)}
	s.timing.weights.Begin(1, 1)
	for i := range uint64(20) {
		s.count(&record.Activity{Number: 1 + i, Start: 1000 + 5000*i, End: 2000 + 5000*i}, 1)
	}
	s.timing.weights.End(1 + 50e6)
	if got, want := s.timing.compare(), (budget.Span{Launches: 19, Nanos: 50e6}); got != want {
		t.Errorf("%+v were launched in a window of 50 ms, want %+v", got, want)
	}
}

// What was measured in the process is not left out where the program's pace could not be compared.
func TestCallPathsCountBeforeTheLossIsKnown(t *testing.T) {
	b := Spending{Totals: budget.Totals{Wall: time.Second, Paths: 1e8}, Budget: 0.01, All: time.Second, Timed: time.Second / 5, Timing: budget.Loss{Share: 0.05, Error: 0.05}}
	if text := b.String(); b.Share() != 0.1 || !strings.Contains(text, "took 10.00% of") || !strings.Contains(text, "Python call paths 10.00%") {
		t.Errorf("%g: %s", b.Share(), text)
	}
	b.Paths = 1e6
	if text := b.String(); b.Share() != 0.01 || !strings.Contains(text, "programs that launch as often lose some 5.00%") {
		t.Errorf("%g: %s", b.Share(), text)
	}
	b.Paths, b.Timing.Known = 1e8, true
	if text := b.String(); b.Share() != 0.01 || !strings.Contains(text, "the program lost 5.00% of its pace") {
		t.Errorf("%g: %s", b.Share(), text)
	}
}
