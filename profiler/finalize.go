package profiler

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/aggregate"
)

// Finalize flushes, writes and ends a session, or all of them, and returns the files written. An unknown id does nothing. A
// session whose file cannot be written stays, so that a second call may succeed. A session with a timeline ends all the same:
// its file was written all along, and a second call would not add to it.
func (m *Manager) Finalize(id *int, format string) (files []string, err error) {
	m.control.Lock()
	defer m.control.Unlock()
	sessions, _ := m.selected(id) //nolint:errcheck // none: a second finalize does nothing
	formats, err := formatsFor(sessions, format)
	if err != nil || len(sessions) == 0 {
		return nil, err
	}
	m.flush()
	var failed error
	for i, s := range sessions {
		written, err := m.write(s, formats[i], true)
		err = errors.Join(s.deliver(), err) // only now: a round may hand over a phase until write has run
		files = append(files, s.there(written)...)
		failed = errors.Join(failed, err)
		if err == nil || s.timeline {
			s.handOverLast()
			m.end(s)
		}
	}
	m.endIfLast()
	return files, failed
}

// formatsFor finds the format of each session. If one session cannot be written as asked, none is, so that all can be tried
// again. Without any session the word is checked all the same.
func formatsFor(sessions []*session, wanted string) ([]string, error) {
	if len(sessions) == 0 {
		sessions = []*session{{timeline: strings.ToLower(wanted) == timelineFormat}}
	}
	var formats []string
	for _, s := range sessions {
		format, err := s.formatFor(wanted)
		if err != nil {
			return nil, err
		}
		formats = append(formats, format)
	}
	return formats, nil
}

// endIfLast stops everything once no session is left.
func (m *Manager) endIfLast() {
	if left, _ := m.selected(nil); len(left) == 0 { //nolint:errcheck // all are always there
		m.stopGovernor()
		m.stopRounds()
		m.detach()
	}
}

// end removes a session whose profile is written.
func (m *Manager) end(s *session) {
	m.drainer.do(func(d *drainer) {
		d.list = slices.DeleteFunc(d.list, func(x *session) bool { return x == s })
		for phase := range s.trees {
			d.drop(s, phase)
		}
		d.agg.Sets.End(s.id)
		d.endInside()
		d.endQueues(s)
	})
	s.recording.silence()
	m.listConditional()
	m.published()
}

// write writes every phase of a session that was not cleared. last says that the session ends with it.
func (m *Manager) write(s *session, format string, last bool) (files []string, err error) {
	for _, phase := range m.phases(s) {
		path, failed := m.writePhase(s, phase, format, last)
		err = errors.Join(err, failed)
		if failed == nil && path != "" {
			files = append(files, path)
		}
	}
	if last {
		m.drainer.do(func(*drainer) { s.handOverIntervals(time.Now(), s.intervals) })
	}
	return files, err
}

// writePhase writes one phase, if that has not been done, and returns its file, "" for standard output, or when the
// phase was cleared.
func (m *Manager) writePhase(s *session, phase int, format string, last bool) (path string, err error) {
	w, p, err := m.frozen(s, phase, format, last)
	if p == nil || err != nil {
		return w.path, err
	}
	if err := m.describe(s, p, w); err != nil {
		return w.path, err
	}
	if err := (fileSink{}).Write(context.Background(), w, p); err != nil {
		return w.path, err
	}
	if last {
		s.keepLast(w, p)
	}
	return w.path, nil
}

// frozen is the part of writePhase that only the drainer may do: it copies a tree into a profile, or writes the end of a timeline.
func (m *Manager) frozen(s *session, phase int, format string, last bool) (w Window, p *profile.Profile, err error) {
	m.drainer.do(func(d *drainer) {
		t := s.trees[phase]
		if t == nil {
			w.path = s.written.path(phase)
			return
		}
		w = s.window(phase, format)
		w.Last = last && phase == s.phase
		if s.timeline {
			err = d.writeTimeline(s, t, w.path, hotpath.Now(), last)
			return
		}
		p = d.freeze(s, t)
		if last {
			d.takeDelta(s, t, s.intervals)
		}
	})
	return w, p, err
}

func (m *Manager) phases(s *session) (phases []int) {
	m.drainer.do(func(*drainer) {
		phases = slices.Collect(maps.Keys(s.trees))
		s.written.each(func(n int, _ string) { phases = append(phases, n) })
	})
	slices.Sort(phases)
	return phases
}

// freeze copies a tree into a profile, with its devices and what was lost.
func (d *drainer) freeze(s *session, t *aggregate.Tree) *profile.Profile {
	d.spending.until(hotpath.Now())
	p, devices := d.agg.Freeze(t, d.backend.DeviceType)
	d.spending.until(0)
	return d.complete(s, p, devices)
}

// complete adds to a copied tree what the aggregator does not know.
func (d *drainer) complete(s *session, p *profile.Profile, devices []uint32) *profile.Profile {
	if d.sampler != nil {
		d.addFacts(p.Sampling)
	}
	p.Info = d.infoFor(s)
	for _, device := range devices {
		p.Devices = append(p.Devices, d.source.Device(device))
	}
	d.addLoss(p)
	if s.upstream && d.showsInside(s) {
		p.OnlyInside()
	}
	return p
}

// addLoss writes what was lost onto the <unattributed> frame: readers of the format ignore what they don't
// know, and a person looking at the tree sees it.
func (d *drainer) addLoss(p *profile.Profile) {
	l := d.lossNow()
	if l.Records+l.Buffers == 0 {
		return
	}
	n := p.Root.Made(aggregate.UnattributedFrame)
	n.Set(profile.LostRecordsMetric, profile.IntValue(int64(l.Records)))
	n.Set(profile.DroppedActivitiesMetric, profile.IntValue(int64(l.Buffers)))
	p.Kinds[profile.LostRecordsMetric], p.Kinds[profile.DroppedActivitiesMetric] = profile.Exclusive, profile.Exclusive
}

func (d *drainer) lossNow() Loss {
	l := d.loss
	l.Records = hotpath.Lost() - d.base.records
	// A record for which there was no buffer is one that the library dropped, and most libraries count it.
	l.Buffers = max(l.Buffers, hotpath.BuffersRefused()-d.base.refused)
	l.Unattributed, l.Untimed, l.Late = d.agg.Unattributed, d.agg.Untimed, d.agg.Late
	return l
}
