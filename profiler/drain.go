package profiler

import (
	"time"

	"github.com/goproton/goproton/internal/hotpath"
	"github.com/goproton/goproton/profiler/record"
)

// How the drainer works. A ring holds 32 k records; at 140 k launches a second, each with two scopes'
// worth of records, 10 ms fill a tenth of it. Two spare buffers of 2 MiB are 19 k kernels.
const (
	drainEvery   = 10 * time.Millisecond
	idleEvery    = 50 * time.Millisecond
	spareBuffers = 3
	// graphsEvery is how often destroyed graphs are freed: their last records must have arrived first.
	graphsEvery = time.Second
)

func (m *Manager) startDrainer() {
	if m.draining != nil {
		return
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	m.draining, m.drained = stop, stopped
	go m.drainLoop(stop, stopped)
}

// stopDrainer ends the drainer and waits for it. Call without mu.
func (m *Manager) stopDrainer() {
	if m.draining == nil {
		return
	}
	close(m.draining)
	hotpath.Kick()
	<-m.drained
	m.draining = nil
}

func (m *Manager) drainLoop(stop, stopped chan struct{}) {
	defer close(stopped)
	pause := drainEvery
	lastGraphs, lastCheckpoint := time.Now(), time.Now()
	for {
		hotpath.Wait(pause)
		select {
		case <-stop:
			return
		default:
		}
		m.mu.Lock()
		busy := m.drain() > 0
		graphsWait := false
		if time.Since(lastGraphs) > graphsEvery {
			graphsWait = m.resolver.FreeDestroyed() && m.attached
			lastGraphs = time.Now()
		}
		checkpoint, every := m.checkpoint, m.every
		var first func()
		if busy {
			first, m.firstWork = m.firstWork, nil
		}
		m.mu.Unlock()
		if first != nil {
			first()
		}
		if graphsWait {
			m.collect(false) // their last records, so that the next round can free them
		}
		if pause = idleEvery; busy {
			pause = drainEvery
		}
		if checkpoint != nil && time.Since(lastCheckpoint) > every {
			began := time.Now()
			checkpoint()
			lastCheckpoint = time.Now()
			// A large profile is written less often: never more than a twentieth of the time.
			if cost := 20 * time.Since(began); cost > every {
				lastCheckpoint = lastCheckpoint.Add(cost - every)
			}
		}
	}
}

// drain empties rings and full buffers. A buffer is taken before the rings are read: the launches of all
// its kernels were recorded before it came back full. It returns how much there was to do.
func (m *Manager) drain() int {
	work := 0
	for {
		buffer, ok := hotpath.TakeBuffer()
		work += hotpath.Drain(m.resolver.Add)
		if !ok {
			break
		}
		m.source.Decode(buffer, m.kernel)
		buffer.Recycle()
		m.resolver.NextCycle()
		work++
	}
	if m.attached && work > 0 {
		hotpath.PrepareBuffers(spareBuffers)
	}
	return work
}

func (m *Manager) kernel(k *record.Kernel) {
	if at, ok := m.resolver.Resolve(k); ok {
		m.agg.Add(k, at)
		return
	}
	m.agg.AddUnattributed(k, m.lastSet)
}

// flush waits for everything that was launched and counts it. Call with control held, without mu: while the
// vendor library works or hangs, the drainer must be able to go on and an exit to write what there is.
func (m *Manager) flush() {
	m.mu.Lock()
	m.drain()
	mark, attached := m.resolver.Mark(), m.attached
	m.mu.Unlock()
	if attached {
		m.source.Synchronize()
		m.collect(false)
		if m.launchesWait() {
			m.collect(true)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resolver.SettleAll()
	if attached {
		m.loss.Buffers += m.source.Dropped()
	}
	if attached && !hotpath.Capturing() {
		m.resolver.Forget(mark)
	}
	for _, s := range m.sessions {
		s.flushed = s.phase
	}
}

// collect has the vendor library hand over its buffers and drains them. Call without mu.
func (m *Manager) collect(forced bool) {
	m.source.Flush(forced)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drain()
}

func (m *Manager) launchesWait() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.resolver.Waiting() > 0
}
