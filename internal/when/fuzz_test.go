package when

import (
	"encoding/json"
	"testing"
	"time"
)

// FuzzConditions: with conditions that are accepted, whatever happens in whichever order, a window is open only while nothing
// forbids it, and the schedule says when it records first.
func FuzzConditions(f *testing.F) {
	f.Add([]byte(`{"delay":1,"duration":2,"gate":"g","schedule":{"wait":1,"warmup":1,"active":3,"repeat":2}}`), []byte("spgrtao"))
	f.Add([]byte(`{"paused":true,"schedule":{"wait":9223372036854775807,"warmup":9223372036854775807,"active":2,"skip_first_wait":true}}`), []byte("rstopt"))
	f.Fuzz(func(t *testing.T, conditions, events []byte) {
		var c Conditions
		if json.Unmarshal(conditions, &c) != nil || c.Check() != nil {
			return
		}
		now := start
		s := New(c, now)
		for _, event := range events {
			switch event {
			case 's':
				s.Step(false)
			case 'o':
				s.Step(true)
			case 'a':
				s.SetAction(Action(event % 4))
			case 'p':
				s.Pause()
			case 'r':
				s.Resume()
			case 'g':
				s.SetGate(!s.GateOpen())
			default:
				now = now.Add(time.Duration(event) * time.Second / 16)
			}
			if s.Open(now) && (s.Paused() || c.Gate != "" && !s.GateOpen() || now.Before(start.Add(seconds(c.Delay))) || s.action() < Record) {
				t.Errorf("%s: a window is open after %q", conditions, events)
			}
			if next, ok := s.Next(now); ok && next.Before(now) && !s.Open(now) && s.Open(next) {
				t.Errorf("%s: a window was to open in the past after %q", conditions, events)
			}
			if s.WhyClosed(now) == "" {
				t.Error("no reason is given")
			}
		}
		if c.Schedule != nil {
			if first := c.Schedule.First(); c.Schedule.Action(first) < Record || first > 0 && c.Schedule.Action(first-1) >= Record {
				t.Errorf("%s: step %d is not the first to be recorded", conditions, first)
			}
		}
	})
}
