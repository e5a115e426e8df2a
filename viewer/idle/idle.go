// Package idle finds the times at which the GPUs of a timeline had nothing to do, and what the program did meanwhile: for
// each gap it looks at the thread that launched the work which ended the gap.
package idle

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/goproton/goproton/internal/jsontext"
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

// MarshalText has programs read the same word.
func (d Doing) MarshalText() ([]byte, error) { return []byte(words[d]), nil }

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
	First    int64 // when the timeline begins, in ns since 1970; 0 of a tree
	Devices  []Device
	Causes   []Cause // the most idle time first
	Longest  []Gap   // the longest first
	Overlaps []Overlap
}

// Path is a call path. The zero Path is that of code outside of scopes.
type Path struct {
	paths *profile.Paths
	last  int32
}

// Frames are those below the root; nil for code outside of scopes.
func (p Path) Frames() []string {
	if p.last == 0 {
		return nil
	}
	return p.paths.Frames(p.last)
}

// MarshalJSON writes the frames, with the root as profiles have it.
func (p Path) MarshalJSON() ([]byte, error) {
	if p.last == 0 {
		return []byte("[]"), nil
	}
	return jsontext.Encode(append([]string{p.paths.Name(0)}, p.Frames()...))
}

// Device is the time of one GPU from its first work to its last, or of all GPUs of a tree, together. Busy and Idle add up to Wall.
type Device struct {
	Process string `json:"process,omitempty"`
	ID      string `json:"id"`
	Wall    int64  `json:"wall_ns"`
	Busy    int64  `json:"busy_ns"`
	Idle    int64  `json:"idle_ns"`
	Gaps    int    `json:"gaps"`
	Waited  int64  `json:"-"`         // of Idle, the gaps that began while the launching thread waited for the GPU: nothing was queued behind
	Before  int64  `json:"before_ns"` // of the timeline before the first work, in which the file has none of this GPU
	After   int64  `json:"after_ns"`  // the same after the last work
}

// Cause is the idle time of a GPU during which one thing was done at one call path.
type Cause struct {
	Device  int   `json:"device"` // position in Devices
	Doing   Doing `json:"doing"`
	Path    Path  `json:"path"`
	Nanos   int64 `json:"idle_ns"`
	Gaps    int   `json:"gaps"`       // gaps that it has a part of
	Longest int64 `json:"longest_ns"` // its longest part of one gap
}

// Gap is a time at which a GPU had nothing to do.
type Gap struct {
	Device int    `json:"device"`
	Start  int64  `json:"start_ns"` // since 1970
	Nanos  int64  `json:"idle_ns"`
	Then   string `json:"then"`    // the name of the work that ended it
	Doing  Doing  `json:"doing"`   // the longest part of it, which Path belongs to
	Part   int64  `json:"part_ns"` // how long that part is
	Path   Path   `json:"path"`
}

// End is when the gap ended.
func (g *Gap) End() int64 { return g.Start + g.Nanos }

// Overlap is a stream whose work overlaps itself, although a stream does one thing after the other.
type Overlap struct {
	Device int    `json:"device"`
	Lane   string `json:"lane"`
	Work   int    `json:"work"`       // how much work the stream has
	Early  int    `json:"early"`      // how much of it begins before what began before it has ended
	Nanos  int64  `json:"overlap_ns"` // for how long it runs at once with that
}

// Find looks for gaps and keeps the longest ones. A timeline without work of a GPU has no devices.
func Find(t *profile.Timeline, longest int) *Report {
	f := newFinder(t)
	for _, device := range f.devices {
		f.device(device)
	}
	r := &f.report
	slices.SortStableFunc(r.Causes, func(a, b Cause) int { return cmp.Compare(b.Nanos, a.Nanos) })
	slices.SortStableFunc(r.Longest, func(a, b Gap) int { return cmp.Compare(b.Nanos, a.Nanos) })
	r.Longest = r.Longest[:min(longest, len(r.Longest))]
	return r
}

// gpu is one GPU of one process.
type gpu struct{ process, id string }

// finder knows slices by their places in the timeline, and call paths by their numbers, so that it takes memory in proportion to the
// slices, however deep they are nested.
type finder struct {
	t       *profile.Timeline
	paths   *profile.CallPaths
	lanes   map[int]*profile.Lane
	devices []gpu           // in natural order
	work    map[gpu][]int32 // by start
	threads map[int]*thread // by lane
	last    int64           // when the timeline ends
	causes  map[causeKey]int
	parts   []part // of the gap that is divided
	latest  []int  // of each cause, its place among the parts if it has one
	report  Report
}

type causeKey struct {
	device int
	doing  Doing
	path   int32
}

// part is how much of a gap belongs to a cause.
type part struct {
	cause int // position in the report
	nanos int64
}

