package when

import (
	"fmt"
	"math"
)

// Action is what to do in a step, in the order of torch.profiler's ProfilerAction.
type Action int

// The actions. Nothing is recorded in the first two: GoProton has nothing to warm up.
const (
	None Action = iota
	Warmup
	Record
	Last // Record, and the window ends with the step
)

// Schedule divides the program's steps into cycles, as torch.profiler.schedule does: it skips some steps, and then waits, warms up and
// records again and again. The time before the program's first step call is step 0.
type Schedule struct {
	SkipFirst     int  `json:"skip_first,omitempty"`
	Wait          int  `json:"wait"`
	Warmup        int  `json:"warmup,omitempty"`
	Active        int  `json:"active"`
	Repeat        int  `json:"repeat,omitempty"`          // cycles; 0 = without end
	SkipFirstWait bool `json:"skip_first_wait,omitempty"` // the first cycle does not wait
}

// Every returns the schedule that records the last steps of each so many.
func Every(steps, record int) *Schedule { return &Schedule{Wait: steps - record, Active: record} }

func (s *Schedule) check() error {
	for _, of := range []struct {
		name  string
		steps int
		least int
	}{{"skip_first", s.SkipFirst, 0}, {"wait", s.Wait, 0}, {"warmup", s.Warmup, 0}, {"active", s.Active, 1}, {"repeat", s.Repeat, 0}} {
		if of.steps < of.least {
			return fmt.Errorf("a schedule with %s=%d: it is %d or more", of.name, of.steps, of.least)
		}
	}
	return nil
}

// parts are the lengths of the parts of a cycle. A length that stands for "for ever" is cut, so that sums of lengths do not
// overflow.
func (s *Schedule) parts() (wait, warmup, active int) {
	const forever = math.MaxInt / 4
	return min(s.Wait, forever), min(s.Warmup, forever), min(s.Active, forever)
}

// Action is what to do in a step, counted from 0.
func (s *Schedule) Action(step int) Action {
	if step -= s.SkipFirst; step < 0 {
		return None
	}
	wait, warmup, active := s.parts()
	if s.SkipFirstWait {
		step += wait
	}
	cycle := wait + warmup + active
	if s.Repeat > 0 && step/cycle >= s.Repeat {
		return None
	}
	switch at := step % cycle; {
	case at < wait:
		return None
	case at < wait+warmup:
		return Warmup
	case at < cycle-1:
		return Record
	}
	return Last
}

// First is the first step that is recorded.
func (s *Schedule) First() int {
	wait, first, _ := s.parts()
	if !s.SkipFirstWait {
		first += wait
	}
	return first + min(s.SkipFirst, math.MaxInt/4)
}
