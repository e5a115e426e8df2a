package profiler

import (
	"sync/atomic"

	"github.com/goproton/goproton/profiler/record"
)

// ending tells a process that ends how the GPU gets on with what the program launched. It can be read while locks are held
// by what hangs.
type ending struct {
	begun  atomic.Bool
	newest uint32        // correlation id of the program's last launch; guarded by mu
	moves  atomic.Uint64 // activities of that time that have ended, contexts that have been waited for
	onGPU  atomic.Bool   // a context is being waited for
}

// Ending says that the program is over: what the GPU does from here on counts as progress, if the program launched it before.
// Threads that launch on and on do not keep a process alive of which another stream hangs.
func (m *Manager) Ending() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drain()
	m.ending.newest = m.resolver.Newest()
	m.ending.begun.Store(true)
}

// Progress grows whenever the GPU has got further with what was launched before Ending; onGPU says whether it is waited for
// right now. It takes no lock.
func (m *Manager) Progress() (moves uint64, onGPU bool) {
	return m.ending.moves.Load(), m.ending.onGPU.Load()
}

func (e *ending) ended(k *record.Activity) {
	if e.begun.Load() && int32(k.Correlation-e.newest) <= 0 {
		e.moves.Add(1)
	}
}

// synchronize waits for all that was launched. Call without mu.
func (m *Manager) synchronize() bool {
	m.ending.onGPU.Store(true)
	defer m.ending.onGPU.Store(false)
	return m.source.Synchronize(func() { m.ending.moves.Add(1) })
}
