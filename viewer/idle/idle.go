// Package idle finds the times at which the GPUs of a timeline had nothing to do, and what the program did meanwhile: for
// each gap it looks at the thread that launched the work which ended the gap.
package idle

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// Doing says what kept a GPU idle.
type Doing uint8

const (
	Code    Doing = iota // the thread ran code of the program
	Wait                 // the thread waited for the GPU
	Launch               // the thread was in the call that launches the next work
	Copy                 // the thread was in the call that starts a copy
	Queued               // the next work was launched and did not begin: the launch's latency, or a dependency of streams
	Unknown              // the launch of the next work is not in the timeline
	Before               // in a tree, which does not say more: the time before work of this call path
)

var words = [...]string{"code", "wait", "launch", "copy", "queued", "unknown", "before"}

// String is the word of the table.
func (d Doing) String() string { return words[d] }

// Means explains the words, for a legend.
var Means = [...]string{
	"the launching thread ran the program's code; outside of scopes it counts for the call path of the next launch",
	"the launching thread waited for the GPU",
	"the launching thread was in a call that launches work",
	"the launching thread was in a call that copies",
	"the next work was launched already: the latency of a launch, or a wait for other streams",
	"the launch of the next work is not in the timeline",
	"the time before work of this call path; what the thread did meanwhile is in timelines only",
}

// Report is what Find found.
type Report struct {
	Devices []Device
	Causes  []Cause // the most idle time first
	Longest []Gap   // the longest first
}

// Device is the whole time of one GPU, or of all GPUs of a tree, together. Busy and Idle add up to Wall.
type Device struct {
	Process, ID      string
	Wall, Busy, Idle int64 // ns; Wall is from the timeline's first event to its last, and in a tree from the first work to its last
	Gaps             int
}

// Cause is the idle time of a GPU during which one thing was done at one call path.
type Cause struct {
	Device  int // position in Devices
	Doing   Doing
	Path    []string // call path from the root
	Nanos   int64
	Gaps    int   // gaps that it has a part of
	Longest int64 // its longest part of one gap
}

// Gap is a time at which a GPU had nothing to do.
type Gap struct {
	Device     int
	Start, End int64  // ns since 1970
	Then       string // the name of the work that ended it; "" at the end of the timeline
	Path       []string
	Doing      Doing // the longest part of it, which Path belongs to
	Part       int64 // how long that part is
}

// Nanos is how long a gap is.
func (g *Gap) Nanos() int64 { return g.End - g.Start }

// Find looks for gaps and keeps the longest ones. A timeline without work of a GPU has no devices.
func Find(t *profile.Timeline, longest int) *Report {
	f := newFinder(t)
	for _, device := range f.devices {
		f.device(device)
	}
	r := &f.report
	slices.SortStableFunc(r.Causes, func(a, b Cause) int { return cmp.Compare(b.Nanos, a.Nanos) })
	slices.SortStableFunc(r.Longest, func(a, b Gap) int { return cmp.Compare(b.Nanos(), a.Nanos()) })
	r.Longest = r.Longest[:min(longest, len(r.Longest))]
	return r
}

// gpu is one GPU of one process.
type gpu struct{ process, id string }

type finder struct {
	lanes    map[int]*profile.Lane
	devices  []gpu                    // in natural order
	work     map[gpu][]*profile.Slice // by start
	threads  map[int]*thread          // by lane
	launches launches
	first    int64
	last     int64
	causes   map[causeKey]int // positions in the report
	report   Report
}

// root is what call paths begin with, except in traces of other tools.
const root = "ROOT"

// BelowRoot is a call path without its root, if it has one.
func BelowRoot(path []string) []string {
	if len(path) > 0 && path[0] == root {
		return path[1:]
	}
	return path
}

type causeKey struct {
	device int
	doing  Doing
	path   string
}

