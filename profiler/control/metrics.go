package control

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/goproton/goproton/internal/counters"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler"
)

// countEvery is how old the counters of a living process are at most. Prometheus asks every 15 s, or more rarely.
const countEvery = 5 * time.Second

// counted adds up what this process does, in one session after another, and leaves it in a file. The zero value is for a process
// of which no counters were asked.
type counted struct {
	mu      sync.Mutex
	session int           // that is counted, or was the last
	changed chan struct{} // of capacity 1: the file is out of date
	path    string        // of the file
	sums    *counters.Sums
	info    profile.Info // of the last window; nil: nothing was counted yet

	writing                            sync.Mutex
	finished                           bool // the file was the last: who has read it may have added it up, and removed it
	dropped, unattributed, lostSamples grown
	windowsDropped                     grown
}

// grown is the sum of a number that begins at 0 again with the first session after a while without any.
type grown struct{ before, last int64 }

func (g *grown) to(n int64) int64 {
	if n < g.last {
		g.before += g.last
	}
	g.last = n
	return g.before + n
}

// countDeltas is what a session is started with that is counted, nil without. There is one of them at a time, because what two record
// would count twice.
func (s *Service) countDeltas(name string, o *runinfo.Metrics) (*profiler.Deltas, error) {
	if o == nil {
		return nil, nil
	}
	c := &s.counted
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.sums == nil:
		c.session, c.sums, c.changed = -1, counters.NewSums(o.Scopes), make(chan struct{}, 1)
		go s.keepCounters(c.changed)
	case s.Manager.Lives(c.session) && s.Manager.Name(c.session) != name:
		return nil, &profiler.ArgumentError{Text: fmt.Sprintf("metrics: the session %s is counted already: leave metrics out, because its work would count twice", s.Manager.Name(c.session))}
	}
	if filepath.Dir(c.path) != o.Folder { // of another server
		c.path = counters.NewFile(o.Folder)
	}
	return &profiler.Deltas{Sink: c, Every: countEvery}, nil
}

// began notes which session is counted.
func (c *counted) began(session int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = session
}

// Write adds a window. The file is written by another goroutine, so that a disk that hangs has no window dropped.
func (c *counted) Write(_ context.Context, _ profiler.Window, window *profile.Profile) error {
	c.mu.Lock()
	c.sums.Add(window)
	c.info = window.Info
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
	return nil
}

// keepCounters keeps the file up to date.
func (s *Service) keepCounters(changed <-chan struct{}) {
	for range changed {
		s.writeCounters(false)
	}
}

// takeDeltas hands over what was recorded until now, where the process may not come to the end of its sessions.
func (s *Service) takeDeltas(finished bool) {
	s.Manager.TakeDeltas()
	s.writeCounters(finished)
}

// writeCounters writes the file. One that cannot be written now is complete when it is written the next time.
func (s *Service) writeCounters(finished bool) {
	c := &s.counted
	c.writing.Lock()
	defer c.writing.Unlock()
	info, rows, path := c.now()
	if info == nil || c.finished {
		return // a process that did nothing has no counters
	}
	c.finished = finished
	st := s.Manager.Status() // with writing held: a status from before the last one would look as if counting had begun again
	state := counters.State{
		PID: os.Getpid(), Job: info[profile.InfoJob], Host: info[profile.InfoHost], Rank: info[profile.InfoRank], Replay: info[profile.InfoReplay], Rows: rows,
		Dropped: c.dropped.to(int64(st.Loss.Records + st.Loss.Buffers)), Unattributed: c.unattributed.to(int64(st.Loss.Unattributed)),
		LostSamples: c.lostSamples.to(int64(st.Sampling.Dropped)), Push: s.pushStatus(), Finished: finished,
	}
	if b := budgetStatus(st.Budget); b != nil {
		state.Overhead = &counters.Overhead{Achieved: b.Achieved, Budget: b.Share}
	}
	if state.Push != nil {
		state.Push.Dropped = c.windowsDropped.to(state.Push.Dropped)
	}
	_ = state.Write(path)
}

// now returns what was counted so far, and where it goes.
func (c *counted) now() (info profile.Info, rows []counters.Row, path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.info == nil {
		return nil, nil, ""
	}
	return c.info, c.sums.Rows(), c.path
}