func newFinder(t *profile.Timeline) *finder {
	f := &finder{t: t, paths: t.CallPaths(), lanes: map[int]*profile.Lane{}, work: map[gpu][]int32{}, threads: map[int]*thread{}, causes: map[causeKey]int{}, last: math.MinInt64}
	for i := range t.Lanes {
		f.lanes[t.Lanes[i].ID] = &t.Lanes[i]
	}
	for at, i := range f.paths.ByStart() {
		s := &t.Slices[i]
		if at == 0 {
			f.report.First = s.Start
		}
		f.last = max(f.last, s.End())
		lane := f.lanes[s.Lane]
		switch {
		case lane == nil:
		case lane.Kind == profile.StreamLane && s.IsWork():
			g := gpu{lane.Process, lane.Device}
			f.work[g] = append(f.work[g], i)
		case lane.Kind == profile.ThreadLane:
			if f.threads[s.Lane] == nil {
				f.threads[s.Lane] = &thread{finder: f}
			}
			f.threads[s.Lane].add(i)
		}
	}
	f.devices = slices.SortedFunc(maps.Keys(f.work), func(a, b gpu) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(len(a.id), len(b.id)), cmp.Compare(a.id, b.id))
	})
	for _, th := range f.threads {
		th.close(math.MaxInt64)
	}
	return f
}

// device sweeps over the work of one GPU.
func (f *finder) device(g gpu) {
	at, work := len(f.report.Devices), f.work[g]
	from := f.t.Slices[work[0]].Start
	d := Device{Process: g.process, ID: g.id, Before: from - f.report.First}
	until, streams := from, map[int]*stream{}
	for _, i := range work {
		s := &f.t.Slices[i]
		if s.Start > until {
			if f.gap(at, Gap{Device: at, Start: until, Nanos: s.Start - until, Then: s.Name}, i) {
				d.Waited += s.Start - until
			}
			d.Idle += s.Start - until
			d.Gaps++
		}
		until = max(until, s.End())
		if streams[s.Lane] == nil {
			streams[s.Lane] = &stream{overlap: Overlap{Device: at, Lane: f.lanes[s.Lane].Name}}
		}
		streams[s.Lane].add(s)
	}
	d.Wall, d.After = until-from, f.last-until
	d.Busy = d.Wall - d.Idle
	f.report.Devices = append(f.report.Devices, d)
	for _, lane := range slices.Sorted(maps.Keys(streams)) {
		if o := streams[lane].overlap; o.Early > o.Work/10 || o.Nanos > streams[lane].work/100 {
			f.report.Overlaps = append(f.report.Overlaps, o)
		}
	}
}

// stream finds out whether the work of a lane overlaps.
type stream struct {
	overlap Overlap
	until   int64 // until when it works
	work    int64 // ns of all work
}

func (st *stream) add(s *profile.Slice) {
	const rounding = 1000 // older traces have whole microseconds
	st.overlap.Work++
	st.work += s.End() - s.Start
	if s.Start < st.until-rounding {
		st.overlap.Early++
		st.overlap.Nanos += min(s.End(), st.until) - s.Start
	}
	st.until = max(st.until, s.End())
}

// gap divides a gap among what was done in it: before the launch what the launching thread did, then the launch, then nothing. It says
// whether that thread waited for the GPU when the gap began.
func (f *finder) gap(device int, g Gap, work int32) (waited bool) {
	f.parts = f.parts[:0]
	ends := g.End()
	add := func(doing Doing, path int32, from, to int64) {
		if doing == Wait && from <= g.Start {
			waited = true
		}
		if from, to = max(from, g.Start), min(to, ends); from < to {
			f.part(f.cause(device, doing, path), to-from)
		}
	}
	i, known := f.paths.Launch(work)
	if known && isScope(&f.t.Slices[i]) { // when the work was launched is not known
		known = false
	}
	if !known {
		add(Unknown, 0, g.Start, ends)
	} else {
		launch := &f.t.Slices[i]
		th := f.threads[launch.Lane]
		th.during(g.Start, min(launch.Start, ends), add)
		if launch.Start < ends {
			add(doingIn(launch), f.path(i), launch.Start, launch.End())
			add(Queued, f.path(i), launch.End(), ends)
		}
	}
	for _, p := range f.parts {
		c := &f.report.Causes[p.cause]
		c.Nanos += p.nanos
		c.Gaps++
		c.Longest = max(c.Longest, p.nanos)
		if p.nanos > g.Part || p.nanos == g.Part && c.Doing < g.Doing {
			g.Doing, g.Path, g.Part = c.Doing, c.Path, p.nanos
		}
	}
	f.report.Longest = append(f.report.Longest, g)
	return waited
}

func (f *finder) part(cause int, nanos int64) {
	if at := f.latest[cause]; at < len(f.parts) && f.parts[at].cause == cause {
		f.parts[at].nanos += nanos
		return
	}
	f.latest[cause] = len(f.parts)
	f.parts = append(f.parts, part{cause, nanos})
}

// cause finds or makes the position of a cause.
func (f *finder) cause(device int, doing Doing, path int32) int {
	key := causeKey{device, doing, path}
	at, known := f.causes[key]
	if !known {
		at = len(f.report.Causes)
		f.causes[key] = at
		f.latest = append(f.latest, 0)
		f.report.Causes = append(f.report.Causes, Cause{Device: device, Doing: doing, Path: Path{&f.paths.Paths, path}})
	}
	return at
}
