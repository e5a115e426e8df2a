package control

import (
	"fmt"
	"time"

	"github.com/goproton/goproton/internal/awake"
)

// AtExit writes what unfinished sessions have when the process ends. A GPU library that hangs must not hang the
// exit: after the given patience, what has been drained is written instead, and the error says so. sourceGone
// tells that the GPU library may have been torn down already. What cannot be written is an error, once.
func (s *Service) AtExit(sourceGone bool, patience time.Duration) error {
	if s.gaveUp {
		return nil // a process has two exit handlers
	}
	ended := within(patience, func() error {
		if sourceGone {
			s.Manager.SourceGone()
		}
		if s.run != nil {
			s.runEnd(nil)
		}
		if _, err := s.Manager.Finalize(nil, ""); s.run == nil { // else `proton run` says it, from the status file
			return err
		}
		return nil
	})
	if ended != errImpatient {
		if s.failed {
			return nil // said by the first handler
		}
		s.failed = ended != nil
		return ended
	}
	s.gaveUp = true
	// What hangs may hold the lock that this needs.
	err := within(patience/2, func() error {
		_, err := s.Manager.WriteDrained()
		return err
	})
	switch err {
	case nil:
		return fmt.Errorf("the GPU library did not answer within %v at exit; the profile holds what had arrived by then", patience)
	case errImpatient:
		return fmt.Errorf("the GPU library did not answer within %v at exit; the profile is what the last checkpoint left, if anything", patience)
	}
	return fmt.Errorf("the GPU library did not answer within %v at exit: %w", patience, err)
}

// GaveUp tells whether an exit did not wait for the GPU library any longer: its threads may hold any lock.
func (s *Service) GaveUp() bool { return s.gaveUp }

var errImpatient = fmt.Errorf("it takes too long")

// receive is what a test replaces that knows when something hangs.
var receive = awake.Receive[error]

// within runs f for as long as there is patience. A panic in f is an error.
func within(patience time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- fmt.Errorf("BUG: %v; please report this", r)
			}
		}()
		done <- f()
	}()
	if err, ok := receive(done, patience); ok {
		return err
	}
	return errImpatient
}
