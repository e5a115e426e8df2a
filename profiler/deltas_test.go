package profiler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
)

// windowSink adds up windows by call path and metric.
type windowSink struct {
	fail func() error

	mu      sync.Mutex
	windows []Window
	sums    map[string]int64
}

func (s *windowSink) Write(_ context.Context, w Window, p *profile.Profile) error {
	if s.fail != nil {
		if err := s.fail(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.windows = append(s.windows, w)
	addUp(s.sums, p)
	return nil
}

// addUp adds the metrics that windows have, with all widths of flops as one.
func addUp(sums map[string]int64, p *profile.Profile) {
	var path []string
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		path = append(path[:depth], n.Name)
		for _, m := range n.Metrics {
			name := m.Name
			if strings.HasPrefix(name, "flops") {
				name = "flops"
			}
			if name == "flops" || name == profile.BytesMetric || name == profile.TimeMetric || name == profile.CountMetric {
				if f, _ := m.Value.Float(); f != 0 {
					sums[strings.Join(path, "/")+" "+name] += int64(f)
				}
			}
		}
		return true
	})
}

// work is a step of a program: scopes, launches with metrics, and kernels of which some end in a later step.
func work(r *rand.Rand, f *fakeSource, corr *uint64, late *[]func()) {
	for range r.IntN(4) {
		outer := hotpathtest.Enter(fmt.Sprint("layer", r.IntN(6)))
		for range r.IntN(5) {
			*corr++
			c, name, nanos := *corr, fmt.Sprint("kernel", r.IntN(4)), uint64(r.IntN(5000)+1)
			hotpathtest.Int("bytes", int64(r.IntN(1<<20)))
			hotpathtest.Float("flops16", float64(r.IntN(1<<20)))
			hotpathtest.Launch(c, 1)
			device := uint32(r.IntN(3))
			end := func() {
				f.ends(record.Activity{Correlation: c, Name: name, Device: device, Start: 1000, End: 1000 + nanos})
			}
			if r.IntN(3) == 0 {
				*late = append(*late, end)
			} else {
				end()
			}
		}
		hotpathtest.Leave(outer)
	}
	if r.IntN(2) == 0 {
		for _, end := range *late {
			end()
		}
		*late = nil
	}
}

// The windows of a session together have exactly what its files have, call path by call path: also with phases that are
// flushed while it runs.
func TestWindowsAddUpToTheFile(t *testing.T) {
	for _, mode := range []string{"", "periodic_flushing"} {
		for seed := range uint64(20) {
			m, f := stage(t)
			r := rand.New(rand.NewPCG(seed, 7))
			sink, other := &windowSink{sums: map[string]int64{}}, &windowSink{sums: map[string]int64{}}
			id := start(t, m, "p", StartOptions{Mode: mode, Deltas: []*Deltas{{Sink: sink, Every: time.Hour}, {Sink: other, Every: 2 * time.Hour}}})
			m.stopRounds()
			corr, late := uint64(1), []func(){}
			for range 40 {
				work(r, f, &corr, &late)
				switch r.IntN(4) {
				case 0:
					m.Collect()
					m.TakeDeltas()
				case 1:
					if mode != "" {
						advance(t, m, id)
						aRound(m)
					}
				}
			}
			for _, end := range late {
				end()
			}
			want := map[string]int64{}
			for _, file := range finalize(t, m, id, "") {
				addUp(want, readTree(t, file))
			}
			if !maps.Equal(sink.sums, other.sums) {
				t.Errorf("mode %q, seed %d: the second sink has other sums", mode, seed)
			}
			if len(want) == 0 || len(sink.windows) < 3 {
				t.Fatalf("%d sums, %d windows", len(want), len(sink.windows))
			}
			for path, v := range want {
				if sink.sums[path] != v {
					t.Errorf("mode %q, seed %d: %s is %d in the windows, %d in the files", mode, seed, path, sink.sums[path], v)
				}
				delete(sink.sums, path)
			}
			if len(sink.sums) > 0 {
				t.Errorf("mode %q, seed %d: only the windows have %v", mode, seed, sink.sums)
			}
			for i, w := range sink.windows {
				if w.Begin.IsZero() || w.End.Before(w.Begin) {
					t.Errorf("window %d: %v to %v", i, w.Begin, w.End)
				}
			}
		}
	}
}

// Data that the program clears were recorded, and are in a window.
func TestClearedPhasesAreInAWindow(t *testing.T) {
	m, f := stage(t)
	sink := &windowSink{sums: map[string]int64{}}
	id := start(t, m, "p", StartOptions{Deltas: []*Deltas{{Sink: sink, Every: time.Hour}}})
	m.stopRounds()
	for i := range uint64(3) {
		hotpathtest.Launch(i+1, 1)
		f.kernel(i+1, "k", 5)
		m.Collect()
		if err := m.ClearPhase(id, 0, false); err != nil {
			t.Fatal(err)
		}
	}
	finalize(t, m, id, "")
	if got := sink.sums["ROOT/k count"]; got != 3 {
		t.Errorf("the windows have %d launches of 3: %v", got, sink.sums)
	}
}

