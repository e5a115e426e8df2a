package profiler

import (
	"fmt"
	"sync"
	"time"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/when"
)

// recording decides when a session with conditions records: in recording windows. Between two windows the session is
// deactivated, except that its scopes are kept. Steps and the requests of a user reach the state through Manager.note, a gate
// through gateChanged, and times through an alarm; each of them then has reconsider open or close windows, one caller at a
// time.
type recording struct {
	mu    sync.Mutex // guards state, which the program's steps change without the drainer
	state *when.State

	open   bool      // what follows is the drainer's
	breaks int       // state.Breaks when the state was last looked at
	log    windowLog // windows so far
	timer  *time.Timer
}

// records reports whether a launch that is made now belongs to the session.
func (s *session) records() bool { return s.active && (s.recording == nil || s.recording.open) }

// takeConditions makes the session's recording, if it has conditions, and sets up the gate.
func (m *Manager) takeConditions(d *drainer, s *session, c *when.Conditions) error {
	if err := d.checkConditions(c); err != nil || c == nil {
		return err
	}
	if c.Gate != "" && d.gate() == "" {
		m.setGate(c.Gate)
	}
	s.recording = &recording{state: when.New(*c, time.Now())}
	return nil
}

// checkConditions refuses conditions that cannot be kept.
func (d *drainer) checkConditions(c *when.Conditions) error {
	if c == nil {
		return nil
	}
	if err := c.Check(); err != nil {
		return &ArgumentError{err.Error()}
	}
	if gate := d.gate(); c.Gate != "" && gate != "" && gate != c.Gate {
		return &ArgumentError{fmt.Sprintf("Cannot add a session that records within %q to one within %q: a process has one such scope", c.Gate, gate)}
	}
	return nil
}

// gate is the one that sessions have, "" if none has one.
func (d *drainer) gate() string {
	for _, s := range d.list {
		if s.recording != nil && s.recording.state.Gate != "" {
			return s.recording.state.Gate
		}
	}
	return ""
}

func (m *Manager) setGate(name string) {
	if name == when.ProfilerAPI {
		hotpath.SetGateToProfilerAPI(m.gateChanged)
		return
	}
	hotpath.SetGate(name, m.gateChanged)
}

// gatePatience is how long a thread that opens or closes the gate waits for a control call of another thread. A variable for tests.
var gatePatience = time.Second

// gateChanged is called on the thread of the program that opened or closed the gate. That thread may be inside a callback of the
// vendor's library, so it does not wait for a control call that takes long: the window then opens or closes later.
func (m *Manager) gateChanged() {
	why := func(r *recording) string { return when.GateText(r.state.Gate) }
	for end := time.Now().Add(gatePatience); !m.control.TryLock(); time.Sleep(100 * time.Microsecond) {
		if m.ending.begun.Load() || time.Now().After(end) {
			go m.reconsider(why)
			return
		}
	}
	defer m.control.Unlock()
	m.reconsiderNow(why)
}

// Step says that a step of the program is over, of training or of a server. It begins or ends the windows of sessions with a
// schedule of steps. optimizer says that the step was that of one of torch's optimizers, which counts until the program counts
// its steps itself.
func (m *Manager) Step(optimizer bool) {
	m.note(func(r *recording) bool { return r.state.Step(optimizer) })
}

// SetAction sets what a session does in the step that begins. The session was started with Conditions.ByCaller.
func (m *Manager) SetAction(id int, action when.Action) error {
	if err := m.of(id, func(*drainer, *session) error { return nil }); err != nil {
		return err
	}
	m.noteIn(func(s *session) bool { return s.id == id }, func(r *recording) bool { return r.state.SetAction(action) })
	return nil
}

// Pause and Resume are what a user asks for while the program runs. They return once launches of the program are recorded, or not any more.
func (m *Manager) Pause() { m.ask((*when.State).Pause) }

// Resume is described with Pause.
func (m *Manager) Resume() { m.ask((*when.State).Resume) }

func (m *Manager) ask(f func(*when.State)) {
	m.note(func(r *recording) bool { f(r.state); return false })
	m.reconsider(func(*recording) string { return "proton ctl" })
}

// note passes an event to all recordings. If that opens or closes a window, the caller waits until it is done.
func (m *Manager) note(f func(*recording) bool) { m.noteIn(func(*session) bool { return true }, f) }

