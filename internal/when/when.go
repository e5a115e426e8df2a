// Package when decides at which times a session records: after a delay, for a duration, in some of the program's steps, inside a
// scope, or when a user asks for it. It has no access to sessions: it gets the events, and says whether a recording window is open.
package when

import (
	"fmt"
	"math"
	"time"
)

// Conditions say when a session records: while all of them hold. The zero value is all the time.
type Conditions struct {
	Delay    float64   `json:"delay,omitempty"`     // seconds from the start of the session to the first window
	Duration float64   `json:"duration,omitempty"`  // seconds from the beginning of the first window to the end of the last; 0 = no end
	Schedule *Schedule `json:"schedule,omitempty"`  // by the program's steps
	Gate     string    `json:"gate,omitempty"`      // --within: name of a scope, or ProfilerAPI
	Paused   bool      `json:"paused,omitempty"`    // begins closed, until Resume
	ByCaller bool      `json:"by_caller,omitempty"` // the caller decides with State.SetAction; begins closed
	Split    bool      `json:"split,omitempty"`     // each window is a phase, with a file of its own
}

// ProfilerAPI is the gate that the program opens with cudaProfilerStart and closes with cudaProfilerStop, or with HIP's functions.
const ProfilerAPI = "cudaProfilerApi"

// GateText is how a gate is written in messages.
func GateText(gate string) string {
	if gate == ProfilerAPI {
		return "cudaProfilerStart or cudaProfilerStop"
	}
	return fmt.Sprintf("the scope %q", gate)
}

// Check returns what is wrong with the conditions.
func (c *Conditions) Check() error {
	for _, of := range []struct {
		name    string
		seconds float64
	}{{"delay", c.Delay}, {"duration", c.Duration}} {
		if !(of.seconds >= 0 && of.seconds < math.MaxInt64/float64(time.Second)) { // false for NaN
			return fmt.Errorf("a %s of %v seconds: give a positive number", of.name, of.seconds)
		}
	}
	if c.Schedule != nil {
		return c.Schedule.check()
	}
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// State is what has happened to the conditions of one session. A window is open (Open) while none of these is the case:
//
//   - the delay since the start of the session is not over, or the duration since the first window opened is over (ended);
//   - a user has paused the session (Pause, until Resume, which also begins an ended duration anew);
//   - the action for the current step is less than Record; Step and SetAction change it;
//   - there is a gate, and it is closed (SetGate).
//
// The caller, profiler's recording, passes events on and then asks Open, and asks again at the time that Next returns. Where
// the last step of one window is followed by the first of another, Open stays true and Breaks changes. State is not safe for
// concurrent use.
type State struct {
	Conditions
	began  time.Time
	opened time.Time // when the first window opened
	ended  bool      // the duration is over
	step   int
	byHand bool   // the program counts its steps itself, so an optimizer's do not count
	given  Action // what SetAction has set
	paused bool
	gate   bool
	breaks int // windows that ended with a step behind which the next window began

	unpaused, gated, scheduled bool // whether each has ever been the case: for WhyClosed
}

// New returns the state of a session that begins now.
func New(c Conditions, now time.Time) *State {
	s := &State{Conditions: c, began: now, paused: c.Paused, unpaused: !c.Paused}
	s.scheduled = s.action() >= Record
	return s
}

// Step says that a step of the program is over. optimizer says that one of torch's optimizers made it: such steps count until the
// program counts for itself. It reports whether the window may have to open or close, or to begin anew.
func (s *State) Step(optimizer bool) bool {
	if optimizer && s.byHand {
		return false
	}
	first := !optimizer && !s.byHand
	s.byHand = s.byHand || !optimizer
	if first && s.step > 0 {
		return false // the same step as the optimizer's before it
	}
	before := s.action()
	s.step++
	if s.ByCaller {
		return false
	}
	return s.moved(before, s.action())
}

// SetAction sets what to do in the step that begins, for a caller with a schedule of its own.
func (s *State) SetAction(a Action) bool {
	before := s.given
	s.given = a
	return s.moved(before, a)
}

func (s *State) moved(before, after Action) bool {
	s.scheduled = s.scheduled || after >= Record
	if before == Last && after >= Record {
		s.breaks++
		return true
	}
	return (before >= Record) != (after >= Record)
}

func (s *State) action() Action {
	switch {
	case s.ByCaller:
		return s.given
	case s.Schedule != nil:
		return s.Schedule.Action(s.step)
	}
	return Record
}

// Steps is how many steps are over.
func (s *State) Steps() int { return s.step }

// Breaks is the number of windows that ended and were followed by the next window at once, so that Open did not change.
func (s *State) Breaks() int { return s.breaks }

// SetGate says whether the gate is open.
func (s *State) SetGate(open bool) { s.gate, s.gated = open, s.gated || open }

// GateOpen is what SetGate has set.
func (s *State) GateOpen() bool { return s.gate }

// Pause and Resume are what a user asks for while the program runs.
func (s *State) Pause() { s.paused = true }

// Resume is described with Pause. A duration that is over begins again.
func (s *State) Resume() {
	s.paused, s.unpaused = false, true
	if s.ended {
		s.ended, s.opened = false, time.Time{}
	}
}

// Paused reports whether a user has asked for a pause, and not for its end.
func (s *State) Paused() bool { return s.paused }

// Open reports whether a window is open now.
func (s *State) Open(now time.Time) bool {
	if s.ended || s.paused || now.Before(s.began.Add(seconds(s.Delay))) || s.action() < Record || s.Gate != "" && !s.gate {
		return false
	}
	if s.Duration > 0 && !s.opened.IsZero() && !now.Before(s.opened.Add(seconds(s.Duration))) {
		s.ended = true
		return false
	}
	if s.opened.IsZero() {
		s.opened = now
	}
	return true
}

// Next returns the time at which Open changes if no event comes before; false if it does not.
func (s *State) Next(now time.Time) (time.Time, bool) {
	if first := s.began.Add(seconds(s.Delay)); now.Before(first) {
		return first, true
	}
	if s.Duration > 0 && !s.opened.IsZero() && !s.ended {
		return s.opened.Add(seconds(s.Duration)), true
	}
	return time.Time{}, false
}

// WhyClosed says why no window has opened so far.
func (s *State) WhyClosed(now time.Time) string {
	switch {
	case !s.unpaused:
		return "it began paused, and `proton ctl PID start` was not given"
	case now.Before(s.began.Add(seconds(s.Delay))):
		return fmt.Sprintf("the program ran for %.1f s, and recording was to begin after %g s", now.Sub(s.began).Seconds(), s.Delay)
	case !s.scheduled:
		return s.whyUnscheduled()
	case s.Gate == ProfilerAPI && !s.gated:
		return "the program did not call cudaProfilerStart"
	case s.Gate != "" && !s.gated:
		return fmt.Sprintf("the program opened no scope and no NVTX range named %q", s.Gate)
	}
	return "its conditions did not hold at the same time"
}

func (s *State) whyUnscheduled() string {
	made := fmt.Sprintf("the program made %d steps", s.step)
	switch s.step {
	case 0:
		made = "the program made no step (proton.step() in Python, proton_step() in C, profiler.Step() in Go, or a step of torch's optimizers)"
	case 1:
		made = "the program made 1 step"
	}
	if s.Schedule == nil {
		return made + ", and its schedule recorded none of them"
	}
	return fmt.Sprintf("%s, and step %d is the first to be recorded, counted from 0", made, s.Schedule.First())
}
