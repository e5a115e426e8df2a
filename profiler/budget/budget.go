// Package budget keeps the profiler's own cost within a share of the program's time. A Controller is passed, turn by turn, what was
// measured in the process, and decides what the next turn has: whether instructions are sampled, and of how many launches the Python
// call path is taken. The timing of kernels is never reduced. Nothing here reads a clock or calls the profiler.
package budget

import (
	"math"
	"time"
)

// Length is the length of a turn. Turns are aligned to the clock, so that a window of whole seconds consists of whole turns. Until the
// program launches something the turns are Short, because taking the Python call path of a launch may cost more than the launch.
const (
	Length = 250 * time.Millisecond
	Short  = 50 * time.Millisecond
)

const (
	// MostThinned is the largest Decision.Every: the Python call path of at least one launch in so many is taken.
	MostThinned = 1024

	leastDuty   = 1.0 / 240   // one turn in a minute, which costs at most 0.42 % of the time, whatever sampling costs
	mostDuty    = 0.9         // the turns that are not sampled are what sampled turns are compared with
	longestRun  = 8           // the most turns for which sampling goes on, or rests, without a switch
	starting    = 4           // turns with launches after which turns have their length where nothing is sampled: until the first window ends, all is timed
	learning    = 12          // sampled turns from which the controller first learns what sampling costs
	longestDebt = time.Minute // the debt is at most the budget of this time, so it is saved again within it
	margin      = 0.9         // the share of the budget that is given to paths and sampling
	rising      = 1.25        // the duty of a turn is at most so many times the duty of the turn before
	thinnedHold = 8           // turns after a change of Every before Every is halved
	slow, fast  = 0.025, 0.25
)

// Turn is what was measured in one turn. Times are those of the program's threads, in ns.
type Turn struct {
	Wall       time.Duration // in which something was recorded; 0: a pause
	Sampled    bool
	Calls      uint64  // callbacks of the vendor's library
	Callbacks  float64 // time in them, without the paths
	Hooks      float64 // the same of hooks
	Observers  float64 // time in hooks that are thinned out like call paths, with the paths that they take
	Paths      float64 // time in which Python call paths were taken
	Walks      uint64  // how many paths were taken, for launches and for metrics
	PathsTaken uint64  // launches whose path was taken
	PathsLeft  uint64  // launches whose path was not taken
	Switching  float64 // time of the calls that begin and end sampling, as if the program had waited for them
}

// Decision is what the next turn has.
type Decision struct {
	Sample bool
	Every  int // the Python call path of one launch in so many is taken: a power of two
	Length time.Duration
	// Collect: at the end of the turn the source is asked for its buffers, so that the durations of the kernels are known soon.
	Collect bool
}

