package budget

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// world is a simulated program with a profiler, and what that costs it really.
type world struct {
	name     string
	launches func(at time.Duration) float64 // a second
	callback float64                        // ns of each
	path     func(at time.Duration) float64 // ns of a Python call path; nil: none are taken
	observer float64                        // ns of an observer, of as many launches as a path is taken of
	sampling func(at time.Duration) float64 // share of the time lost while instructions are sampled; nil: they are not
	onGPU    bool                           // that shows as longer kernels, and not as fewer launches
	switches float64                        // ns of each switch
	noise    float64                        // of the number of launches, relative
	begins   time.Duration                  // the launches
	learns   time.Duration                  // until then, the share may be exceeded
	exceeded bool                           // what cannot be reduced is more than the budget
}

func always(x float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return x }
}

// from is x until a time, and then y.
func from(x, y float64, when time.Duration) func(time.Duration) float64 {
	return func(at time.Duration) float64 {
		if at < when {
			return x
		}
		return y
	}
}

// bursts is x for the first of each four seconds, else y.
func bursts(x, y float64) func(time.Duration) float64 {
	return func(at time.Duration) float64 {
		if at%(4*time.Second) < time.Second {
			return x
		}
		return y
	}
}

// turns are what happened in a run of a world, turn by turn, as the world knows it.
type turns struct {
	lost       []float64 // ns
	ends       []time.Duration
	decisions  []Decision
	controller *Controller
	truth      Totals
}

func (w *world) run(t *testing.T, share float64, long time.Duration, seed uint64) *turns {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 7))
	c := New(share, w.sampling != nil)
	out := &turns{controller: c}
	now, clock := c.Now(), uint64(1_000_000_000)
	var ran []func() // kernels whose records were not asked for yet
	c.Compared.Switched(clock, now.Sample)
	for at := time.Duration(0); at < long; {
		length := min(now.Length, Length-at%Length)
		s := Turn{Wall: length, Sampled: now.Sample}
		cost := 0.0
		if now.Sample && w.launches(at) > 0 {
			cost = w.sampling(at)
		}
		rate := w.launches(at) * (1 + w.noise*random.NormFloat64())
		if !w.onGPU {
			rate *= 1 - cost
		}
		if w.path != nil { // a thread that takes a path launches later
			rate /= 1 + rate*w.path(at)/1e9/float64(now.Every)
		}
		s.Calls = uint64(max(rate, 0) * length.Seconds())
		s.Callbacks = float64(s.Calls) * w.callback
		if w.path != nil {
			s.PathsTaken = s.Calls / uint64(now.Every)
			s.PathsLeft = s.Calls - s.PathsTaken
			s.Walks, s.Paths, s.Observers = s.PathsTaken, float64(s.PathsTaken)*w.path(at), float64(s.PathsTaken)*w.observer
		}
		if rate > 0 {
			ran = append(ran, w.kernels(c, clock, clock+uint64(length), cost, random)...)
		}
		if now.Collect {
			for _, k := range ran {
				k()
			}
			ran = nil
		}
		clock += uint64(length)
		sampling := cost * float64(length)
		next := c.Step(s)
		if next.Sample != now.Sample {
			c.Compared.Switching(clock)
			c.Compared.Switched(clock, next.Sample)
		}
		if len(out.decisions) > 0 && out.decisions[len(out.decisions)-1].Sample != now.Sample {
			s.Switching = w.switches // the turn that begins with it has it, and the controller learns it a turn later
			c.Totals.Switching += w.switches
			c.switching.add(w.switches/float64(length), slow)
			c.debt += w.switches
		}
		out.lost = append(out.lost, s.Callbacks+s.Observers+s.Paths+s.Switching+sampling)
		out.decisions = append(out.decisions, now)
		at += length
		out.ends = append(out.ends, at)
		out.truth.Wall += s.Wall
		out.truth.Callbacks += s.Callbacks
		out.truth.Hooks += s.Observers
		out.truth.Paths += s.Paths
		out.truth.Switching += s.Switching
		out.truth.Sampling += sampling
		out.truth.PathsTaken += s.PathsTaken
		out.truth.PathsLeft += s.PathsLeft
		out.truth.Calls += s.Calls
		if now.Sample {
			out.truth.Sampled += s.Wall
		}
		now = next
	}
	return out
}

// kernels are some of two kinds, which together take the whole turn. Each is passed on when its function is called.
func (w *world) kernels(c *Controller, clock, until uint64, cost float64, random *rand.Rand) (ran []func()) {
	if !w.onGPU {
		cost = 0
	}
	for begin := clock; begin < until; {
		for _, k := range []struct {
			Kernel
			nanos float64
		}{{Kernel{"gemm", 64}, 4e6}, {Kernel{"gemm", 128}, 8e6}} {
			start, end := begin, begin+uint64(k.nanos/(1-cost)*(1+0.01*random.NormFloat64()))
			if end > until {
				return ran
			}
			ran = append(ran, func() { c.Compared.Add(k.Kernel, start, end) })
			begin = end
		}
	}
	return ran
}

