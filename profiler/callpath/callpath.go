// Package callpath joins kernels to the call paths that launched them. A Resolver takes the records of
// the application's threads (launches, graph captures, ops with metrics) and, later, kernels with the
// correlation ids of those launches; it returns the Attribution of each kernel. One drainer owns a
// Resolver, so nothing here locks. Values does the same for what graph nodes read from tensors.
package callpath

import (
	"slices"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
)

// Place is where the program launched work: a shadow call path, a python call path (0 if no session wanted one), and
// the launch set.
type Place struct {
	Set    uint32
	Node   uint32
	PyNode uint32
	Op     bool // Node is an op's own leaf: the kernel's name adds no frame
}

// Captured is a kernel node of a graph: where it was captured, and the metrics of its op, which every
// replay repeats.
type Captured struct {
	Place
	Metrics  []OpMetric
	Scoped   []ScopedMetric
	Tensor   *Tensor // that the node reads, for a node that only does this
	Function uint32  // see Resolver.Function; 0 if it is not known
	Tag      uint16  // of the launch that was captured
	Own      bool    // it is the profiler's, and belongs to no session
}

// ScopedMetric is a metric that was added during a capture, to a scope: every replay repeats it.
type ScopedMetric struct {
	Place
	OpMetric
	captured bool // by the thread that added it
}

// Tensor is a metric of a graph whose value is read from the GPU's memory at every replay.
type Tensor struct {
	Place         // where the metric was added
	Number uint32 // the same in the values that the source passes on
	Length int    // of the vector; 0 if the metric is a number
	Name   uint32 // interned raw name
	Double bool
}

// OpMetric is one metric that a launch hook gave while a stream was being captured.
type OpMetric struct {
	Name     uint32 // interned raw name
	Double   bool
	Property bool
	Bits     uint64
}

// Attribution is the call path and launch set of a kernel.
type Attribution struct {
	Launch   Place
	Captured *Captured // set when a graph replayed the kernel and its capture was seen
	Graph    bool      // a graph launched it
	Order    uint64    // correlation id of the launch: its place in time
	Function uint32    // see Resolver.Function; 0 if it is not known
	Tag      uint16    // what kind of launch it was, see aggregate.LaunchKindOf; 0 if unknown

	Counters *record.Counters // what was measured of the launch; nil: it was not

	Timed // only while some session wants a timeline

	Read []uint64 // the bits of Captured.Tensor's values at this replay; nil if they are lost
}

type launch struct {
	Place
	graph bool
	stays bool // until no more records have come for a while: a graph's kernels, or another call with several records
	tag   uint16
	hits  uint32
	seen  uint32 // drain cycle of the last kernel
}

// Timed is the part of a launch that only timelines need. The map of launches can hold a million of them; without this
// part it has no pointer for the garbage collector to follow.
type Timed struct {
	Thread   uintptr    // which thread's ring the launch was in
	ThreadID int64      // whose that was
	Called   uint64     // when the call began, in ns since 1970; 0 when that is not known
	Stream   uint32     // of the launch, for a record without one
	Metrics  []OpMetric // of the op that the launch was the first of
}

// thread is what the resolver remembers of one application thread between records.
type thread struct {
	lastLaunch uint64
	op         uint32 // op whose metrics are pending
	pending    []OpMetric
	place      Place      // of the pending op
	shown      []OpMetric // of the op shownOf, for timelines: its launch takes them
	shownOf    uint32
	tid        int64 // the system's, where a timeline has asked
	capturing
}

// Resolver holds launches that wait for their kernels, and graphs that are not destroyed.
type Resolver struct {
	launches  map[uint64]launch
	functions map[uint64]uint32 // of those launches, where instructions are sampled
	timed     map[uint64]Timed  // of those launches, where a timeline wants it
	graphs    graphs
	threads   map[uintptr]*thread
	staying   []uint64 // launches that stay, oldest first
	cycle     uint32
	marks     [2]uint32 // cycles of the last two marks
	crowded   uint32    // cycle when launches were last too many
	limit     int       // of launches
	room      room

	Watch *Watch // nil: the program is not watched for a hang

	// Metric receives metrics of ops that turned out not to be captured, and those that came after the slots of their
	// launch set were closed. Set it before use.
	Metric func(p Place, order uint64, m OpMetric)
	// Event receives what only timelines need: what opens and closes on a thread, and metrics. Set it before use.
	Event func(thread uintptr, rec *hotpath.Record)
	// Wait receives the waits of which no activity record tells. Set it before use.
	Wait func(rec *hotpath.Record)
	// Tensor receives the number of each tensor metric of a graph. Set it before use.
	Tensor func(number uint32)
	// Function numbers the function that a launch names by its handle, 0 if it is not known; nil unless instructions
	// are sampled. Set it before use.
	Function func(handle uint64) uint32
	// Alone reports whether a vendor's function produces no activity, such as a synchronisation that no session records.
	Alone func(function uint32) bool
}

