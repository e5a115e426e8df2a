package profiler

import (
	"time"
)

// phasePatience is how long a phase is waited for whose launches do not all bring a kernel: some fail.
const phasePatience = 30 * time.Second

// writePhases writes the phases of sessions with periodic flushing whose activities have all arrived, and clears them;
// and has traces on disk up to now.
func (d *drainer) writePhases() {
	if time.Since(d.phases) < phasesEvery {
		return
	}
	d.phases = time.Now()
	m := d.m
	m.mu.Lock()
	m.flushTraces()
	waiting := m.periodicPhases()
	if waiting != nil {
		m.resolver.Mark() // graph launches that brought nothing between two marks are done
	}
	m.mu.Unlock()
	if waiting == nil {
		return
	}
	m.Collect()
	for _, p := range waiting {
		if err := m.writeComplete(p.s, p.phase); err != nil {
			m.mu.Lock()
			m.problemOnce(err.Error())
			m.mu.Unlock()
		}
	}
}

type phaseOf struct {
	s     *session
	phase int
}

// periodicPhases lists the phases that could be written. Call with mu held.
func (m *Manager) periodicPhases() (list []phaseOf) {
	for _, s := range m.sessions {
		if s.periodic == "" || s.name == "" || s.name == "-" {
			continue
		}
		for phase := range s.trees {
			if phase < s.phase {
				list = append(list, phaseOf{s, phase})
			}
		}
	}
	return list
}

// writeComplete writes and clears a phase if nothing can be added to it any more.
func (m *Manager) writeComplete(s *session, phase int) error {
	m.mu.Lock()
	t := s.trees[phase]
	complete := t != nil && (!m.resolver.Waits(func(set uint32) bool { return m.agg.Sets.Has(set, t) }) || time.Since(s.advanced) > phasePatience)
	m.mu.Unlock()
	if !complete {
		return nil
	}
	path, err := m.writePhase(s, phase, s.periodic, true)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.trees[phase] == t && path != "" {
		m.drop(s, phase)
		s.written = append(s.written, path)
	}
	return nil
}