// between are the turns from one time to another.
func (s *turns) between(from, to time.Duration) (first, end int) {
	first, _ = slices.BinarySearch(s.ends, from+1)
	end, _ = slices.BinarySearch(s.ends, to+1)
	return first, end
}

// share is the mean of what was lost from one time to another, as a share of it.
func (s *turns) share(from, to time.Duration) float64 {
	sum := 0.0
	first, end := s.between(from, to)
	for _, x := range s.lost[first:end] {
		sum += x
	}
	return sum / float64(to-from)
}

func (s *turns) sampled(from, to time.Duration) float64 {
	n := 0
	first, end := s.between(from, to)
	for _, d := range s.decisions[first:end] {
		if d.Sample {
			n++
		}
	}
	return float64(n) / float64(end-first)
}

var worlds = []world{
	{name: "cheap", launches: always(10_000), callback: 50, path: always(500), sampling: always(0)},
	{name: "launch-bound", launches: always(100_000), callback: 50, path: always(700), sampling: always(0.03), noise: 0.002},
	{name: "launch-bound on a busy machine", launches: always(100_000), callback: 50, sampling: always(0.05), noise: 0.02},
	{name: "GPU-bound", launches: always(200), callback: 50, sampling: always(0.04), onGPU: true},
	{name: "GPU-bound, dear", launches: always(200), callback: 50, sampling: always(0.5), onGPU: true},
	{name: "everything at once", launches: always(40_000), callback: 60, path: always(2000), sampling: always(0.05), onGPU: true, switches: 1e6},
	{name: "switches that are dear", launches: always(1000), callback: 60, sampling: always(0.03), onGPU: true, switches: 5e6},
	{name: "paths that are twice as dear later", launches: always(50_000), callback: 40, path: from(1000, 2000, time.Minute)},
	{name: "sampling that is twice as dear later", launches: always(200), callback: 40, sampling: from(0.03, 0.06, time.Minute), onGPU: true},
	{name: "bursts", launches: bursts(200_000, 1000), callback: 30, path: always(1500), learns: 15 * time.Second},
	{name: "deep stacks", launches: always(100_000), callback: 50, path: always(20_000)},
	{name: "callbacks alone are too dear", launches: always(400_000), callback: 50, path: always(1000), sampling: always(0.05), onGPU: true, exceeded: true},
	{name: "sampling and switches that are dear", launches: always(10_000), callback: 50, sampling: always(0.23), switches: 5e6, noise: 0.005},
	{name: "operators of PyTorch", launches: always(70_000), callback: 80, path: always(100), observer: 750, noise: 0.002},
	{name: "sampling that is dear, after a start without launches", launches: from(0, 10_000, 10*time.Second), callback: 50, sampling: always(0.3), switches: 10e6, noise: 0.005, begins: 10 * time.Second, learns: 20 * time.Second},
	{name: "the same with Python call paths, on the GPU", launches: from(0, 10_000, 10*time.Second), callback: 50, path: always(20_000), sampling: always(0.3), onGPU: true, switches: 10e6, begins: 10 * time.Second, learns: 20 * time.Second},
	{name: "nothing to reduce", launches: always(100_000), callback: 50},
}

// Whatever things cost, the share that is really lost stays within the budget and half a percent, after it was learnt what they do.
func TestShareStaysWithinTheBudget(t *testing.T) {
	for _, w := range worlds {
		for _, share := range []float64{0.005, 0.01, 0.05} {
			t.Run(fmt.Sprintf("%s/%g", w.name, share), func(t *testing.T) {
				for seed := range uint64(5) {
					s := w.run(t, share, 4*time.Minute, seed)
					learnt := max(w.learns, 10*time.Second)
					unavoidable := s.truth.Callbacks / float64(s.truth.Wall)
					limit := max(share, unavoidable) + 0.005
					for _, span := range [][2]time.Duration{{learnt, time.Minute}, {time.Minute + 20*time.Second, 4 * time.Minute}} {
						if got := s.share(span[0], span[1]); got > limit {
							t.Errorf("from %v to %v %.2f %% of the time are lost, of a budget of %.2f %% (callbacks %.2f %%)", span[0], span[1], 100*got, 100*share, 100*unavoidable)
						}
					}
				}
			})
		}
	}
}

