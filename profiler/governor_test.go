package profiler

import (
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// restingSampler is a fakeSampler that can rest.
type restingSampler struct {
	*fakeSampler
	on       atomic.Bool
	switches atomic.Int64
}

func (r *restingSampler) Sample(on bool) {
	if r.on.Swap(on) != on {
		r.switches.Add(1)
	}
}

func budgetStage(t *testing.T) (*Manager, *restingSampler) {
	t.Helper()
	m, f := samplingStage(t)
	r := &restingSampler{fakeSampler: f}
	r.on.Store(true)
	register("fake", func(o SourceOptions) Source {
		if !o.Metered {
			t.Error("the source does not measure its callbacks")
		}
		return r
	})
	return m, r
}

// Of a session with a budget, instructions are sampled in some turns and not in others; the profile says so, and its kernels are complete.
func TestBudgetHasSamplingRest(t *testing.T) {
	m, f := budgetStage(t)
	gemm := f.function(3, 7, "gemm")
	id := start(t, m, "p", StartOptions{Mode: "pcsampling", Budget: 0.01})
	kernels := uint64(0)
	testkit.Await(t, "sampling is switched six times", func() bool {
		kernels++
		s := hotpathtest.Enter("forward")
		hotpathtest.MeteredLaunch(kernels, 3, false)
		hotpathtest.Leave(s)
		now := hotpath.Now()
		f.ends(record.Activity{Correlation: kernels, Name: "gemm", Start: now, End: now + 1000})
		if f.on.Load() {
			f.sample(gemm, 16, 1, 0)
		}
		return f.switches.Load() >= 6
	})
	m.Flush()
	got := m.Status().Budget
	if got == nil || got.Budget != 0.01 || got.Calls != kernels || got.Sampled <= 0 || got.Sampled >= got.Wall || got.KernelsSampled == 0 || got.KernelsOther == 0 || got.KernelsSampled+got.KernelsOther > kernels {
		t.Errorf("%d kernels: %+v", kernels, got)
	}
	if share := got.Share(); share <= 0 || share != got.Lost()/float64(got.Wall) {
		t.Errorf("a share of %g", share)
	}
	files, err := m.Finalize(&id, "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := formats.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if n := p.Root.Child("forward").Child("gemm"); n == nil || count(n) != int64(kernels) {
		t.Errorf("not all of %d kernels: %s", kernels, outline(p))
	}
	if !strings.Contains(p.Info[profile.InfoBudget], "of a budget of 1.00%: callbacks ") || !strings.Contains(p.Info[profile.InfoSampled], "of the time and ") || !strings.HasSuffix(p.Info[profile.InfoSampled], "numbers of samples are not scaled") {
		t.Errorf("the profile says %v", p.Info)
	}
}

func count(n *profile.Node) int64 {
	v, _ := n.Metric(profile.CountMetric)
	return v.Int()
}

// The frame of a path that was not taken is one more at the top of the tree; counts and times are complete.
func TestThinnedPathsInATree(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{Context: "python", Budget: 0.02})
	hotpathtest.Python("a.py:1@f")
	hotpathtest.Launch(1, 1)
	hotpath.ThinPaths(1024)
	s := hotpathtest.Enter("forward")
	for c := uint64(2); c <= 500; c++ {
		hotpathtest.Launch(c, 1)
	}
	hotpathtest.Leave(s)
	hotpath.ThinPaths(1)
	for c := uint64(1); c <= 500; c++ {
		f.kernel(c, "k", 10)
	}
	m.Flush()
	p, err := m.Profile(id, 0)
	if err != nil {
		t.Fatal(err)
	}
	taken, left := p.Root.Child("a.py:1@f").Child("k"), p.Root.Child("(path not taken)").Child("forward").Child("k")
	if n := count(taken) + count(left); n != 500 || count(left) < 400 {
		t.Errorf("%d launches: %s", n, outline(p))
	}
	if got := m.Status().Budget; int64(got.PathsTaken) != count(taken) || int64(got.PathsLeft) != count(left) || !got.Python {
		t.Errorf("%+v of %s", got, outline(p))
	}
	if got := p.Info[profile.InfoThinned]; !strings.Contains(got, "of 500 launches were not taken") {
		t.Errorf("the profile says %q", got)
	}
}

func TestBudgetsThatAreRefused(t *testing.T) {
	m, _ := stage(t)
	refused := func(why string, o StartOptions) {
		t.Helper()
		o.Name, o.Backend = t.TempDir()+"/refused", "fake"
		_, err := m.Start(o)
		var argument *ArgumentError
		if !errors.As(err, &argument) || !strings.Contains(err.Error(), why) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	refused("above 0% and below 100%", StartOptions{Budget: -1})
	refused("above 0% and below 100%", StartOptions{Budget: 1})
	refused("above 0% and below 100%", StartOptions{Budget: math.NaN()})
	refused("collection=serialized", StartOptions{Budget: 0.01, Mode: "pcsampling:collection=serialized"})
	first := start(t, m, "p", StartOptions{})
	refused("to sessions without one", StartOptions{Budget: 0.01})
	if _, err := m.Finalize(&first, ""); err != nil {
		t.Fatal(err)
	}
	start(t, m, "p", StartOptions{Budget: 0.01})
	refused("another budget", StartOptions{Budget: 0.02})
	start(t, m, "q", StartOptions{Budget: 0.01})
	start(t, m, "r", StartOptions{})
}

// Without a budget nothing is measured, and nothing is said.
func TestNoBudget(t *testing.T) {
	m, _ := stage(t)
	id := start(t, m, "p", StartOptions{})
	p, err := m.Profile(id, 0)
	if err != nil {
		t.Fatal(err)
	}
	if m.Status().Budget != nil || m.governor != nil || p.Info[profile.InfoBudget] != "" {
		t.Errorf("%+v, %v", m.Status().Budget, p.Info)
	}
}
