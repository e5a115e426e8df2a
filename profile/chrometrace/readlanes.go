package chrometrace

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// laneReader collects lanes: their names and facts come before or after what lies on them.
type laneReader struct {
	lanes     map[[2]ident]*readLane
	order     []*readLane // as they appeared
	last      *readLane   // most events lie on the lane of the one before
	processes map[ident]string
}

type readLane struct {
	laneFacts
	pid, tid  ident
	id        int
	name      string
	described bool // by us
	gpu       bool // something lies on it that only a GPU does
	open      []int
	last      int64 // when something was last seen on it
}

// laneFacts say what a lane stands for.
type laneFacts struct {
	device, process string
	context, stream uint32
	thread          int64
}

func newLaneReader() laneReader {
	return laneReader{lanes: map[[2]ident]*readLane{}, processes: map[ident]string{}}
}

// at returns the lane of a thread of the trace.
func (r *laneReader) at(pid, tid ident) *readLane {
	if l := r.last; l != nil && l.tid == tid && l.pid == pid {
		return l
	}
	key := [2]ident{pid, tid}
	l := r.lanes[key]
	if l == nil {
		l = &readLane{pid: pid, tid: tid, id: len(r.order)}
		r.lanes[key] = l
		r.order = append(r.order, l)
	}
	r.last = l
	return l
}

// close ends the innermost open slice.
func (l *readLane) close(t *profile.Timeline, at int64) {
	if len(l.open) == 0 {
		return
	}
	s := &t.Slices[l.open[len(l.open)-1]]
	l.open = l.open[:len(l.open)-1]
	s.Duration = max(at-s.Start, 0)
	l.last = max(l.last, at)
}

// closeAll ends what has no end in the file where its lane ends.
func (r *laneReader) closeAll(t *profile.Timeline) {
	for _, l := range r.order {
		for len(l.open) > 0 {
			l.close(t, l.last)
		}
	}
}

// describe lists the lanes.
func (r *laneReader) describe(ours bool) []profile.Lane {
	names := r.processNames()
	list := make([]profile.Lane, 0, len(r.order))
	for _, l := range r.order {
		lane := profile.Lane{ID: l.id, Name: l.name, Device: l.device, Context: l.context, Stream: l.stream, Thread: l.thread, Process: l.process}
		if ours && l.described {
			lane.Kind = bandOf(l.tid.number)
		} else {
			lane.Process = names[l.pid]
			l.guess(&lane)
		}
		list = append(list, lane)
	}
	return list
}

func bandOf(tid int64) profile.LaneKind {
	switch {
	case tid >= firstStream:
		return profile.StreamLane
	case tid >= firstGraph:
		return profile.GraphLane
	}
	return profile.ThreadLane
}

// guess finds out what a lane shows that GoProton did not describe: from its name, as upstream writes it, or from the
// slices on it.
func (l *readLane) guess(lane *profile.Lane) {
	for _, upstream := range []struct {
		prefix string
		kind   profile.LaneKind
	}{{"GPU Stream ", profile.StreamLane}, {"Graph: Stream ", profile.GraphLane}, {"CPU Thread ", profile.ThreadLane}} {
		rest, found := strings.CutPrefix(l.name, upstream.prefix)
		number, err := strconv.ParseUint(rest, 10, 32)
		if !found || err != nil {
			continue
		}
		if lane.Kind = upstream.kind; lane.Kind != profile.ThreadLane {
			lane.Stream = uint32(number)
		}
		return
	}
	switch {
	case l.gpu:
		l.guessStream(lane)
		return
	case warps.MatchString(l.pid.text): // upstream's traces of what happens inside a kernel
		lane.Kind, lane.Name = profile.StreamLane, l.pid.text+" "+l.tid.text
		return
	}
	lane.Thread = max(l.tid.number, 0)
	if lane.Name == "" {
		lane.Name = cmp.Or(l.tid.text, fmt.Sprintf("Thread %d", l.tid.number))
	}
}

// warps is the process that upstream makes of a block of threads.
var warps = regexp.MustCompile(` Core[0-9]+ CTA[0-9]+$`)

// guessStream completes a GPU's lane. 3.6.0 says nothing of it but the stream, in place of a thread id.
func (l *readLane) guessStream(lane *profile.Lane) {
	lane.Kind = profile.StreamLane
	if lane.Device == "" && lane.Stream == 0 && l.tid.number > 0 && l.tid.number < 1<<32 {
		lane.Stream = uint32(l.tid.number)
	}
	if lane.Name == "" {
		lane.Name = fmt.Sprintf("GPU Stream %d", lane.Stream)
	}
}

// processNames gives each process a name of its own, if there are several; else none.
func (r *laneReader) processNames() map[ident]string {
	names := map[ident]string{}
	var used []string
	for _, l := range r.order {
		if _, known := names[l.pid]; known {
			continue
		}
		name := r.processes[l.pid]
		if name == "" {
			name = l.pid.text
		}
		if name == "" {
			name = fmt.Sprintf("process %d", l.pid.number)
		}
		names[l.pid] = name
		used = append(used, name)
	}
	slices.Sort(used)
	if len(slices.Compact(used)) < 2 {
		return nil
	}
	return names
}