// New returns an empty resolver.
func New() *Resolver {
	return &Resolver{launches: make(map[uint64]launch), functions: make(map[uint64]uint32), timed: make(map[uint64]Timed), threads: make(map[uintptr]*thread), graphs: newGraphs()}
}

// Add takes the records of one thread in the order in which they were made.
func (r *Resolver) Add(id uintptr, records []hotpath.Record) {
	t := r.threads[id]
	if t == nil {
		t = &thread{}
		r.threads[id] = t
	}
	for i := range records {
		r.add(id, t, &records[i])
	}
}

func (r *Resolver) add(id uintptr, t *thread, rec *hotpath.Record) {
	r.decideScoped(t, rec)
	switch rec.Type {
	case hotpath.Launch, hotpath.GraphLaunch:
		r.Watch.launched(id, rec)
		if rec.Op != t.op {
			r.countPending(t)
		}
		graph, corr := rec.Type == hotpath.GraphLaunch, rec.Correlation()
		stays := graph || rec.Flags&hotpath.FlagSeveral != 0
		if rec.Flags&hotpath.FlagTimed != 0 {
			r.timed[corr] = Timed{id, t.tid, rec.Time(), rec.Stream, t.shownTo(rec)}
			r.Event(id, rec)
		}
		r.launches[corr] = launch{Place: place(rec), graph: graph, stays: stays, tag: rec.Tag, seen: r.cycle}
		if n := len(r.launches); n > max(r.limit, maxWaiting+maxWaiting/2) {
			r.thinOut()
		} else if n > r.room.most {
			r.room.most = n
		}
		if r.Function != nil && !graph && rec.Function() != 0 {
			r.functions[corr] = r.Function(rec.Function())
		}
		t.lastLaunch = corr
		if stays {
			r.staying = append(r.staying, corr)
		}
	case hotpath.Returned:
		r.Watch.returned(id, rec)
		if rec.Op != 0 {
			r.drop(rec.Correlation()) // it failed
		}
	case hotpath.TensorMetric:
		t.tensor, t.tensorLaunches = tensorOf(rec), 0
		r.Tensor(t.tensor.Number)
	case hotpath.OpMetric:
		if rec.Op == 0 {
			t.scoped = append(t.scoped, ScopedMetric{place(rec), metricOf(rec), rec.Flags&hotpath.FlagCaptured != 0})
			return
		}
		if rec.Op != t.op {
			r.countPending(t)
			t.op, t.place = rec.Op, place(rec)
			t.place.Op = true
		}
		t.pending = append(t.pending, metricOf(rec))
	case hotpath.LateMetric:
		r.Metric(place(rec), t.lastLaunch, metricOf(rec))
	case hotpath.NodeCreated:
		r.nodeCreated(t, rec)
	case hotpath.NodeCloned:
		r.graphs.clone(rec.Graph(), rec.GraphNode(), rec.OriginalNode())
	case hotpath.ExecDestroyed:
		r.graphs.execDestroyed(rec.Graph())
	case hotpath.GraphDestroyed:
		r.graphs.graphDestroyed(rec.Graph())
	case hotpath.MetricAdded:
		if rec.Op != 0 {
			t.show(rec)
			return
		}
		r.Event(id, rec)
	case hotpath.ThreadID:
		t.tid = rec.Thread()
		r.Event(id, rec)
	case hotpath.Waited:
		r.Wait(rec)
	case hotpath.Begin, hotpath.End, hotpath.Counter:
		r.Event(id, rec)
	case hotpath.CallEnd:
		r.Event(id, rec)
		if r.Alone != nil && r.Alone(rec.Call()) {
			r.drop(rec.Correlation())
		}
	}
}

func metricOf(rec *hotpath.Record) OpMetric {
	return OpMetric{rec.Metric(), rec.Flags&hotpath.FlagDouble != 0, rec.Flags&hotpath.FlagProperty != 0, rec.Value()}
}

