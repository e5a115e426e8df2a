package profiler

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
)

// alwaysOn is a program that is profiled for ever: phases with 100 call paths that it never had before, named after their
// numbers, and 10 metrics on each, and a launch in every one.
type alwaysOn struct {
	m      *Manager
	f      *fakeSource
	id     int
	phase  int
	launch uint64

	mu    sync.Mutex
	wrong []string
	seen  int
	lost  uint64
}

const (
	pathsOfAPhase   = 100
	metricsOfAPath  = 10
	metricsPerPhase = pathsOfAPhase * metricsOfAPath
)

// Write looks at a finished phase: every call path has its name and its own launch, and every metric has been added to once.
func (p *alwaysOn) Write(_ context.Context, w Window, got *profile.Profile) error {
	paths, metrics, kernels := 0, 0, int64(0)
	got.Root.Walk(func(n *profile.Node, _ int) bool {
		for _, m := range n.Metrics {
			switch {
			case m.Name == "count":
				kernels += m.Value.Int()
			case strings.HasPrefix(m.Name, "m"):
				if metrics++; m.Value.Int() != int64(w.Phase) {
					p.complain("phase %d has a metric of %d", w.Phase, m.Value.Int())
				}
			}
		}
		if len(n.Children) == 1 && n.Children[0].Name == "k" {
			if want := scopesOf(uint64(w.Phase*pathsOfAPhase + paths)); n.Name != want[len(want)-1] {
				p.complain("phase %d has a scope %q where %q is expected", w.Phase, n.Name, want)
			}
			paths++
		}
		return true
	})
	if paths != pathsOfAPhase || metrics != metricsPerPhase || kernels != pathsOfAPhase {
		p.complain("phase %d has %d call paths, %d metrics, %d kernels", w.Phase, paths, metrics, kernels)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen++
	return nil
}

func (p *alwaysOn) complain(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

func beginAlwaysOn(t testing.TB) *alwaysOn {
	p := &alwaysOn{lost: hotpath.Lost()}
	p.m, p.f = stage(t)
	id, err := p.m.Start(StartOptions{Name: t.TempDir() + "/p", Backend: "fake", Mode: "periodic_flushing", NoStats: true, Sinks: []Sink{p}})
	if err != nil {
		t.Fatal(err)
	}
	p.id = id
	p.m.stopRounds()
	return p
}

var metricNames = func() (names [metricsOfAPath]string) {
	for i := range names {
		names[i] = fmt.Sprintf("m%d", i)
	}
	return names
}()

// run goes through n phases, each of which is written and looked at before the next begins.
func (p *alwaysOn) run(t testing.TB, n int) {
	for range n {
		p.work(uint64(p.phase) * pathsOfAPhase)
		if _, err := p.m.AdvancePhase(p.id); err != nil {
			t.Fatal(err)
		}
		aRound(p.m)
		<-p.m.drainer.list[0].sinks[0].flush()
		file := partPath(p.m.Name(p.id), p.phase, treeFormat)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		p.phase++
	}
}

// scopesOf names the scopes of a call path after its number.
func scopesOf(n uint64) []string {
	return []string{fmt.Sprint("epoch ", n/10_000), fmt.Sprint("part ", n/100%100), fmt.Sprint("step ", n)}
}

// work is in 100 call paths that are numbered from a number on.
func (p *alwaysOn) work(from uint64) {
	for n := from; n < from+pathsOfAPhase; n++ {
		var open []hotpathtest.Token
		for _, name := range scopesOf(n) {
			open = append(open, hotpathtest.Enter(name))
		}
		for _, name := range metricNames {
			hotpathtest.Int(name, int64(p.phase))
		}
		p.launch++
		hotpathtest.Launch(p.launch, 1)
		p.f.kernel(p.launch, "k", 5)
		for i := range open {
			hotpathtest.Leave(open[len(open)-1-i])
		}
	}
}

func (p *alwaysOn) check(t testing.TB) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.wrong {
		t.Error(text)
	}
	if p.seen != p.phase {
		t.Errorf("%d phases were seen, want %d", p.seen, p.phase)
	}
	if got := p.m.Problems(); len(got) != 0 {
		t.Errorf("problems: %q", got)
	}
	if n := hotpath.Lost() - p.lost; n != 0 {
		t.Errorf("%d scopes or metrics were left out", n)
	}
}

// limitNames leaves room for far fewer names than the call paths of some hundred phases have.
func limitNames(t testing.TB) {
	t.Cleanup(hotpath.LimitNames(hotpath.NameSpace{Names: reclaimNamesAt, Text: 1 << 20}))
}

// What only finished phases used is used again: call paths, their names, metric slots and what Go knows of them.
func TestPhasesForEver(t *testing.T) {
	limitNames(t)
	p := beginAlwaysOn(t)
	p.run(t, 400) // more call paths than reclaimAt, so that some were reclaimed
	heap, paths := testkit.Heap(), len(hotpath.Nodes())
	p.run(t, 800)
	if after := testkit.Heap(); after > heap+1<<20 {
		t.Errorf("800 phases left %d KiB behind", (after-heap)>>10)
	}
	if after := len(hotpath.Nodes()); after > paths+reclaimAt/2 {
		t.Errorf("there is room for %d call paths after 1,200 phases, and was for %d after 400", after, paths)
	}
	hotpath.Slots(func(_ uint32, slots []hotpath.Slot) {
		if len(slots) > metricsPerPhase {
			t.Errorf("%d metric slots are in use, want no more than %d", len(slots), metricsPerPhase)
		}
	})
	p.check(t)
}

// BenchmarkPhasesForEver prints, for 10,000 phases, what the process holds and how long a phase takes to be written:
//
//	go test ./profiler -run - -bench PhasesForEver -benchtime 1x
func BenchmarkPhasesForEver(b *testing.B) {
	limitNames(b)
	p := beginAlwaysOn(b)
	const tenth = 1000
	for i := range 10 {
		began := time.Now()
		p.run(b, tenth)
		testkit.Heap()
		b.Logf("after %6d phases: %d KiB resident, %.2f ms for each phase with its work, room for %d call paths, %+v in names",
			(i+1)*tenth, testkit.ResidentKiB(b), time.Since(began).Seconds()*1e3/tenth, len(hotpath.Nodes()), hotpath.NamesUsed())
	}
	began := time.Now()
	if _, err := p.m.Finalize(&p.id, ""); err != nil {
		b.Fatal(err)
	}
	b.Logf("finalize: %.2f ms", time.Since(began).Seconds()*1e3)
	p.seen-- // the last phase, which is empty
	p.wrong = p.wrong[:max(len(p.wrong)-1, 0)]
	p.check(b)
}

// What threads make while the drainer waits for them does not raise the limit at which it reclaims the next time.
func TestLimitOfReclaimingIsWhatWasInUse(t *testing.T) {
	p := beginAlwaysOn(t)
	fresh := func(from, n int) {
		for i := range n {
			hotpathtest.Leave(hotpathtest.Enter(fmt.Sprint("fresh ", from+i)))
		}
	}
	fresh(0, reclaimAt)
	p.m.drainer.do(func(d *drainer) {
		d.paths.unindex()
		fresh(reclaimAt, 4*reclaimAt)
		d.reclaim()
		if left := d.paths.left; d.paths.waiting || left[0] > reclaimAt/2 || left[1] > reclaimAt/2 {
			t.Errorf("the limit follows from %v in use of %v; are threads waited for: %v", left, d.paths.old, d.paths.waiting)
		}
		if used := inUse(); used[0] < 4*reclaimAt {
			t.Errorf("%v are in use, want at least the %d call paths that were made meanwhile", used, 4*reclaimAt)
		}
	})
}
