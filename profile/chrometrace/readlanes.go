package chrometrace

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
)

// laneReader finds the lane of a thread of the trace. Names and facts of lanes come before or after their slices.
type laneReader struct {
	b      *lanes.Builder
	lanes  map[laneKey]*readLane
	order  []*readLane      // as they appeared
	last   *readLane        // most events lie on the lane of the one before
	part   int              // of the file
	names  map[laneKey]bool // processes that have names, in a part and in anyPart
	naming map[int]bool     // parts that name processes
}

type laneKey struct {
	part     int
	pid, tid ident
}

type readLane struct {
	*lanes.Lane
	laneKey
	overlaps int64 // id of the thread whose slices it has more of; -1: it has its own
}

func newLaneReader(b *lanes.Builder) laneReader {
	return laneReader{b: b, lanes: map[laneKey]*readLane{}, names: map[laneKey]bool{}, naming: map[int]bool{}}
}

// at returns the lane of a thread of the trace.
func (r *laneReader) at(pid, tid ident) *readLane {
	key := laneKey{r.part, pid, tid}
	if l := r.last; l != nil && l.laneKey == key {
		return l
	}
	l := r.lanes[key]
	if l == nil {
		l = &readLane{r.b.NewLane(), key, -1}
		l.Used = true // a thread that is only named is a lane, too
		l.In = lanes.Process{Part: key.part, ID: pid.id()}
		r.lanes[key] = l
		r.order = append(r.order, l)
	}
	r.last = l
	return l
}

// id is the text of an id.
func (i ident) id() string { return cmp.Or(i.text, strconv.FormatInt(i.number, 10)) }

// windowEnd is the last event of torch's files. In a file that several were put together to, what follows is of another one, in which the
// same ids name other processes and threads.
const windowEnd = "Record Window End"

// named notes that a part of the file names a process.
func (r *laneReader) named(pid ident, name string) {
	r.names[laneKey{part: r.part, pid: pid}], r.names[laneKey{part: anyPart, pid: pid}], r.naming[r.part] = true, true, true
	r.b.NameProcess(pid.id(), name)
}

const anyPart = -1

// joinParts has the lanes of all parts of the file be those of one, unless each part names its processes: else the events were put into
// another order, and windowEnd does not separate anything.
func (r *laneReader) joinParts() {
	if r.part == 0 || !slices.ContainsFunc(r.order, func(l *readLane) bool {
		return !r.naming[l.part] || r.names[laneKey{part: anyPart, pid: l.pid}] && !r.names[laneKey{part: l.part, pid: l.pid}]
	}) {
		return
	}
	first := map[[2]ident]*readLane{}
	for _, l := range r.order {
		key := [2]ident{l.pid, l.tid}
		if first[key] == nil {
			first[key] = l
		}
		l.Continue(first[key].Lane)
		l.In.Part = 0
	}
}

// describe sets all facts of a lane except its name.
func (l *readLane) describe(as *profile.Lane) {
	l.Device, l.Context, l.Stream, l.Thread, l.Process = as.Device, as.Context, as.Stream, as.Thread, as.Process
}

// complete sets the kind and the name of a lane after the whole file was read.
func (l *readLane) complete(ours bool, r *laneReader) {
	if ours && l.Described {
		if first := r.lanes[laneKey{l.part, l.pid, ident{number: l.overlaps}}]; l.overlaps >= 0 && first != nil {
			l.Continue(first.Lane)
		}
		l.Kind = bandOf(l.tid.number)
		return
	}
	l.guess()
}

func bandOf(tid int64) profile.LaneKind {
	switch {
	case tid >= firstWarp:
		return profile.WarpLane
	case tid >= firstStream:
		return profile.StreamLane
	case tid >= firstGraph:
		return profile.GraphLane
	}
	return profile.ThreadLane
}

// guess sets the kind of a lane of another program's file: from its name, as upstream writes it, or from its slices.
func (l *readLane) guess() {
	for _, upstream := range []struct {
		prefix string
		kind   profile.LaneKind
	}{{"GPU Stream ", profile.StreamLane}, {"Graph: Stream ", profile.GraphLane}, {"CPU Thread ", profile.ThreadLane}} {
		rest, found := strings.CutPrefix(l.Name, upstream.prefix)
		number, err := strconv.ParseUint(rest, 10, 32)
		if !found || err != nil {
			continue
		}
		if l.Kind = upstream.kind; l.Kind != profile.ThreadLane {
			l.Stream = uint32(number)
		}
		return
	}
	switch {
	case l.GPU:
		l.guessStream()
		return
	case warps.MatchString(l.pid.text): // upstream's traces of what happens inside a kernel
		l.Kind, l.Name = profile.StreamLane, l.pid.text+" "+l.tid.text
		return
	}
	l.Thread = max(l.tid.number, 0)
	l.Name = cmp.Or(l.Name, l.tid.text, fmt.Sprintf("Thread %d", l.tid.number))
}

// warps matches the process that upstream's traces of a kernel have for each block of threads.
var warps = regexp.MustCompile(` Core[0-9]+ CTA[0-9]+$`)

// guessStream completes the lane of a stream. Triton 3.6.0 writes only the stream's id, in place of a thread id.
func (l *readLane) guessStream() {
	l.Kind = profile.StreamLane
	if l.Device == "" && l.Stream == 0 && l.tid.number > 0 && l.tid.number < 1<<32 {
		l.Stream = uint32(l.tid.number)
	}
	l.Name = cmp.Or(l.Name, fmt.Sprintf("GPU Stream %d", l.Stream))
}
