package profiler

import (
	"maps"
	"os"
	"slices"
	"time"

	"github.com/goproton/goproton/internal/hotpath"
	"github.com/goproton/goproton/profiler/aggregate"
)

// phasePatience is how long a phase is waited for whose launches do not all bring a kernel: some fail.
const phasePatience = 30 * time.Second

// writePhases writes the phases of sessions with periodic flushing whose activities have all arrived, and clears them;
// and has traces on disk up to now. A trace, which is on disk anyway, keeps no complete phase open either: each has a
// file and a buffer of 256 KiB.
func (d *drainer) writePhases() {
	if time.Since(d.phases) < phasesEvery {
		return
	}
	d.phases = time.Now()
	m := d.m
	waiting := m.phasesToWrite()
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

// phasesToWrite flushes traces and lists the phases that could be written, in order.
func (m *Manager) phasesToWrite() (list []phaseOf) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flushTraces()
	for _, s := range m.sessions {
		if !s.streams() || s.name == "" || s.name == "-" {
			continue
		}
		for _, phase := range slices.Sorted(maps.Keys(s.trees)) {
			if phase < s.phase {
				list = append(list, phaseOf{s, phase})
			}
		}
	}
	if list != nil {
		m.resolver.Mark() // graph launches that brought nothing between two marks are done
	}
	return list
}

// writeComplete writes and clears a phase if nothing can be added to it any more. Only the writing of a tree is done
// without the lock: somebody may finalize the session meanwhile.
func (m *Manager) writeComplete(s *session, phase int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := s.trees[phase]
	if t == nil || m.expectsMore(s, t) {
		return nil
	}
	path := s.path(phase, s.format)
	if err := m.writeNow(s, t, path); err != nil {
		return err
	}
	if s.trees[phase] == t {
		m.drop(s, phase)
		s.written[phase] = path
	}
	return nil
}

// expectsMore reports whether something may still come for a phase. With periodic flushing it says no after phasePatience.
func (m *Manager) expectsMore(s *session, t *aggregate.Tree) bool {
	if s.periodic != "" && time.Since(s.over[t.Phase]) >= phasePatience {
		return false
	}
	m.agg.TakeSlots()
	return t.Pending() || m.resolver.Waits(func(set uint32) bool { return m.agg.Sets.Has(set, t) })
}

// forgetWritten removes the files of phases that were written before the program had to say.
func (s *session) forgetWritten(of func(phase int) bool) {
	for phase, path := range s.written {
		if of(phase) {
			os.Remove(path)
			delete(s.written, phase)
		}
	}
}

func (m *Manager) writeNow(s *session, t *aggregate.Tree, path string) error {
	if s.trace {
		return m.writeTrace(s, t, path, hotpath.Now(), true)
	}
	p := m.freeze(s, t)
	m.mu.Unlock()
	defer m.mu.Lock()
	return writeTree(path, s.format, p)
}
