package budget

import (
	"math"
	"math/rand/v2"
	"time"
)

// Timing decides when kernels are timed: in windows, between which nothing is attached, if timing takes more of the program's time than
// the budget has. It keeps an account: the budget is paid in all the time, and windows are paid from it. The next window begins when it can
// be paid, so what is lost stays within the budget whatever a window costs.
type Timing struct {
	Share float64 // the budget
	Pace  Pace

	account  float64 // ns that may be lost now
	windows  float64
	launches mean    // in a ns, in windows
	switches mean    // ns of one change from windows to rest and back
	learnt   float64 // launches when it was known that timing is cheap
	random   *rand.Rand
}

const (
	shortestWindow = 50 * time.Millisecond
	longestWindow  = 500 * time.Millisecond
	shortestRest   = 50 * time.Millisecond
	longestRest    = time.Minute
	assumedLoss    = 0.06 // before it is known
	// cheapWindow is how long kernels are timed without a rest where that costs less than the budget.
	cheapWindow = 20 * time.Second
)

// NewTiming returns one for a share of the program's time.
func NewTiming(share float64, seed uint64) *Timing {
	return &Timing{Share: share, random: rand.New(rand.NewPCG(seed, seed))}
}

// Loss returns the share of the program's pace that timing takes: over the whole run, and of late.
func (t *Timing) Loss() (all, recent Loss) { return t.Pace.Loss(t.launches.value) }

// loss is what timing is planned to take: what is known, and a bit more while it is not known well.
func (t *Timing) loss() float64 {
	if _, recent := t.Loss(); recent.Known {
		return min(max(recent.Share+recent.Error, 0), 0.9)
	}
	return assumedLoss // whatever windows had: rests that followed it would make some windows stand for more than others
}

// cheap reports whether kernels can be timed all the time but for short rests, which show what it costs.
func (t *Timing) cheap() bool {
	_, recent := t.Loss()
	return recent.Known && recent.Share+2*recent.Error <= t.paid()
}

// Window returns how long the next window is.
func (t *Timing) Window() time.Duration {
	switch loss := t.loss(); {
	case !t.launches.some:
		return shortestWindow // there is nothing to plan with
	case t.cheap() && t.launches.value <= 2*t.learnt:
		return cheapWindow
	default:
		// As much for the window as for the change: a longer one would say less for its cost, a shorter one would be mostly change.
		balanced := time.Duration(t.switches.value / max(loss, 1e-3))
		return min(max(balanced, shortestWindow), longestWindow)
	}
}

// Rest is called when a window ended: how long it was, how much was launched in it, and what the changes before and after it took of
// the program's time. It returns how long nothing is attached.
func (t *Timing) Rest(window time.Duration, launches float64, switching float64) time.Duration {
	// Slow means: were the rest longer after windows in which much was launched, these would stand for more than others.
	t.windows++
	weight := max(1/t.windows, slow)
	t.launches.add(launches/float64(window), weight)
	t.switches.add(switching, weight)
	t.earn(window)
	t.account -= t.loss()*float64(window) + switching
	if t.cheap() {
		t.learnt = t.launches.value
	}
	// While a window lasts it is paid for, too. The account is at 0 in its middle.
	next := max(t.loss()-t.paid(), 0)*float64(t.Window()) + t.switches.value
	rest := (next/2 - t.account) / t.paid()
	rest = math.Min(math.Max(rest, float64(shortestRest)), float64(longestRest))
	return time.Duration(rest * (0.5 + t.random.Float64()))
}

// Rested is called when a rest is over.
func (t *Timing) Rested(rest time.Duration) { t.earn(rest) }

// paid is what the account gets in a ns.
func (t *Timing) paid() float64 { return t.Share * margin }

func (t *Timing) earn(d time.Duration) {
	t.account += t.paid() * float64(d)
	most := t.Share * float64(longestRest)
	t.account = math.Min(math.Max(t.account, -most), most/10)
}
