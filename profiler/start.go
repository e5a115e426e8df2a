package profiler

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/lookup"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/when"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/aggregate"
)

// StartOptions are the arguments of a start, in upstream's words.
type StartOptions struct {
	Name    string // output path without suffix; "" or "-" writes to standard output
	Context string // "shadow" (default) or "python"
	Data    string // "tree" (default) or "trace": a timeline
	Backend string // of Register; "" is the one that fits the machine, and so is InsideBackend, which adds scopes inside kernels
	Mode    string // "", "periodic_flushing[:format=…]" or one of the backend's own: "pcsampling[:…]"
	Format  string // to write in when finalize names none; "" is what the data are usually written in
	NoStats bool   // leave out the distributions of kernel times
	Idle    bool   // sum how long GPUs had nothing to do before the work of each call path; copies and fills are recorded too

	// Activities are what to record in addition to kernels, which are always: a list of kernel, memcpy, memset and sync with
	// commas between. By default a tree has kernels only, and a timeline has all.
	Activities string
	Source     SourceOptions

	When *when.Conditions // records only while they hold; nil: all the time

	// TraceForm is a word of runinfo.TraceForms, the form of a timeline's file. "" is the first, ours. With scopes inside kernels
	// it is also that of a tree, which in upstream's form has no frames of other kernels.
	TraceForm string

	// Sinks take each phase in addition to its file: when it is over, with periodic flushing, else at the end of the session.
	// Timelines go to files only, into which they are written all along.
	Sinks []Sink

	Deltas []*Deltas

	// Energy has the energy of GPUs read, and PM, such as "1ms", hardware counters of whole GPUs at that interval. A tree shares them out among
	// what ran, a timeline shows them.
	Energy bool
	PM     string

	// Budget is the share of the program's time that the profiler may take, such as 0.01; 0: there is no limit. Sampling of instructions rests for a
	// part of the time, and the Python call paths of some launches are not taken, as far as that is needed.
	Budget float64
}

// Check refuses what Start would refuse, and begins nothing.
func (m *Manager) Check(o StartOptions) (err error) {
	inside := o.takeInside()
	m.drainer.do(func(d *drainer) {
		var b *Backend
		if b, err = d.backendFor(o.Backend, o.Source); err != nil || d.named(o.Name) != nil {
			return
		}
		var s *session
		if s, err = o.session(b); err == nil {
			err = errors.Join(d.checkBudget(&o, s), d.checkConditions(o.When), d.checkMode(&o), d.checkInside(inside), d.checkReadings(s.readings))
		}
	})
	return err
}

// Start begins a session, or activates the living one of the same name, and returns its id. A GPU library
// that refuses is not an error: the program runs on, unprofiled, and Problems says why.
func (m *Manager) Start(o StartOptions) (int, error) {
	m.control.Lock()
	defer m.control.Unlock()
	var s *session
	inside := o.takeInside()
	var err error
	known, first := false, false
	m.drainer.do(func(d *drainer) {
		first = len(d.list) == 0
		d.ending.begun.Store(false) // a program may start a session while it ends
		if s, known, err = d.sessionFor(&o); !known && err == nil {
			s.inside = inside
			err = errors.Join(d.checkBudget(&o, s), m.takeConditions(d, s, o.When), d.prepare(s, o))
		}
	})
	if err != nil {
		return 0, err
	}
	if known {
		return s.id, m.publish()
	}
	hotpath.SessionBegins(first) // of this thread
	m.attach(false)
	m.drainer.do(func(d *drainer) {
		d.add(s)
		if s.recording != nil {
			d.look(s, func(*recording) string { return "the start" })
		}
	})
	m.startGovernor(o.Budget)
	m.published()
	m.startRounds()
	m.listConditional()
	return s.id, nil
}

// sessionFor returns the living session of that name, activated, or else a new one that is not in the table yet.
func (d *drainer) sessionFor(o *StartOptions) (s *session, known bool, err error) {
	b, err := d.backendFor(o.Backend, o.Source)
	if err != nil {
		return nil, false, err
	}
	if s = d.named(o.Name); s != nil {
		s.active = true
		return s, true, nil
	}
	if s, err = o.session(b); err != nil {
		return nil, false, err
	}
	s.makeQueues(o.Sinks, o.Deltas)
	return s, false, nil
}

// named is the living session of that name, nil if there is none.
func (t *sessions) named(name string) *session {
	for _, s := range t.list {
		if s.name == name {
			return s
		}
	}
	return nil
}

// backendFor finds the backend that a session asks for. While there are sessions it must be theirs: the records of two
// vendors' callbacks would be taken for each other's.
func (t *sessions) backendFor(name string, o SourceOptions) (*Backend, error) {
	if len(t.list) > 0 && name == "" {
		return t.backend, nil
	}
	b, err := backendNamed(name, o)
	if err == nil && len(t.list) > 0 && b.name() != t.backend.name() {
		return nil, &ArgumentError{fmt.Sprintf("Cannot add a session with backend %q to sessions with backend %q: a process profiles with one at a time; finalize them first", b.name(), t.backend.name())}
	}
	return b, err
}

