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
	return refused
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
