package profiler

import "github.com/goproton/goproton/internal/hotpath"

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
	m.mu.Lock()
	defer m.mu.Unlock()
	sessions, err := m.selected(id)
	if err != nil {
		return err
	}
	var stopped []*session
	for _, s := range sessions {
		if s.active && !on && s.trace {
			stopped = append(stopped, s)
		}
		s.active = on
	}
	err = m.publish()
	m.cut(stopped)
	return err
}

// cut ends what is open on the timelines of sessions that just stopped listening. Call with mu held.
func (m *Manager) cut(sessions []*session) {
	if len(sessions) == 0 {
		return
	}
	m.drain()
	for _, s := range sessions {
		s.trees[s.phase].Timeline.Cut(hotpath.Now())
	}
}
