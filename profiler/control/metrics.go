package control

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/goproton/goproton/export/counters"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler"
)

// countEvery is how old the counters of a living process are at most. Prometheus asks every 15 s, or more rarely.
const countEvery = 5 * time.Second

// counted adds up what this process does, in one session after another, and leaves it in files. The zero value is for a process
// of which no counters were asked.
type counted struct {
	mu      sync.Mutex
	session int           // that is counted, or was the last
	changed chan struct{} // of capacity 1: files are out of date; nil: no counters were asked for yet
	files   []*countedFile

	writing  sync.Mutex
	finished bool // the files were the last: who has read one may have added it up, and removed it
}

// countedFile is what one reader gets: the server of start(prometheus=…), or a sender with the service and labels of a session. Each has a
// file of its own, because it removes the file of a process that has ended.
type countedFile struct {
	folder, path string
	current      bool // the session that is counted is counted here
	changed      bool // since it was written
	sums         *counters.Sums
	info         profile.Info // of the last window; nil: nothing was counted yet

	// These belong to who holds writing.
	last                               counters.State // that was written
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
	if err := s.countsAnother(name); err != nil {
		return nil, err
	}
	c := &s.counted
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil {
		c.session, c.changed = -1, make(chan struct{}, 1)
		go s.keepCounters(c.changed)
	}
	lives := s.Manager.Lives(c.session)
	for _, f := range c.files {
		f.current = f.current && lives // of a session that is started again
	}
	for _, folder := range o.Folders {
		c.into(folder, o.Scopes)
	}
	return &profiler.Deltas{Sink: c, Every: countEvery}, nil
}

// countsAnother refuses to count a session while one with another name is counted.
func (s *Service) countsAnother(name string) error {
	c := &s.counted
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changed == nil || !s.Manager.Lives(c.session) || s.Manager.Name(c.session) == name {
		return nil
	}
	return &profiler.ArgumentError{Text: fmt.Sprintf("prometheus: the session %s is counted already: leave prometheus out, and counters of push too, because its work would count twice", s.Manager.Name(c.session))}
}

// into has the session that is counted counted in a folder. One that no session had before begins at 0.
func (c *counted) into(folder string, scopes int) {
	at := slices.IndexFunc(c.files, func(f *countedFile) bool { return f.folder == folder })
	if at < 0 {
		at = len(c.files)
		c.files = append(c.files, &countedFile{folder: folder, path: counters.NewFile(folder), sums: counters.NewSums(scopes)})
	}
	c.files[at].current = true
}

// began notes which session is counted.
func (c *counted) began(session int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = session
}

// Write adds a window. Files are written by another goroutine, so that a disk that hangs has no window dropped.
func (c *counted) Write(_ context.Context, _ profiler.Window, window *profile.Profile) error {
	c.mu.Lock()
	for _, f := range c.files {
		if f.current {
			f.sums.Add(window)
			f.info, f.changed = window.Info, true
		}
	}
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
	return nil
}

// keepCounters keeps the files up to date.
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

// writeCounters writes the files. One that cannot be written now is complete when it is written the next time.
func (s *Service) writeCounters(finished bool) {
	c := &s.counted
	c.writing.Lock()
	defer c.writing.Unlock()
	list := c.now()
	if c.finished || len(list) == 0 {
		return
	}
	c.finished = finished
	st := s.Manager.Status() // with writing held: a status from before the last one would look as if counting had begun again
	for _, f := range list {
		if f.rows != nil {
			f.update(f.info, f.rows, st, s.pushStatus())
		}
		if f.last.Finished = finished; finished || f.rows != nil {
			if err := f.last.Write(f.path); err != nil {
				c.again(f.countedFile)
			}
		}
	}
}

// again has a file written the next time, also if its session has ended by then.
func (c *counted) again(f *countedFile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.changed = true
}

// update makes the state of the process as it is now.
func (f *countedFile) update(info profile.Info, rows []counters.Row, st profiler.Status, push *runinfo.PushStatus) {
	if push != nil {
		push.Dropped = f.windowsDropped.to(push.Dropped)
	}
	f.last = counters.State{
		PID: os.Getpid(), Job: info[profile.InfoJob], Host: info[profile.InfoHost], Rank: info[profile.InfoRank], Replay: info[profile.InfoReplay], Rows: rows,
		Dropped: f.dropped.to(int64(st.Loss.Records + st.Loss.Buffers)), Unattributed: f.unattributed.to(int64(st.Loss.Unattributed)),
		LostSamples: f.lostSamples.to(st.Sampling.Dropped), Push: push,
	}
	if b := budgetStatus(st.Budget); b != nil {
		f.last.Overhead = &counters.Overhead{Achieved: b.Achieved, Budget: b.Share}
	}
}

// sumsNow are those of a file.
type sumsNow struct {
	*countedFile
	info profile.Info
	rows []counters.Row // nil: they are those that were written last
}

// now returns the files in which something was counted so far. A process that did nothing has none.
func (c *counted) now() (list []sumsNow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.files {
		switch {
		case f.info == nil:
		case f.current || f.changed:
			f.changed = false
			list = append(list, sumsNow{f, f.info, f.sums.Rows()})
		default:
			list = append(list, sumsNow{countedFile: f})
		}
	}
	return list
}
