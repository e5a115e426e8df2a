package profiler

import (
	"fmt"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/hotpath"
	"github.com/goproton/goproton/profiler/aggregate"
)

// StartOptions are the arguments of a start, in upstream's words.
type StartOptions struct {
	Name    string // output path without suffix; "" or "-" writes to standard output
	Context string // "shadow" (default) or "python"
	Data    string // "tree" (default)
	Backend string // "cupti" (default)
	Mode    string
	Source  SourceOptions
}

// Start begins a session, or activates the living one of the same name, and returns its id. A GPU library
// that refuses is no error: the program runs on, unprofiled, and Problems tells why.
func (m *Manager) Start(o StartOptions) (int, error) {
	m.control.Lock()
	defer m.control.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.name == o.Name {
			s.active = true
			return s.id, m.publish()
		}
	}
	python, err := o.check()
	if err != nil {
		return 0, err
	}
	if err := hotpath.Init(); err != nil {
		return 0, err
	}
	if err := m.prepare(o); err != nil {
		return 0, err
	}
	s := &session{id: m.nextID, name: o.Name, python: python, active: true, trees: map[int]*aggregate.Tree{}}
	s.trees[0] = m.agg.Sets.NewTree(s.id, 0, python)
	m.nextID++
	m.sessions = append(m.sessions, s)
	if err := m.publish(); err != nil {
		m.problem(err)
	}
	m.startDrainer()
	return s.id, nil
}

// prepare readies the hot path and the source for one more session.
func (m *Manager) prepare(o StartOptions) error {
	if len(m.sessions) == 0 {
		m.discard()
		m.reset()
		source, err := newSource(o.Backend, o.Source)
		if err != nil {
			return err
		}
		m.source, m.options, m.problems = source, o.Source, nil
	} else if o.Source.WholeGraphs != m.options.WholeGraphs {
		return &ArgumentError{"Cannot add a session with the same profiler but a different mode than existing sessions"}
	}
	hotpath.SessionBegins(len(m.sessions) == 0)
	if m.attached || m.waiting {
		return nil
	}
	if !m.source.Ready() && m.source.AttachLater() == nil {
		m.waiting = true
		return nil
	}
	m.attach(m.gpuStarting)
	return nil
}

// attach takes the source into use. A source that came up with less than was asked for says so and works.
func (m *Manager) attach(early bool) {
	m.waiting = false
	m.attaching.Store(true)
	defer m.attaching.Store(false)
	if err := m.source.Attach(early); err != nil {
		m.problem(err)
	}
	m.attached = m.source.Attached()
}

// GPUStarts is called on the thread that initialises the GPU, before the program can launch anything. begin may
// start a session. While the source is being attached there is nothing to do, and nothing to wait for either:
// attaching may be what initialises the GPU, or be waiting for the thread that does.
func (m *Manager) GPUStarts(begin func()) {
	for !m.mu.TryLock() {
		if m.attaching.Load() {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
	m.gpuStarting = true
	m.mu.Unlock()
	defer m.gpuStarted()
	begin()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.waiting {
		return
	}
	m.attach(true)
	if err := m.publish(); err != nil {
		m.problem(err)
	}
}

func (m *Manager) gpuStarted() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gpuStarting = false
}

func (m *Manager) problem(err error) { m.problems = append(m.problems, err.Error()) }

// Problems returns, as sentences, why sessions may record less than was asked for.
func (m *Manager) Problems() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.problems...)
}

func (o *StartOptions) check() (python bool, err error) {
	switch strings.ToLower(o.Context) {
	case "", "shadow":
	case "python":
		python = true
	default:
		return false, &ArgumentError{"Unknown context source: " + o.Context}
	}
	switch strings.ToLower(o.Data) {
	case "", "tree":
	case "trace":
		return false, &NotImplementedError{`data="trace" is not there yet; use data="tree"`}
	default:
		return false, &ArgumentError{"Unknown data: " + o.Data}
	}
	return python, o.checkMode()
}

func (o *StartOptions) checkMode() error {
	kind, _, _ := strings.Cut(strings.ToLower(o.Mode), ":")
	switch kind {
	case "":
		return nil
	case "pcsampling":
		return &NotImplementedError{`mode="pcsampling" is not there yet; leave mode out to time kernels`}
	case "periodic_flushing":
		return &NotImplementedError{`mode="periodic_flushing" is not there yet; data.advance_phase and data.clear bound memory`}
	}
	return &ArgumentError{fmt.Sprintf("CuptiProfiler: unsupported mode: %s", o.Mode)}
}
