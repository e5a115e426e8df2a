package budget

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// phase is a part of a made-up program: how long it lasts when nothing disturbs it, and what it does meanwhile.
type phase struct {
	long     time.Duration
	launches float64 // a second
	kernels  map[string]float64
}

// program is a simulated program that repeats its phases, and what timing its kernels costs it really.
type program struct {
	name   string
	phases []phase
	loss   float64       // of its pace, while kernels are timed
	stall  time.Duration // of each change
	hooks  float64       // share of its time that hooks take, in windows and between them
	noise  float64       // of its pace, in each tenth of a second
	drift  float64       // by which all kernels are slower at the end
	begins time.Duration // how long kernels are timed before the first window is planned
	active time.Duration // after paused, its session is active for so long, and then for half of that not; 0: it always is
	paused time.Duration
	likely float64 // how often the true sum is within two standard errors, at least
}

// ran is what happened in a run of a program.
type ran struct {
	truth, estimate, errors map[string]float64
	lost, reported, wrong   float64 // shares of the time: in truth, and as the comparison has it, with its standard error
	windows                 int
	timed                   float64
}

const tick = time.Millisecond

// run simulates a program for so long with a budget.
func (p *program) run(share float64, long time.Duration, seed uint64) *ran {
	random := rand.New(rand.NewPCG(seed, 3))
	t := NewTiming(share, seed+1)
	var w Weights
	sums, recorded := map[string]*Sum{}, map[string]float64{}
	out := &ran{truth: map[string]float64{}, estimate: map[string]float64{}, errors: map[string]float64{}}
	at, place, pace := time.Duration(0), time.Duration(random.Float64()*float64(p.cycle())), 1.0
	var span Span
	var switching, hooked, lost, changes, away float64
	inactive := func() bool {
		return p.active > 0 && at >= p.paused && (at-p.paused)%(p.active*3/2) >= p.active
	}
	step := func(set uint32, speed float64) {
		if at%(100*tick) == 0 {
			pace = 1 + p.noise*random.NormFloat64()
		}
		x, moved := p.at(place), time.Duration(float64(tick)*max(speed*pace, 0))
		slow := 1 + p.drift*float64(at)/float64(long)
		for name, busy := range x.kernels {
			nanos := busy * slow * float64(moved)
			if !inactive() {
				out.truth[name] += nanos
			}
			if set != 0 {
				if sums[name] == nil {
					sums[name] = &Sum{}
				}
				recorded[name] += nanos
				sums[name].Add(&w, set, Amount{Count: x.launches * moved.Seconds(), Nanos: nanos})
			}
		}
		span.Launches += x.launches * moved.Seconds()
		span.Nanos += float64(tick)
		place, at = place+moved, at+tick
		hooked += p.hooks * speed * float64(tick) // its launches are those of a program with hooks
		lost += (1 - (1-p.hooks)*speed) * float64(tick)
	}
	stall := func() {
		for end := at + p.stall; at < end && at < long; {
			step(0, 0)
		}
		span.Nanos -= float64(p.stall) // it was measured
		switching += float64(p.stall)
		changes += float64(p.stall)
		w.Stall(float64(p.stall))
	}
	pause := func() { // the program goes on
		for began := at; at < long; step(0, 1) {
			if !inactive() {
				w.Pause(float64(at - began))
				away += float64(at - began)
				return
			}
		}
	}
	// As package profiler does it: a window that a pause cuts short is two, and a gap that is mostly pause is compared with nothing.
	var window Span // the last that has ended
	set := uint32(0)
	begin := func() {
		set++
		gap := span
		if gap.Nanos <= 2*away {
			gap = Span{}
		}
		if set > 1 {
			t.Pace.Add(window, gap)
		}
		span, away = Span{}, 0
		w.Begin(set, uint64(at)+1)
	}
	end := func() {
		w.End(uint64(at) + 1)
		window, span = span, Span{}
	}
	begin()
	for length := max(t.Window(), p.begins); at < long; length = t.Window() {
		for until := at + length; at < until && at < long; {
			if !inactive() {
				step(set, 1-p.loss)
				continue
			}
			end()
			pause()
			stall()
			begin()
			until = min(max(until, at+tick), at+length)
		}
		end()
		stall()
		all, timed := w.Time()
		for until := at + t.Rest(Spent{all, timed, switching, hooked}, window, changes); at < until && at < long; {
			if inactive() {
				before := at
				pause()
				until += at - before
				continue
			}
			step(0, 1)
		}
		changes = 0
		stall()
		if at < long {
			begin()
		}
	}
	loss, _ := t.Loss()
	w.Until(uint64(at) + 1)
	w.Slower = loss.Share
	for name := range out.truth {
		if sums[name] != nil {
			others, wrong := sums[name].Total(&w)
			out.estimate[name], out.errors[name] = recorded[name]+others.Nanos, wrong
		}
	}
	all, timed := w.Time()
	out.lost = lost / all
	out.reported = (max(loss.Share, 0)*timed + switching + hooked) / all
	out.wrong = loss.Error * timed / all
	out.windows, out.timed = w.Windows(), timed/all
	return out
}