// maxShown bounds the metrics of an op that never launches anything.
const maxShown = 64

// show keeps a metric of an op for the slice of its kernel.
func (t *thread) show(rec *hotpath.Record) {
	if t.shownOf != rec.Op {
		t.shown, t.shownOf = nil, rec.Op
	}
	if len(t.shown) < maxShown {
		t.shown = append(t.shown, metricOf(rec))
	}
}

// shownTo gives an op's metrics to its first launch. A copy in the op is none.
func (t *thread) shownTo(rec *hotpath.Record) []OpMetric {
	if rec.Flags&hotpath.FlagOp == 0 || rec.Op != t.shownOf {
		return nil
	}
	metrics := t.shown
	t.shown = nil
	return metrics
}

func place(rec *hotpath.Record) Place {
	return Place{rec.Set, rec.Node, rec.PyNode, rec.Flags&hotpath.FlagOp != 0}
}

func (r *Resolver) nodeCreated(t *thread, rec *hotpath.Record) {
	c := &Captured{Place: place(rec), Tag: rec.Tag, Own: rec.Flags&hotpath.FlagOwn != 0}
	if rec.Flags&hotpath.FlagCaptured != 0 {
		c.Function = r.functions[t.lastLaunch]
		r.Watch.drop(t.lastLaunch)
		r.drop(t.lastLaunch) // it went into the graph; no kernel will carry its id
	}
	if c.Op && rec.Op == t.op {
		c.Metrics = append(c.Metrics, t.pending...)
		t.pending, t.op = nil, 0
	}
	t.takeNode(rec, c)
	r.graphs.created(rec.Graph(), rec.GraphNode(), c)
}

// countPending counts the pending op's metrics now: no graph node took them.
func (r *Resolver) countPending(t *thread) {
	for _, m := range t.pending {
		r.Metric(t.place, t.lastLaunch, m)
	}
	t.pending, t.op = t.pending[:0], 0
}

// CountAll counts every pending op metric; for a flush, when nothing more is on its way.
func (r *Resolver) CountAll() {
	for _, t := range r.threads {
		r.countPending(t)
		r.countScoped(t)
	}
}

// Resolve says where a kernel belongs; false when the launch was never seen (its record was lost).
func (r *Resolver) Resolve(k *record.Activity) (Attribution, bool) {
	l, ok := r.launches[k.Correlation]
	if !ok {
		return Attribution{}, false
	}
	a := Attribution{Launch: l.Place, Graph: l.graph, Order: k.Correlation, Tag: l.tag}
	if r.Function != nil {
		a.Function = r.functions[k.Correlation]
	}
	if len(r.timed) > 0 {
		a.Timed = r.timed[k.Correlation]
	}
	if !l.stays {
		r.drop(k.Correlation)
		return a, true
	}
	l.hits++
	l.seen = r.cycle
	r.launches[k.Correlation] = l
	if !l.graph {
		return a, true
	}
	a.Tag = 0 // the graph's own launch is of no kind; its nodes are
	if k.GraphNode != 0 {
		if a.Captured = r.graphs.find(k.GraphID, k.GraphNode); a.Captured != nil {
			a.Function, a.Tag = a.Captured.Function, a.Captured.Tag
			if a.Captured.Own {
				a.Launch.Set = 0 // no session gets it
			}
		}
	}
	return a, true
}

// Launched says where a launch was made whose kernel has not been resolved yet.
func (r *Resolver) Launched(correlation uint64) (Attribution, bool) {
	l, ok := r.launches[correlation]
	return Attribution{Launch: l.Place, Graph: l.graph, Order: correlation, Function: r.functions[correlation]}, ok
}

func (r *Resolver) drop(corr uint64) {
	delete(r.launches, corr)
	delete(r.timed, corr)
	delete(r.functions, corr)
}

// Limits on what waits: a launch that stays keeps its entry until its records have long stopped coming, or, if
// none ever came (an empty graph, a failed launch), until so many newer ones were made. Launches that failed
// never get a kernel; once very many wait, those from long ago (256 full buffers are 2.5 million kernels) go.
const (
	quietCycles = 256
	maxStaying  = 1 << 17
	maxWaiting  = 1 << 20
)

