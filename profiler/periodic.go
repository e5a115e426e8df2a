package profiler

import (
	"maps"
	"slices"
	"time"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profiler/aggregate"
)

// phasePatience is how long a phase is waited for whose launches do not all bring a kernel: some fail.
const phasePatience = 30 * time.Second

// writePhases writes and clears the phases of sessions with periodic flushing whose activities have all arrived, and has timelines
// on disk up to now. The complete phases of a timeline are cleared, too, because each open one holds a file and a buffer of 256
// KiB.
func (r *rounds) writePhases() {
	if time.Since(r.phases) < phasesEvery {
		return
	}
	r.phases = time.Now()
	waiting := ask(r.m.drainer, (*drainer).phasesToWrite)
	if waiting == nil {
		return
	}
	r.m.Collect()
	for _, p := range waiting {
		r.m.drainer.do(func(d *drainer) {
			if p.s.mustWait() {
				r.phases = time.Now().Add(roomEvery - phasesEvery)
				return
			}
			if err := d.writeComplete(p.s, p.phase); err != nil {
				d.problem(err.Error())
			}
		})
	}
}

const (
	roomEvery  = 100 * time.Millisecond // pause between two looks whether more files can be handed over
	phasesKept = 1000                   // phases of a session that may wait in memory for it
)

// mustWait reports whether a complete phase stays in memory, because more files wait to be written than their queue takes: a
// program may end hundreds of phases in a second. Phases that are recording windows wait without limit. Of other phases, at
// most phasesKept wait, so that a disk that takes no files does not fill the memory.
func (s *session) mustWait() bool {
	return s.files != nil && s.files.full() && (s.split || len(s.trees) <= phasesKept)
}

type phaseOf struct {
	s     *session
	phase int
}

// phasesToWrite flushes timelines and lists the phases that could be written, in order.
func (d *drainer) phasesToWrite() (list []phaseOf) {
	d.flushTimelines()
	for _, s := range d.list {
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
		d.resolver.Mark() // a graph launch that brought no activity between two marks is over
	}
	return list
}

// writeComplete writes a timeline, or hands a tree to its sinks, and clears the phase, if nothing can be added to it any more.
func (d *drainer) writeComplete(s *session, phase int) error {
	t := s.trees[phase]
	if t == nil || d.expectsMore(s, t) {
		return nil
	}
	if s.timeline {
		if err := d.writeTimeline(s, t, s.path(phase, s.format), hotpath.Now(), true); err != nil {
			return err
		}
	} else {
		d.takeDelta(s, t, s.intervals)
		s.handOver(s.window(phase, s.format), d.freeze(s, t))
	}
	d.drop(s, phase)
	s.written.add(phase, s.run(s.format))
	return nil
}

// expectsMore reports whether something may still come for a phase. With periodic flushing it says no after phasePatience.
func (d *drainer) expectsMore(s *session, t *aggregate.Tree) bool {
	if s.periodic != "" && time.Since(s.over[t.Phase]) >= phasePatience {
		return false
	}
	of := func(set uint32) bool { return d.agg.Sets.Has(set, t) }
	return t.Pending() || d.resolver.Waits(of) || slices.ContainsFunc(d.tensors.unread, func(u unread) bool { return of(u.at.Launch.Set) })
}
