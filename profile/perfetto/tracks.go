package perfetto

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
)

// layout assigns tracks to processes, GPUs and lanes, and slices to tracks.
type layout struct {
	t         *profile.Timeline
	processes []*processTrack
	lanes     []*laneTracks
	counters  []counterTrack
	byID      map[int]*laneTracks
	nextUUID  uint64
}

// processTrack is the track of a process. Tracks of its threads and GPUs are below it, and those of streams below their GPU.
type processTrack struct {
	uuid uint64
	name string
	pid  int64
	gpus map[string]uint64 // track of each GPU
}

// laneTracks are the tracks of a lane, one for each row, since slices of one track must nest or follow each other.
type laneTracks struct {
	lane    *profile.Lane
	process *processTrack
	slices  []int32 // in the order in which they began, the outer first
	rows    []lanes.Row
	tracks  []uint64
}

// counterTrack is the track of a counter, below its process.
type counterTrack struct {
	counter *profile.Counter
	process *processTrack
	uuid    uint64
}

func newLayout(p *profile.Profile) *layout {
	l := &layout{t: p.Timeline, byID: map[int]*laneTracks{}}
	byName, slicesOf := map[string]*processTrack{}, lanes.ByLane(p.Timeline)
	process := func(name string) *processTrack {
		if byName[name] == nil {
			byName[name] = l.process(p, name)
		}
		return byName[name]
	}
	for i := range l.t.Lanes {
		lane := &l.t.Lanes[i]
		lt := &laneTracks{lane: lane, process: process(lane.Process)}
		l.lanes = append(l.lanes, lt)
		if l.byID[lane.ID] == nil {
			l.byID[lane.ID] = lt
			lt.slices = slicesOf[lane.ID]
			lt.rows, _ = lanes.Rows(l.t, lt.slices, mostTracks)
		}
		for range max(len(lt.rows), 1) {
			lt.tracks = append(lt.tracks, l.uuid())
		}
	}
	for i := range l.t.Counters {
		c := &l.t.Counters[i]
		l.counters = append(l.counters, counterTrack{c, process(c.Process), l.uuid()})
	}
	return l
}

func (l *layout) uuid() uint64 { l.nextUUID++; return l.nextUUID }

// process makes the track of a process. Its id is the real one where a profile has one process.
func (l *layout) process(p *profile.Profile, name string) *processTrack {
	t := &processTrack{uuid: l.uuid(), name: name, pid: int64(len(l.processes) + 1), gpus: map[string]uint64{}}
	if name == "" {
		t.name = cmp.Or(p.Info[profile.InfoName], "Trace")
		if pid, err := strconv.ParseInt(p.Info[profile.InfoPID], 10, 32); err == nil && pid > 0 {
			t.pid = pid
		}
	}
	l.processes = append(l.processes, t)
	return t
}

// mostTracks bounds the tracks of a lane, and with them the search for a free track. Real streams need one or two.
const mostTracks = 1024

// flowEnd is one end of an arrow at a slice.
type flowEnd struct {
	slice int32
	ends  bool
	id    uint64
}

// flowEnds finds the slices of all arrows, sorted by slice.
func (l *layout) flowEnds() (list []flowEnd) {
	ids := l.t.FlowIDs()
	for i, f := range l.t.Flows {
		from, to := l.byID[f.From], l.byID[f.To]
		if from == nil || to == nil {
			continue
		}
		a, found := lanes.At(l.t, from.slices, f.Start)
		b, alsoFound := lanes.At(l.t, to.slices, f.End)
		if found && alsoFound {
			list = append(list, flowEnd{a, false, ids[i]}, flowEnd{b, true, ids[i]})
		}
	}
	slices.SortFunc(list, func(a, b flowEnd) int { return cmp.Or(cmp.Compare(a.slice, b.slice), cmp.Compare(a.id, b.id)) })
	return list
}
