package when

import (
	"math"
	"strings"
	"testing"
	"time"
)

// letters writes the actions of the first steps: . none, w warmup, r record, L record and end the window.
func letters(s Schedule, steps int) string {
	var b strings.Builder
	for step := range steps {
		b.WriteByte(".wrL"[s.Action(step)])
	}
	return b.String()
}

// The tables are worked out by hand from the rule in torch.profiler.schedule's documentation. hooks/python/gpu_tests compares with
// torch itself.
func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		schedule Schedule
		want     string
		first    int
	}{
		{Schedule{Wait: 1, Warmup: 1, Active: 3, Repeat: 2}, ".wrrL.wrrL......", 2},
		{Schedule{Wait: 1, Warmup: 1, Active: 1}, ".wL.wL.wL", 2},
		{Schedule{Active: 1}, "LLLL", 0},
		{Schedule{Active: 3, Repeat: 2}, "rrLrrL...", 0},
		{Schedule{SkipFirst: 2, Wait: 1, Active: 2, Repeat: 1}, "...rL...", 3},
		{Schedule{SkipFirst: 2, Wait: 3, Active: 2, SkipFirstWait: true}, "..rL...rL...", 2},
		{Schedule{Wait: 2, Warmup: 1, Active: 2, SkipFirstWait: true, Repeat: 1}, "wrL....", 1},
		{*Every(4, 2), "..rL..rL", 2},
		{*Every(3, 3), "rrLrrL", 0},
		{*Every(5, 1), "....L....L", 4},
		{Schedule{Wait: 2, Active: math.MaxInt}, "..rrrrrr", 2}, // for ever
		{Schedule{Wait: math.MaxInt, Warmup: math.MaxInt, Active: 2}, "....", math.MaxInt / 4 * 2},
		{Schedule{SkipFirst: 1, Wait: math.MaxInt, Warmup: 1, Active: 2, SkipFirstWait: true}, ".wrL....", 2},
	} {
		if got := letters(c.schedule, len(c.want)); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.schedule, got, c.want)
		}
		if first := c.schedule.First(); first != c.first || c.schedule.Action(first) < Record || first > 0 && c.schedule.Action(first-1) >= Record {
			t.Errorf("%+v: the first recorded step is %d, want %d", c.schedule, first, c.first)
		}
	}
}

func TestConditionsThatCannotBe(t *testing.T) {
	for _, c := range []Conditions{
		{Delay: -1}, {Duration: -0.5}, {Delay: 1e300}, {Delay: math.MaxInt64 / 1e9}, {Duration: math.NaN()}, {Schedule: &Schedule{}}, {Schedule: &Schedule{Wait: -1, Active: 1}},
		{Schedule: &Schedule{Active: 1, Repeat: -1}}, {Schedule: &Schedule{Active: 1, SkipFirst: -1}}, {Schedule: &Schedule{Active: 1, Warmup: -1}},
	} {
		if c.Check() == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	if err := (&Conditions{Delay: 1, Duration: 2, Schedule: Every(2, 1), Gate: "g"}).Check(); err != nil {
		t.Error(err)
	}
}

var start = time.Unix(1000, 0)

func after(s float64) time.Time { return start.Add(seconds(s)) }

func TestTimes(t *testing.T) {
	s := New(Conditions{Delay: 3, Duration: 2}, start)
	for _, c := range []struct {
		at   float64
		open bool
		next float64 // 0: never
	}{{0, false, 3}, {2.9, false, 3}, {3, true, 5}, {4.9, true, 5}, {5, false, 0}, {100, false, 0}} {
		open := s.Open(after(c.at))
		next, ok := s.Next(after(c.at))
		if open != c.open || ok != (c.next != 0) || ok && !next.Equal(after(c.next)) {
			t.Errorf("after %v s: open %v, next %v %v; want %v, %v", c.at, open, next.Sub(start), ok, c.open, c.next)
		}
	}
}

// A duration begins with the first window, whenever a user asks for it, and again when they ask again.
func TestDurationFromTheFirstWindow(t *testing.T) {
	s := New(Conditions{Duration: 2, Paused: true}, start)
	if s.Open(after(50)) {
		t.Error("it records while it is paused")
	}
	s.Resume()
	if !s.Open(after(60)) || !s.Open(after(61.9)) || s.Open(after(62)) || s.Open(after(63)) {
		t.Error("want a window from 60 s to 62 s")
	}
	if s.Resume(); !s.Open(after(70)) || s.Open(after(72)) {
		t.Error("want a second window from 70 s to 72 s")
	}
}

func TestAllConditionsTogether(t *testing.T) {
	s := New(Conditions{Delay: 1, Schedule: Every(2, 1), Gate: "g"}, start)
	s.Step(false)
	s.SetGate(true)
	if s.Open(start) || !s.Open(after(1)) {
		t.Error("the delay is left out")
	}
	s.SetGate(false)
	if s.Open(after(1)) {
		t.Error("the gate is left out")
	}
	s.SetGate(true)
	s.Pause()
	if s.Open(after(1)) || !s.Paused() {
		t.Error("the pause is left out")
	}
	s.Resume()
	s.Step(false)
	if s.Open(after(1)) {
		t.Error("the step is left out")
	}
}

// A step reports when a window may open or close: the caller looks only then.
func TestStepsThatMove(t *testing.T) {
	s := New(Conditions{Schedule: &Schedule{Wait: 1, Warmup: 1, Active: 2, Repeat: 1}}, start)
	var moved []int
	for step := 1; step <= 6; step++ {
		if s.Step(false) {
			moved = append(moved, step)
		}
	}
	if len(moved) != 2 || moved[0] != 2 || moved[1] != 4 {
		t.Errorf("it moved at %v, want 2 and 4", moved)
	}
	s = New(Conditions{Schedule: &Schedule{Active: 2}}, start)
	if s.Step(false) || !s.Step(false) || s.Breaks() != 1 || s.Step(false) {
		t.Error("windows that follow each other are one")
	}
}

// An optimizer's steps count until the program counts for itself; its first step is the optimizer's last one.
func TestOptimizerSteps(t *testing.T) {
	s := New(Conditions{Schedule: Every(2, 1)}, start)
	for _, optimizer := range []bool{true, true, false, true, false} {
		s.Step(optimizer)
	}
	if s.Steps() != 3 {
		t.Errorf("counted %d steps, want 3", s.Steps())
	}
	if s = New(Conditions{Schedule: Every(2, 1)}, start); true {
		s.Step(false)
		s.Step(true)
	}
	if s.Steps() != 1 {
		t.Errorf("counted %d steps, want 1", s.Steps())
	}
}

func TestWhyClosed(t *testing.T) {
	for want, c := range map[string]Conditions{
		"proton ctl PID start":      {Paused: true},
		"after 30 s":                {Delay: 30},
		"made no step":              {Schedule: Every(100, 1)},
		"did not call":              {Gate: ProfilerAPI},
		"recorded none of them":     {ByCaller: true},
		"at the same time":          {},
		"no NVTX range named \"f\"": {Gate: "f"},
	} {
		if got := New(c, start).WhyClosed(after(2)); !strings.Contains(got, want) {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
	s := New(Conditions{Schedule: Every(100, 1)}, start)
	s.Step(false)
	if got := s.WhyClosed(start); got != "the program made 1 step, and step 99 is the first to be recorded, counted from 0" {
		t.Error(got)
	}
}
