package profiler

import (
	"time"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profiler/callpath"
)

// A GPU hangs if it has work and for some time none of it ends and none is added. The rounds find that without a call on the program's
// threads:
//
//   - a launch, or a record of finished work, is a sign of life. So is a record that CUPTI completes in a buffer that it holds: while a long
//     queue is worked off, the first to end are seen nowhere else;
//   - without one for the given time, a thread of the profiler waits for the GPU (Synchronize). If that wait ends, the GPU has nothing to do:
//     the program is idle, or its launches have failed. If it does not, the GPU hangs, or takes longer than was expected;
//   - time counts only while this process runs and a session records;
//   - the kernels of a graph may be reported together, at its end: a graph that has never ended gets firstGraph times as long;
//   - after a false alarm, twice the time that the work took is waited.
type hangWatch struct {
	after time.Duration
	tell  func(Hang)

	looked, asked time.Time
	silent        time.Duration // without a sign of life
	moves         uint64        // of callpath.Watch, at the last look
	buffers       uint64        // checksum of what the library holds
	longest       time.Duration // that work took which hung by our reckoning
	answer        chan bool     // of a thread that waits for the GPU; nil: none does
	until         uint64        // the last launch when it began to wait
	idle          uint64        // moves at which the GPU had nothing to do
	finished      bool          // records that the library held back were taken, in this silence
	hung          bool
}

const (
	firstGraph  = 10
	longestLook = 2 * time.Second
	// longestStep is the most that one round counts for: a process that is stopped, or a machine that sleeps, makes a long one.
	longestStep = 4 * idleEvery
)

// Hang is what WatchHang passes on.
type Hang struct {
	Hung   bool          // it has work, and finishes nothing
	Silent time.Duration // without a sign of life
	m      *Manager
}

// WatchHang has the rounds watch the GPU while a session records. tell is called at each look, at least every two seconds, from the rounds. It is
// called after the first session has begun, and holds until the last one ends.
func (m *Manager) WatchHang(after time.Duration, tell func(Hang)) {
	m.drainer.do(func(d *drainer) { d.resolver.Watch = callpath.NewWatch() })
	hotpath.Watch(true)
	m.withRounds(func(r *rounds) {
		m.hang = &hangWatch{after: after, tell: tell, looked: time.Now()}
		r.hang = m.hang
	})
}

// look is the pause between two looks.
func (w *hangWatch) look() time.Duration { return min(max(w.after/8, idleEvery), longestLook) }

// watchHang is called in each round.
func (r *rounds) watchHang() {
	r.mu.Lock()
	w := r.hang
	r.mu.Unlock()
	if w == nil {
		return
	}
	now := time.Now()
	w.silent += min(now.Sub(w.looked), longestStep)
	w.looked = now
	if r.m.moved(w) {
		w.goesOn()
	}
	if now.Sub(w.asked) < w.look() {
		return
	}
	w.asked = now
	if w.silent > w.look() {
		r.m.Collect()
		if w.completed() {
			w.goesOn()
		}
		r.m.lookAtWait(w)
	}
	w.tell(Hang{Hung: w.hung, Silent: w.silent, m: r.m})
}

// moved reports whether there was a sign of life, or nothing is to be watched.
func (m *Manager) moved(w *hangWatch) bool {
	return ask(m.drainer, func(d *drainer) bool {
		before := w.moves
		w.moves = d.resolver.Watch.Moves
		return w.moves != before || !d.attached || d.recording == 0 || w.moves == w.idle || m.ending.begun.Load()
	})
}

// completed reports whether the library has completed a record in a buffer that it holds, since the last look.
func (w *hangWatch) completed() bool {
	before := w.buffers
	if before == 0 {
		hotpath.MarkBuffers()
	}
	w.buffers = hotpath.MarkedBuffers() | 1
	return before != 0 && w.buffers != before
}

// goesOn begins to count anew.
func (w *hangWatch) goesOn() {
	if w.hung {
		w.longest = max(w.longest, w.silent)
	}
	w.silent, w.hung, w.finished, w.buffers = 0, false, false, 0
}

// lookAtWait begins to wait for the GPU when it has been silent for long, and takes the answer.
func (m *Manager) lookAtWait(w *hangWatch) {
	if w.answer != nil {
		select {
		case idle := <-w.answer:
			w.answer = nil
			if idle {
				m.nothingToDo(w)
			}
			return
		default:
		}
	}
	patience := max(w.after, 2*w.longest)
	if w.silent >= patience && !m.onlyNewGraphs() {
		m.finishRecords(w)
	}
	if m.onlyNewGraphs() {
		patience = max(patience, firstGraph*w.after)
	}
	switch {
	case w.silent < patience:
	case w.answer != nil: // since the look before
		w.hung = true
	case !hotpath.Capturing():
		m.drainer.do(func(d *drainer) { w.until = d.resolver.Watch.Last.Order })
		answer, source := make(chan bool, 1), m.drainer.source
		w.answer = answer
		go func() { answer <- source.Synchronize(func() {}) }()
	}
}

// finishRecords takes what CUPTI holds back as long as a kernel runs whose record is in the same buffer: the records of the kernels before it, without
// which these seem to run. The hung one is counted without a time then.
func (m *Manager) finishRecords(w *hangWatch) {
	if w.finished {
		return
	}
	w.finished = true
	late := func(on bool) func(*drainer) { return func(d *drainer) { d.resolver.Watch.Late = on } }
	m.drainer.do(late(true))
	m.collectUnfinished()
	m.drainer.do(late(false)) // which has drained them
	w.buffers = 0             // the library has given its buffers back
}

func (m *Manager) onlyNewGraphs() bool {
	return ask(m.drainer, func(d *drainer) bool { return d.resolver.Watch.OnlyNewGraphs() })
}

// nothingToDo is called when a wait for the GPU has ended: what was launched before it has ended, or failed.
func (m *Manager) nothingToDo(w *hangWatch) {
	m.Collect()
	m.drainer.do(func(d *drainer) {
		watch := d.resolver.Watch
		watch.Idle(w.until)
		if watch.Last.Order == w.until {
			w.idle = watch.Moves
		}
	})
}

// awaitsGPU reports whether a thread of the watch is in the driver. It gives the thread a moment to come back.
func (w *hangWatch) awaitsGPU() bool {
	if w == nil || w.answer == nil {
		return false
	}
	select {
	case <-w.answer:
		w.answer = nil
		return false
	case <-time.After(time.Second):
		return true
	}
}
