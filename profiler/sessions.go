package profiler

import (
	"slices"
	"time"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/aggregate"
)

// sessions is the table of sessions and their phases. The drainer owns it.
type sessions struct {
	list    []*session
	nextID  int
	backend *Backend // of all sessions; nil before the first
	options SourceOptions
	mode    string
}

// session is one session. What it was asked for does not change and may be read anywhere. Everything else belongs to the
// drainer, except for the queues, which have locks of their own.
type session struct {
	backend  *Backend
	python   bool
	timeline bool                  // the session keeps a timeline
	upstream bool                  // the timeline is written in upstream's form
	readings record.ReadingRequest // what is read of whole GPUs
	idle     bool                  // it sums how long GPUs had nothing to do
	times    bool                  // it keeps distributions of kernel times
	also     record.Kinds          // what it asked for in addition to kernels
	periodic string                // format in which complete phases are written at once; "" = at the end
	format   string                // of files, unless finalize asks for another
	folder   string                // in which the session began, if files with a relative name are written while it goes on
	sampling record.SamplingRequest
	inside   *string  // the mode in which it records scopes inside kernels; nil: it does not
	files    *queue   // to the files of phases, with periodic flushing of trees; else nil
	sinks    []*queue // to the sinks that the session was started with

	recording *recording   // when it records; nil: always
	split     bool         // each recording window is a phase
	intervals []*intervals // what is handed over of each interval

	id        int
	info      profile.Info
	name      string // changed by Rename
	active    bool
	paused    time.Time // when it was deactivated, if it is not active
	phase     int
	trees     map[int]*aggregate.Tree
	timelines map[int]*timelineFile // by phase, of a session with a timeline
	flushed   int                   // phases below this are complete
	over      map[int]time.Time     // when each of the phases before the current one ended
	written   parts                 // files of phases that are no longer kept: written, or on their way to files
	last      []*delivery           // phases that Finalize wrote and that the sinks get at the end
}

func (t *sessions) find(id int) (*session, error) {
	i := slices.IndexFunc(t.list, func(s *session) bool { return s.id == id })
	if i < 0 {
		return nil, unknownSession(id)
	}
	return t.list[i], nil
}

// selected returns one session, or with a nil id all of them.
func (t *sessions) selected(id *int) ([]*session, error) {
	if id == nil {
		return slices.Clone(t.list), nil
	}
	s, err := t.find(*id)
	if err != nil {
		return nil, err
	}
	return []*session{s}, nil
}

// selected returns one session, or with a nil id all of them.
func (m *Manager) selected(id *int) (list []*session, err error) {
	m.drainer.do(func(d *drainer) { list, err = d.selected(id) })
	return list, err
}

// of has the drainer do something with a session.
func (m *Manager) of(id int, f func(*drainer, *session) error) (err error) {
	m.drainer.do(func(d *drainer) {
		var s *session
		if s, err = d.find(id); err == nil {
			err = f(d, s)
		}
	})
	return err
}

// wanted finds out what active sessions listen to, and gives it its launch set and scope set.
func (d *drainer) wanted() (w wanted) {
	var trees []*aggregate.Tree
	var ids []int
	d.spending.window(d.records() && !d.ending.begun.Load(), d.agg)
	for _, s := range d.list {
		if !s.active {
			continue
		}
		ids = append(ids, s.id)
		marks := s.marks()
		w.marks.Ranges, w.marks.Profilers = w.marks.Ranges || marks.Ranges, w.marks.Profilers || marks.Profilers
		if (!s.records() || d.spending.resting()) && d.options.Replay == "" { // a replay has the records of all launches: those between windows must be known too
			continue
		}
		w.calls |= s.also
		w.inside = w.inside || s.inside != nil
		activities := record.KindsOf(record.Kernel) | s.also
		if s.timeline {
			activities &^= record.KindsOf(record.Sync) // a wait is shown by its call
		}
		w.activities |= activities
		if !s.records() {
			continue
		}
		trees = append(trees, s.trees[s.phase])
		w.Shadow = w.Shadow || !s.python
		w.Python = w.Python || s.python
		w.Timeline = w.Timeline || s.timeline
	}
	d.agg.Reset()
	if len(ids) > 0 {
		w.ScopeSet = d.agg.Sets.Scope(ids)
	}
	if len(trees) > 0 {
		w.LaunchSet = d.agg.Sets.Launch(trees)
	}
	d.recording, w.attached = w.activities, d.attached
	return w
}

// records reports whether some session records launches that are made now.
func (t *sessions) records() bool { return slices.ContainsFunc(t.list, (*session).records) }

// newTree begins the current phase of a session.
func (d *drainer) newTree(s *session, now uint64) *aggregate.Tree {
	o := aggregate.TreeOptions{Session: s.id, Phase: s.phase, Python: s.python, Times: s.times, Idle: s.idle, Readings: s.readings.Any(), Also: s.also, Inside: d.showsInside(s)}
	if s.timeline {
		o.Timeline = d.newTrace(s, now)
	}
	t := d.agg.Sets.NewTree(o)
	s.trees[s.phase] = t
	return t
}

// drop forgets a phase and what it holds.
func (d *drainer) drop(s *session, phase int) {
	for _, i := range s.intervals {
		delete(i.taken, s.trees[phase])
	}
	d.agg.Drop(s.trees[phase])
	delete(s.trees, phase)
	delete(s.over, phase)
	if f := s.timelines[phase]; f != nil {
		f.close()
		delete(s.timelines, phase)
	}
}
