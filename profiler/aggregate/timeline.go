package aggregate

import (
	"fmt"
	"math"
	"slices"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/profile"
)

// Call returns the name of a vendor's function, and whether it waits for the GPU instead of giving it work.
type Call func(function uint32) (name string, waits bool)

// Timeline turns what one session's phase hears into slices, lanes and arrows, and hands each on as soon as it is
// complete. What it keeps is bounded by what is open: the scopes and calls of each thread, and for each stream
// the graph scopes around its last kernel; in addition a lane per thread and stream, and the names of call paths.
type Timeline struct {
	// InsideTrace takes the scopes inside of kernels, all of them and in upstream's form; nil: some blocks are shown on lanes.
	InsideTrace *inside.Trace

	tree *Tree
	out  profile.TraceWriter
	call Call
	err  error // the first of the writer's; nothing is shown after it

	lanes       int // described so far
	threadLanes int
	threads     map[uintptr]*threadLane
	streams     map[streamKey]*streamLane
	slices      uint64 // written so far, and scopes and arrows among them
	scopes      uint64
	flows       uint64
	slice       profile.Slice                  // reused: a writer does not keep it
	nodes       []hotpath.Node                 // the arena as far as it was filled when last looked at; asking is a call into C
	inside      *insideLanes                   // nil while it shows no scopes inside of kernels
	kinds       map[uint16]*profile.LaunchKind // of launches, by tag; nil for a tag without a kind
}

// NewTimeline returns a timeline that streams to a writer.
func NewTimeline(out profile.TraceWriter, call Call) *Timeline {
	return &Timeline{out: out, call: call, threads: map[uintptr]*threadLane{}, streams: map[streamKey]*streamLane{}, kinds: map[uint16]*profile.LaunchKind{}}
}

// Slices returns how many slices there were.
func (t *Timeline) Slices() uint64 { return t.slices }

// Devices lists the GPUs that something was shown on.
func (t *Timeline) Devices() []uint32 {
	var list []uint32
	for key := range t.streams {
		if !slices.Contains(list, key.device) {
			list = append(list, key.device)
		}
	}
	slices.Sort(list)
	return list
}

// Cut ends what is open on the threads: the session stops listening, or its phase is over.
func (t *Timeline) Cut(now uint64) {
	for _, th := range t.sortedThreads() {
		t.closeFrom(th, 0, now)
	}
}

// Finish is Cut at the very end, when no activity is on its way any more.
func (t *Timeline) Finish(now uint64) {
	t.Cut(now)
	for _, s := range t.sortedStreams() {
		t.closeGraph(s, 0)
	}
	t.finishInside()
}

// Continue takes over what is open in the timeline of the phase before, which is cut.
func (t *Timeline) Continue(before *Timeline, now uint64) {
	for ring, th := range before.threads {
		mine := &threadLane{id: -1, tid: th.tid, last: now}
		for _, f := range th.open {
			mine.open = append(mine.open, openFrame{hot: f.hot, node: t.tree.path(f.hot, lastOrder), start: now})
		}
		t.threads[ring] = mine
	}
	before.Cut(now)
}

func (t *Timeline) write(s *profile.Slice) {
	if t.err != nil {
		return
	}
	t.slices++
	t.err = t.out.Slice(s)
}

// count shows the value of a counter, if the writer takes counters.
func (t *Timeline) count(rec *hotpath.Record) {
	if w, ok := t.out.(profile.CounterWriter); ok && t.err == nil {
		t.err = w.Count(hotpath.Text(rec.Metric()), "", profile.Point{At: int64(rec.Time()), Value: int64(rec.Counted())})
	}
}

// read shows the readings of a GPU as counters. A value stands from the beginning of its interval.
func (t *Timeline) read(r *record.Reading) {
	w, ok := t.out.(profile.CounterWriter)
	if !ok || r.End <= r.Start {
		return
	}
	for i, g := range r.Gauges {
		if g.Lane == "" || t.err != nil {
			continue
		}
		value := r.Amounts[i] / (float64(r.End-r.Start) / 1e9) * g.Factor
		t.err = w.Count(fmt.Sprintf("GPU %d %s", r.Device, g.Lane), "", profile.Point{At: int64(r.Start), Value: int64(math.Round(value))})
	}
}

func (t *Timeline) lane(l profile.Lane) (id int) {
	l.ID = t.lanes
	t.lanes++
	if t.err == nil {
		t.err = t.out.Lane(l)
	}
	return l.ID
}
