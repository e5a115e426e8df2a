package perfetto

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
)

// Loses says what a trace does not hold of a profile: values of the tree that do not follow from the timeline, and arrows
// without a slice at both ends.
func Loses(p *profile.Profile) []string {
	list := lanes.Loses(p)
	if p.Timeline == nil {
		return list
	}
	if n := len(p.Timeline.Flows) - len(newLayout(p).flowEnds())/2; n > 0 {
		list = append(list, fmt.Sprintf("%d arrows that do not touch a slice at both ends", n))
	}
	return list
}

// Packets come in two sequences. If threads were described in the sequence of the events, the UI would attribute all events of
// streams to the thread described last.
const (
	trackSequence = 1
	eventSequence = 2
)

// Write writes the timeline of a profile. It needs the whole timeline in memory, since begins and ends of slices must be in
// order of time.
func Write(w io.Writer, p *profile.Profile) error {
	if p.Timeline == nil {
		return profile.ErrNoTimeline
	}
	t := &writer{
		encoder: encoder{w: w, buf: make([]byte, 0, bufferSize+4096)}, p: p, layout: newLayout(p),
		names: newTable(internedNames), cats: newTable(internedCategories), keys: newTable(internedKeys), texts: newTable(internedStrings),
	}
	t.flows = t.flowEnds()
	t.clocks()
	t.descriptors()
	for _, lane := range t.lanes {
		for i := range lane.rows {
			track := lane.tracks[i]
			lane.rows[i].Play(t.t, func(slice int32, at int64) { t.slice(track, slice, at) }, func(_ int32, at int64) { t.sliceEnd(track, at) })
		}
	}
	for _, c := range t.counters {
		for _, p := range c.counter.Points {
			t.event(c.uuid, p.At, counterValue, func() { t.uint(eventCounter, uint64(p.Value)) })
		}
	}
	if err := t.flush(); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

type writer struct {
	encoder
	*layout
	p     *profile.Profile
	flows []flowEnd

	names, cats, keys, texts table
	arguments                lanes.Arguments // of the slice that is being written
	stack                    []stackFrame    // of the last call path
}

// stackFrame is a frame with its number among the texts.
type stackFrame struct {
	name string
	id   uint64
}

// clocks declares that all times are wall-clock times. The boot clock, which readers assume by default, is declared equal to the
// wall clock.
func (t *writer) clocks() {
	first := uint64(max(t.t.First(), 0))
	packet := t.begin(tracePacket)
	snapshot := t.begin(packetClockSnapshot)
	for _, clock := range []uint64{realtime, boottime} {
		c := t.begin(snapshotClocks)
		t.uint(clockID, clock)
		t.uint(clockTimestamp, first)
		t.end(c)
	}
	t.uint(snapshotPrimaryClock, realtime)
	t.end(snapshot)
	t.uint(packetSequenceID, eventSequence)
	t.end(packet)

	packet = t.begin(tracePacket)
	t.uint(packetSequenceID, eventSequence)
	t.uint(packetSequenceFlags, stateCleared)
	defaults := t.begin(packetDefaults)
	t.uint(packetTimestampClock, realtime)
	t.end(defaults)
	t.end(packet)
}

// descriptors names the tracks: processes, below them threads, GPUs with their streams, and counters.
func (t *writer) descriptors() {
	for i, process := range t.processes {
		t.track(process.uuid, 0, func() {
			inner := t.begin(trackProcess)
			t.uint(processPID, uint64(process.pid))
			t.text(processName, process.name)
			t.end(inner)
			if i == 0 {
				t.text(trackDescription, t.facts())
			}
		})
		if i > 0 {
			continue
		}
		for j := range t.p.Devices {
			d := &t.p.Devices[j]
			process.gpus[d.ID] = t.gpu(process, d.ID, describe(gpuFact, devicePairs(d)))
		}
	}
	for rank, lane := range t.lanes {
		t.laneDescriptors(lane, rank)
	}
	for _, c := range t.counters {
		t.track(c.uuid, c.process.uuid, func() {
			t.text(trackName, c.counter.Name)
			inner := t.begin(trackCounter)
			t.uint(counterUnit, unitBytes)
			t.end(inner)
			t.text(trackDescription, describe(counterFact, counterPairs(c.counter)))
		})
	}
}

// facts are the facts of the run and the kinds of the metrics.
func (t *writer) facts() string {
	f := factList(processFact)
	for _, key := range slices.Sorted(maps.Keys(t.p.Info)) {
		f.add("info."+key, t.p.Info[key])
	}
	kinds := lanes.KindsOf(t.p)
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		f.add("kind."+kinds[name].String(), name)
	}
	return string(f)
}

