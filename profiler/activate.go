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
	var stopped []*session // whose timelines have frames that are open
	var err error
	m.drainer.do(func(d *drainer) {
		var selected []*session
		selected, err = d.selected(id)
		for _, s := range selected {
			if s.active && !on && s.trace {
				stopped = append(stopped, s)
			}
			s.active = on
		}
	})
	if err != nil {
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