// Totals is what became of the budget. Shares are of Wall.
type Totals struct {
	Wall       time.Duration
	Callbacks  float64 // ns, as in Turn
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

// Controller keeps the account of a budget and decides what each turn has. One goroutine at a time uses it; package profiler's
// governor
// calls Step at the end of each turn. A controller is in one of these states:
//
//   - before the first launch (busy == 0): turns are Short, and everything is recorded;
//   - learning (learns): every other turn is sampled at most, and sampling rests in between, until the cost of sampling is
//     known;
//   - keeping the budget: the share of sampled turns is the duty, which dutyFor derives from the cost, and Every doubles as
//     soon as paths take too much and is halved step by step;
//   - in debt (debt > 0): more was lost than the budget allows; one turn in a minute is sampled until the debt is saved.
//
// No transition is final: a program that changes is measured again, because turns with and without sampling go on to be
// compared.
type Controller struct {
	Share    float64 // the budget
	Samples  bool    // sampling can be switched
	Totals   Totals
	Compared Comparison

	now    Decision
	turns  int
	busy   int // turns with launches
	taught int // turns with launches that were sampled
	held   int // turns since Every was last made smaller

	// Averages of turns, as shares of the time unless they say otherwise.
	fixed     mean // what is not reduced: callbacks, hooks, call paths of metrics
	switching mean
	path      mean // ns of one path
	observers mean // as if the path of every launch were taken
	launches  mean // per ns, with or without their path
	recent    mean // all costs except sampling

	// What sampling takes, and took.
	cost     float64       // share of the time of sampling, as estimated now
	final    bool          // cost is final, see Estimate
	costed   float64       // ns that sampling took, except in the time that is uncosted
	uncosted time.Duration // time of sampling whose cost is not final yet
	assumed  float64       // ns of the debt that stand for the uncosted time
	debt     float64       // ns that the profiler took beyond the budget; below 0: ns that are left of the budget

	// When sampling goes on.
	duty   float64
	credit float64 // turns of sampling that are due
	run    float64 // turns for which sampling goes on, or rests, before it is switched
}

// New returns a controller for a share of the program's time, such as 0.01.
func New(share float64, samples bool) *Controller {
	return &Controller{Share: share, Samples: samples, duty: mostDuty, run: 1, now: Decision{Sample: samples, Every: 1, Length: Short}}
}

// Now is what the current turn has.
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

// Step ends a turn and returns what the next one has.
func (c *Controller) Step(s Turn) Decision {
	if s.Wall <= 0 {
		return c.now
	}
	c.turns++
	if s.Calls > 0 {
		c.busy++
		if s.Sampled {
			c.taught++
		}
	}
	if c.busy > 0 {
		c.Compared.turn(s)
	}
	c.Count(s)
	c.measure(s)
	paths, sampling := c.divide()
	c.thin(paths)
	c.sample(sampling)
	c.now.Length = Length
	starts := c.busy < starting && !c.Samples
	if c.busy == 0 || starts {
		c.now.Length = Short
	}
	c.now.Collect = c.turns%8 == 7 || starts && c.busy > 0 || c.Samples && c.learns() && c.turns%2 == 1 // often while that teaches most
	return c.now
}

// Count adds a turn to the totals without deciding anything: when a profile is written, the current turn is counted up to that
// moment.
func (c *Controller) Count(s Turn) {
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
	t.Sampling = c.costed + e.Sure*float64(c.uncosted) // the time before the cost was known is counted with the cost that is known now
	c.owe(s)
	if c.final {
		c.costed, c.uncosted, c.assumed = t.Sampling, 0, 0
	}
}

// owe brings the debt up to date. The part of the debt that stands for uncosted sampling is replaced by what that sampling
// costs as estimated now.
func (c *Controller) owe(s Turn) {
	if c.busy == 0 {
		return
	}
	assumed := c.cost * float64(c.uncosted)
	c.debt += s.Callbacks + s.Hooks + s.Observers + s.Paths + s.Switching + assumed - c.assumed - c.Share*float64(s.Wall)
	c.assumed = assumed
	most := c.Share * float64(longestDebt)
	c.debt = min(max(c.debt, -most/10), most)
}

// learns reports whether the cost of sampling is still to be learned. If nothing in a program can be compared, it stops after
// the first sampled turns.
func (c *Controller) learns() bool {
	return c.taught < learning || !c.final && len(c.Compared.losses) > 0
}

// measure brings the averages up to date.
func (c *Controller) measure(s Turn) {
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

// divide returns which share of the time Python paths and sampling may take. If there is enough for both, each may take what
// the other leaves; otherwise each gets what it needs, or at least half.
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

// thin chooses Every. It grows at once to what the room allows, and falls by half at a time.
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

// dutyFor returns the share of turns that may be sampled: 0 while there is a debt.
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

// sample decides whether the next turn is sampled, so that the share of sampled turns is the duty. If switching takes a tenth
// of the budget, sampling goes on and rests for longer, but not while the controller learns what sampling costs, because each
// rest is one comparison.
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
	run := max(1, min(c.run, c.duty/leastDuty)) // so that one turn in a minute can be sampled at the least duty
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
