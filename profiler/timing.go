package profiler

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profiler/aggregate"
	"github.com/goproton/goproton/profiler/budget"
)

// timing is what the drainer keeps of the windows in which kernels are timed. Its plan begins when the source is seen to number
// launches: without numbers it is not known what the program does between windows.
type timing struct {
	plan    *budget.Timing
	weights budget.Weights
	inside  bool              // of a window
	rests   bool              // between two
	paused  uint64            // since when no session records; 0: some does
	away    float64           // ns for which no session recorded, between the two windows
	awaited float64           // of these, what was added to the rest
	cut     bool              // the last window ended because no session recorded any more
	stalled float64           // ns that the program waited for changes, since stalls
	changes float64           // the same in all
	first   uint32            // launch set of the window
	edges   map[uint32]*edges // of the window, by context
	former  map[uint32]*edges // of the one before
	waits   float64           // ns that the program waited between the two
}

// edges are the first and the last launch of a window in a context.
type edges struct{ first, last launched }

type launched struct{ number, at uint64 }

func (e *edges) span() budget.Span {
	return budget.Span{Launches: float64(e.last.number - e.first.number), Nanos: float64(e.last.at) - float64(e.first.at)}
}

func newTiming(share float64) *timing {
	return &timing{plan: budget.NewTiming(share, hotpath.Now()), edges: map[uint32]*edges{}}
}

// The methods of spending do nothing on nil, and without windows.

func (s *spending) timed() *timing {
	if s == nil {
		return nil
	}
	return s.timing
}

func (s *spending) resting() bool { t := s.timed(); return t != nil && t.rests }

// window begins or ends a window, as what is about to be published asks for: records says whether a session records.
func (s *spending) window(records bool, agg *aggregate.Aggregator) {
	t := s.timed()
	if t == nil {
		return
	}
	now := hotpath.Now()
	if records && t.paused != 0 {
		if t.cut {
			t.compare() // a window as others are, whose records have come since
		}
		t.cut = false
		t.weights.Pause(float64(now - t.paused))
		t.away += float64(now - t.paused)
		t.paused = 0
	}
	if !records && t.paused == 0 {
		t.paused = now
	}
	switch on := records && !t.rests; {
	case on && !t.inside:
		t.first = agg.Sets.Renew()
		t.weights.Begin(t.first, now)
		t.inside = true
	case !on && t.inside:
		t.weights.End(now)
		t.inside, t.cut = false, !t.rests
	}
}

// began says that the source listens now.
func (s *spending) began() {
	if t := s.timed(); t != nil && t.inside && len(t.edges) == 0 {
		t.weights.Began(hotpath.Now())
	}
}

// until has sums stand for the time up to a moment, or not any more.
func (s *spending) until(now uint64) {
	if t := s.timed(); t != nil {
		t.weights.Until(now)
		all, _ := t.plan.Loss()
		t.weights.Slower = max(all.Share, 0)
	}
}

// count takes in the number of a launch.
func (s *spending) count(k *record.Activity, set uint32) {
	t := s.timed()
	if t == nil || k.Number == 0 || !k.Timed() || set < t.first {
		return
	}
	this := launched{k.Number, k.Start}
	e := t.edges[k.Context]
	if e == nil {
		t.edges[k.Context] = &edges{this, this}
		return
	}
	if this.number < e.first.number {
		e.first = this
	}
	if this.number > e.last.number {
		e.last = this
	}
}

// soFar is what timing kernels took, and hooks: nothing is earned while no session records.
func (s *spending) soFar() budget.Spent {
	all, timed := s.timing.weights.Time()
	return budget.Spent{All: all, Timed: timed, Switching: s.timing.changes, Hooks: s.Totals.Hooks}
}

func (t *timing) stall(d time.Duration) {
	t.stalled += float64(d)
	t.changes += float64(d)
	t.waits += float64(d)
	t.weights.Stall(float64(d))
}

// stalls returns what the program waited for changes since the last call, in ns.
func (s *spending) stalls() (nanos float64) {
	if t := s.timed(); t != nil {
		nanos, t.stalled = t.stalled, 0
	}
	return nanos
}

// compare compares the time before a window with the window before that, and returns what was launched in the window, and how long it was:
// from its first launch to its last a program that launches now and then seems to launch all the time. It takes the context in which most was
// launched. A time in which for the most part no session recorded is compared with nothing: the program may have done
// something else.
func (t *timing) compare() (launched budget.Span) {
	var window, without budget.Span
	launched.Nanos = t.weights.Latest()
	for context, e := range t.edges {
		launched.Launches = max(launched.Launches, e.span().Launches)
		before := t.former[context]
		if before == nil || e.first.number <= before.last.number || e.first.at <= before.last.at {
			continue
		}
		span := budget.Span{Launches: float64(e.first.number - before.last.number), Nanos: float64(e.first.at-before.last.at) - t.waits}
		if span.Nanos > 2*t.away && span.Launches > without.Launches {
			window, without = before.span(), span
		}
	}
	t.plan.Pace.Add(window, without)
	t.former, t.edges, t.waits, t.away, t.awaited = t.edges, map[uint32]*edges{}, 0, 0, 0
	return launched
}

// timeInWindows begins to time kernels in windows, once it is known that the source numbers launches.
func (g *governor) timeInWindows() {
	numbered := ask(g.m.drainer, func(d *drainer) bool { t := d.spending.timed(); return t != nil && len(t.edges) > 0 })
	if numbered && !g.windowed {
		g.windowed = true
		g.windows.Add(1)
		go g.runWindows()
	}
}

