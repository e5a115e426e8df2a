package profiler

import (
	"maps"
	"slices"
	"time"

	"github.com/goproton/goproton/internal/hotpath"
	"github.com/goproton/goproton/profiler/aggregate"
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

// periodicPhases lists the phases that could be written, in order. Call with mu held.
func (m *Manager) periodicPhases() (list []phaseOf) {
	for _, s := range m.sessions {
		if s.periodic == "" || s.name == "" || s.name == "-" {
			continue
		}
		for _, phase := range slices.Sorted(maps.Keys(s.trees)) {
			if phase < s.phase {
				list = append(list, phaseOf{s, phase})
			}
		}
	}
	return list
}

// writeComplete writes and clears a phase if nothing can be added to it any more. Only the writing of a tree is done
// without the lock: somebody may finalize the session meanwhile.
func (m *Manager) writeComplete(s *session, phase int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := s.trees[phase]
	if t == nil || m.resolver.Waits(func(set uint32) bool { return m.agg.Sets.Has(set, t) }) && time.Since(s.advanced) < phasePatience {
		return nil
	}
	path := s.path(phase, s.periodic)
	if err := m.writeNow(s, t, path); err != nil {
		return err
	}
	if s.trees[phase] == t {
		m.drop(s, phase)
		s.written = append(s.written, path)
	}
	return nil
}

func (m *Manager) writeNow(s *session, t *aggregate.Tree, path string) error {
	if s.trace {
		return m.writeTrace(s, t, path, hotpath.Now(), true)
	}
	p := m.freeze(s, t)
	m.mu.Unlock()
	defer m.mu.Lock()
	return writeTree(path, s.periodic, p)
}
