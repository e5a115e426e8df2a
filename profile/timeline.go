package profile

import "slices"

// Timeline is what happened when: lanes, and on them slices, with arrows between them. All times are in ns since
// 1970, on one clock. Readers build a Timeline; collectors write to a TraceWriter, since a trace outgrows memory.
type Timeline struct {
	Lanes  []Lane
	Slices []Slice // in any order
	Flows  []Flow

	Counters []Counter
}

// Counter is an amount over time, such as the bytes that are allocated.
type Counter struct {
	Name    string
	Process string  // as of Lane
	Points  []Point // in order of time; each value stands until the next one
}

// Point is the value of a counter from a time on.
type Point struct {
	At    int64 // ns since 1970
	Value int64
}

// CounterWriter is a TraceWriter that takes counters. Points of one counter need not be in order of time.
type CounterWriter interface {
	Count(counter, process string, p Point) error
}

// TraceWriter takes a timeline piece by piece. A lane comes before what lies on it. The first error sticks and is returned by
// every later call.
type TraceWriter interface {
	Lane(Lane) error
	Slice(*Slice) error // must not be kept after the call
	Flow(Flow) error
}

// Lane is a row of the timeline.
type Lane struct {
	ID      int // names the lane within its timeline
	Kind    LaneKind
	Name    string // as shown: "CPU Thread 0", "GPU 0 Stream 7"
	Device  string // ordinal of the GPU; "" for a thread
	Context uint32 // CUPTI's id of the context; 0 for a thread
	Stream  uint32 // CUPTI's id of the stream; 0 for a thread
	Thread  int64  // the system's thread id; 0 when it is not known, and for streams
	Process string // which process, in a timeline merged of several: "rank 3"; else ""
}

// LaneKind says what a lane shows.
type LaneKind uint8

const (
	ThreadLane LaneKind = iota // scopes and launches of a CPU thread
	GraphLane                  // scopes that were open when the kernels of a stream were captured into a graph
	StreamLane                 // kernels and copies of a GPU stream
	WarpLane                   // scopes inside of kernels, of one warp
)

// Slice is one thing that took time on a lane.
type Slice struct {
	Lane     int // its id
	Kind     SliceKind
	Name     string
	Start    int64    // ns since 1970
	Duration int64    // ns; never negative
	Path     []string // call path from the root to this frame, both included; shared between slices, do not change
	Metrics  []Metric // bytes of a copy, user metrics of a scope
	ID       uint64   // what flows and other tools call it: a scope's id, a launch's correlation id; 0 for none

	// Of a kernel whose launch was traced, what that has in common with others: ID and Hash. Shared between slices, do not
	// change.
	Launch *LaunchKind
}

// SliceKind says what a slice is.
type SliceKind uint8

const (
	ScopeSlice  SliceKind = iota // a scope, state or op of the program
	LaunchSlice                  // the call that launched something, on the CPU
	KernelSlice
	GraphSlice // a whole graph, where kernels within were not timed
	CopySlice  // a memory copy
	FillSlice  // a memset
	SyncSlice  // the CPU waited for the GPU
	OtherSlice
	InsideSlice // a warp in a scope inside of a kernel, or in its block. Only some blocks are shown, so it counts for no sum
)

// Flow is an arrow from a launch to what it started.
type Flow struct {
	ID       uint64
	From, To int   // lanes
	Start    int64 // when it leaves From: within a slice there
	End      int64 // when it reaches To: the start of a slice there
}

// Lane, Slice and Flow append: a Timeline is the TraceWriter that keeps everything.
func (t *Timeline) Lane(l Lane) error { t.Lanes = append(t.Lanes, l); return nil }

// Slice is described with Lane.
func (t *Timeline) Slice(s *Slice) error { t.Slices = append(t.Slices, *s); return nil }

// Flow is described with Lane.
func (t *Timeline) Flow(f Flow) error { t.Flows = append(t.Flows, f); return nil }

// Count is described with CounterWriter.
func (t *Timeline) Count(counter, process string, p Point) error {
	at := slices.IndexFunc(t.Counters, func(c Counter) bool { return c.Name == counter && c.Process == process })
	if at < 0 {
		at = len(t.Counters)
		t.Counters = append(t.Counters, Counter{Name: counter, Process: process})
	}
	c := &t.Counters[at]
	i := len(c.Points) // nearly always: points come in order of time, but for those of several threads
	for i > 0 && c.Points[i-1].At > p.At {
		i--
	}
	c.Points = slices.Insert(c.Points, i, p)
	return nil
}

// First returns the time of the first thing in the timeline; 0 when it is empty.
func (t *Timeline) First() int64 {
	first, found := int64(0), false
	see := func(at int64) {
		if !found || at < first {
			first, found = at, true
		}
	}
	for i := range t.Slices {
		see(t.Slices[i].Start)
	}
	for i := range t.Flows {
		see(t.Flows[i].Start)
		see(t.Flows[i].End)
	}
	for _, c := range t.Counters {
		if len(c.Points) > 0 {
			see(c.Points[0].At)
		}
	}
	return first
}

// FlowIDs returns an id for every flow, which is not 0 and which no other flow has: the flow's own if that is possible. Triton
// gives one id to all arrows of a launch, which Perfetto takes for a mistake.
func (t *Timeline) FlowIDs() []uint64 {
	used := map[uint64]bool{0: true}
	largest := uint64(0)
	for i := range t.Flows {
		largest = max(largest, t.Flows[i].ID)
	}
	ids := make([]uint64, len(t.Flows))
	for i := range t.Flows {
		id := t.Flows[i].ID
		for used[id] {
			largest++
			id = largest
		}
		used[id] = true
		ids[i] = id
	}
	return ids
}
