package profiler

import (
	"fmt"
	"slices"
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
	// phasesEvery is how often complete phases are looked for, and traces flushed.
	phasesEvery = time.Second
	// firstCheckpoint after the first work: a program that is killed early has been short.
	firstCheckpoint = 250 * time.Millisecond
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
	d := drainer{m: m, graphs: time.Now(), checkpoint: time.Now()}
	pause := drainEvery
	for {
		hotpath.Wait(pause)
		select {
		case <-stop:
			return
		default:
		}
		if pause = idleEvery; d.round() {
			pause = drainEvery
		}
	}
}

// drainer is what one drain loop remembers: when it last did what it does more rarely.
type drainer struct {
	m                  *Manager
	graphs, checkpoint time.Time
	phases             time.Time
	worked             bool
}

// round does everything that is due and reports whether there was work. A bug of ours in it must not end the
// program, whose goroutine this is not.
func (d *drainer) round() (busy bool) {
	defer func() {
		if r := recover(); r != nil {
			d.m.bug(r)
		}
	}()
	if d.m.EachRound != nil {
		d.m.EachRound()
	}
	busy, graphsWait, first := d.drain()
	if first != nil {
		first()
	}
	if graphsWait {
		d.m.collect(false) // their last records, so that the next round can free them
	}
	d.writePhases()
	d.leaveCheckpoint()
	return busy
}

func (d *drainer) drain() (busy, graphsWait bool, first func()) {
	m := d.m
	m.mu.Lock()
	defer m.mu.Unlock()
	busy = m.drain() > 0
	m.reclaim()
	if time.Since(d.graphs) > graphsEvery {
		graphsWait = m.resolver.FreeDestroyed() && m.attached
		d.graphs = time.Now()
	}
	if busy {
		first, m.firstWork = m.firstWork, nil
	}
	if busy && !d.worked {
		d.worked = true
		d.checkpoint = time.Now().Add(firstCheckpoint - m.every)
	}
	return busy, graphsWait, first
}

// leaveCheckpoint leaves a checkpoint when one is due. A large profile is written less often: never more than
// a twentieth of the time.
func (d *drainer) leaveCheckpoint() {
	d.m.mu.Lock()
	checkpoint, every := d.m.checkpoint, d.m.every
	d.m.mu.Unlock()
	if checkpoint == nil || time.Since(d.checkpoint) <= every {
		return
	}
	began := time.Now()
	checkpoint()
	d.checkpoint = time.Now()
	if cost := 20 * time.Since(began); cost > every {
		d.checkpoint = d.checkpoint.Add(cost - every)
	}
}

// bug notes a failure of our own, once.
func (m *Manager) bug(what any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := fmt.Sprintf("BUG: the drainer panicked: %v; please report this", what)
	if !slices.Contains(m.problems, text) {
		m.problems = append(m.problems, text)
	}
}

// discard empties rings and buffers of what belongs to no session: its call paths are about to be forgotten, or
// were, and the strings that records point to may be gone. Call with mu held, without a drainer.
func (m *Manager) discard() {
	for {
		buffer, ok := hotpath.TakeBuffer()
		if !ok {
			break
		}
		buffer.Recycle()
	}
	hotpath.Drain(func(uintptr, []hotpath.Record) {})
	hotpath.TakeSlots(func([]hotpath.Slot) {})
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
		m.decoder.decode(buffer, m.activity)
		buffer.Recycle()
		m.resolver.NextCycle()
		work++
	}
	m.agg.TakeSlots()
	m.drainSamples()
	if m.attached && work > 0 {
		hotpath.PrepareBuffers(spareBuffers)
	}
	return work
}

func (m *Manager) activity(k *record.Activity) {
	m.ending.ended(k)
	if m.agg.Sets.Timelines() && k.Timed() {
		m.onOurClock(k)
	}
	if at, ok := m.resolver.Resolve(k); ok {
		m.agg.Add(k, &at)
		return
	}
	m.agg.AddUnattributed(k, m.lastSet)
}

// clockNoise is what two readings of one clock may differ by.
const clockNoise = 1000

// onOurClock moves an activity from the source's clock to the one that the program's threads read, should they differ.
func (m *Manager) onOurClock(k *record.Activity) {
	if !m.measured {
		if m.measured, m.ahead = true, m.source.ClockAhead(); m.ahead < clockNoise && m.ahead > -clockNoise {
			m.ahead = 0
		}
	}
	k.Start -= uint64(m.ahead)
	k.End -= uint64(m.ahead)
}

// flush waits for everything that was launched and counts it. Call with control held, without mu: while the
// vendor library works or hangs, the drainer must be able to go on and an exit to write what there is.
func (m *Manager) flush() {
	m.mu.Lock()
	m.drain()
	mark, attached, waited := m.resolver.Mark(), m.attached, false
	m.mu.Unlock()
	if attached {
		waited = m.synchronize()
		m.collect(false)
		if m.launchesWait() {
			m.collect(true)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resolver.CountAll()
	if attached {
		m.loss.Buffers += m.source.Dropped()
	}
	if waited {
		m.resolver.Forget(mark)
	}
	if waited && m.sampler != nil {
		m.drainSamples()
		m.agg.Settle()
	}
	for _, s := range m.sessions {
		s.flushed = s.phase
	}
}

// collect has the vendor library hand over its buffers and drains them. Call without mu.
func (m *Manager) collect(forced bool) {
	m.ending.inLibrary(func() { m.source.Flush(forced) })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drain()
	m.ending.completed()
}

func (m *Manager) launchesWait() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.resolver.Waiting() > 0
}
