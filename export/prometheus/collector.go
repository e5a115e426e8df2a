// Package prometheus gives the counters of all processes of a run to those who ask: as a page for Prometheus, and as families
// for other protocols. It runs outside of the profiled processes.
package prometheus

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/goproton/goproton/export/counters"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/runinfo"
)

// Collector adds up what processes have counted. What it returns never shrinks while it lives, also if a process or its file is
// gone.
type Collector struct {
	Folder string
	Pushed func() Pushed // what a sender has done; nil: nothing is pushed

	mu       sync.Mutex
	living   map[string]counters.State // as they were last read, by file
	earlier  map[string]counters.State // what belongs to ended of processes that have said another rank since, by file
	ended    map[process]*total        // of processes whose files are gone, and of ranks that living processes had before
	ordinals map[int]string            // of processes without a rank, by process id
}

// Pushed is what the sender of a run has done with its windows.
type Pushed struct {
	Sent, Refused, Unreadable, Evicted int64 // windows
	Bytes, Retries                     int64
	Waiting, WaitingBytes              int64
}

// process is whom counters belong to. The processes of one rank are one, as those of a rank that was restarted are. Of processes
// without a rank each is one, with a number in the order in which they were found: process ids would make new series
// each time that a program starts.
type process struct{ job, host, rank, number, replay string }

// total is what the processes of one identity have counted.
type total struct {
	rows  counters.Rows
	state counters.State // without rows
}

// clean makes the value of a label. Those that processes write are shorter.
func clean(text string) string { return foreign.Plain(text, 256) }

// mostNumbered is how many processes without a rank have numbers of their own. Later ones are added up.
const mostNumbered = 64

// identity says whom a state belongs to.
func (c *Collector) identity(s *counters.State) process {
	p := process{job: clean(s.Job), host: clean(s.Host), rank: clean(s.Rank), replay: clean(s.Replay)}
	if p.rank == "" {
		if c.ordinals[s.PID] == "" {
			if len(c.ordinals) >= mostNumbered {
				p.number = counters.Other
				return p
			}
			c.ordinals[s.PID] = strconv.Itoa(len(c.ordinals))
		}
		p.number = c.ordinals[s.PID]
	}
	return p
}

// read reads the files of all processes. One that cannot be read now counts as it was read before.
func (c *Collector) read() {
	if c.living == nil {
		c.living, c.earlier, c.ended, c.ordinals = map[string]counters.State{}, map[string]counters.State{}, map[process]*total{}, map[int]string{}
	}
	files, _ := counters.Files(c.Folder) //nolint:errcheck // a folder that is gone has none, and the sums stay
	for _, file := range files {
		state, err := counters.Read(file)
		if err != nil {
			continue
		}
		c.finishRank(file, &state)
		if c.living[file] = state; state.Finished && os.Remove(file) == nil {
			now := c.current(file)
			add(c.ended, c.identity(&now), &now)
			delete(c.living, file)
			delete(c.earlier, file)
		}
	}
}

// finishRank leaves what a process has counted so far with the rank that it had, or with its number, if its next state has another rank: a
// series that disappeared would count twice in a sum over its life.
func (c *Collector) finishRank(file string, next *counters.State) {
	was, known := c.living[file]
	if !known || was.Job == next.Job && was.Host == next.Host && was.Rank == next.Rank && was.Replay == next.Replay {
		return
	}
	now := c.current(file)
	now.Overhead = nil // no sum: the process has it with its next rank
	add(c.ended, c.identity(&now), &now)
	c.earlier[file] = was
}

// current is what a process has counted with the rank that it has now.
func (c *Collector) current(file string) counters.State {
	state := c.living[file]
	if earlier, is := c.earlier[file]; is {
		return state.Since(&earlier)
	}
	return state
}

func add(totals map[process]*total, who process, s *counters.State) {
	t := totals[who]
	if t == nil {
		t = &total{rows: counters.Rows{}}
		totals[who] = t
	}
	for _, r := range s.Rows {
		t.rows.Add(counters.Row{GPU: clean(r.GPU), Scope: clean(r.Scope), Work: clean(r.Work)}, r) // so no two series have equal labels
	}
	t.state.Dropped += s.Dropped
	t.state.Unattributed += s.Unattributed
	t.state.LostSamples += s.LostSamples
	if s.Overhead != nil && (t.state.Overhead == nil || s.Overhead.Achieved > t.state.Overhead.Achieved) {
		t.state.Overhead = s.Overhead // of several processes of one rank, the largest
	}
	if s.Push != nil {
		if t.state.Push == nil {
			t.state.Push = &runinfo.PushStatus{}
		}
		t.state.Push.Add(*s.Push)
	}
}

// totals are those of all processes that were ever seen.
func (c *Collector) totals() map[process]*total {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read()
	sums := map[process]*total{}
	for who, t := range c.ended {
		ended := t.state
		ended.Rows = t.rows.Sorted()
		add(sums, who, &ended)
	}
	for _, file := range slices.Sorted(maps.Keys(c.living)) {
		state := c.current(file)
		add(sums, c.identity(&state), &state)
	}
	return sums
}

func compare(a, b process) int {
	return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.host, b.host), figures.Natural(a.rank, b.rank), figures.Natural(a.number, b.number), cmp.Compare(a.replay, b.replay))
}
