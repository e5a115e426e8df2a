//go:build !linux

package run

import "errors"

// Supervise refuses: GPU libraries load the runtime into a program on Linux only.
func Supervise(Command, []string, func() func() bool) (Result, error) {
	return Result{}, errors.New("profiling a program needs Linux")
}

// DieBy is for targets that a signal ended; without Supervise there are none.
func DieBy(int) {}

// Continue is for processes of Supervise.
func Continue(string) int { return 2 }

// forCheckpoints is for processes of Supervise.
func forCheckpoints(string) func() func() bool { return nil }

// Lives is for processes of a target; without Supervise there are none.
func Lives(int) bool { return false }
