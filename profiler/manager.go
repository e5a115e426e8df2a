// Package profiler runs sessions: start, activate, deactivate, finalize, phases. It connects a vendor's
// Source to the hot path, drains what the application's threads left in their rings, has callpath and
// aggregate add it up, and freezes profile.Profiles that a codec writes.
//
// Three parts share the work. A Manager carries out control calls, on the threads of their callers. A drainer owns sessions,
// trees and what fills them, and carries out one command at a time. Rounds are a goroutine that, while there are sessions, has
// the drainer drain every few milliseconds and does what is due more rarely: checkpoints, complete phases. Which of them calls
// the vendor's library, and under which lock, is in docs/lives/threads.md.
//
// Go programs use Start, Session, Scope, Add and Step (goapi.go), which are promised, see CONTRIBUTING.md; libproton drives a Manager
// for Python and everything else.
package profiler

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
)

// Manager owns all sessions of a process. Its methods may be called from any thread.
type Manager struct {
	control    sync.Mutex  // held by every public method that changes sessions: they come and go one at a time
	publishing sync.Mutex  // held by publish
	attaching  atomic.Bool // the drainer's command that runs attaches the source
	ending     ending
	drainer    *drainer
	rounds     *rounds       // nil while there is no session; guarded by control
	hang       *hangWatch    // nil unless the program is watched for a hang; guarded by control
	governor   *governor     // nil while no session has a budget; guarded by control
	listened   time.Duration // how long the last call of Source.Listen took; guarded by publishing

	restsSince atomic.Int64 // when sessions were deactivated and the library is to be left, in ns since 1970; -1: it was left; 0: neither

	withConditions atomic.Pointer[[]*session] // the sessions that have a recording

	EachRound func() // called in each round, for the process that it runs in; set before the first session
}

// NewManager returns a manager without sessions.
func NewManager() *Manager {
	m := &Manager{}
	m.drainer = newDrainer(&m.ending)
	return m
}

// publish sets the hot path and the source to what active sessions listen to now. Launches are recorded from before the source
// delivers kernels until after it stopped, so that a kernel without a launch is always a loss.
func (m *Manager) publish() error {
	m.publishing.Lock()
	defer m.publishing.Unlock()
	var w wanted
	m.drainer.do(func(d *drainer) {
		w = d.wanted()
		if m.ending.begun.Load() {
			w = wanted{attached: w.attached}
		}
		if w.activities != 0 {
			hotpath.SetActive(w.Listeners)
		}
		d.recordInside(w.inside)
	})
	mark, err := m.listen(w)
	if w.activities == 0 {
		m.drainer.do(func(*drainer) { hotpath.SetActive(w.Listeners) })
	}
	m.drainer.turn.Lock()
	defer m.drainer.turn.Unlock()
	m.drainer.sets.change(mark, m.drainer.newest, hotpath.Now(), w.LaunchSet)
	if w.LaunchSet != 0 {
		m.drainer.spending.began()
	}
	return err
}

// listen has the source listen to what is wanted, and returns its mark of the moment from which on it does.
func (m *Manager) listen(w wanted) (mark uint64, err error) {
	if !w.attached {
		return 0, nil
	}
	if w.activities != 0 {
		hotpath.PrepareBuffers(spareBuffers)
	}
	m.ending.inLibrary(func() {
		if leaver, ok := m.drainer.source.(Leaver); ok && w.activities != 0 && m.restsSince.Swap(0) != 0 {
			stalled, failed := leaver.Return()
			if failed != nil {
				m.restsSince.Store(-1)
				m.Problem(fmt.Errorf("kernels are not timed: %w", failed))
				return
			}
			m.drainer.do(func(d *drainer) {
				if t := d.spending.timed(); t != nil {
					t.stall(stalled)
				}
			})
		}
		if watcher, ok := m.drainer.source.(Watcher); ok {
			err = watcher.Watch(w.marks)
		}
		began := time.Now()
		err = errors.Join(err, m.drainer.source.Listen(w.activities, w.calls))
		m.listened = time.Since(began)
		mark = m.mark()
	})
	return mark, err
}

// mark returns the mark of the source, 0 if the source gives none.
func (m *Manager) mark() uint64 {
	if marker, ok := m.drainer.source.(Marker); ok {
		return marker.Mark()
	}
	return 0
}

// published calls publish and reports a refusal as a problem.
func (m *Manager) published() {
	if err := m.publish(); err != nil {
		m.Problem(err)
	}
}

// wanted is what active sessions listen to together.
type wanted struct {
	hotpath.Listeners
	activities, calls record.Kinds
	inside            bool // scopes inside kernels
	marks             record.Marks
	attached          bool // there is a source to listen to
}

// Problem notes, once, why sessions record less than was asked for.
func (m *Manager) Problem(err error) {
	m.drainer.do(func(d *drainer) { d.problem(err.Error()) })
}

// ArgumentError reports an argument that is not valid. Where upstream has a text for it, the text is upstream's, because
// scripts match it.
type ArgumentError struct{ Text string }

func (e *ArgumentError) Error() string { return "[PROTON] " + e.Text }

// SessionError reports a session or phase that does not exist.
type SessionError struct{ Text string }

func (e *SessionError) Error() string { return "[PROTON] " + e.Text }

// NotImplementedError reports something that upstream or a later version of ours has.
type NotImplementedError struct{ Text string }

func (e *NotImplementedError) Error() string { return e.Text }

func unknownSession(id int) error {
	return &SessionError{fmt.Sprintf("Session has not been initialized: %d", id)}
}
