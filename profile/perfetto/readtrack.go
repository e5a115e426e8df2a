package perfetto

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
)

// trackTable collects tracks. A track is described before or after its events.
type trackTable struct {
	b       *lanes.Builder
	byUUID  map[uint64]*track
	order   []*track
	process map[int64]*track // the first of each pid
}

// track is a track of the file. Several tracks can form one lane.
type track struct {
	*lanes.Lane
	uuid, parent uint64
	name         string
	isProcess    bool
	isThread     bool
	pid, tid     int64
	of           uint64           // UUID of the lane's first track, if this is an additional one
	counter      *profile.Counter // of ours; else nil
}

func newTrackTable(b *lanes.Builder) trackTable {
	return trackTable{b: b, byUUID: map[uint64]*track{}, process: map[int64]*track{}}
}

func (t *trackTable) at(uuid uint64) *track {
	tr := t.byUUID[uuid]
	if tr == nil {
		tr = &track{uuid: uuid, Lane: t.b.NewLane()}
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
	if tr.isProcess && d.tracks.process[tr.pid] == nil {
		d.tracks.process[tr.pid] = known
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
			keep(lanePairs(&tr.Lane.Lane), key, value)
		case spillFact:
			tr.of, _ = strconv.ParseUint(value, 10, 64)
		case counterFact:
			if tr.counter == nil {
				tr.counter = &profile.Counter{}
			}
			keep(counterPairs(tr.counter), key, value)
		case gpuFact:
			keep(devicePairs(&device), key, value)
		case processFact:
			t.fact(key, value)
		}
	})
	tr.Described = tr.Described || word == laneFact
	if word == gpuFact {
		t.b.Device(device)
	}
}

func (t *trackTable) fact(key, value string) {
	if name, found := strings.CutPrefix(key, "info."); found {
		t.b.Profile.Info[name] = value
		return
	}
	if kind, found := strings.CutPrefix(key, "kind."); found {
		if k, ok := profile.ParseKind(kind); ok {
			t.b.Profile.Kinds[value] = k
		}
	}
}

// complete sets kinds, names and processes of tracks after the whole file was read.
func (t *trackTable) complete() {
	for pid, process := range t.process {
		t.b.NameProcess(strconv.FormatInt(pid, 10), process.name)
	}
	for _, tr := range t.order {
		if first := t.byUUID[tr.of]; tr.of != 0 && first != nil && first.Described {
			tr.Continue(first.Lane)
		}
		if !tr.Described {
			tr.guess()
			tr.In.ID = t.processOf(tr)
		}
	}
}

// finishCounters adds the counters to the timeline.
func (t *trackTable) finishCounters() {
	for _, tr := range t.order {
		if c := tr.counter; c != nil && len(c.Points) > 0 {
			slices.SortStableFunc(c.Points, func(a, b profile.Point) int { return cmp.Compare(a.At, b.At) })
			t.b.Profile.Timeline.Counters = append(t.b.Profile.Timeline.Counters, *c)
		}
	}
}

// guess sets the kind and the name of a track that another program wrote.
func (tr *track) guess() {
	switch {
	case tr.GPU:
		tr.Kind, tr.Name = profile.StreamLane, cmp.Or(tr.name, fmt.Sprintf("GPU track %d", tr.uuid))
	case tr.isThread:
		tr.Thread, tr.Name = max(tr.tid, 0), cmp.Or(tr.name, fmt.Sprintf("Thread %d", tr.tid))
	default:
		tr.Name = cmp.Or(tr.name, fmt.Sprintf("track %d", tr.uuid))
	}
}

// processOf finds the process that a track is below: by its pid, which programs on several machines can share, or else its UUID. Its
// descriptor may be that of a thread, which has the pid only.
func (t *trackTable) processOf(tr *track) string {
	var thread *track
	for at, deep := tr, 0; at != nil && deep < deepestTrack; at, deep = t.byUUID[at.parent], deep+1 {
		if at.isProcess {
			return t.idOf(at)
		}
		if at.isThread && thread == nil {
			thread = at
		}
	}
	if thread != nil {
		return strconv.FormatInt(thread.pid, 10)
	}
	return t.ownerless()
}

// ownerless is the id of the process of what is below none: some programs put tracks next to the only process.
func (t *trackTable) ownerless() string {
	if len(t.process) == 1 {
		for pid := range t.process {
			return strconv.FormatInt(pid, 10)
		}
	}
	return "0"
}

// deepestTrack is deeper than programs nest tracks; a damaged file may nest them in a circle.
const deepestTrack = 16

// idOf is the id of a process.
func (t *trackTable) idOf(process *track) string {
	id := strconv.FormatInt(process.pid, 10)
	if t.process[process.pid] != process {
		id += fmt.Sprintf(" (track %d)", process.uuid)
		t.b.NameProcess(id, process.name)
	}
	return id
}
