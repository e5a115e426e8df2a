package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/goproton/goproton/cmd/proton/internal/run"
	"github.com/goproton/goproton/internal/when"
)

// recordingFlags say when a run records.
type recordingFlags struct {
	conditions when.Conditions
	every, of  int // steps of a cycle, and of a window
	ctl        bool
}

func (f *recordingFlags) add(flags *pflag.FlagSet) {
	flags.Var(someSecondsFlag{(*secondsFlag)(&f.conditions.Delay)}, "delay", "begin to record after `TIME`: 30s, 5m, or a number of seconds")
	flags.Var(someSecondsFlag{(*secondsFlag)(&f.conditions.Duration)}, "duration", "end to record `TIME` after the first window began")
	flags.IntVar(&f.every, "every", 0, "record the last steps of each `N`, as many as --for says; a step ends with proton.step(), or with a step of torch's optimizers")
	flags.IntVar(&f.of, "for", 0, "record `M` steps of each --every")
	flags.StringVar(&f.conditions.Gate, "within", "", "record only while a scope or NVTX range of this `NAME` is open in any thread; "+when.ProfilerAPI+" stands for cudaProfilerStart and cudaProfilerStop")
	flags.BoolVar(&f.conditions.Paused, "paused", false, "begin without recording, and wait for proton ctl PID start; implies --ctl")
	flags.BoolVar(&f.ctl, "ctl", false, "let proton ctl of the same user start and stop recording, through a private socket")
	flags.BoolVar(&f.conditions.Split, "split", false, "write each window into a file of its own, NAME.window1 and so on")
}

// apply checks the flags and adds them to the options.
func (f *recordingFlags) apply(given func(string) bool, o *run.Options) error {
	if err := f.schedule(given); err != nil {
		return err
	}
	if given("within") && f.conditions.Gate == "" {
		return errors.New("--within '': give the name of a scope or NVTX range, or " + when.ProfilerAPI)
	}
	o.Ctl = f.ctl || f.conditions.Paused
	split := f.conditions
	split.Split = false
	if f.conditions.Split && split == (when.Conditions{}) && !o.Ctl {
		return errors.New("--split without windows: add --every and --for, --within, --delay or --ctl")
	}
	if f.conditions.Split && o.Name == "-" {
		return errors.New("--split writes several files: give a --name that is not standard output")
	}
	if f.conditions != (when.Conditions{}) || o.Ctl {
		o.When = &f.conditions
	}
	return nil
}

func (f *recordingFlags) schedule(given func(string) bool) error {
	switch {
	case !given("every") && !given("for"):
		return nil
	case !given("for"):
		return fmt.Errorf("--every %d without --for: add --for with the number of steps to record of each %d", f.every, f.every)
	case !given("every"):
		return fmt.Errorf("--for %d without --every: add --every with the number of steps from one window to the next", f.of)
	case f.every < 1 || f.of < 1:
		return fmt.Errorf("--every %d --for %d: give numbers of 1 or more", f.every, f.of)
	case f.of > f.every:
		return fmt.Errorf("--for %d is more than --every %d: give at most as many steps as there are from one window to the next", f.of, f.every)
	}
	f.conditions.Schedule = when.Every(f.every, f.of)
	return nil
}

// secondsFlag is a time on the command line, as Go writes one or as a number of seconds.
type secondsFlag float64

// String is the time as Set reads it.
func (s *secondsFlag) String() string {
	if *s == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*s), 'g', -1, 64)
}

// Set reads a time.
func (s *secondsFlag) Set(text string) error {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		d, wrong := time.ParseDuration(text)
		if wrong != nil {
			return errors.New("give a time such as 30s, 1.5m, 500ms, or a number of seconds")
		}
		seconds = d.Seconds()
	}
	if !(seconds >= 0 && seconds <= 1e9) { // false for NaN
		return errors.New("give a time between 0 and 30 years")
	}
	*s = secondsFlag(seconds)
	return nil
}

// Type is what pflag shows for a value without a name.
func (*secondsFlag) Type() string { return "time" }

// someSecondsFlag is such a time that is not 0, which would say nothing.
type someSecondsFlag struct{ *secondsFlag }

func (s someSecondsFlag) Set(text string) error {
	if err := s.secondsFlag.Set(text); err != nil {
		return err
	}
	if *s.secondsFlag == 0 {
		return errors.New("give a time above 0, or leave the flag out")
	}
	return nil
}