// runWindows times kernels in windows, and has nothing attached between them.
func (g *governor) runWindows() {
	defer g.windows.Done()
	for {
		window := ask(g.m.drainer, func(d *drainer) time.Duration { return d.spending.timing.plan.Window() })
		if !g.pause(window) {
			return
		}
		rest, rests := g.rest()
		for wait := rest; rests; {
			if !g.pause(wait) {
				return
			}
			if wait = g.away(); wait == 0 {
				wait, rests = rest, !g.goOn()
			}
		}
	}
}

// away is for how long of the rest no session recorded, since it was last asked: nothing was earned in that time, so it is added.
func (g *governor) away() (wait time.Duration) {
	const least = 50 * time.Millisecond
	g.m.drainer.do(func(d *drainer) {
		t := d.spending.timing
		away := t.away
		if t.paused != 0 {
			away += float64(hotpath.Now() - t.paused)
		}
		wait = time.Duration(away - t.awaited)
		t.awaited = away
		switch {
		case t.paused != 0:
			wait = max(wait, least)
		case wait < time.Millisecond:
			wait = 0
		}
	})
	return wait
}

// pause waits, and reports whether the governor goes on.
func (g *governor) pause(d time.Duration) bool {
	select {
	case <-g.stop:
		return false
	case <-time.After(d):
		return true
	}
}

// control locks control, and reports whether the governor goes on.
func (g *governor) control() bool {
	for !g.m.control.TryLock() {
		if !g.pause(time.Millisecond) {
			return false
		}
	}
	return true
}

// rest ends a window, and returns for how long nothing is attached.
func (g *governor) rest() (rest time.Duration, rests bool) {
	if !g.control() {
		return 0, false
	}
	defer g.m.control.Unlock()
	g.m.drainer.do(func(d *drainer) {
		rests = d.mayRest(g.m)
		d.spending.timing.rests = rests
	})
	if !rests {
		return 0, false
	}
	g.change()
	g.awaitBuffers()
	stalled := g.m.listened
	g.m.ending.inLibrary(func() {
		_, took := g.m.drainer.source.(Leaver).Leave()
		stalled += took
	})
	g.m.drainer.do(func(d *drainer) {
		t := d.spending.timing
		switching := cmp.Or(t.waits, 2*float64(stalled))
		window := t.compare()
		t.stall(stalled)
		rest = t.plan.Rest(d.spending.soFar(), window, switching)
	})
	return rest, true
}

// goOn begins the next window, and reports whether it could. Another tool may have taken the vendor's library meanwhile.
func (g *governor) goOn() bool {
	if !g.control() {
		return false
	}
	defer g.m.control.Unlock()
	if !ask(g.m.drainer, func(d *drainer) bool { return d.records() }) {
		return false // while sessions are not active, nothing is to be attached
	}
	var stalled time.Duration
	var err error
	g.m.ending.inLibrary(func() { stalled, err = g.m.drainer.source.(Leaver).Return() })
	if err != nil {
		g.m.Problem(fmt.Errorf("kernels are not timed for now: %w", err))
		return false
	}
	g.m.drainer.do(func(d *drainer) { d.spending.timing.rests = false })
	g.change()
	g.m.drainer.do(func(d *drainer) {
		d.spending.timing.stall(stalled + g.m.listened)
	})
	return true
}

func (g *governor) change() {
	if err := g.m.publish(); err != nil {
		g.m.Problem(fmt.Errorf("kernels are not timed: %w", err))
	}
}

// awaitBuffers waits for the records of the window, which are complete when their kernels have ended.
func (g *governor) awaitBuffers() {
	for wait := 200 * time.Microsecond; wait < 30*time.Millisecond; wait *= 2 {
		g.m.ending.inLibrary(func() { g.m.drainer.source.Flush(false) })
		g.m.drainer.do(func(*drainer) {})
		if hotpath.BuffersInUse() == 0 || !g.pause(wait) {
			return
		}
	}
}

// mayRest reports whether sums stand for all of the time if kernels are timed in windows, and nothing else needs each launch.
func (d *drainer) mayRest(m *Manager) bool {
	each := slices.ContainsFunc(d.list, func(s *session) bool { return s.timeline || s.idle || s.inside != nil || s.readings.Any() })
	return !each && d.mayLeave(m) && d.records()
}

// mayLeave reports whether nothing needs what the source says while no session records.
func (d *drainer) mayLeave(m *Manager) bool {
	if _, can := d.source.(Leaver); !can || !d.attached || d.options.Replay != "" || d.options.WholeGraphs || d.sampler != nil || m.hang != nil || hotpath.Capturing() || d.ending.begun.Load() {
		return false
	}
	return !slices.ContainsFunc(d.list, func(s *session) bool { return s.recording != nil && s.recording.state.Gate != "" || s.readings.Any() })
}

// estimatedText says that the sums of a profile are estimates, "" if they are not.
func (d *drainer) estimatedText() string {
	t := d.spending.timed()
	if t == nil {
		return ""
	}
	d.spending.until(hotpath.Now())
	defer d.spending.until(0)
	all, timed := t.weights.Time()
	if t.weights.Windows() < 2 || all <= timed {
		return ""
	}
	others, wrong := d.agg.Total.Total(&t.weights)
	return fmt.Sprintf("kernels were timed for %s of the time, in %s, within a budget: times, counts and metrics are estimates, of %s of GPU time ± %s in all",
		figures.Share(timed/all), figures.Count(t.weights.Windows(), "window"), figures.Time(int64(float64(d.agg.Nanos)+others.Nanos)), figures.Time(int64(wrong)))
}