// NextCycle is called once per drain of activity buffers and forgets launches that stayed and are done.
func (r *Resolver) NextCycle() {
	r.cycle++
	r.graphs.nextCycle()
	n := 0
	for _, corr := range r.staying {
		l, ok := r.launches[corr]
		done := !ok || l.hits > 0 && r.cycle-l.seen > quietCycles || len(r.staying)-n > maxStaying
		if !done {
			break
		}
		r.drop(corr)
		n++
	}
	r.staying = append(r.staying[:0], r.staying[n:]...)
	if len(r.launches) > maxWaiting && r.cycle%quietCycles == 0 {
		r.Forget(r.cycle - quietCycles)
	}
	r.fit()
}

// thinOut bounds the launches of a program without kernels, which has no cycles to count: one that polls, or whose
// launches all fail. Each call forgets the launches from before the previous call.
func (r *Resolver) thinOut() {
	r.Forget(r.crowded)
	r.cycle++
	r.crowded, r.limit = r.cycle, len(r.launches)+maxWaiting/2
}

// Mark begins a flush: launches added from now on survive the Forget that ends it.
func (r *Resolver) Mark() (mark uint32) {
	r.cycle++
	r.marks = [2]uint32{r.marks[1], r.cycle}
	return r.cycle
}

// Forget drops the launches from before a mark that still wait. After a flush that synchronised all
// contexts in between nothing can arrive for them any more: they failed, or no session recorded them.
func (r *Resolver) Forget(mark uint32) {
	for corr, l := range r.launches {
		if int32(l.seen-mark) < 0 {
			r.drop(corr)
		}
	}
	r.staying = slices.DeleteFunc(r.staying, func(corr uint64) bool { _, ok := r.launches[corr]; return !ok })
}

// Later reports whether one correlation id was given after another. Ids count up, and those of some vendors start over
// after 32 bits.
func Later(a, b uint64) bool { return int32(uint32(a)-uint32(b)) > 0 }

// Latest is the later one of two ids, of which 0 is none.
func Latest(a, b uint64) uint64 {
	if a == 0 || b != 0 && Later(b, a) {
		return b
	}
	return a
}

// Newest is the correlation id of the last launch that was added, 0 before the first.
func (r *Resolver) Newest() (newest uint64) {
	for _, t := range r.threads {
		newest = Latest(newest, t.lastLaunch)
	}
	return newest
}

// Nodes hands every call path that the resolver still needs to f.
func (r *Resolver) Nodes(f func(node uint32)) {
	pass := func(p Place) { p.paths(f) }
	for _, l := range r.launches {
		pass(l.Place)
	}
	r.Watch.places(pass)
	captured := func(c *Captured) { c.nodes(pass) }
	for _, t := range r.threads {
		pass(t.place)
		captured(&Captured{Scoped: t.scoped, Tensor: t.tensor})
	}
	r.graphs.each(captured)
}

// paths hands both call paths of a place to f.
func (p Place) paths(f func(node uint32)) {
	f(p.Node)
	f(p.PyNode)
}

// nodes hands the call paths of a captured node to f.
func (c *Captured) nodes(pass func(Place)) {
	pass(c.Place)
	for i := range c.Scoped {
		pass(c.Scoped[i].Place)
	}
	if c.Tensor != nil {
		pass(c.Tensor.Place)
	}
}

// Nodes hands every call path of an attribution to f.
func (a *Attribution) Nodes(f func(node uint32)) {
	pass := func(p Place) { p.paths(f) }
	pass(a.Launch)
	if a.Captured != nil {
		a.Captured.nodes(pass)
	}
}

// Waiting returns the number of launches that wait for their kernels.
func (r *Resolver) Waiting() int { return len(r.launches) }

// Waits reports whether some launch of the given sets waits for its kernel, or for more of them: those of one that stays have all
// come when none came between two marks. Buffers of other threads say nothing about them.
func (r *Resolver) Waits(of func(set uint32) bool) bool {
	answers := make(map[uint32]bool)
	for _, l := range r.launches {
		if l.stays && l.hits > 0 && int32(l.seen-r.marks[0]) < 0 {
			continue
		}
		wanted, known := answers[l.Set]
		if !known {
			wanted = of(l.Set)
			answers[l.Set] = wanted
		}
		if wanted {
			return true
		}
	}
	return false
}

// FreeDestroyed frees graphs whose destruction was seen before the previous call: between two calls every
// record of theirs has been delivered. It reports whether any destroyed graph still waits.
func (r *Resolver) FreeDestroyed() (waiting bool) { return r.graphs.free() }
