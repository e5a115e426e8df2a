package aggregate

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/callpath"
)

// threadLane is one application thread: what is open on it, the outermost first.
type threadLane struct {
	id    int // of its lane; -1 until something is shown on it
	tid   int64
	open  []openFrame
	calls []openCall
	last  uint64 // time of its last record
}

// openFrame is a scope, state or op.
type openFrame struct {
	hot     uint32 // its node in the hot path
	node    *node
	start   uint64
	metrics []profile.Metric
}

// openCall is a call of the vendor's library, from its launch record to its end.
type openCall struct {
	corr  uint64
	start uint64
	node  *node
}

// No program nests deeper: what a stream of records with gaps piles up is cut off here.
const (
	maxOpen  = 10000
	maxCalls = 16
)

// Event shows one record of a thread on the timelines that it concerns.
func (a *Aggregator) Event(ring uintptr, rec *hotpath.Record) {
	switch rec.Type {
	case hotpath.Launch, hotpath.GraphLaunch, hotpath.Begin, hotpath.Counter:
		for _, t := range a.Sets.trees(rec.Set) {
			if t.Timeline != nil {
				t.Timeline.begin(ring, rec)
			}
		}
	default: // of what was begun: those that saw its beginning
		for _, t := range a.Sets.timelines {
			t.Timeline.end(ring, rec)
		}
	}
}

func (t *Timeline) begin(ring uintptr, rec *hotpath.Record) {
	if rec.Type == hotpath.Counter {
		t.count(rec)
		return
	}
	th := t.thread(ring)
	th.last = rec.Time()
	if rec.Type != hotpath.Begin {
		if len(th.calls) == maxCalls { // their ends were lost
			th.calls = th.calls[:0]
		}
		at := callpath.Place{Node: rec.Node, PyNode: rec.PyNode}
		th.calls = append(th.calls, openCall{corr: rec.Correlation(), start: rec.Time(), node: t.tree.at(at, launchOrder(rec.Correlation()))})
		return
	}
	if int(rec.Node) >= len(t.nodes) {
		t.nodes = hotpath.Nodes()
	}
	if int(rec.Node) >= len(t.nodes) || !t.tree.sets.Sees(t.nodes[rec.Node].Set, t.tree.Session) || len(th.open) == maxOpen {
		return
	}
	th.open = append(th.open, openFrame{hot: rec.Node, node: t.tree.path(rec.Node, lastOrder), start: rec.Time()})
}

func (t *Timeline) end(ring uintptr, rec *hotpath.Record) {
	th := t.thread(ring)
	switch rec.Type {
	case hotpath.ThreadID:
		t.writtenBy(th, rec.Thread())
	case hotpath.End:
		th.last = rec.Time()
		t.closeFrame(th, rec.Node, rec.Time())
	case hotpath.CallEnd:
		th.last = rec.Time()
		t.endCall(th, rec)
	case hotpath.MetricAdded:
		th.addMetric(rec)
	}
}

func (t *Timeline) thread(ring uintptr) *threadLane {
	th := t.threads[ring]
	if th == nil {
		th = &threadLane{id: -1}
		t.threads[ring] = th
	}
	return th
}

// writtenBy notes which thread writes to a ring: rings are used again.
func (t *Timeline) writtenBy(th *threadLane, tid int64) {
	if th.tid == tid {
		return
	}
	t.closeFrom(th, 0, th.last)
	*th = threadLane{id: -1, tid: tid}
}

// laneOf describes a thread's lane the first time that something is shown on it.
func (t *Timeline) laneOf(th *threadLane) int {
	if th.id < 0 {
		th.id = t.lane(profile.Lane{Kind: profile.ThreadLane, Name: "CPU Thread " + strconv.Itoa(t.threadLanes), Thread: th.tid})
		t.threadLanes++
	}
	return th.id
}

func (t *Timeline) sortedThreads() []*threadLane {
	return slices.SortedFunc(maps.Values(t.threads), func(a, b *threadLane) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.tid, b.tid)) })
}

