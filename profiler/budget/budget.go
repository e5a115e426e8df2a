// Package budget keeps the profiler's own cost within a share of the program's time. A Controller is passed, slot by slot, what was
// measured in the process, and decides what the next slot has: whether instructions are sampled, and of how many launches the Python
// call path is taken. The timing of kernels is never reduced. Nothing here reads a clock or calls the profiler.
package budget

import (
	"math"
	"time"
)

// Length is that of a slot. Slots are aligned to the clock, so that a window of whole seconds has whole slots. Those before it is known what
// a launch costs are Short: a Python call path may take more time than what it is the path of.
const (
	Length = 250 * time.Millisecond
	Short  = 50 * time.Millisecond
)

const (
	// MostThinned is the least that is taken: the Python call path of one launch in so many.
	MostThinned = 1024

	leastDuty   = 1.0 / 240   // one slot in a minute, which costs at most 0.42 % of the time, whatever sampling costs
	mostDuty    = 0.9         // the rest is what sampled slots are compared with
	longestRun  = 8           // slots for which sampling goes on, or rests, where switching it is dear
	learning    = 12          // sampled slots at the start, between which sampling rests
	longestDebt = time.Minute // in which what was lost beyond the budget is saved again, at most
	margin      = 0.9         // of the budget is planned for
	rising      = 1.25        // by which the duty grows at most from slot to slot
	thinnedHold = 8           // slots between two steps to thinner paths less
	slow, fast  = 0.025, 0.25
)

// Slot is what was measured in one slot. Times are those of the program's threads, in ns.
type Slot struct {
	Wall       time.Duration // in which something was recorded; 0: a pause
	Sampled    bool
	Calls      uint64  // callbacks of the vendor's library
	Callbacks  float64 // time in them, without the paths
	Hooks      float64 // the same of hooks
	Observers  float64 // of hooks that come as rarely as call paths are taken, with the paths that they take
	Paths      float64 // time in which Python call paths were taken
	Walks      uint64  // how often, at launches and for metrics
	PathsTaken uint64  // launches at which one was
	PathsLeft  uint64  // launches at which none was taken
	Switching  float64 // time of the calls that begin and end sampling, as if the program had waited for them
}

// Decision is what the next slot has.
type Decision struct {
	Sample bool
	Every  int // the Python call path of one launch in so many is taken: a power of two
	Length time.Duration
	// Collect: at its end, the source is asked for its buffers, so that kernels are compared soon.
	Collect bool
}

// Totals is what became of the budget. Shares are of Wall.
type Totals struct {
	Wall       time.Duration
	Callbacks  float64 // ns, as in Slot
	Hooks      float64
	Paths      float64
	Switching  float64
	Sampling   float64 // ns by which the program was slower because of sampling, as estimated by comparison
	Compared   bool    // there was something to compare: else Sampling is not known
	Calls      uint64
	PathsTaken uint64
	PathsLeft  uint64
	Sampled    time.Duration // how long instructions were sampled
}

// Lost is the time that the profiler took from the program, in ns.
func (t *Totals) Lost() float64 { return t.Callbacks + t.Hooks + t.Paths + t.Switching + t.Sampling }

// Share is Lost as a share of the time.
func (t *Totals) Share() float64 {
	if t.Wall <= 0 {
		return 0
	}
	return t.Lost() / float64(t.Wall)
}

// Controller keeps the account and decides. One goroutine at a time uses it.
type Controller struct {
	Share    float64 // the budget
	Samples  bool    // sampling can be switched
	Totals   Totals
	Compared Comparison

	now    Decision
	slots  int
	busy   int // slots with launches
	taught int // those of them that were sampled
	held   int // slots since Every was last made smaller

	// Averages of slots, as shares of the time unless they say otherwise.
	fixed     mean // what is not reduced: callbacks, hooks, call paths of metrics
	switching mean
	path      mean // ns of one path
	observers mean // if they came always
	launches  mean // per ns, with or without their path
	recent    mean // all cost but sampling

	// What sampling takes, and took.
	cost     float64       // share of the time of sampling, as estimated now
	final    bool          // the estimate
	costed   float64       // ns that it took, without the time that is uncosted
	uncosted time.Duration // of sampling, since the estimate was not final
	assumed  float64       // ns of that in the debt
	debt     float64       // ns that all took beyond the budget, and that are saved by sampling less

	// When sampling goes on.
	duty   float64
	credit float64 // slots of sampling that are due
	run    float64 // slots for which it goes on
}

// New returns a controller for a share of the program's time, such as 0.01.
func New(share float64, samples bool) *Controller {
	return &Controller{Share: share, Samples: samples, duty: mostDuty, run: 1, now: Decision{Sample: samples, Every: 1, Length: Short}}
}

// Now is what the current slot has.
func (c *Controller) Now() Decision { return c.now }

// mean is a moving average. Its first value counts in full.
type mean struct {
	value float64
	some  bool
}

func (m *mean) add(x, weight float64) {
	if !m.some {
		m.value, m.some = x, true
		return
	}
	m.value += weight * (x - m.value)
}

// Step ends a slot and returns what the next one has.
func (c *Controller) Step(s Slot) Decision {
	if s.Wall <= 0 {
		return c.now
	}
	c.slots++
	if s.Calls > 0 {
		c.busy++
		if s.Sampled {
			c.taught++
		}
	}
	if c.busy > 0 {
		c.Compared.slot(s)
	}
	c.Count(s)
	c.measure(s)
	paths, sampling := c.divide()
	c.thin(paths)
	c.sample(sampling)
	c.now.Length = Length
	if c.busy == 0 {
		c.now.Length = Short
	}
	c.now.Collect = c.slots%8 == 7 || c.Samples && c.learns() && c.slots%2 == 1 // often while that teaches most
	return c.now
}

