package profiler

import (
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profiler/budget"
)

// governor is a goroutine that, while some session has a budget, measures in each turn what the profiler takes from the program, and
// has the controller decide what the next turn has. Switching the sampler may take long, so the rounds do not do it.
type governor struct {
	m             *Manager
	stop, stopped chan struct{}
	meter         *hotpath.Meter
	sampler       SampleSwitch // nil: there is none

	// The drainer's:
	last     hotpath.Metered
	spent    struct{ callbacks, hooks, observers, paths hotpath.Estimate }
	began    time.Time // of the current turn
	facts    record.SamplingFacts
	now      budget.Decision // what the current turn has
	windows  sync.WaitGroup  // the goroutine that times kernels in windows, if it runs
	windowed bool
	pinned   pinned
}

// spending is what the drainer keeps of a budget. Its methods do nothing on nil.
type spending struct {
	*budget.Controller
	waited     time.Duration // time that the program's threads waited for the sampler
	rounds     time.Duration // CPU time of the rounds' goroutine
	governor   time.Duration
	thread     time.Duration // CPU time of the sampler's thread
	switchable bool
	samples    bool
	measure    func(*drainer) budget.Turn
	timing     *timing // nil: the source cannot leave its library, so kernels are timed all the time
}

// compare takes in how long a kernel ran.
func (s *spending) compare(k *record.Activity) {
	if s == nil || !s.switchable || k.Kind != record.Kernel || !k.Timed() {
		return
	}
	s.Compared.Add(budget.Kernel{Name: k.Name, Grid: uint64(k.Grid)}, k.Start, k.End)
}

// checkBudget refuses budgets that cannot be kept.
func (d *drainer) checkBudget(o *StartOptions, s *session) error {
	switch {
	case !(o.Budget >= 0 && o.Budget < 1): // also for NaN
		return &ArgumentError{"budget: give a share of the time above 0% and below 100%"}
	case o.Budget > 0 && s.sampling.Mode == record.Serialized:
		return &ArgumentError{"budget: sampling with collection=serialized runs kernels one at a time, which costs many times any budget; use collection=continuous"}
	case o.Budget > 0 && s.sampling.Counters != nil:
		return &ArgumentError{"budget: a launch whose hardware counters are measured runs several times, which costs more than any budget; choose fewer with most="}
	case len(d.list) == 0:
		return nil
	case o.Budget > 0 && d.spending == nil:
		return &ArgumentError{"Cannot add a session with a budget to sessions without one: finalize them first"}
	case o.Budget > 0 && d.spending.Share != o.Budget:
		return &ArgumentError{"Cannot add a session with another budget: a process has one"}
	}
	return nil
}

// startGovernor and stopGovernor are called with control held.
func (m *Manager) startGovernor(share float64) {
	if share == 0 || m.governor != nil {
		return
	}
	g := &governor{m: m, stop: make(chan struct{}), stopped: make(chan struct{}), meter: hotpath.StartMeter()}
	m.governor = g
	g.last, g.began = hotpath.ReadMeter(), time.Now()
	m.drainer.do(func(d *drainer) {
		sw, ok := d.sampler.(SampleSwitch)
		if ok {
			g.sampler = sw
		}
		d.spending = &spending{Controller: budget.New(share, ok), switchable: ok, samples: d.sampler != nil, measure: g.measure}
		if _, can := d.source.(Leaver); can {
			d.spending.timing = newTiming(share)
			d.agg.Windows = &d.spending.timing.weights
			d.spending.window(d.records(), d.agg)
		}
		g.now = d.spending.Now()
		if ok {
			d.spending.Compared.Switched(hotpath.Now(), true)
		}
	})
	go g.run()
}

func (m *Manager) stopGovernor() {
	if m.governor == nil {
		return
	}
	close(m.governor.stop)
	<-m.governor.stopped
	m.governor.windows.Wait()
	m.governor.meter.Stop()
	m.governor = nil
}

func (g *governor) run() {
	defer close(g.stopped)
	for {
		now := time.Now()
		next := now.Truncate(g.now.Length).Add(g.now.Length)
		select {
		case <-g.stop:
			return
		case <-time.After(next.Sub(now)):
		}
		g.turn()
	}
}

// turn ends a turn: the drainer measures it and has the controller decide, then the decision is carried out, outside of the
// command, because switching the sampler may take long.
func (g *governor) turn() {
	if g.now.Collect {
		g.m.Collect()
	}
	before := g.now
	g.timeInWindows()
	g.m.drainer.do(func(d *drainer) {
		g.now = d.spending.Step(g.measure(d))
		d.spending.governor = g.pinned.time()
	})
	if g.now.Every != before.Every {
		hotpath.ThinPaths(g.now.Every)
	}
	if g.sampler != nil && g.now.Sample != before.Sample {
		g.switchTo(g.now.Sample)
	}
}

// countTurn adds the current turn, so far, to the totals, because a profile is about to be written.
func (d *drainer) countTurn() {
	if s := d.spending; s != nil {
		s.Count(s.measure(d))
	}
}

// measure returns what was measured since its last call.
func (g *governor) measure(d *drainer) (s budget.Turn) {
	now, at := hotpath.ReadMeter(), time.Now()
	before := g.last
	if (d.recording != 0 || d.spending.resting() && d.records()) && d.attached && !d.ending.begun.Load() {
		s.Wall = at.Sub(g.began)
	}
	s.Sampled = g.sampler != nil && g.now.Sample
	s.Calls = now.Callbacks.Calls - before.Callbacks.Calls
	s.Callbacks = g.spent.callbacks.Nanos(g.meter, now.Callbacks, before.Callbacks)
	s.Hooks = g.spent.hooks.Nanos(g.meter, now.Hooks, before.Hooks)
	s.Observers = g.spent.observers.Nanos(g.meter, now.Observers, before.Observers)
	s.Paths = g.spent.paths.Nanos(g.meter, now.Paths, before.Paths)
	s.Walks = now.Paths.Calls - before.Paths.Calls
	s.PathsTaken = now.Taken - before.Taken
	s.PathsLeft = now.LeftOut - before.LeftOut
	if d.sampler != nil {
		facts := d.sampler.SamplingFacts()
		s.Switching = float64(facts.Switching - g.facts.Switching)
		g.facts = facts
		d.spending.waited, d.spending.thread = facts.Waited, facts.Thread
	}
	s.Switching += d.spending.stalls()
	g.last, g.began = now, at
	return s
}

// switchTo begins or stops sampling.
func (g *governor) switchTo(on bool) {
	g.m.publishing.Lock()
	defer g.m.publishing.Unlock()
	attached := false
	g.m.drainer.do(func(d *drainer) {
		attached = d.attached
		d.spending.Compared.Switching(hotpath.Now())
	})
	if attached {
		g.m.ending.inLibrary(func() { g.sampler.Sample(on) })
	}
	g.m.drainer.do(func(d *drainer) { d.spending.Compared.Switched(hotpath.Now(), on) })
}

// pinned is the CPU time of a goroutine, which is tied to its thread from the first call of time.
type pinned struct {
	some   bool
	before time.Duration
}

func (p *pinned) time() time.Duration {
	if !p.some {
		runtime.LockOSThread()
		p.some, p.before = true, ownTime()
	}
	return ownTime() - p.before
}

// ownTime is the CPU time of the calling thread.
func ownTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if syscall.Getrusage(thread, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