func (p *program) cycle() (long time.Duration) {
	for _, x := range p.phases {
		long += x.long
	}
	return long
}

func (p *program) at(place time.Duration) *phase {
	place %= p.cycle()
	for i := range p.phases {
		if place -= p.phases[i].long; place < 0 {
			return &p.phases[i]
		}
	}
	return &p.phases[0]
}

func one(launches float64) []phase {
	return []phase{{time.Second, launches, map[string]float64{"k": 0.4}}}
}

var programs = []program{
	{name: "launch-bound", phases: one(100_000), loss: 0.066, noise: 0.01, likely: 0.9},
	{name: "launch-bound on a noisy machine", phases: one(100_000), loss: 0.066, noise: 0.05, likely: 0.9},
	{name: "launch-bound, changes are dear", phases: one(100_000), loss: 0.066, stall: 10 * time.Millisecond, noise: 0.01, likely: 0.9},
	{name: "launch-bound, with hooks", phases: one(100_000), loss: 0.16, stall: 5 * time.Millisecond, hooks: 0.007, noise: 0.01, likely: 0.9},
	{name: "GPU-bound", phases: one(200), loss: 0.002, noise: 0.002, likely: 0.9},
	{name: "GPU-bound, short blocks", phases: one(3000), loss: 0.07, stall: 3 * time.Millisecond, noise: 0.002, likely: 0.9},
	{name: "steps of 170 ms", phases: []phase{
		{70 * time.Millisecond, 60_000, map[string]float64{"forward": 0.7}},
		{90 * time.Millisecond, 40_000, map[string]float64{"backward": 0.9}},
		{10 * time.Millisecond, 200_000, map[string]float64{"optimizer": 0.5}},
	}, loss: 0.05, noise: 0.01, likely: 0.75},
	{name: "steps of 1.3 s, whose launches are dense and rare", phases: []phase{
		{600 * time.Millisecond, 150_000, map[string]float64{"small": 0.3}},
		{700 * time.Millisecond, 100, map[string]float64{"large": 1}},
	}, loss: 0.04, noise: 0.01, likely: 0.85},
	{name: "drift", phases: one(60_000), loss: 0.05, noise: 0.01, drift: 0.6, likely: 0.85},
	{name: "pauses", phases: one(180_000), loss: 0.2, stall: 5 * time.Millisecond, noise: 0.02, begins: 400 * time.Millisecond, active: 2 * time.Second, paused: 11 * time.Second, likely: 0.85},
	{name: "a rare phase", phases: []phase{
		{9 * time.Second, 80_000, map[string]float64{"train": 0.6}},
		{time.Second, 30_000, map[string]float64{"evaluate": 0.9}},
	}, loss: 0.06, noise: 0.01, likely: 0.7},
}

