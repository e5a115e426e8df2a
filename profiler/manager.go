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
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/aggregate"
	"github.com/goproton/goproton/profiler/callpath"
	"github.com/goproton/goproton/profiler/record"
)

// Manager owns all sessions of a process. Its methods may be called from any thread.
type Manager struct {
	control   sync.Mutex  // held by every public method: sessions come and go one at a time
	attaching atomic.Bool // the source is being attached, with mu held
	ending    ending

	mu          sync.Mutex // guards all below; the drainer takes it for each drain
	sessions    []*session
	nextID      int
	backend     *Backend // of all sessions; nil before the first
	source      Source
	options     SourceOptions
	mode        string // of all sessions
	attached    bool
	gpuStarting bool // the program is initialising its GPU right now
	waiting     bool // attached by GPUStarts, when the program initialises its GPU
	problems    []string
	resolver    *callpath.Resolver
	decoder     decoder
	sets        *aggregate.Sets
	agg         *aggregate.Aggregator
	sampler     Sampler // while instructions are sampled
	images      *images // of what it sampled
	paths       reclaimer
	traceFolder string // where the run is traced to; "" while it is not
	lastSet     uint32 // newest launch set that was not empty
	recording   record.Kinds
	ahead       int64 // of the source's clock, where a timeline needs it
	measured    bool  // ahead
	loss        Loss
	base        lossBase
	draining    chan struct{} // closed to end the drainer; nil when none runs
	drained     chan struct{}

	EachRound func() // called by the drainer, for the process that it runs in; set before the first session

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
	Late         uint64 // metrics that came after their phase was written or cleared
}

type lossBase struct{ records, refused uint64 }

type session struct {
	id       int
	name     string
	folder   string // that a relative name is in, if files are written meanwhile: the program may go to another
	python   bool
	trace    bool         // it keeps a timeline
	times    bool         // it keeps distributions of kernel times
	also     record.Kinds // what it asked for in addition to kernels
	periodic string       // format in which complete phases are written at once; "" = at the end
	format   string       // to write in unless another is asked for

	sampling record.SamplingRequest

	info profile.Info

	active  bool
	phase   int
	trees   map[int]*aggregate.Tree
	traces  map[int]*traceFile // by phase, of a session with a timeline
	flushed int                // phases below this are complete
	over    map[int]time.Time  // when each of the phases before the current one ended
	written parts              // files of phases that are no longer kept: written, or on their way to files
	files   *queue             // to the files of phases, with periodic flushing of trees; else nil
	last    []*delivery        // phases that Finalize wrote, for the sinks
	sinks   []*queue           // to the sinks that the session was started with
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
	m.sampler, m.images = nil, nil
	m.loss = Loss{}
	m.base = lossBase{hotpath.Lost(), hotpath.BuffersRefused()}
	m.resolver.Metric = m.agg.AddMetric
	m.resolver.Event = m.agg.Event
	m.resolver.Alone = m.alone
	m.lastSet = 0
	m.paths = reclaimer{}
	m.measured = false
}

// alone reports whether no activity comes for a call of a vendor's function.
func (m *Manager) alone(function uint32) bool {
	_, waits := m.source.APIName(function)
	return waits && !m.recording.Has(record.Sync)
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
	var activities, calls record.Kinds
	l := hotpath.Listeners{}
	for _, s := range m.sessions {
		if !s.active {
			continue
		}
		trees = append(trees, s.trees[s.phase])
		ids = append(ids, s.id)
		calls |= s.also
		wanted := record.KindsOf(record.Kernel) | s.also
		if s.trace {
			wanted &^= record.KindsOf(record.Sync) // a wait is shown by its call
		}
		activities |= wanted
		l.Shadow = l.Shadow || !s.python
		l.Python = l.Python || s.python
		l.Timeline = l.Timeline || s.trace
	}
	m.agg.Reset()
	if len(trees) == 0 {
		err := m.listen(0, 0)
		hotpath.SetActive(l)
		return err
	}
	l.LaunchSet, l.ScopeSet = m.agg.Sets.Launch(trees), m.agg.Sets.Scope(ids)
	m.lastSet = l.LaunchSet
	hotpath.SetActive(l)
	return m.listen(activities, calls)
}

func (m *Manager) listen(activities, calls record.Kinds) error {
	m.recording = activities
	if !m.attached {
		return nil
	}
	if activities != 0 {
		hotpath.PrepareBuffers(spareBuffers)
	}
	var err error
	m.ending.inLibrary(func() { err = m.source.Listen(activities, calls) })
	return err
}

// newTree begins the current phase of a session. Call with mu held.
func (m *Manager) newTree(s *session, now uint64) *aggregate.Tree {
	o := aggregate.TreeOptions{Session: s.id, Phase: s.phase, Python: s.python, Times: s.times, Also: s.also}
	if s.trace {
		o.Timeline = m.newTrace(s, now)
	}
	t := m.agg.Sets.NewTree(o)
	s.trees[s.phase] = t
	return t
}

// drop forgets a phase and what it holds. Call with mu held.
func (m *Manager) drop(s *session, phase int) {
	m.agg.Drop(s.trees[phase])
	delete(s.trees, phase)
	delete(s.over, phase)
	if f := s.traces[phase]; f != nil {
		f.close()
		delete(s.traces, phase)
	}
}
