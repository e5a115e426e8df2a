package profiler

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/goproton/goproton/internal/hotpath"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
	"github.com/goproton/goproton/profile/msgpack"
	"github.com/goproton/goproton/profiler/aggregate"
	"github.com/goproton/goproton/profiler/callpath"
)

func (m *Manager) session(id int) (*session, error) {
	if s := m.find(id); s != nil {
		return s, nil
	}
	return nil, unknownSession(id)
}

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
func (m *Manager) Profile(id, phase int) (*profile.Profile, error) {
	p, images, err := m.snapshot(id, phase)
	if err == nil && p.Sampling != nil {
		images.describe(p)
	}
	return p, err
}

func (m *Manager) snapshot(id, phase int) (*profile.Profile, *images, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.session(id)
	if err != nil {
		return nil, nil, err
	}
	if s.trace {
		return nil, nil, ErrTimeline
	}
	t := s.trees[phase]
	if t == nil {
		return nil, nil, &SessionError{fmt.Sprintf("Phase %d has no data.", phase)}
	}
	m.drain()
	return m.freeze(s, t), m.images, nil
}

// AdvancePhase begins the next phase and returns its number. Kernels launched before stay in the old one.
func (m *Manager) AdvancePhase(id int) (int, error) {
	m.control.Lock()
	defer m.control.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.session(id)
	if err != nil {
		return 0, err
	}
	before := s.trees[s.phase]
	s.over[s.phase] = time.Now()
	s.phase++
	m.begin(s, before)
	return s.phase, m.publish()
}

// begin begins the session's current phase; what is open on a timeline goes on in it. Call with mu held.
func (m *Manager) begin(s *session, before *aggregate.Tree) {
	m.drain()
	now := hotpath.Now()
	t := m.newTree(s, now)
	if t.Timeline != nil {
		t.Timeline.Continue(before.Timeline, now)
	}
}

// PhaseComplete reports whether nothing can be added to a phase any more: a later one was begun, and a
// flush came after that.
func (m *Manager) PhaseComplete(id, phase int) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.session(id)
	if err != nil {
		return false, err
	}
	return phase < s.flushed, nil
}

// ClearPhase drops what a phase (or every phase up to it) holds. The current phase starts over empty.
func (m *Manager) ClearPhase(id, phase int, upTo bool) error {
	m.control.Lock()
	defer m.control.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.session(id)
	if err != nil {
		return err
	}
	current := s.trees[s.phase]
	cleared := func(n int) bool { return n == phase || upTo && n < phase }
	for n := range s.trees {
		if cleared(n) {
			m.drop(s, n)
		}
	}
	if s.periodic == "" { // else parts are what was asked for
		s.written.remove(cleared)
	}
	if s.trees[s.phase] == nil {
		m.begin(s, current)
	}
	return m.publish()
}

// Depth returns how many frames a call path has for a session: its scopes, or its Python frames.
func (m *Manager) Depth(id int, node, pynode uint32) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.session(id)
	if err != nil {
		return 0, err
	}
	if s.python {
		node = pynode
	}
	depth := 0
	for nodes := hotpath.Nodes(); node != 0 && int(node) < len(nodes); node = nodes[node].Parent {
		if m.agg.Sets.Sees(nodes[node].Set, s.id) {
			depth++
		}
	}
	return depth, nil
}

// AddVector adds a vector metric at a place that the hot path named.
func (m *Manager) AddVector(node, pynode, set uint32, name string, values []float64, whole bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		for _, t := range s.trees {
			if !m.agg.Sets.Has(set, t) {
				continue
			}
			if t.Timeline != nil {
				m.drain() // so that the scope is there
				t.Timeline.AddVector(node, name, values, whole)
				continue
			}
			if err := t.AddVector(callpath.Place{Set: set, Node: node, PyNode: pynode}, name, values, whole); err != nil {
				return &ArgumentError{err.Error()}
			}
		}
	}
	return nil
}