func (t *writer) track(uuid, parent uint64, rest func()) {
	packet := t.begin(tracePacket)
	t.uint(packetSequenceID, trackSequence)
	track := t.begin(packetTrackDescriptor)
	t.uint(trackUUID, uuid)
	if parent != 0 {
		t.uint(trackParent, parent)
	}
	rest()
	t.end(track)
	t.packetEnd(packet)
}

func (t *writer) packetEnd(packet int) {
	t.end(packet)
	if len(t.buf) >= bufferSize {
		t.flush()
	}
}

// gpu makes the track of a GPU, the parent of its streams' tracks.
func (t *writer) gpu(process *processTrack, id, description string) uint64 {
	uuid := t.uuid()
	t.track(uuid, process.uuid, func() {
		t.text(trackName, "GPU "+id)
		t.uint(trackChildOrdering, explicitOrder)
		if description != "" {
			t.text(trackDescription, description)
		}
	})
	return uuid
}

// laneDescriptors names the tracks of a lane. Additional tracks have the name and the merge key of the first one, so that the
// UI shows all of them as one.
func (t *writer) laneDescriptors(lane *laneTracks, rank int) {
	l, parent := lane.lane, lane.process.uuid
	if l.Kind == profile.ThreadLane {
		t.track(lane.tracks[0], parent, func() { t.thread(lane, rank) })
		parent = lane.tracks[0]
	} else if l.Device != "" {
		if lane.process.gpus[l.Device] == 0 {
			lane.process.gpus[l.Device] = t.gpu(lane.process, l.Device, "")
		}
		parent = lane.process.gpus[l.Device]
	}
	for i, uuid := range lane.tracks {
		if i == 0 && l.Kind == profile.ThreadLane {
			continue
		}
		t.track(uuid, parent, func() {
			t.text(trackName, l.Name)
			t.uint(trackOrderRank, uint64(rank))
			t.uint(trackMerge, mergeByKey)
			t.uint(trackMergeKey, uint64(rank)+1)
			if i == 0 {
				t.text(trackDescription, describe(laneFact, lanePairs(l)))
				return
			}
			f := factList(spillFact)
			f.number("of", int64(lane.tracks[0]))
			t.text(trackDescription, string(f))
		})
	}
}

// madeUpThread is the first id for threads whose id is not known. Linux gives no thread an id this large.
const madeUpThread = 1 << 23

func (t *writer) thread(lane *laneTracks, rank int) {
	l := lane.lane
	inner := t.begin(trackThread)
	t.uint(threadPID, uint64(lane.process.pid))
	tid := uint64(madeUpThread + rank)
	if l.Thread > 0 && l.Thread < madeUpThread {
		tid = uint64(l.Thread)
	}
	t.uint(threadTID, tid)
	t.text(threadName, l.Name)
	t.end(inner)
	t.text(trackDescription, describe(laneFact, lanePairs(l)))
}

func (t *writer) sliceEnd(track uint64, at int64) {
	t.event(track, at, sliceEnd, func() {})
}

// event writes a packet with the beginning or the end of a slice, or a value of a counter. Times are unsigned in the file.
func (t *writer) event(track uint64, at int64, kind uint64, rest func()) {
	packet := t.begin(tracePacket)
	t.uint(packetTimestamp, uint64(max(at, 0)))
	t.uint(packetSequenceID, eventSequence)
	t.uint(packetSequenceFlags, needsState)
	event := t.begin(packetTrackEvent)
	t.uint(eventType, kind)
	t.uint(eventTrack, track)
	rest()
	t.end(event)
	t.declare()
	t.packetEnd(packet)
}

// slice writes the beginning of a slice with its name and arguments.
func (t *writer) slice(track uint64, at int32, start int64) {
	s := &t.t.Slices[at]
	t.event(track, start, sliceBegin, func() {
		t.arguments.Of(s, uint64(max(s.Duration, 0)))
		t.uint(eventCategoryIID, t.cats.of(lanes.Categories[t.arguments.Kind]))
		t.uint(eventNameIID, t.names.of(s.Name))
		t.annotations(&t.arguments)
		i := sort.Search(len(t.flows), func(i int) bool { return t.flows[i].slice >= at })
		for ; i < len(t.flows) && t.flows[i].slice == at; i++ {
			field := protowire.Number(eventFlows)
			if t.flows[i].ends {
				field = eventEnds
			}
			t.fixed(field, t.flows[i].id)
		}
	})
}
