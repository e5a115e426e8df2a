package perfetto

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// trackTable collects tracks; they are described before or after the events on them.
type trackTable struct {
	byUUID  map[uint64]*track
	order   []*track
	process map[int64]string // names, by id
	devices []profile.Device
	lanes   []int // of the tracks, by their number
	info    profile.Info
	kinds   profile.Kinds
}

// track is one of the file's. Several may make up a lane.
type track struct {
	uuid, parent uint64
	name         string
	isProcess    bool
	isThread     bool
	pid, tid     int64

	ours bool // described by us
	lane profile.Lane
	of   uint64 // UUID of the lane's first track, when this is a further one

	events bool // something lies on it
	gpu    bool // and only a GPU does that
	id     int  // of the lane, while it is read
	open   []int
	last   int64
}

func newTrackTable() trackTable {
	return trackTable{byUUID: map[uint64]*track{}, process: map[int64]string{}, info: profile.Info{}, kinds: profile.Kinds{}}
}

func (t *trackTable) at(uuid uint64) *track {
	tr := t.byUUID[uuid]
	if tr == nil {
		tr = &track{uuid: uuid, id: len(t.order)}
		t.byUUID[uuid] = tr
		t.order = append(t.order, tr)
	}
	return tr
}

func (d *reader) readTrack(message []byte) error {
	var tr track
	var description string
	err := fields(message, func(f field) error {
		switch f.number {
		case trackUUID:
			tr.uuid = f.v
		case trackParent:
			tr.parent = f.v
		case trackName, trackStaticName:
			tr.name = d.text(f.b)
		case trackDescription:
			description = string(f.b)
		case trackProcess:
			tr.isProcess = true
			return fields(f.b, func(f field) error {
				switch f.number {
				case processPID:
					tr.pid = int64(int32(f.v))
				case processName:
					tr.name = d.text(f.b)
				}
				return nil
			})
		case trackThread:
			tr.isThread = true
			return fields(f.b, func(f field) error {
				switch f.number {
				case threadPID:
					tr.pid = int64(int32(f.v))
				case threadTID:
					tr.tid = int64(f.v)
				case threadName:
					tr.name = d.text(f.b)
				}
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return err
	}
	known := d.tracks.at(tr.uuid)
	known.parent, known.isProcess, known.isThread, known.pid, known.tid = tr.parent, tr.isProcess, tr.isThread, tr.pid, tr.tid
	known.name = cmp.Or(tr.name, known.name)
	if tr.isProcess {
		d.tracks.process[tr.pid] = tr.name
	}
	d.tracks.facts(known, description)
	return nil
}

// facts reads a description of ours.
func (t *trackTable) facts(tr *track, description string) {
	var device profile.Device
	word := parseFacts(description, func(key, value string) {
		switch word, _, _ := strings.Cut(description, " "); word {
		case laneFact:
			readLane(&tr.lane, key, value)
		case spillFact:
			tr.of, _ = strconv.ParseUint(value, 10, 64)
		case gpuFact:
			readDevice(&device, key, value)
		case processFact:
			t.fact(key, value)
		}
	})
	tr.ours = tr.ours || word == laneFact
	if word == gpuFact && len(t.devices) < mostDevices {
		t.devices = append(t.devices, device)
	}
}

// mostDevices bounds the table; a machine has sixteen.
const mostDevices = 4096

func (t *trackTable) fact(key, value string) {
	if name, found := strings.CutPrefix(key, "info."); found {
		t.info[name] = value
		return
	}
	if kind, found := strings.CutPrefix(key, "kind."); found {
		if k, ok := profile.ParseKind(kind); ok {
			t.kinds[value] = k
		}
	}
}

// describe makes the lanes, and gives slices the place of theirs among them.
func (t *trackTable) describe(timeline *profile.Timeline, p *profile.Profile) {
	lanes := make([]int, len(t.order)) // by the track's number; -1 for none
	processes := t.processNames()
	for i, tr := range t.order {
		lanes[i] = -1
		if !tr.ours && !tr.events || t.isFurther(tr) {
			continue
		}
		lane := tr.lane
		if !tr.ours {
			lane = t.guess(tr)
			lane.Process = processes[t.pidOf(tr)]
		}
		lane.ID = len(timeline.Lanes)
		lanes[i] = lane.ID
		timeline.Lanes = append(timeline.Lanes, lane)
	}
	for i, tr := range t.order {
		if t.isFurther(tr) {
			lanes[i] = lanes[t.byUUID[tr.of].id]
		}
	}
	for i := range timeline.Slices {
		timeline.Slices[i].Lane = lanes[timeline.Slices[i].Lane]
	}
	t.lanes = lanes
	p.Info, p.Kinds, p.Devices = t.info, t.kinds, t.devices
}

// isFurther says whether a track continues the lane of another one.
func (t *trackTable) isFurther(tr *track) bool {
	first := t.byUUID[tr.of]
	return tr.of != 0 && first != nil && first.ours
}

// guess finds out what a lane shows that another program wrote.
func (t *trackTable) guess(tr *track) profile.Lane {
	switch {
	case tr.gpu:
		return profile.Lane{Kind: profile.StreamLane, Name: cmp.Or(tr.name, fmt.Sprintf("GPU track %d", tr.uuid))}
	case tr.isThread:
		return profile.Lane{Thread: max(tr.tid, 0), Name: cmp.Or(tr.name, fmt.Sprintf("Thread %d", tr.tid))}
	}
	return profile.Lane{Name: cmp.Or(tr.name, fmt.Sprintf("track %d", tr.uuid))}
}

// pidOf finds the process that a track stands below; 0 for none.
func (t *trackTable) pidOf(tr *track) int64 {
	for range 16 { // deeper than programs nest tracks; a damaged file may nest them in a circle
		if tr.isProcess || tr.isThread {
			return tr.pid
		}
		parent := t.byUUID[tr.parent]
		if parent == nil {
			return 0
		}
		tr = parent
	}
	return 0
}

// processNames gives each process with events a name of its own, if there are several; else none.
func (t *trackTable) processNames() map[int64]string {
	names := map[int64]string{}
	var different []string
	for _, tr := range t.order {
		if !tr.events {
			continue
		}
		pid := t.pidOf(tr)
		if _, known := names[pid]; known {
			continue
		}
		names[pid] = cmp.Or(t.process[pid], fmt.Sprintf("process %d", pid))
		if !slices.Contains(different, names[pid]) && len(different) < 2 {
			different = append(different, names[pid])
		}
	}
	if len(different) < 2 {
		return nil
	}
	return names
}
