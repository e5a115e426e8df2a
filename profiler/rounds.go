package profiler

import (
	"fmt"
	"sync"
	"time"

	"github.com/goproton/goproton/hotpath"
)

// How often the rings are emptied. A ring holds 32 k records; at 140 k launches a second, 10 ms fill a twentieth of it.
const (
	drainEvery = 10 * time.Millisecond
	idleEvery  = 50 * time.Millisecond
	// graphsEvery is how often destroyed graphs are freed: their last records must have arrived first.
	graphsEvery = time.Second
	// phasesEvery is how often complete phases are looked for, and timelines flushed.
	phasesEvery = time.Second
	// firstPause is the time from the first checkpoint, which is at the first work, to the second. Each pause is twice the one before,
	// until they are as long as was requested: a program that is killed early keeps most of its profile.
	firstPause = 10 * time.Millisecond
)

// rounds is a goroutine that lives while there are sessions. Manager.Start starts it with the first session and
// Manager.Finalize stops it after the last, both with control held. Each round
//
//   - drains, as a command of the drainer, which also frees destroyed graphs and call paths (drain);
//   - asks the vendor library for its buffers if they are due (Collect). This call may hang, so it is made outside of
//     commands, which go on meanwhile;
//   - hands over intervals, writes complete phases and checkpoints, which take long;
//   - looks whether the GPU hangs, where that was asked for.
//
// The next round comes after drainEvery if this one found work, else after idleEvery, or when the hot path wakes it.
type rounds struct {
	m             *Manager
	stop, stopped chan struct{}

	graphs, phases, checkpointed time.Time // when each was done last
	worked                       bool      // a round has found work: a record in a ring, or a full buffer
	pinned                       pinned
	hang                         *hangWatch // guarded by mu

	mu         sync.Mutex // guards what follows
	firstWork  func()     // called once, at the first work
	onRound    func()     // called at the end of each round
	checkpoint func()
	every      time.Duration // between checkpoints
	pause      time.Duration // after the last checkpoint; grows until it is every
}

// startRounds and stopRounds are called with control held.
func (m *Manager) startRounds() {
	if m.rounds != nil {
		return
	}
	now := time.Now()
	m.rounds = &rounds{m: m, stop: make(chan struct{}), stopped: make(chan struct{}), graphs: now, checkpointed: now}
	go m.rounds.run()
}

func (m *Manager) stopRounds() {
	if m.rounds == nil {
		return
	}
	close(m.rounds.stop)
	hotpath.Kick()
	<-m.rounds.stopped
	m.rounds = nil
	hotpath.Watch(false)
}

// Checkpoint calls f at intervals while sessions run, from a goroutine that holds no lock: with Collect and
// WriteDrained it writes a profile that remains if the program is killed.
func (m *Manager) Checkpoint(seconds float64, f func()) {
	m.withRounds(func(r *rounds) {
		r.checkpoint, r.every = f, time.Duration(seconds*float64(time.Second))
		r.pause = r.every
	})
}

// OnFirstWork has f called once, soon after the first launch (or, with a timeline, the first scope), from the same goroutine.
func (m *Manager) OnFirstWork(f func()) { m.withRounds(func(r *rounds) { r.firstWork = f }) }

// OnRound has f called at the end of each round, from the same goroutine.
func (m *Manager) OnRound(f func()) { m.withRounds(func(r *rounds) { r.onRound = f }) }

func (m *Manager) withRounds(f func(*rounds)) {
	m.control.Lock()
	defer m.control.Unlock()
	if m.rounds == nil {
		return
	}
	m.rounds.mu.Lock()
	defer m.rounds.mu.Unlock()
	f(m.rounds)
}

func (r *rounds) run() {
	defer close(r.stopped)
	pause := drainEvery
	for {
		hotpath.Wait(pause)
		select {
		case <-r.stop:
			return
		default:
		}
		if pause = idleEvery; r.round() {
			pause = drainEvery
		}
	}
}

// round does everything that is due. It reports whether the next round is to come soon, because there was work or because call
// paths wait to be freed. It recovers from a panic, because a bug of ours must not end the program.
func (r *rounds) round() (soon bool) {
	defer func() {
		if bug := recover(); bug != nil {
			r.m.Problem(fmt.Errorf("BUG: the drainer panicked: %v; please report this", bug))
		}
	}()
	if r.m.EachRound != nil {
		r.m.EachRound()
	}
	r.m.lookAtGate()
	r.m.leaveWhenIdle()
	worked, reclaiming, graphsWait, deltasDue := r.drain()
	if worked {
		r.atFirstWork()
	}
	if graphsWait || hotpath.BuffersDue() {
		r.m.Collect() // the last records of graphs, so that the next round can free them; buffers, so that the pool does not run out
	}
	r.takeDeltas(deltasDue)
	r.writePhases()
	r.leaveCheckpoint()
	r.watchHang()
	r.mu.Lock()
	onRound := r.onRound
	r.mu.Unlock()
	if onRound != nil {
		onRound()
	}
	return worked || reclaiming
}

func (r *rounds) drain() (worked, reclaiming, graphsWait, deltasDue bool) {
	r.m.drainer.do(func(d *drainer) {
		worked, d.work = d.work > 0, 0
		if d.spending != nil {
			d.spending.rounds = r.pinned.time()
		}
		d.reclaim()
		reclaiming, deltasDue = d.paths.waiting, d.deltasDue(time.Now())
		if time.Since(r.graphs) > graphsEvery {
			graphsWait = d.resolver.FreeDestroyed()
			d.forgetValues()
			d.sets.expire(d.newestLaunch())
			r.graphs = time.Now()
		}
	})
	return worked, reclaiming, graphsWait, deltasDue
}

func (r *rounds) atFirstWork() {
	r.mu.Lock()
	first := r.firstWork
	r.firstWork = nil
	if !r.worked {
		r.worked, r.pause = true, 0
	}
	r.mu.Unlock()
	if first != nil {
		first()
	}
}

// leaveCheckpoint leaves a checkpoint when one is due. A large profile is written less often: never more than
// a twentieth of the time.
func (r *rounds) leaveCheckpoint() {
	r.mu.Lock()
	checkpoint, every := r.checkpoint, r.every
	pause := min(r.pause, every)
	r.mu.Unlock()
	if checkpoint == nil || time.Since(r.checkpointed) <= pause {
		return
	}
	began := time.Now()
	checkpoint()
	r.checkpointed = time.Now()
	pause = min(max(firstPause, 2*pause), every)
	if cost := 20 * time.Since(began); cost > pause {
		r.checkpointed = r.checkpointed.Add(cost - pause)
	}
	r.mu.Lock()
	r.pause = pause
	r.mu.Unlock()
}
