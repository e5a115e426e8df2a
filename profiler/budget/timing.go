package budget

import (
	"math"
	"math/rand/v2"
	"time"
)

// Timing decides when kernels are timed: in windows, between which nothing is attached, if timing takes more of the program's time than
// the budget has. It keeps an account: the budget is paid in all the time, and windows are paid from it. The next window begins when it can
// be paid, so what is lost stays within the budget whatever a window costs.
//
// What was spent is counted again, once, when the loss is known: so the first windows are paid back. Were it counted again later, some windows
// would stand for more than others, because what is known of the loss depends on what they had.
type Timing struct {
	Share float64 // the budget
	Pace  Pace

	counted  Spent   // when the last window ended
	spent    float64 // ns until then, with the loss as it was known
	known    bool    // the loss was known, and it was counted again
	forgone  float64 // ns by which the account was beyond its limits: above 0 what was not saved, below 0 what is not paid back
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
		return recent.planned()
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
	loss := t.loss()
	_, recent := t.Loss()
	switch {
	case !t.launches.some || !recent.Known:
		return shortestWindow // how many there are says more than how long they are, and what they cost is not known
	case t.cheap() && t.launches.value <= 2*t.learnt:
		return cheapWindow
	default:
		// As much for the window as for the change: a longer one would say less for its cost, a shorter one would be mostly change.
		balanced := time.Duration(t.switches.value / max(loss, 1e-3))
		return min(max(balanced, shortestWindow), longestWindow)
	}
}

// Spent is what became of a run so far, in ns: the time in which sessions recorded, how much of it kernels were timed, what the program
// waited for changes, and what hooks took, which cost as much between windows as in them: no comparison of paces has that.
type Spent struct{ All, Timed, Switching, Hooks float64 }

// Rest is called when a window ended: what was spent up to then, what was launched in the window, and what the changes before and after it
// took of the program's time. It returns how long nothing is attached.
func (t *Timing) Rest(spent Spent, window Span, switching float64) time.Duration {
	// Slow means: were the rest longer after windows in which much was launched, these would stand for more than others.
	t.windows++
	weight := max(1/t.windows, slow)
	if window.Nanos > 0 {
		t.launches.add(window.pace(), weight)
	}
	t.switches.add(switching, weight)
	if t.cheap() {
		t.learnt = t.launches.value
	}
	account := t.account(spent)
	// While a window lasts it is paid for, too. The account is at 0 in its middle.
	next := max(t.loss()-t.paid(), 0)*float64(t.Window()) + t.switches.value
	rest := (next/2 - account) * spent.All / (t.paid()*spent.All - t.hooks(spent))
	rest = math.Min(math.Max(rest, float64(shortestRest)), float64(longestRest))
	return time.Duration(rest * (0.5 + t.random.Float64()))
}

// paid is what the account gets in a ns.
func (t *Timing) paid() float64 { return t.Share * margin }

// hooks is what is paid for hooks: windows have at least half of the budget, because without them nothing is known.
func (t *Timing) hooks(s Spent) float64 { return min(s.Hooks, t.paid()*s.All/2) }

// others is what is paid in addition to timing.
func (t *Timing) others(s Spent) float64 { return s.Switching + t.hooks(s) }

// account returns how many ns may be lost now.
func (t *Timing) account(now Spent) float64 {
	t.spent += t.loss()*(now.Timed-t.counted.Timed) + t.others(now) - t.others(t.counted)
	t.counted = now
	if all, _ := t.Loss(); all.Known && !t.known {
		t.spent, t.known = all.planned()*now.Timed+t.others(now), true
	}
	free := t.paid()*now.All - t.spent
	most := t.Share * float64(longestRest)
	within := math.Min(math.Max(free-t.forgone, -most), most/10)
	t.forgone = free - within
	return within
}
