package profiler

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/hotpath"
	"github.com/goproton/goproton/profiler/aggregate"
	"github.com/goproton/goproton/profiler/record"
)

// StartOptions are the arguments of a start, in upstream's words.
type StartOptions struct {
	Name    string // output path without suffix; "" or "-" writes to standard output
	Context string // "shadow" (default) or "python"
	Data    string // "tree" (default) or "trace"
	Backend string // of Register; "" is the one that fits the machine
	Mode    string // "", "periodic_flushing[:format=…]" or one of the backend's own: "pcsampling[:…]"
	Format  string // to write in when finalize names none; "" is what the data are usually written in
	NoStats bool   // leave out the distributions of kernel times

	// Activities are what to record in addition to kernels, which are always: a list of kernel, memcpy, memset and sync with
	// commas between. By default a tree has kernels only, and a trace has all.
	Activities string
	Source     SourceOptions

	// Sinks take each phase in addition to its file: when it is over, with periodic flushing, else at the end of the session.
	// Timelines go to files only, into which they are written all along.
	Sinks []Sink
}

// Start begins a session, or activates the living one of the same name, and returns its id. A GPU library
// that refuses is not an error: the program runs on, unprofiled, and Problems says why.
func (m *Manager) Start(o StartOptions) (int, error) {
	m.control.Lock()
	defer m.control.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.backendFor(o.Backend)
	if err != nil {
		return 0, err
	}
	for _, s := range m.sessions {
		if s.name == o.Name {
			s.active = true
			return s.id, m.publish()
		}
	}
	s, err := o.session(b)
	if err != nil {
		return 0, err
	}
	if err := hotpath.Init(); err != nil {
		return 0, err
	}
	o.Source.Sampling = s.sampling
	if err := m.prepare(b, o); err != nil {
		return 0, err
	}
	now := hotpath.Now()
	s.id, s.info, s.active = m.nextID, infoOf(o.Name, now), true
	m.newTree(s, now)
	m.nextID++
	m.sessions = append(m.sessions, s)
	if err := m.publish(); err != nil {
		m.problem(err)
	}
	m.startDrainer()
	return s.id, nil
}

// backendFor finds the backend that a session asks for. While there are sessions it must be theirs: the records of two
// vendors' callbacks would be taken for each other's. Call with mu held.
func (m *Manager) backendFor(name string) (*Backend, error) {
	if len(m.sessions) > 0 && name == "" {
		return m.backend, nil
	}
	b, err := backendNamed(name)
	if err == nil && len(m.sessions) > 0 && b.Name != m.backend.Name {
		return nil, &ArgumentError{fmt.Sprintf("Cannot add a session with backend %q to sessions with backend %q: a process profiles with one at a time; finalize them first", b.Name, m.backend.Name)}
	}
	return b, err
}

// prepare readies the hot path and the source for one more session.
func (m *Manager) prepare(b *Backend, o StartOptions) error {
	if len(m.sessions) == 0 {
		m.discard()
		m.reset()
		m.backend, m.source, m.options, m.mode, m.problems = b, b.New(o.Source), o.Source, strings.ToLower(o.Mode), nil
		m.beginSampling(o.Source.Sampling.Mode)
	} else if o.Source.WholeGraphs != m.options.WholeGraphs || strings.ToLower(o.Mode) != m.mode {
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
	_, problems := m.samplingStatus()
	return append(append(slices.Clone(m.problems), problems...), m.shortcomings()...)
}

// problemOnce is problem for what would be said again and again.
func (m *Manager) problemOnce(text string) {
	if !slices.Contains(m.problems, text) {
		m.problems = append(m.problems, text)
	}
}

// session checks the options and makes a session of them, which has no number and no phase yet.
func (o *StartOptions) session(b *Backend) (*session, error) {
	s := &session{
		name: o.Name, times: !o.NoStats, trees: map[int]*aggregate.Tree{}, traces: map[int]*traceFile{},
		over: map[int]time.Time{},
	}
	switch strings.ToLower(o.Context) {
	case "", "shadow":
	case "python":
		s.python = true
	default:
		return nil, &ArgumentError{"Unknown context source: " + o.Context}
	}
	switch strings.ToLower(o.Data) {
	case "", "tree":
	case "trace":
		s.trace, s.times = true, false
	default:
		return nil, &ArgumentError{"Unknown data: " + o.Data}
	}
	var err error
	if s.also, err = o.activities(s.trace); err != nil {
		return nil, err
	}
	if err := o.setMode(b, s); err != nil {
		return nil, err
	}
	if s.format, err = s.formatFor(o.Format); s.periodic != "" {
		s.periodic = s.format // all parts are alike
	}
	if err == nil {
		err = makeFolder(s.name)
	}
	if err == nil {
		s.makeQueues(o.Sinks)
	}
	if s.streams() {
		s.folder, _ = os.Getwd() // where there is none, names are what they are then
	}
	return s, err
}

// makeFolder makes the folder of a session's files, so that a name that cannot be written fails before the program works for it.
// A relative name is left for later: the program may go to another folder.
func makeFolder(name string) error {
	if !filepath.IsAbs(name) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return &ArgumentError{fmt.Sprintf("Cannot make the folder of the profile: %v; give another name", err)}
	}
	return nil
}

// activityKinds are the words for what can be recorded.
var activityKinds = map[string]record.Kinds{
	"kernel": 0, // always
	"memcpy": record.KindsOf(record.Memcpy),
	"memset": record.KindsOf(record.Memset),
	"sync":   record.KindsOf(record.Sync),
}

func (o *StartOptions) activities(trace bool) (kinds record.Kinds, err error) {
	if o.Activities == "" {
		if trace {
			kinds = record.KindsOf(record.Memcpy, record.Memset, record.Sync)
		}
		return kinds, nil
	}
	for _, word := range strings.Split(o.Activities, ",") {
		kind, known := activityKinds[strings.ToLower(strings.TrimSpace(word))]
		if !known {
			return 0, &ArgumentError{fmt.Sprintf("Unknown activity: %s (kernel, memcpy, memset and sync are known)", word)}
		}
		kinds |= kind
	}
	return kinds, nil
}

func (o *StartOptions) setMode(b *Backend, s *session) error {
	kind, options, _ := strings.Cut(o.Mode, ":")
	switch kind = strings.ToLower(kind); kind {
	case "":
		return nil
	case "periodic_flushing":
		return s.flushPeriodically(b, strings.ToLower(options))
	}
	return s.setOwnMode(b, kind, options)
}

// flushPeriodically reads the options of the mode: format=hatchet, hatchet_msgpack or chrome_trace.
func (s *session) flushPeriodically(b *Backend, options string) (err error) {
	format := ""
	if options != "" {
		key, value, _ := strings.Cut(options, "=")
		if key != "format" {
			return b.refusal("unsupported option key: %s", key)
		}
		if value != traceFormat && !slices.Contains(treeFormats, value) {
			return b.refusal("unsupported format: %s", value)
		}
		format = value
	}
	s.periodic, err = s.formatFor(format)
	return err
}