func TestIntervalsAreAlignedToTheClock(t *testing.T) {
	i := &intervals{every: time.Minute, begin: time.Date(2026, 1, 1, 12, 0, 42, 0, time.UTC)}
	for _, c := range []struct {
		clock, passed time.Duration
		want          bool
	}{
		{17 * time.Second, 17 * time.Second, false}, {18 * time.Second, 18 * time.Second, true},
		{-24 * time.Hour, 59 * time.Second, false}, {-24 * time.Hour, time.Minute, true}, // the clock was set back
		{24 * time.Hour, time.Second, true}, // and forward
	} {
		if got := i.due(i.begin.Add(c.clock), c.passed); got != c.want {
			t.Errorf("clock %v, passed %v: %v, want %v", c.clock, c.passed, got, c.want)
		}
	}
}

// A sink that takes nothing: the windows are counted, and the file has everything.
func TestWindowsThatCannotBeWrittenAreCounted(t *testing.T) {
	m, f := stage(t)
	sink := &windowSink{sums: map[string]int64{}, fail: func() error { return errors.New("no space left on device") }}
	id := start(t, m, "p", StartOptions{Deltas: []*Deltas{{Sink: sink, Every: time.Hour}}})
	m.stopRounds()
	m.drainer.list[0].intervals[0].retry = 0
	for i := range uint64(3) {
		hotpathtest.Launch(i+1, 1)
		f.kernel(i+1, "k", 5)
		m.Collect()
		m.TakeDeltas()
	}
	files := finalize(t, m, id, "")
	if got := m.WindowsDropped(); got != 3 {
		t.Errorf("%d windows dropped, want 3", got)
	}
	if got := strings.Join(m.Problems(), "\n"); !strings.Contains(got, "3 windows were dropped: no space left on device") {
		t.Errorf("problems: %q", got)
	}
	if v, _ := readTree(t, files[0]).Root.Child("k").Metric(profile.CountMetric); v.Int() != 3 {
		t.Errorf("the file has %d launches", v.Int())
	}
}

func TestTimelinesHaveNoWindows(t *testing.T) {
	m, _ := stage(t)
	for _, o := range []StartOptions{{Data: "trace", Deltas: []*Deltas{{Every: time.Minute}}}, {Deltas: []*Deltas{{Every: time.Millisecond}}}} {
		o.Name, o.Backend = "p", "fake"
		if _, err := m.Start(o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

// A program that ends a hundred phases in an interval has one window of it, which a sink takes in time.
func TestPhasesOfAnIntervalAreOneWindow(t *testing.T) {
	for _, mode := range []string{"", "periodic_flushing"} {
		m, f := stage(t)
		sink := &windowSink{sums: map[string]int64{}}
		id := start(t, m, "p", StartOptions{Mode: mode, Deltas: []*Deltas{{Sink: sink, Every: time.Hour}}})
		m.stopRounds()
		const phases = 100
		for i := range uint64(2 * phases) {
			hotpathtest.Launch(i+1, 1)
			f.kernel(i+1, "k", 5)
			if i == phases {
				m.Collect()
				m.TakeDeltas()
			}
			advance(t, m, id)
		}
		m.Collect()
		files := finalize(t, m, id, "")
		if got := sink.sums["ROOT/k count"]; got != 2*phases || len(sink.windows) != 2 || m.WindowsDropped() != 0 {
			t.Errorf("mode %q: %d launches in %d windows, %d dropped; want %d in 2", mode, got, len(sink.windows), m.WindowsDropped(), 2*phases)
		}
		if len(files) < 2*phases {
			t.Errorf("mode %q: %d files of %d phases", mode, len(files), 2*phases)
		}
	}
}

// More phases end between two rounds than files can wait: the others wait in memory.
func TestHundredsOfPhasesBetweenTwoRounds(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{Mode: "periodic_flushing"})
	m.stopRounds()
	const phases = 300
	for i := range uint64(phases) {
		hotpathtest.Launch(i+1, 1)
		f.kernel(i+1, "k", 5)
		advance(t, m, id)
	}
	rounds := &rounds{m: m}
	testkit.Await(t, "all phases but the current one are handed over", func() bool {
		rounds.round()
		return len(m.drainer.list[0].trees) == 1
	})
	if files := finalize(t, m, id, ""); len(files) < phases {
		t.Errorf("%d files of %d phases; %v", len(files), phases, m.Problems())
	}
}

// The work of an operator of PyTorch is in the window in which it ran, also where the operator runs a second kernel later.
func TestWorkOfAnOperatorIsInOneWindow(t *testing.T) {
	m, f := stage(t)
	sink := &windowSink{sums: map[string]int64{}}
	id := start(t, m, "p", StartOptions{Deltas: []*Deltas{{Sink: sink, Every: time.Hour}}})
	m.stopRounds()
	for i, kernel := range []string{"gemm_a", "gemm_a", "gemm_b"} {
		op := hotpathtest.Enter("aten::mm")
		hotpathtest.Float("flops16", 100)
		hotpathtest.Float("operator_flops16", 100)
		hotpathtest.Launch(uint64(i+1), 1)
		f.kernel(uint64(i+1), kernel, 5)
		hotpathtest.Leave(op)
		m.Collect()
		m.TakeDeltas()
	}
	finalize(t, m, id, "")
	if a, b, all := sink.sums["ROOT/aten::mm/gemm_a flops"], sink.sums["ROOT/aten::mm/gemm_b flops"], sink.sums["ROOT/aten::mm flops"]; a != 200 || b != 100 || all != 0 {
		t.Errorf("the windows have %d flops at the first kernel, %d at the second and %d at the operator, want 200, 100 and 0", a, b, all)
	}
}