// prepare readies the hot path for one more session, and the source for the first.
func (d *drainer) prepare(s *session, o StartOptions) error {
	if err := hotpath.Init(); err != nil {
		return err
	}
	o.Source.Sampling, o.Source.Metered, o.Source.Readings = s.sampling, o.Budget > 0, s.readings
	if err := d.checkReadings(s.readings); err != nil {
		return err
	}
	if len(d.list) == 0 {
		d.discard()
		d.reset(d.agg.Sets)
		d.backend, d.source, d.options, d.mode = s.backend, s.backend.New(o.Source), o.Source, strings.ToLower(o.Mode)
		d.beginSampling(s.sampling)
		d.beginCounting(s.sampling.Counters)
		d.beginValues()
		if o.Source.WholeGraphs && !d.backend.WholeGraphs {
			d.problem(fmt.Sprintf("graphs are timed node by node: backend %q cannot time a graph as a whole", d.backend.name()))
		}
	} else if err := d.checkMode(&o); err != nil {
		return err
	}
	return d.prepareInside(s)
}

// checkMode refuses a mode that is not that of the other sessions.
func (t *sessions) checkMode(o *StartOptions) error {
	if len(t.list) > 0 && (o.Source.WholeGraphs != t.options.WholeGraphs || strings.ToLower(o.Mode) != t.mode) {
		return &ArgumentError{differentMode}
	}
	return nil
}

const differentMode = "Cannot add a session with the same profiler but a different mode than existing sessions"

// add puts a new session into the table and begins its first phase.
func (d *drainer) add(s *session) {
	now := hotpath.Now()
	s.id, s.info, s.active = d.nextID, infoOf(s.name, now), true
	if d.options.Replay != "" {
		s.info[profile.InfoReplay] = d.options.Replay
	}
	if d.options.Synthetic {
		s.info[profile.InfoSynthetic] = "the recording that was replayed is synthetic: a fake driver made it, and no GPU was measured"
	}
	d.nextID++
	d.newTree(s, now)
	d.list = append(d.list, s)
}

// Problems returns, as sentences, why sessions may record less than was asked for, and what they have lost.
func (m *Manager) Problems() []string {
	return ask(m.drainer, func(d *drainer) []string { return append(d.allProblems(), d.lossNow().sentences()...) })
}

// session checks the options and makes a session of them, which has no number and no phase yet.
func (o *StartOptions) session(b *Backend) (*session, error) {
	s := &session{
		name: o.Name, backend: b, times: !o.NoStats, trees: map[int]*aggregate.Tree{}, timelines: map[int]*timelineFile{},
		over: map[int]time.Time{},
	}
	var err error
	if s.python, err = second(runinfo.Contexts, o.Context, "context source"); err != nil {
		return nil, err
	}
	if s.timeline = runinfo.DataForm(o.Data) == "trace"; !s.timeline {
		if _, err = second(runinfo.DataForms, o.Data, "data"); err != nil {
			return nil, err
		}
	}
	if s.upstream, err = second(runinfo.TraceForms, o.TraceForm, "form of a trace"); err != nil {
		return nil, err
	}
	s.times = s.times && !s.timeline
	if s.also, err = o.activities(s.timeline, s.upstream); err != nil {
		return nil, err
	}
	if err := o.checkDeltas(s.timeline); err != nil {
		return nil, err
	}
	if s.idle = o.Idle && !s.timeline; s.idle { // a timeline shows it without sums
		s.also |= record.KindsOf(record.Memcpy, record.Memset)
	}
	if s.readings, err = o.readings(); err != nil {
		return nil, err
	}
	if err := o.setMode(b, s); err != nil {
		return nil, err
	}
	if s.readings.Counters != 0 && s.sampling.Counters != nil {
		return nil, &ArgumentError{record.CountersUseTheHardware}
	}
	if s.format, err = s.formatFor(o.Format); s.periodic != "" {
		s.periodic = s.format // all parts have one format
	}
	if o.When != nil && o.When.Split {
		s.split = true
		if o.Mode == "" {
			s.periodic = s.format // a window is written when it is complete, and forgotten
		}
	}
	if err == nil {
		err = makeFolder(s.name)
	}
	if s.streams() {
		s.folder, _ = os.Getwd() // where there is none, names are what they are then
	}
	return s, err
}

// second reports whether a word is the second of two; the first, which may be left out, is the default.
func second(of []string, word, what string) (bool, error) {
	n := slices.Index(of, strings.ToLower(word))
	if n < 0 && word != "" {
		return false, Unknown(what, word, of)
	}
	return n == 1, nil
}

// Unknown is the error for a word that is none of those that are known.
func Unknown(what, word string, known []string) error {
	return &ArgumentError{fmt.Sprintf("Unknown %s: %s; use %s", what, word, lookup.Or(known))}
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

// activityKinds are what the words of runinfo.Activities stand for.
var activityKinds = []record.Kinds{0, record.KindsOf(record.Memcpy), record.KindsOf(record.Memset), record.KindsOf(record.Sync)}

func (o *StartOptions) activities(timeline, upstream bool) (kinds record.Kinds, err error) {
	if o.Activities == "" {
		if timeline && !upstream { // upstream's timelines have kernels only
			kinds = record.KindsOf(record.Memcpy, record.Memset, record.Sync)
		}
		return kinds, nil
	}
	for _, word := range strings.Split(o.Activities, ",") {
		n := slices.Index(runinfo.Activities, strings.ToLower(strings.TrimSpace(word)))
		if n < 0 {
			return 0, Unknown("activity", word, runinfo.Activities)
		}
		kinds |= activityKinds[n]
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
			return b.refusal("unsupported option key: %s; format is the only one", key)
		}
		if !isFormat(value) {
			return b.refusal("unsupported format: %s; use %s", value, lookup.Or(slices.Concat(runinfo.Formats("tree"), runinfo.Formats("trace"))))
		}
		format = value
	}
	s.periodic, err = s.formatFor(format)
	return err
}
