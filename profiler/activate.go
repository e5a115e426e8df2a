package profiler

import (
	"time"

	"github.com/goproton/goproton/hotpath"
)

// Activate resumes a session, or all of them. Activating an active session changes nothing.
func (m *Manager) Activate(id *int) error { return m.setActive(id, true) }

// Deactivate pauses a session, or all of them; what was recorded stays. With flush, everything that was
// launched so far is waited for and counted first.
func (m *Manager) Deactivate(id *int, flush bool) error {
	if err := m.setActive(id, false); err != nil || !flush {
		return err
	}
	m.control.Lock()
	defer m.control.Unlock()
	m.flush()
	return nil
}

func (m *Manager) setActive(id *int, on bool) error {
	m.control.Lock()
	defer m.control.Unlock()
	var err error
	refused := m.change(func(d *drainer) error {
		var selected []*session
		selected, err = d.selected(id)
		for _, s := range selected {
			if s.active && !on {
				s.paused = time.Now()
			}
			s.active = on
		}
		return err
	}, func() bool { return err == nil })
	m.drainer.do(func(d *drainer) {
		if !on && refused == nil && !d.records() && !d.spending.resting() && m.restsSince.Load() == 0 && d.mayLeave(m) {
			m.restsSince.Store(int64(hotpath.Now()))
		}
	})
	return refused
}

// restsFor is how long all sessions are inactive until the vendor's library is left: programs activate and deactivate in loops, and to return
// takes 10 ms.
const restsFor = 300 * time.Millisecond

// leaveWhenIdle leaves the vendor's library if no session has been active for a while. A round calls it.
func (m *Manager) leaveWhenIdle() {
	since := m.restsSince.Load()
	if since <= 0 || int64(hotpath.Now())-since < int64(restsFor) || !m.control.TryLock() {
		return
	}
	defer m.control.Unlock()
	if !ask(m.drainer, func(d *drainer) bool { return !d.records() && d.mayLeave(m) && hotpath.BuffersInUse() == 0 }) {
		m.ending.inLibrary(func() { m.drainer.source.Flush(false) }) // the next round looks again
		return
	}
	m.ending.inLibrary(func() {
		if left, _ := m.drainer.source.(Leaver).Leave(); left {
			m.restsSince.CompareAndSwap(since, -1)
		} else {
			m.restsSince.Store(int64(hotpath.Now()) + int64(10*time.Second)) // the program launches nothing, or it is not safe
		}
	})
}

// change has the drainer change which sessions record, and publishes that if it is to. Timelines of sessions that no longer record
// end what is open on them. Its caller holds control.
func (m *Manager) change(f func(*drainer) error, publish func() bool) error {
	var stopped []*session // whose timelines have frames that are open
	var err error
	m.drainer.do(func(d *drainer) {
		var before []*session
		for _, s := range d.list {
			if s.timeline && s.records() {
				before = append(before, s)
			}
		}
		err = f(d)
		for _, s := range before {
			if !s.records() {
				stopped = append(stopped, s)
			}
		}
	})
	if err != nil || !publish() {
		return err
	}
	err = m.publish()
	if stopped != nil {
		m.drainer.do(func(*drainer) {
			for _, s := range stopped {
				s.trees[s.phase].Timeline.Cut(hotpath.Now())
			}
		})
	}
	return err
}
