package profiler

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
	"github.com/goproton/goproton/profile/msgpack"
	"github.com/goproton/goproton/profiler/aggregate"
	"github.com/goproton/goproton/profiler/callpath"
)

// Data returns what a session's phase holds so far, as the compact form of the .hatchet format. It does
// not flush: deactivate with flushing first to have everything.
func (m *Manager) Data(id, phase int) ([]byte, error) {
	p, err := m.Profile(id, phase)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = hatchet.Compact(&out, p)
	return out.Bytes(), err
}

// DataMsgpack is Data in the .hatchet_msgpack format.
func (m *Manager) DataMsgpack(id, phase int) ([]byte, error) {
	p, err := m.Profile(id, phase)
	if err != nil {
		return nil, err
	}
	return msgpack.Encode(p), nil
}

// ErrTimeline is returned where a session with a timeline is asked for its tree. The text is upstream's.
var ErrTimeline = errors.New("[PROTON] Only TreeData is supported for getData() for now")

// Profile returns what a session's phase holds so far. It does not flush.
func (m *Manager) Profile(id, phase int) (p *profile.Profile, err error) {
	var images *images
	err = m.of(id, func(d *drainer, s *session) (err error) {
		images = d.images
		p, err = d.snapshot(s, phase)
		return err
	})
	if err == nil && p.Sampling != nil {
		images.describe(p)
	}
	return p, err
}

// Current is Profile of the current phase, without lines of instruction samples.
func (m *Manager) Current(id int) (p *profile.Profile, err error) {
	err = m.of(id, func(d *drainer, s *session) (err error) {
		p, err = d.snapshot(s, s.phase)
		return err
	})
	return p, err
}

func (d *drainer) snapshot(s *session, phase int) (*profile.Profile, error) {
	if s.timeline {
		return nil, ErrTimeline
	}
	t := s.trees[phase]
	if t == nil {
		return nil, &SessionError{fmt.Sprintf("Phase %d has no data.", phase)}
	}
	p, devices := d.agg.FreezeSoFar(t, d.backend.DeviceType)
	return d.complete(s, p, devices), nil
}

// AdvancePhase begins the next phase and returns its number. Kernels launched before stay in the old one.
func (m *Manager) AdvancePhase(id int) (phase int, err error) {
	m.control.Lock()
	defer m.control.Unlock()
	err = m.of(id, func(d *drainer, s *session) error {
		d.nextPhase(s)
		phase = s.phase
		return nil
	})
	if err != nil {
		return 0, err
	}
	return phase, m.publish()
}

// nextPhase ends the current phase of a session and begins the next.
func (d *drainer) nextPhase(s *session) {
	before := s.trees[s.phase]
	s.over[s.phase] = time.Now()
	s.phase++
	d.continueIn(s, before)
}

// continueIn begins the session's current phase; what is open on a timeline goes on in it.
func (d *drainer) continueIn(s *session, before *aggregate.Tree) {
	now := hotpath.Now()
	t := d.newTree(s, now)
	if t.Timeline != nil {
		t.Timeline.Continue(before.Timeline, now)
	}
}

// PhaseComplete reports whether nothing can be added to a phase any more: a later one was begun, and a
// flush came after that.
func (m *Manager) PhaseComplete(id, phase int) (complete bool, err error) {
	err = m.of(id, func(_ *drainer, s *session) error {
		complete = phase < s.flushed
		return nil
	})
	return complete, err
}

// ClearPhase drops what a phase (or every phase up to it) holds. The current phase starts over empty.
func (m *Manager) ClearPhase(id, phase int, upTo bool) error {
	m.control.Lock()
	defer m.control.Unlock()
	err := m.of(id, func(d *drainer, s *session) error {
		d.clear(s, func(n int) bool { return n == phase || upTo && n < phase })
		return nil
	})
	if err != nil {
		return err
	}
	return m.publish()
}

func (d *drainer) clear(s *session, cleared func(phase int) bool) {
	current := s.trees[s.phase]
	for n, t := range s.trees {
		if cleared(n) {
			d.takeDelta(s, t, s.intervals)
			d.drop(s, n)
		}
	}
	if s.periodic == "" { // else parts are what was asked for
		s.written.remove(cleared)
	}
	if s.trees[s.phase] == nil {
		d.continueIn(s, current)
	}
}

// Depth returns how many frames a call path has for a session: its scopes, or its Python frames.
func (m *Manager) Depth(id int, node, pynode uint32) (depth int, err error) {
	err = m.of(id, func(d *drainer, s *session) error {
		if s.python {
			node = pynode
		}
		for nodes := hotpath.Nodes(); node != 0 && int(node) < len(nodes); node = nodes[node].Parent {
			if d.agg.Sets.Sees(nodes[node].Set, s.id) {
				depth++
			}
		}
		return nil
	})
	return depth, err
}

// AddVector adds a vector metric at a place that the hot path named.
func (m *Manager) AddVector(node, pynode, set uint32, name string, values []float64, whole bool) error {
	return m.addMetric(node, pynode, set, name, aggregate.VectorMetric(values, whole))
}

// AddText adds a metric that is a text.
func (m *Manager) AddText(node, pynode, set uint32, name, text string) error {
	return m.addMetric(node, pynode, set, name, aggregate.TextMetric(text))
}

func (m *Manager) addMetric(node, pynode, set uint32, name string, v aggregate.Metric) (err error) {
	place := callpath.Place{Set: set, Node: node, PyNode: pynode}
	m.drainer.do(func(d *drainer) {
		for _, s := range d.list {
			for _, t := range s.trees {
				switch {
				case err != nil || !d.agg.Sets.Has(set, t):
				case t.Timeline != nil:
					t.Timeline.AddMetric(node, name, v)
				default:
					err = t.AddMetric(place, name, v)
				}
			}
		}
	})
	if err != nil {
		return &ArgumentError{err.Error()}
	}
	return nil
}