// Sums of what was recorded in windows, times their weights, are those of the whole run: on average over runs they are as near as chance
// lets them be, and their errors say how near each is.
func TestEstimatesAreUnbiased(t *testing.T) {
	const runs = 24
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			sum, squares, covered, n := map[string]float64{}, map[string]float64{}, 0.0, 0.0
			for seed := range uint64(runs) {
				r := p.run(0.01, 2*time.Minute, seed)
				for name, truth := range r.truth {
					x := r.estimate[name]/truth - 1
					sum[name] += x
					squares[name] += x * x
					if n++; math.Abs(r.estimate[name]-truth) <= 2*r.errors[name] || math.Abs(x) < 0.005 {
						covered++
					}
				}
			}
			for name := range sum {
				mean := sum[name] / runs
				chance := math.Sqrt(max(squares[name]/runs-mean*mean, 0) / (runs - 1))
				t.Logf("%s: %+.2f %% ± %.2f %%", name, 100*mean, 100*chance)
				if math.Abs(mean) > 3*chance+0.005 {
					t.Errorf("%s: the estimate is wrong by %+.2f %% on average, with a standard error of %.2f %%", name, 100*mean, 100*chance)
				}
			}
			t.Logf("%.0f %% are within two standard errors", 100*covered/n)
			if covered/n < p.likely {
				t.Errorf("%.0f %% of the estimates are within two standard errors", 100*covered/n)
			}
		})
	}
}

// What is really lost is within the budget and half a percent, and is what is reported.
func TestLossIsWithinTheBudgetAndReported(t *testing.T) {
	for _, p := range programs {
		for _, share := range []float64{0.005, 0.01, 0.05} {
			t.Run(fmt.Sprintf("%s/%g", p.name, share), func(t *testing.T) {
				for seed := range uint64(3) {
					r := p.run(share, 2*time.Minute, seed)
					if seed == 0 {
						t.Logf("%d windows, %.1f %% of the time; lost %.2f %%, reported %.2f ± %.2f %%", r.windows, 100*r.timed, 100*r.lost, 100*r.reported, 100*r.wrong)
					}
					if r.lost > share+0.005 {
						t.Errorf("%.2f %% of the time are lost, of a budget of %.2f %%", 100*r.lost, 100*share)
					}
					if off := math.Abs(r.reported - r.lost); off > max(0.005, 2.5*r.wrong) {
						t.Errorf("%.2f %% of the time are lost, and %.2f %% are reported", 100*r.lost, 100*r.reported)
					}
				}
			})
		}
	}
}

// A short run in which timing takes much more than is assumed before it is known: what the first windows took is paid back before its end.
func TestFirstWindowsArePaidBack(t *testing.T) {
	for _, loss := range []float64{0.02, 0.1, 0.2} {
		p := program{phases: one(180_000), loss: loss, stall: 5 * time.Millisecond, noise: 0.01, begins: 300 * time.Millisecond, active: 2 * time.Second, paused: 11 * time.Second}
		const runs = 40
		sum, over := 0.0, 0
		for seed := range uint64(runs) {
			r := p.run(0.01, 38*time.Second, seed) // in 29 of which its session is active
			if seed == 0 {
				t.Logf("%d windows, %.1f %% of the time; lost %.2f %%, reported %.2f ± %.2f %%", r.windows, 100*r.timed, 100*r.lost, 100*r.reported, 100*r.wrong)
			}
			if r.reported > 0.01 || r.lost > 0.011 {
				over++
			}
			sum += r.lost
		}
		t.Logf("a loss of %.0f %%: %.2f %% of the time, and %d of %d runs took more than the budget", 100*loss, 100*sum/runs, over, runs)
		if over > runs/20 {
			t.Errorf("a loss of %.0f %%: %d of %d runs took more than the budget", 100*loss, over, runs)
		}
	}
}

// What was not recorded because no session was active is not estimated.
func TestPausesAreNotEstimated(t *testing.T) {
	var w Weights
	var s Sum
	for i := range uint64(3) {
		began := 1 + i*1000
		if i > 0 {
			w.Pause(float64(began - (began - 1000 + 110))) // since the window before ended
		}
		w.Begin(uint32(i+1), began)
		w.Began(began + 10)
		s.Add(&w, uint32(i+1), Amount{Count: 1, Nanos: 50})
		w.End(began + 110)
	}
	w.Until(2111)
	if others, wrong := s.Total(&w); others != (Amount{}) || wrong != 0 {
		t.Errorf("%+v ± %g", others, wrong)
	}
	if all, timed := w.Time(); timed != 300 || all != 300+20 {
		t.Errorf("%g of %g ns", timed, all)
	}
}
