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

// writeComplete writes a trace, or hands a tree to its sinks, and clears the phase, if nothing can be added to it any more.
func (m *Manager) writeComplete(s *session, phase int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := s.trees[phase]
	if t == nil || m.expectsMore(s, t) {
		return nil
	}
	if s.trace {
		if err := m.writeTrace(s, t, s.path(phase, s.format), hotpath.Now(), true); err != nil {
			return err
		}
	} else {
		s.handOver(s.window(phase, s.format), m.freeze(s, t))
	}
	m.drop(s, phase)
	s.written.add(phase, s.stem(), s.format)
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