// closeFrame closes the innermost frame of that node. Scopes within it end with it; a scope that was opened
// inside a state but does not lie below it goes on, in a slice of its own, so that slices nest on their lane.
func (t *Timeline) closeFrame(th *threadLane, hot uint32, now uint64) {
	i := len(th.open) - 1
	for i >= 0 && th.open[i].hot != hot {
		i--
	}
	if i < 0 {
		return // opened before the session listened
	}
	var goOn []openFrame
	for _, f := range th.open[i+1:] {
		if !isBelow(f.hot, hot) {
			goOn = append(goOn, openFrame{hot: f.hot, node: f.node, start: now})
		}
	}
	t.closeFrom(th, i, now)
	th.open = append(th.open, goOn...)
}

func isBelow(node, above uint32) bool {
	nodes := hotpath.Nodes()
	for ; node != 0 && int(node) < len(nodes); node = nodes[node].Parent {
		if node == above {
			return true
		}
	}
	return false
}

// closeFrom closes the frames from the i-th on. The outermost comes first: of slices that begin and end together,
// viewers put the later one inside.
func (t *Timeline) closeFrom(th *threadLane, i int, now uint64) {
	for at := i; at < len(th.open); at++ {
		f := &th.open[at]
		t.scopes++
		t.slice = profile.Slice{
			Lane: t.laneOf(th), Kind: profile.ScopeSlice, Name: f.node.name, Start: int64(f.start), Duration: since(f.start, now),
			Path: f.node.names(), Metrics: f.metrics, ID: t.scopes,
		}
		t.write(&t.slice)
		*f = openFrame{}
	}
	th.open = th.open[:i]
}

// since is a duration, which a clock that was set back must not make negative.
func since(start, now uint64) int64 {
	if now < start {
		return 0
	}
	return int64(now - start)
}

func (t *Timeline) endCall(th *threadLane, rec *hotpath.Record) {
	i := len(th.calls) - 1
	for i >= 0 && th.calls[i].corr != rec.Correlation() {
		i--
	}
	if i < 0 {
		return
	}
	c := th.calls[i]
	th.calls = th.calls[:i]
	name, waits := t.call(rec.Call())
	kind := profile.LaunchSlice
	if waits {
		kind = profile.SyncSlice
	}
	t.slice = profile.Slice{
		Lane: t.laneOf(th), Kind: kind, Name: name, Start: int64(c.start), Duration: since(c.start, rec.Time()),
		Path: c.node.names(), ID: c.corr,
	}
	t.write(&t.slice)
}

// addMetric adds a metric to the innermost frame of its node.
func (th *threadLane) addMetric(rec *hotpath.Record) {
	for i := len(th.open) - 1; i >= 0; i-- {
		f := &th.open[i]
		if f.hot != rec.Node {
			continue
		}
		f.metrics = withMetric(f.metrics, callpath.OpMetric{Name: rec.Metric(), Double: rec.Flags&hotpath.FlagDouble != 0, Bits: rec.Value()})
		return
	}
}

// AddMetric shows a vector or a text on the innermost open frame of a node.
func (t *Timeline) AddMetric(hot uint32, raw string, m Metric) {
	for _, th := range t.sortedThreads() {
		for i := len(th.open) - 1; i >= 0; i-- {
			if f := &th.open[i]; f.hot == hot {
				f.metrics = withValue(f.metrics, raw, m.frozen())
				return
			}
		}
	}
}

func withMetric(list []profile.Metric, m callpath.OpMetric) []profile.Metric {
	return withValue(list, hotpath.Text(m.Name), value(m.Double, m.Bits))
}

// withRead adds the values of a tensor.
func withRead(list []profile.Metric, of *callpath.Tensor, read []uint64) []profile.Metric {
	if of.Length == 0 {
		return withMetric(list, callpath.OpMetric{Name: of.Name, Double: of.Double, Bits: read[0]})
	}
	m := metric{vector: numbers(of, read), whole: !of.Double}
	return withValue(list, hotpath.Text(of.Name), m.frozen())
}

// withValue adds to the metric of a raw name, of which a slice has one.
func withValue(list []profile.Metric, raw string, v profile.Value) []profile.Metric {
	name, kind := MetricName(raw)
	for i := range list {
		if list[i].Name != name {
			continue
		}
		if kind != profile.Property {
			v = profile.Sum(list[i].Value, v)
		}
		list[i].Value = v
		return list
	}
	return append(list, profile.Metric{Name: name, Value: v})
}
