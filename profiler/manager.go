// Package profiler runs sessions: start, activate, deactivate, finalize, phases. It connects a vendor's
// Source to the hot path, drains what the application's threads left in their rings, has callpath and
// aggregate add it up, and freezes profile.Profiles that a codec writes.
//
// Go programs use Start, Scope and Session; libproton drives a Manager for Python and everything else.
package profiler

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goproton/goproton/internal/hotpath"
	"github.com/goproton/goproton/profiler/aggregate"
	"github.com/goproton/goproton/profiler/callpath"
)

// Manager owns all sessions of a process. Its methods may be called from any thread.
type Manager struct {
	control   sync.Mutex  // held by every public method: sessions come and go one at a time
	attaching atomic.Bool // the source is being attached, with mu held

	mu          sync.Mutex // guards all below; the drainer takes it for each drain
	sessions    []*session
	nextID      int
	source      Source
	options     SourceOptions
	attached    bool
	gpuStarting bool // the program is initialising its GPU right now
	waiting     bool // attached by GPUStarts, when the program initialises its GPU
	problems    []string
	resolver    *callpath.Resolver
	sets        *aggregate.Sets
	agg         *aggregate.Aggregator
	lastSet     uint32 // newest launch set that was not empty
	loss        Loss
	base        lossBase
	draining    chan struct{} // closed to end the drainer; nil when none runs
	drained     chan struct{}

	firstWork  func()        // called by the drainer once, when something was launched
	checkpoint func()        // called by the drainer
	every      time.Duration // between checkpoints
}

// Loss counts what could not be recorded.
type Loss struct {
	Records      uint64 // launches, graph nodes and call paths that found no room in the rings and arenas
	Buffers      uint64 // activity records that the vendor library dropped, or buffers we could not give it
	Unattributed uint64 // kernels that were timed but whose launch is unknown
	Untimed      uint64 // kernels that were counted but not timed
}

type lossBase struct{ records, refused uint64 }

type session struct {
	id      int
	name    string
	python  bool
	active  bool
	phase   int
	trees   map[int]*aggregate.Tree
	flushed int // phases below this are complete
}

// NewManager returns a manager without sessions.
func NewManager() *Manager {
	m := &Manager{sets: aggregate.NewSets()}
	m.reset()
	return m
}

// reset forgets everything of former sessions, but for the numbers of their sets: a record that is still on its
// way must reach nobody.
func (m *Manager) reset() {
	m.resolver = callpath.New()
	m.agg = aggregate.New(m.sets)
	m.loss = Loss{}
	m.base = lossBase{hotpath.Lost(), hotpath.BuffersRefused()}
	m.resolver.Metric = m.agg.AddMetric
	m.resolver.ModuleUnloaded = func() { m.source.ModuleUnloaded() }
	m.lastSet = 0
}

func (m *Manager) find(id int) *session {
	i := slices.IndexFunc(m.sessions, func(s *session) bool { return s.id == id })
	if i < 0 {
		return nil
	}
	return m.sessions[i]
}

// selected returns one session, or with a nil id all of them.
func (m *Manager) selected(id *int) ([]*session, error) {
	if id == nil {
		return slices.Clone(m.sessions), nil
	}
	if s := m.find(*id); s != nil {
		return []*session{s}, nil
	}
	return nil, unknownSession(*id)
}

// publish tells the hot path and the source who listens now. Launches are recorded from before the source
// delivers kernels until after it stopped, so that a kernel without a launch is always a loss.
func (m *Manager) publish() error {
	var trees []*aggregate.Tree
	var ids []int
	shadow, python := false, false
	for _, s := range m.sessions {
		if !s.active {
			continue
		}
		trees = append(trees, s.trees[s.phase])
		ids = append(ids, s.id)
		shadow = shadow || !s.python
		python = python || s.python
	}
	m.agg.Reset()
	if len(trees) == 0 {
		err := m.listen(false)
		hotpath.SetActive(0, 0, false, false)
		return err
	}
	set := m.agg.Sets.Launch(trees)
	m.lastSet = set
	hotpath.SetActive(set, m.agg.Sets.Scope(ids), shadow, python)
	return m.listen(true)
}

func (m *Manager) listen(on bool) error {
	if !m.attached {
		return nil
	}
	if on {
		hotpath.PrepareBuffers(spareBuffers)
	}
	return m.source.Listen(on)
}
