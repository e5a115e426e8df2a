package profiler

import (
	"fmt"
	"time"

	"github.com/goproton/goproton/export/counters"
	"github.com/goproton/goproton/profiler/aggregate"
)

// Deltas has a session hand to a sink what it recorded in each interval, in addition to its files, which hold everything. The
// windows are aligned to the clock, and those of all ranks of a job lie side by side. Together they have exactly what the
// files have: see export/counters for the metrics. Work counts for the window in which its record arrives.
type Deltas struct {
	Sink  Sink
	Every time.Duration
}

// intervals is the drainer's account of what a session has handed over.
type intervals struct {
	*queue
	every time.Duration
	begin time.Time // of the current interval, with the monotonic clock
	taken map[*aggregate.Tree]*counters.Taken
	fresh counters.Sum // sum of the current interval over all phases, of which there may be hundreds
}

func newIntervals(o *Deltas, name string) *intervals {
	q := newQueue(o.Sink, "the windows of "+name, attempts)
	q.noun = "window"
	return &intervals{queue: q, every: o.Every, begin: time.Now(), taken: map[*aggregate.Tree]*counters.Taken{}}
}

// due reports whether an interval is over: the clock has passed a multiple of its length or, which comes first if the clock
// was set back, so much time has passed.
func (i *intervals) due(now time.Time, passed time.Duration) bool {
	end := i.begin.Truncate(i.every).Add(i.every) // without the monotonic clock
	return !now.Round(0).Before(end) || passed >= i.every
}

// deltasDue reports whether an interval of some session is over.
func (d *drainer) deltasDue(now time.Time) bool {
	for _, s := range d.list {
		for _, i := range s.intervals {
			if i.due(now, now.Sub(i.begin)) {
				return true
			}
		}
	}
	return false
}

// takeDeltas hands over the intervals that are over; with all, also those that are not.
func (d *drainer) takeDeltas(now time.Time, all bool) {
	for _, s := range d.list {
		var due []*intervals
		for _, i := range s.intervals {
			if all || i.due(now, now.Sub(i.begin)) {
				due = append(due, i)
			}
		}
		for _, t := range s.trees {
			d.takeDelta(s, t, due)
		}
		s.handOverIntervals(now, due)
	}
}

// handOverIntervals hands over what was taken in the intervals that are over.
func (s *session) handOverIntervals(now time.Time, over []*intervals) {
	for _, i := range over {
		if fresh := i.fresh.Take(); fresh != nil {
			w := s.window(s.phase, s.format)
			w.End, w.Begin = now, now.Add(-now.Sub(i.begin)) // by the clock as it is now
			i.put(w, fresh)
		}
		i.begin = now
	}
}

// takeDelta takes the part of a phase that was not taken before.
func (d *drainer) takeDelta(s *session, t *aggregate.Tree, to []*intervals) {
	if len(to) == 0 {
		return
	}
	p := d.agg.FreezeByDevice(t, d.backend.DeviceType)
	p.Info = d.infoFor(s)
	for _, i := range to {
		taken := i.taken[t]
		if taken == nil {
			taken = &counters.Taken{}
			i.taken[t] = taken
		}
		if fresh := taken.Take(p); fresh != nil {
			i.fresh.Add(fresh)
		}
	}
}

// TakeDeltas hands over what sessions recorded in the current interval, before it is over, and waits a little for the sinks.
func (m *Manager) TakeDeltas() {
	var queues []*queue
	m.drainer.do(func(d *drainer) {
		d.takeDeltas(time.Now(), true)
		for _, s := range d.list {
			for _, i := range s.intervals {
				queues = append(queues, i.queue)
			}
		}
	})
	patience := time.After(deltasPatience)
	for _, q := range queues {
		select {
		case <-q.flush():
		case <-patience:
			return
		}
	}
}

// deltasPatience is how long a process waits for its last windows where it cannot end its sessions.
const deltasPatience = time.Second

// takeDeltas hands over the intervals that are over.
func (r *rounds) takeDeltas(due bool) {
	if !due {
		return
	}
	r.m.Collect()
	r.m.drainer.do(func(d *drainer) { d.takeDeltas(time.Now(), false) })
}

// checkDeltas refuses sessions of which no deltas can be taken.
func (o *StartOptions) checkDeltas(timeline bool) error {
	for _, one := range o.Deltas {
		switch {
		case timeline:
			return &ArgumentError{"Windows are pushed and counted of trees, not of timelines; leave data=\"timeline\", or push and prometheus out"}
		case one.Every < time.Second:
			return &ArgumentError{fmt.Sprintf("Windows of %v are too short; give at least 1 s", one.Every)}
		}
	}
	return nil
}
