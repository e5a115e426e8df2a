// Package aggregate adds kernels up. In go kernels with the place that launched them (from callpath) and
// metric slots (from hotpath); out comes one frozen profile.Profile per session and phase. Kernels under the
// same call path merge; every node keeps time and count per device. The drainer owns everything here.
package aggregate

import (
	"github.com/goproton/goproton/profiler/callpath"
	"github.com/goproton/goproton/profiler/record"
)

// Frame names that the collector itself adds.
const (
	UnattributedFrame = "<unattributed>" // kernels whose launch record was lost
	CapturedAtFrame   = "<captured_at>"  // between where a graph was launched and where it was captured
	GraphFrame        = "<graph>"        // a whole graph timed as one
)

// Aggregator routes kernels to the trees of the sessions that listened when they were launched.
type Aggregator struct {
	Sets  *Sets
	cache map[cacheKey][]*deviceTime

	Kernels      uint64 // kernels added
	Nanos        uint64 // their time
	Unattributed uint64 // kernels whose launch was never seen
	Untimed      uint64 // kernels counted without a time
}

// cacheKey names everything that decides where a kernel lands.
type cacheKey struct {
	launch, captured callpath.Place
	name             string
	device           uint32
	graph, replayed  bool
}

// New returns an empty aggregator. It clears the sets, which go on counting.
func New(sets *Sets) *Aggregator {
	sets.clear()
	return &Aggregator{Sets: sets, cache: make(map[cacheKey][]*deviceTime)}
}

// Reset forgets routes; call it when trees come or go.
func (a *Aggregator) Reset() { clear(a.cache) }

// Add adds one kernel at the place that the resolver found.
func (a *Aggregator) Add(k *record.Kernel, at callpath.Answer) {
	if at.Launch.Set == 0 {
		return // launched while no session was active
	}
	key := cacheKey{launch: at.Launch, name: k.Name, device: k.Device, graph: k.Graph, replayed: at.Graph}
	if at.Captured != nil {
		key.captured = at.Captured.Place
	}
	targets, ok := a.cache[key]
	if !ok {
		for _, t := range a.Sets.trees(at.Launch.Set) {
			targets = append(targets, t.leaf(key, launchOrder(at.Order)).on(k.Device))
		}
		a.cache[key] = targets
	}
	a.count(k, targets)
	if at.Captured != nil {
		for _, m := range at.Captured.Metrics {
			a.replayMetric(at, key, m)
		}
	}
}

// AddUnattributed adds a kernel whose launch was lost, to every session that listens now.
func (a *Aggregator) AddUnattributed(k *record.Kernel, set uint32) {
	a.Unattributed++
	for _, t := range a.Sets.trees(set) {
		n := t.root.child(UnattributedFrame, lastOrder).child(kernelFrame(k.Name, k.Graph), lastOrder)
		a.count(k, []*deviceTime{n.on(k.Device)})
	}
}

func (a *Aggregator) count(k *record.Kernel, targets []*deviceTime) {
	a.Kernels++
	var nanos uint64
	if k.Timed() {
		nanos = k.Duration()
		a.Nanos += nanos
	} else {
		a.Untimed++
	}
	for _, d := range targets {
		d.count++
		d.nanos += nanos
	}
}

func (a *Aggregator) replayMetric(at callpath.Answer, key cacheKey, m callpath.OpMetric) {
	for _, t := range a.Sets.trees(at.Launch.Set) {
		t.leaf(key, launchOrder(at.Order)).add(m)
	}
}

// AddMetric adds an op's metric that was held back during a capture and turned out to be eager.
func (a *Aggregator) AddMetric(p callpath.Place, order uint32, m callpath.OpMetric) {
	for _, t := range a.Sets.trees(p.Set) {
		t.at(p, metricOrder(order)).add(m)
	}
}

func kernelFrame(name string, graph bool) string {
	if graph {
		return GraphFrame
	}
	return name
}