// What is spent on learning what things cost is part of the budget, also in a short run.
func TestLearningIsWithinTheBudget(t *testing.T) {
	const long = 20 * time.Second
	for _, w := range worlds {
		for _, share := range []float64{0.005, 0.01, 0.05} {
			for seed := range uint64(5) {
				s := w.run(t, share, w.begins+long, seed)
				unavoidable := s.truth.Callbacks / float64(long)
				if got := s.share(w.begins, w.begins+long); got > max(share, unavoidable)+0.005 {
					t.Errorf("%s: %.2f %% of the first %v are lost, of a budget of %.2f %% (callbacks %.2f %%)", w.name, 100*got, long, 100*share, 100*unavoidable)
				}
			}
		}
	}
}

// The controller's account is that of the world: exact for what is measured, and near for what is estimated.
func TestTotalsAreTheWorlds(t *testing.T) {
	for _, w := range worlds {
		for seed := range uint64(3) {
			s := w.run(t, 0.01, 4*time.Minute, seed)
			got, want := s.controller.Totals, s.truth
			if got.Wall != want.Wall || got.Calls != want.Calls || got.PathsTaken != want.PathsTaken || got.PathsLeft != want.PathsLeft || got.Sampled != want.Sampled {
				t.Errorf("%s: counted %+v, of %+v", w.name, got, want)
			}
			for _, x := range [][2]float64{{got.Callbacks, want.Callbacks}, {got.Hooks, want.Hooks}, {got.Paths, want.Paths}, {got.Switching, want.Switching}} {
				if math.Abs(x[0]-x[1]) > 1e-9*math.Abs(x[1]) {
					t.Errorf("%s: %g ns counted of %g", w.name, x[0], x[1])
				}
			}
			if off := math.Abs(got.Sampling-want.Sampling) / float64(want.Wall); off > 0.003 {
				t.Errorf("%s: sampling cost %.2f %% of the time and was estimated to cost %.2f %%", w.name, 100*want.Sampling/float64(want.Wall), 100*got.Sampling/float64(want.Wall))
			}
		}
	}
}

// However dear it is, something is sampled in each minute, and some paths are taken.
func TestNothingStarves(t *testing.T) {
	for _, w := range worlds {
		s := w.run(t, 0.001, 6*time.Minute, 1)
		for minute := time.Minute; minute < 6*time.Minute; minute += time.Minute {
			if w.sampling != nil && s.sampled(minute, minute+time.Minute) == 0 {
				t.Errorf("%s: nothing was sampled from %v to a minute later", w.name, minute)
			}
		}
		for _, d := range s.decisions {
			if d.Every > MostThinned || d.Every&(d.Every-1) != 0 || d.Every < 1 {
				t.Fatalf("%s: the path of one launch in %d", w.name, d.Every)
			}
		}
	}
}

// What is cheap is not reduced.
func TestCheapIsLeftAlone(t *testing.T) {
	w := worlds[0]
	s := w.run(t, 0.01, time.Minute, 1)
	if got := s.sampled(15*time.Second, time.Minute); got < 0.85 {
		t.Errorf("instructions were sampled for %.0f %% of the time", 100*got)
	}
	for _, d := range s.decisions {
		if d.Every != 1 {
			t.Fatalf("the path of one launch in %d", d.Every)
		}
	}
}

// When the load falls, all is taken again; it is known when.
func TestRecovers(t *testing.T) {
	w := world{launches: from(150_000, 2000, time.Minute), callback: 40, path: always(3000), sampling: from(0.5, 0, time.Minute), onGPU: true}
	s := w.run(t, 0.01, 4*time.Minute, 1)
	last := s.decisions[len(s.decisions)-1]
	if before := s.decisions[time.Minute/Length-1]; before.Every < 8 || last.Every != 1 {
		t.Errorf("the path of one launch in %d under load, and in %d after it", before.Every, last.Every)
	}
	if before, after := s.sampled(30*time.Second, time.Minute), s.sampled(3*time.Minute+30*time.Second, 4*time.Minute); before > 0.05 || after < 0.8 {
		t.Errorf("sampled for %.2f of the time under load, and %.2f after it", before, after)
	}
}

// Under a constant load, decisions stay: the thinning of paths changes rarely, and by one step.
func TestDoesNotOscillate(t *testing.T) {
	for _, w := range worlds {
		if w.name == "bursts" {
			continue
		}
		s := w.run(t, 0.01, 4*time.Minute, 1)
		changes, least, most := 0, MostThinned, 1
		for i := 2 * time.Minute / Length; i < 4*time.Minute/Length; i++ {
			e := s.decisions[i].Every
			least, most = min(least, e), max(most, e)
			if e != s.decisions[i-1].Every {
				changes++
			}
		}
		if changes > 12 || most > 2*least {
			t.Errorf("%s: the path of one launch in %d to %d, with %d changes in two minutes", w.name, least, most, changes)
		}
	}
}