func (m *Manager) noteIn(which func(*session) bool, f func(*recording) bool) {
	moved := false
	for _, s := range m.conditional() {
		if !which(s) {
			continue
		}
		s.recording.mu.Lock()
		moved = f(s.recording) || moved
		s.recording.mu.Unlock()
	}
	if moved {
		m.reconsider(func(r *recording) string { return fmt.Sprintf("step %d", r.state.Steps()) })
	}
}

// conditional lists the sessions with conditions, without a command of the drainer.
func (m *Manager) conditional() []*session {
	if list := m.withConditions.Load(); list != nil {
		return *list
	}
	return nil
}

// reconsider opens and closes windows as the conditions of their sessions ask for now. why says what has changed, in a few words.
func (m *Manager) reconsider(why func(*recording) string) {
	if len(m.conditional()) == 0 {
		return
	}
	m.control.Lock()
	defer m.control.Unlock()
	m.reconsiderNow(why)
}

// reconsiderNow is reconsider, with control held.
func (m *Manager) reconsiderNow(why func(*recording) string) {
	changed := false
	_ = m.change(func(d *drainer) error {
		for _, s := range d.list {
			if s.recording != nil {
				changed = d.look(s, why) || changed
			}
		}
		return nil
	}, func() bool { return changed })
	for _, s := range m.conditional() {
		m.alarm(s.recording)
	}
}

// look opens or closes the window of a session, if its conditions ask for that, and reports whether they did.
func (d *drainer) look(s *session, why func(*recording) string) bool {
	r, now := s.recording, time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.Gate != "" {
		r.state.SetGate(hotpath.GateIsOpen())
	}
	open, breaks := r.state.Open(now), r.state.Breaks()
	if open == r.open && (!open || breaks == r.breaks) {
		return false
	}
	if r.open {
		r.log.Closes(why(r), now)
	}
	if r.open, r.breaks = open, breaks; open {
		if s.split && r.log.Count > 0 {
			d.nextPhase(s)
		}
		r.log.Opens(why(r), now)
	}
	return true
}

// alarm has the conditions looked at again at the time at which they change by themselves.
func (m *Manager) alarm(r *recording) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if at, ok := r.state.Next(time.Now()); ok {
		r.timer = time.AfterFunc(time.Until(at), func() { m.reconsider(func(*recording) string { return "the time" }) })
	}
}

// silence ends the alarm of a session that has ended.
func (r *recording) silence() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
}

// lookAtGate finds the scopes whose threads have ended inside of them.
func (m *Manager) lookAtGate() {
	for _, s := range m.conditional() {
		r := s.recording
		r.mu.Lock()
		moved := r.state.Gate != "" && r.state.GateOpen() && !hotpath.GateIsOpen()
		r.mu.Unlock()
		if moved {
			go m.gateChanged() // in a goroutine, because a control call may be waiting for the rounds
		}
	}
}

// marks are the events of the program on which a session's conditions depend.
func (s *session) marks() record.Marks {
	if s.recording == nil {
		return record.Marks{}
	}
	return record.Marks{Ranges: true, Profilers: s.recording.state.Gate == when.ProfilerAPI}
}

// windows is what became of the recording windows of all sessions that have conditions; nil if none has.
func (d *drainer) windows() (w *runinfo.Windows) {
	now := time.Now()
	for _, s := range d.list {
		r := s.recording
		if r == nil {
			continue
		}
		if w == nil {
			w = &runinfo.Windows{}
		}
		r.mu.Lock()
		w.Open = w.Open || r.open
		w.Paused = w.Paused || r.state.Paused()
		w.Opened += r.log.Count
		w.Nanos += r.log.Nanos(now)
		w.Steps = max(w.Steps, r.state.Steps())
		if w.Why == "" && r.log.Count == 0 {
			w.Why = r.state.WhyClosed(now)
		}
		r.mu.Unlock()
	}
	if w != nil && w.Opened > 0 {
		w.Why = ""
	}
	return w
}

// listConditional lists the sessions with conditions anew, and sets their alarms. Its caller holds control.
func (m *Manager) listConditional() {
	var list []*session
	m.drainer.do(func(d *drainer) {
		for _, s := range d.list {
			if s.recording != nil {
				list = append(list, s)
			}
		}
	})
	m.withConditions.Store(&list)
	if len(list) == 0 {
		hotpath.SetGate("", func() {})
	}
	for _, s := range list {
		m.alarm(s.recording)
	}
}