func newFinder(t *profile.Timeline) *finder {
	f := &finder{lanes: map[int]*profile.Lane{}, work: map[gpu][]*profile.Slice{}, threads: map[int]*thread{}, causes: map[causeKey]int{},
		first: math.MaxInt64, last: math.MinInt64}
	for i := range t.Lanes {
		f.lanes[t.Lanes[i].ID] = &t.Lanes[i]
	}
	for i := range t.Slices {
		s := &t.Slices[i]
		f.first, f.last = min(f.first, s.Start), max(f.last, end(s))
		lane := f.lanes[s.Lane]
		switch {
		case lane == nil:
		case lane.Kind == profile.StreamLane && isWork(s):
			g := gpu{lane.Process, lane.Device}
			f.work[g] = append(f.work[g], s)
		case lane.Kind == profile.ThreadLane:
			if f.threads[s.Lane] == nil {
				f.threads[s.Lane] = &thread{}
			}
			f.threads[s.Lane].slices = append(f.threads[s.Lane].slices, s)
		}
	}
	for g := range f.work {
		slices.SortStableFunc(f.work[g], byStart)
		f.devices = append(f.devices, g)
	}
	slices.SortFunc(f.devices, func(a, b gpu) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(len(a.id), len(b.id)), cmp.Compare(a.id, b.id))
	})
	for _, th := range f.threads {
		th.prepare()
	}
	f.launches = findLaunches(t, f.threads, f.lanes)
	return f
}

func end(s *profile.Slice) int64 { return s.Start + max(s.Duration, 0) }

func byStart(a, b *profile.Slice) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Duration, a.Duration))
}

func isWork(s *profile.Slice) bool {
	switch s.Kind {
	case profile.KernelSlice, profile.GraphSlice, profile.CopySlice, profile.FillSlice:
		return true
	}
	return false
}

// device sweeps over the work of one GPU.
func (f *finder) device(g gpu) {
	at := len(f.report.Devices)
	d := Device{Process: g.process, ID: g.id, Wall: f.last - f.first}
	work := f.work[g]
	until := f.first
	for _, s := range work {
		if s.Start > until {
			f.gap(at, Gap{Device: at, Start: until, End: s.Start, Then: s.Name}, f.launches.of(s))
			d.Idle += s.Start - until
			d.Gaps++
		}
		until = max(until, end(s))
	}
	if f.last > until { // what the thread did that launched the last
		lastLaunch := f.launches.of(work[len(work)-1])
		if lastLaunch != nil {
			lastLaunch = &profile.Slice{Lane: lastLaunch.Lane, Start: math.MaxInt64}
		}
		f.gap(at, Gap{Device: at, Start: until, End: f.last}, lastLaunch)
		d.Idle += f.last - until
		d.Gaps++
	}
	d.Busy = d.Wall - d.Idle
	f.report.Devices = append(f.report.Devices, d)
}

// gap divides a gap among what was done in it: before the launch what the launching thread did, then the launch, then nothing.
func (f *finder) gap(device int, g Gap, launch *profile.Slice) {
	parts := map[int]int64{} // by position of the cause
	add := func(doing Doing, path []string, from, to int64) {
		if from, to = max(from, g.Start), min(to, g.End); from < to {
			parts[f.cause(device, doing, path)] += to - from
		}
	}
	if launch == nil {
		add(Unknown, nil, g.Start, g.End)
	} else {
		th := f.threads[launch.Lane]
		th.during(g.Start, min(launch.Start, g.End), add)
		if launch.Start < g.End {
			add(doingIn(launch), th.path(launch), launch.Start, end(launch))
			add(Queued, th.path(launch), end(launch), g.End)
		}
	}
	for at, nanos := range parts {
		c := &f.report.Causes[at]
		c.Nanos += nanos
		c.Gaps++
		c.Longest = max(c.Longest, nanos)
		if nanos > g.Part || nanos == g.Part && c.Doing < g.Doing {
			g.Doing, g.Path, g.Part = c.Doing, c.Path, nanos
		}
	}
	f.report.Longest = append(f.report.Longest, g)
}

// cause finds or makes the position of a cause.
func (f *finder) cause(device int, doing Doing, path []string) int {
	if len(path) == 1 && path[0] == root {
		path = nil // no scope
	}
	key := causeKey{device, doing, strings.Join(path, "\x00")}
	at, known := f.causes[key]
	if !known {
		at = len(f.report.Causes)
		f.causes[key] = at
		f.report.Causes = append(f.report.Causes, Cause{Device: device, Doing: doing, Path: path})
	}
	return at
}
