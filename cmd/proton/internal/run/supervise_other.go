//go:build !linux

package run

import "errors"

// supervise refuses: GPU libraries load the runtime into a program on Linux only.
func supervise(Command, []string, func() func() bool) (Result, error) {
	return Result{}, errors.New("profiling a program needs Linux")
}

// DieBy is for targets that a signal ended; without supervise there are none.
func DieBy(int) {}

// Continue is for processes of supervise.
func Continue(string) int { return 2 }

// forCheckpoints is for processes of supervise.
func forCheckpoints(string) func() func() bool { return nil }

// lives is for processes of a target; without supervise there are none.
func lives(int) bool { return false }
