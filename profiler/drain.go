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
		if time.Since(lastGraphs) > graphsEvery {
			m.freeGraphs()
			lastGraphs = time.Now()
		}
		checkpoint, every := m.checkpoint, m.every
		m.mu.Unlock()
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

// freeGraphs forgets graphs that the program destroyed, once their last records are in.
func (m *Manager) freeGraphs() {
	if m.resolver.FreeDestroyed() {
		m.source.Flush(false)
		m.drain()
	}
}

// flush waits for everything that was launched and counts it. Call with control held, without mu: the
// drainer must be able to work while the GPU finishes.
func (m *Manager) flush() {
	m.mu.Lock()
	m.drain()
	mark, attached := m.resolver.Mark(), m.attached
	m.mu.Unlock()
	if attached {
		m.source.Synchronize()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drain()
	if attached {
		m.source.Flush(false)
		m.drain()
		if m.resolver.Waiting() > 0 {
			m.source.Flush(true)
			m.drain()
		}
		m.loss.Buffers += m.source.Dropped()
	}
	m.resolver.SettleAll()
	if attached && !hotpath.Capturing() {
		m.resolver.Forget(mark)
	}
	for _, s := range m.sessions {
		s.flushed = s.phase
	}
}
