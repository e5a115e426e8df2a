package profiler

import (
	"time"

	"github.com/goproton/goproton/hotpath"
)

// attach attaches the source unless it is attached already. A source that collects less than was asked for is attached, and its
// error is a problem to report. early says that the program is initialising its GPU and that the call is made from inside that.
func (m *Manager) attach(early bool) {
	m.drainer.do(func(d *drainer) {
		if d.attached || d.waiting && !early {
			return
		}
		if !d.waiting && !d.source.Ready() && d.source.AttachLater() {
			d.waiting = true
			return
		}
		m.attaching.Store(true)
		defer m.attaching.Store(false)
		d.waiting = false
		if err := d.source.Attach(early || d.gpuStarting); err != nil {
			d.problem(err.Error())
		}
		d.attached = d.source.Attached()
	})
}

// GPUStarts is called on the thread that initialises the GPU, before the program can launch anything. begin may start a
// session. If the source is being attached already, GPUStarts returns at once: attaching may be what initialises the GPU, or
// may wait for the thread that does.
func (m *Manager) GPUStarts(begin func()) {
	for !m.drainer.turn.TryLock() {
		if m.attaching.Load() {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
	m.drainer.gpuStarting = true
	m.drainer.turn.Unlock()
	defer m.drainer.do(func(d *drainer) { d.gpuStarting = false })
	begin()
	if ask(m.drainer, func(d *drainer) bool { return d.waiting }) {
		m.attach(true)
		m.published()
		hotpath.Kick() // the round reports it
	}
}

// Flush waits for everything that was launched and counts it.
func (m *Manager) Flush() {
	m.control.Lock()
	defer m.control.Unlock()
	m.flush()
}

// flush is Flush, with control held.
func (m *Manager) flush() {
	var mark uint32
	attached, waited, dropped, inside := false, false, uint64(0), false
	m.drainer.do(func(d *drainer) {
		d.countTurn()
		mark, attached, inside = d.resolver.Mark(), d.attached, d.inside.mode != nil
	})
	if attached {
		waited = m.synchronize()
		if m.collect(false) > 0 {
			m.collect(true)
		}
		dropped = m.drainer.source.Dropped()
	}
	if inside {
		m.awaitInside()
	}
	m.drainer.do(func(d *drainer) { d.flushed(mark, waited, dropped) })
}

// flushed ends a flush that began with a mark.
func (d *drainer) flushed(mark uint32, waited bool, dropped uint64) {
	d.resolver.CountAll()
	d.readWaiting(true)
	d.loss.Buffers += dropped
	if waited {
		d.resolver.Forget(mark)
	}
	if waited && d.sampler != nil {
		d.agg.Apportion()
	}
	for _, s := range d.list {
		s.flushed = s.phase
	}
}

// collect has the vendor library hand over its buffers, and returns how many launches then still wait for their kernels.
func (m *Manager) collect(forced bool) (launches int) {
	m.ending.inLibrary(func() { m.drainer.source.Flush(forced) })
	return ask(m.drainer, func(d *drainer) int {
		d.ending.completed()
		return d.resolver.Waiting()
	})
}

// Collect takes in what the vendor library has ready, without waiting for the GPU.
func (m *Manager) Collect() { m.collectIfAttached(false) }

// collectUnfinished is Collect for buffers with records of kernels that have not ended as well: these are counted then, without a time.
func (m *Manager) collectUnfinished() { m.collectIfAttached(true) }

func (m *Manager) collectIfAttached(forced bool) {
	if ask(m.drainer, func(d *drainer) bool { return d.attached }) {
		m.collect(forced)
	}
}

// synchronize waits for all that was launched.
func (m *Manager) synchronize() bool {
	m.ending.onGPU.Store(true)
	defer m.ending.onGPU.Store(false)
	return m.drainer.source.Synchronize(func() { m.ending.moves.Add(1) })
}

// SourceGone says that the vendor library may have been torn down already, as at the end of a process: it is
// not called any more. What was drained is still written.
func (m *Manager) SourceGone() {
	m.drainer.do(func(d *drainer) { d.attached, d.waiting = false, false })
}

// detach detaches the source. Its caller holds control and has stopped the rounds.
func (m *Manager) detach() {
	attached := false
	m.drainer.do(func(d *drainer) {
		attached = d.attached
		d.attached, d.waiting = false, false
	})
	if attached {
		ending := m.ending.begun.Load() || m.hang.awaitsGPU() // a thread in the driver
		m.ending.inLibrary(func() { m.drainer.source.Detach(ending) })
	}
	m.hang = nil
	m.restsSince.Store(0)
	m.drainer.do((*drainer).discard)
}

// CodeLoaded reports a GPU function that was loaded before instructions were sampled: the handle by which it is launched,
// the name that the linker knows it by, and the binary that it was loaded from. Without sampling it does nothing.
func (m *Manager) CodeLoaded(handle uint64, name string, image []byte) {
	m.drainer.do(func(d *drainer) {
		if d.sampler != nil {
			d.sampler.Loaded(handle, name, image)
		}
	})
}

// spareBuffers is how many buffers are kept ready for the vendor library. One of 2 MiB holds 8,400 to 10,500 kernels.
const spareBuffers = 3