// Count adds the part of a slot that there is when a profile is written, to the totals. It decides nothing.
func (c *Controller) Count(s Slot) {
	if s.Wall <= 0 {
		return
	}
	t := &c.Totals
	t.Wall += s.Wall
	t.Callbacks += s.Callbacks
	t.Hooks += s.Hooks + s.Observers
	t.Paths += s.Paths
	t.Switching += s.Switching
	t.Calls += s.Calls
	t.PathsTaken += s.PathsTaken
	t.PathsLeft += s.PathsLeft
	if s.Sampled {
		t.Sampled += s.Wall
	}
	e := c.Compared.Cost()
	c.cost, c.final = e.Likely, e.Final
	if s.Sampled && c.busy > 0 {
		c.uncosted += s.Wall
	}
	t.Compared = t.Compared || e.Known
	t.Sampling = c.costed + e.Sure*float64(c.uncosted) // also for the time before it was known
	c.owe(s)
	if c.final {
		c.costed, c.uncosted, c.assumed = t.Sampling, 0, 0
	}
}

// owe brings the debt up to date. What sampling took so far is part of it as it is estimated now.
func (c *Controller) owe(s Slot) {
	if c.busy == 0 {
		return
	}
	assumed := c.cost * float64(c.uncosted)
	c.debt += s.Callbacks + s.Hooks + s.Observers + s.Paths + s.Switching + assumed - c.assumed - c.Share*float64(s.Wall)
	c.assumed = assumed
	most := c.Share * float64(longestDebt)
	c.debt = min(max(c.debt, -most/10), most)
}

// learns reports whether it is still to be learnt what sampling costs. A program that nothing of can be compared teaches nothing.
func (c *Controller) learns() bool {
	return c.taught < learning || !c.final && len(c.Compared.losses) > 0
}

// measure brings the averages up to date.
func (c *Controller) measure(s Slot) {
	wall := float64(s.Wall)
	if s.Walks > 0 && s.Paths > 0 {
		c.path.add(s.Paths/float64(s.Walks), fast)
	}
	others := float64(s.Walks) - float64(s.PathsTaken)
	c.fixed.add((s.Callbacks+s.Hooks+max(others, 0)*c.path.value)/wall, fast)
	c.observers.add(s.Observers*float64(c.now.Every)/wall, fast)
	c.switching.add(s.Switching/wall, slow)
	c.launches.add(float64(s.PathsTaken+s.PathsLeft)/wall, fast)
	c.recent.add((s.Callbacks+s.Hooks+s.Observers+s.Paths)/wall, slow)
}

// divide returns what share of the time paths and sampling may take: each gets what the other does not need if there is enough for both,
// else at least half of what there is.
func (c *Controller) divide() (paths, sampling float64) {
	room := c.Share*margin - c.fixed.value - c.switching.value
	if over := c.recent.value / c.Share; over > 1 {
		room /= over
	}
	room = max(room, 0)
	needPaths, needSampling := c.needPaths(), c.cost*mostDuty
	if !c.Samples {
		needSampling = 0
	}
	if needPaths+needSampling <= room {
		return room - needSampling, room - needPaths
	}
	paths = min(needPaths, max(room/2, room-needSampling))
	return paths, room - paths
}

// needPaths is the share of the time that the paths of all launches would take, and the observers.
func (c *Controller) needPaths() float64 { return c.path.value*c.launches.value + c.observers.value }

// thin chooses of how many launches the path is taken. More is left out at once, and less step by step.
func (c *Controller) thin(room float64) {
	need := c.needPaths()
	c.held++
	every := 1
	for every < MostThinned && need/float64(every) > room {
		every *= 2
	}
	switch {
	case every > c.now.Every:
		c.now.Every, c.held = every, 0
	case c.now.Every > 1 && c.held >= thinnedHold && 2*need/float64(c.now.Every) <= 0.8*max(room, need/MostThinned):
		c.now.Every, c.held = c.now.Every/2, 0
	}
}

// dutyFor is the share of slots that may be sampled. Nothing is while there is a debt.
func (c *Controller) dutyFor(room float64) float64 {
	duty := mostDuty
	if c.cost > 0 {
		duty = min(room/c.cost, mostDuty)
	}
	if c.learns() {
		duty = min(duty, 0.5)
	}
	if c.debt > 0 {
		duty = 0
	}
	return duty
}

// sample decides whether the next slot is sampled, so that the sampled ones are the duty's share of all. Where switching takes a tenth
// of the budget, sampling goes on and rests for longer, but not before the controller has learned what sampling costs: each rest is one
// comparison.
func (c *Controller) sample(room float64) {
	if !c.Samples || c.busy == 0 { // before the first launch there is nothing to learn
		return
	}
	c.duty = max(leastDuty, min(c.dutyFor(room), c.duty*rising))
	switch {
	case c.learns():
	case c.switching.value > 0.1*c.Share:
		c.run = min(2*c.run, longestRun)
	case c.switching.value < 0.02*c.Share:
		c.run = max(c.run/2, 1)
	}
	run := max(1, min(c.run, c.duty/leastDuty)) // one slot in a minute is left
	c.credit = math.Min(c.credit+c.duty, 2*longestRun)
	if c.now.Sample {
		c.credit = math.Max(c.credit-1, -2*longestRun)
	}
	switch {
	case !c.now.Sample && c.credit >= run/2:
		c.now.Sample = true
	case c.now.Sample && c.credit < 1-run/2:
		c.now.Sample = false
	}
}
