package control

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/internal/procstat"
	"github.com/goproton/goproton/internal/settings"
)

// Patience is how long the end of a process waits for a GPU that makes no progress. A GPU that makes progress is waited for as
// long as it takes, since what the program launched belongs into the profile. A long kernel cannot be distinguished from one
// that hangs, so users can set the patience.
func Patience() time.Duration { return settings.ExitPatience.Seconds(os.Getenv) }

// AtExit writes what unfinished sessions have when the process ends. A GPU library that hangs must not hang the exit: after patience
// without progress, what has been drained is written instead, and the error says so. sourceGone says that the GPU library may
// have been torn down already. What cannot be written is an error of the first call only.
func (s *Service) AtExit(sourceGone bool, patience time.Duration) error {
	if s.gaveUp {
		return nil // a process has two exit handlers, and Python one of its own
	}
	ended := s.leave(patience, sourceGone, func() error {
		s.endRun()
		_, err := s.Manager.Finalize(nil, "")
		s.writeCounters(true)
		if s.run == nil { // else `proton run` says it, from the status file
			return err
		}
		return nil
	})
	if s.failed && !s.gaveUp {
		return nil // said by the first handler
	}
	s.failed = ended != nil
	return ended
}

// GaveUp reports whether an exit did not wait for the GPU library any longer: its threads may hold any lock.
func (s *Service) GaveUp() bool { return s.gaveUp }

// leave ends sessions at the end of the process. Where that takes too long, what has been drained is written.
func (s *Service) leave(patience time.Duration, sourceGone bool, end func() error) error {
	err := s.patiently(patience, func() error {
		if sourceGone {
			s.Manager.SourceGone()
		}
		s.Manager.Ending()
		return end()
	})
	if err != errImpatient && err != errInterrupted {
		return err
	}
	s.gaveUp = true
	_, onGPU := s.Manager.Progress()
	why := s.whyLeft(err, onGPU, patience)
	ownfile.Abandon() // what is half written, and shall not stay
	defer ownfile.Abandon()
	if onGPU {
		briefly(func() error { s.Manager.Collect(); return nil }) // what has come since the GPU was last asked about
	}
	unsaid, ok := briefly(func() error { return s.writeDrained(why) })
	if !ok { // what hangs may hold the lock that this needs
		return fmt.Errorf("%s; the profile is that of the last checkpoint, if there is one", why)
	}
	return unsaid
}

// briefly runs f, which takes long only if something hangs, or if much is to be written.
func briefly(f func() error) (err error, ok bool) {
	done, progress := make(chan error, 1), writingMoves()
	go guarded(f, done)
	return receive(done, 5*time.Second, progress)
}

// whyLeft says what was not waited for, and what to do where that was too early.
func (s *Service) whyLeft(err error, onGPU bool, patience time.Duration) string {
	_, writing := ownfile.Progress()
	switch {
	case err == errInterrupted && onGPU:
		return "the wait for the GPU at exit was interrupted"
	case err == errInterrupted:
		return "writing the profile at exit was interrupted"
	case onGPU:
		return fmt.Sprintf("the GPU finished nothing within %v at exit: if a kernel takes longer than that, set %s to more seconds", patience, settings.ExitPatience.Name)
	case s.Manager.InLibrary():
		return fmt.Sprintf("the GPU library did not answer within %v at exit", patience)
	case writing:
		return fmt.Sprintf("writing the profile made no progress within %v at exit", patience)
	}
	return fmt.Sprintf("the profile could not be completed within %v at exit", patience)
}

// writingMoves returns what says whether files have grown since it was last asked.
func writingMoves() func() bool {
	last, _ := ownfile.Progress()
	return func() bool {
		now, _ := ownfile.Progress()
		moved := now != last
		last = now
		return moved
	}
}

// writeDrained writes what there is, and reports to `proton run` why that is all. Without it, the error says so.
func (s *Service) writeDrained(why string) error {
	s.takeDeltas(true)
	files, err := s.Manager.WriteDrained()
	cause := fmt.Errorf("%s; the profile holds what had arrived by then", why)
	if err != nil {
		cause = fmt.Errorf("%s: %w", why, err)
	}
	if s.run == nil || s.run.config.Status == "" {
		return cause
	}
	s.run.wrote(files, err)
	return s.writeStatus(s.Manager.Status(), cause, true)
}

var (
	errImpatient   = errors.New("it takes too long")
	errInterrupted = errors.New("Ctrl-C was pressed")
)

// receive is what a test replaces that knows when something hangs.
var receive = procstat.ReceiveWhile[error]

// patiently runs f until nothing has made progress for the given time, or the user interrupts it.
func (s *Service) patiently(patience time.Duration, f func() error) error {
	done, over := make(chan error, 2), make(chan struct{})
	defer close(over)
	progress := s.progress() // from before f begins
	go guarded(f, done)
	go s.untilInterrupted(done, over)
	if err, ok := receive(done, patience, progress); ok {
		return err
	}
	return errImpatient
}

// guarded runs f. A panic in it is an error.
func guarded(f func() error, done chan<- error) {
	defer func() {
		if r := recover(); r != nil {
			done <- fmt.Errorf("BUG: %v; please report this", r)
		}
	}()
	done <- f()
}

// progress returns what says whether the GPU or a file has made progress since it was last asked.
func (s *Service) progress() func() bool {
	last, _ := s.Manager.Progress()
	var asking atomic.Bool
	writing := writingMoves()
	return func() bool {
		moves, onGPU := s.Manager.Progress()
		if onGPU && asking.CompareAndSwap(false, true) {
			go func() { // by itself CUPTI hands over only buffers that are full; and it may hang, too
				s.Manager.Collect()
				asking.Store(false)
			}()
		}
		moved := moves != last
		last = moves
		return writing() || moved
	}
}

// quiet is how long an exit may take without a word, while this process runs: that it was stopped is not news.
var quiet = 2 * time.Second

// untilInterrupted says what an exit waits for when it takes long, and lets Ctrl-C end the wait from then on: before, the
// signal is the program's.
func (s *Service) untilInterrupted(done chan<- error, over <-chan struct{}) {
	if _, ended := procstat.Receive(over, quiet); ended {
		return
	}
	what := "the profile is being written"
	if _, onGPU := s.Manager.Progress(); onGPU {
		what = "waiting for the GPU to finish what the program launched"
	}
	if signal.Ignored(os.Interrupt) {
		s.Say(what)
		return
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	defer signal.Stop(signals)
	s.Say(what + "; Ctrl-C ends that")
	select {
	case <-signals:
		done <- errInterrupted
	case <-over:
	}
}
