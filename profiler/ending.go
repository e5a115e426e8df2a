package profiler

import (
	"sync/atomic"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profiler/callpath"
)

// ending counts the signs that the GPU makes progress with what the program launched, while the process ends. Its atomics can
// be read while a call hangs.
type ending struct {
	begun   atomic.Bool
	newest  uint64        // correlation id of the program's last launch; used by the drainer only
	buffers uint64        // checksum of the marked buffers, as last seen; used by the drainer only
	moves   atomic.Uint64 // signs of progress: an activity ended, a record was completed, a context was synchronised
	onGPU   atomic.Bool   // a context is being waited for
	library atomic.Int32  // calls of the vendor library that have not returned
}

// Ending marks the end of the program: from here on, the completion of work that was launched before counts as progress.
// Launches of threads that go on do not count: they would keep a process alive whose other stream hangs. They are not recorded either: threads that
// launch faster than the drainer reads would have the end wait for them.
func (m *Manager) Ending() {
	m.leave()
	m.drainer.do(func(d *drainer) {
		d.countTurn()
		d.ending.newest = d.resolver.Newest()
		hotpath.MarkBuffers()
		d.ending.buffers = hotpath.MarkedBuffers()
		d.ending.begun.Store(true)
	})
}

// leave turns the hot path off. It is not a command of the drainer, because a command drains first, and the threads launch all
// that time. If the source gives a mark, launches after it are recognised by their ids and need no record.
func (m *Manager) leave() {
	m.drainer.turn.Lock()
	hotpath.SetActive(hotpath.Listeners{})
	attached := m.drainer.attached
	m.drainer.turn.Unlock()
	var mark uint64
	if attached {
		m.ending.inLibrary(func() { mark = m.mark() })
	}
	if mark == 0 {
		return
	}
	hotpath.Leave()
	m.drainer.turn.Lock()
	defer m.drainer.turn.Unlock()
	m.drainer.sets.change(mark, 0, hotpath.Now(), 0)
}

// Progress returns how many signs of progress were seen since Ending; onGPU says whether a context is being waited for right
// now. It waits for nothing.
func (m *Manager) Progress() (moves uint64, onGPU bool) {
	return m.ending.moves.Load(), m.ending.onGPU.Load()
}

// InLibrary says whether the vendor library is at work for us right now. It waits for nothing.
func (m *Manager) InLibrary() bool { return m.ending.library.Load() > 0 }

// inLibrary calls the vendor library.
func (e *ending) inLibrary(call func()) {
	e.library.Add(1)
	defer e.library.Add(-1)
	call()
}

func (e *ending) ended(k *record.Activity) {
	if e.begun.Load() && !callpath.Later(k.Correlation, e.newest) {
		e.moves.Add(1)
	}
}

// completed looks for records that the vendor library has completed in buffers that it still holds. CUPTI returns a buffer only
// when every record in it is complete: while kernels are queued, those that end first are seen nowhere else. It is called after
// the library was asked for its buffers, because CUPTI completes records only then.
func (e *ending) completed() {
	if !e.begun.Load() {
		return
	}
	if buffers := hotpath.MarkedBuffers(); buffers != e.buffers {
		e.buffers = buffers
		e.moves.Add(1)
	}
}
