// Package aggregate adds activities to the trees and timelines of sessions. It takes kernels, copies and waits with their
// attribution (from callpath), and metric slots (from hotpath). For each session and phase it makes one frozen profile.Profile,
// which sums the activities of a call path, or one timeline, which shows each activity. The drainer owns everything here, but
// for the numbers of launch kinds: the recorder of a trace asks for the number of a kind once, and tags launches with it.
package aggregate

import (
	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/profiler/budget"
	"github.com/goproton/goproton/profiler/callpath"
)

// Frame names that the collector itself adds.
const (
	UnattributedFrame = "<unattributed>" // kernels whose launch record was lost
	CapturedAtFrame   = "<captured_at>"  // between where a graph was launched and where it was captured
	GraphFrame        = "<graph>"        // a whole graph timed as one
	MetricFrame       = "<metric>"       // a graph node that reads a metric's value
)

// Aggregator routes activities to the trees of the sessions that were active when the program launched them.
type Aggregator struct {
	Sets     *Sets
	Sampling *Sampling       // nil while nothing is sampled
	Inside   Inside          // what is known of scopes inside of kernels
	Windows  *budget.Weights // of the windows in which kernels are timed; nil: they are timed all the time
	Total    budget.Sum      // over all kernels
	cache    map[cacheKey]route

	Kernels      uint64 // kernels and whole graphs added
	Nanos        uint64 // their time
	Unattributed uint64 // those whose launch was never seen
	Untimed      uint64 // those counted without a time
	Late         uint64 // metrics that came after their phase was written or cleared
}

// cacheKey names everything that decides where an activity lands.
type cacheKey struct {
	launch, captured callpath.Place
	name             string
	device           uint32
	function         uint32 // its number while instructions are sampled, else 0
	tag              uint16 // of the launch
	kind             record.Kind
	replayed         bool
}

// route is where activities of one key go: onto sums, and into timelines.
type route struct {
	sums     []*total
	launches []*launchTotal // where the launch is tagged
	shown    []within[*Timeline]
	idle     []within[*idleTimes]
	read     []within[*readings]
	launcher *launcher // while instructions are sampled
}

// within is a node in what shows it or shares something out to it.
type within[T any] struct {
	in   T
	node *node
}

// New returns an empty aggregator. It clears the sets, which go on counting.
func New(sets *Sets) *Aggregator {
	sets.clear()
	return &Aggregator{Sets: sets, cache: make(map[cacheKey]route)}
}

// Reset forgets routes; call it when trees come or go.
func (a *Aggregator) Reset() { clear(a.cache) }

// ForgetNumbers forgets which numbers call paths have: some are about to be given to others.
func (a *Aggregator) ForgetNumbers() {
	a.Reset()
	a.Sets.each(func(t *Tree) { t.index = nil })
}

// Add adds one activity at the place that the resolver found.
func (a *Aggregator) Add(k *record.Activity, at *callpath.Attribution) {
	if at.Launch.Set == 0 && a.Sampling == nil {
		return // asked for while no session was active
	}
	key := cacheKey{launch: at.Launch, name: k.Name, device: k.Device, tag: tagOf(k, at), kind: k.Kind, replayed: at.Graph}
	if at.Captured != nil {
		key.captured = at.Captured.Place
	}
	if a.Sampling != nil {
		key.function = a.Sampling.functionOf(k, at)
	}
	r, ok := a.cache[key]
	if !ok {
		r = a.route(key, launchOrder(at.Order))
		a.cache[key] = r
	}
	if r.launcher != nil {
		r.launcher.add(k)
		if !at.Graph { // kernels of a graph share its correlation id
			a.Sampling.remember(k, r.launcher)
		}
	}
	if at.Launch.Set == 0 {
		return
	}
	a.count(k)
	for _, t := range r.sums {
		t.add(k)
		if at.Counters != nil {
			t.counted = t.counted.with(at.Counters)
		}
	}
	a.estimate(k, at.Launch.Set, r.sums)
	for _, l := range r.launches {
		l.add(k)
	}
	for _, s := range r.shown {
		s.in.activity(k, at, s.node)
	}
	for _, i := range r.idle {
		i.in.add(k, i.node)
	}
	for _, p := range r.read {
		p.in.work(k, p.node)
	}
	if at.Captured != nil {
		a.replayed(at, key)
	}
}

func (a *Aggregator) route(key cacheKey, order uint64) (r route) {
	for _, t := range a.Sets.trees(key.launch.Set) {
		if !t.wants(key.kind) {
			continue
		}
		leaf := t.leaf(key, order)
		if t.idle != nil {
			r.idle = append(r.idle, within[*idleTimes]{t.idle, leaf})
		}
		if t.readings != nil {
			r.read = append(r.read, within[*readings]{t.readings, leaf})
		}
		if t.Timeline != nil {
			r.shown = append(r.shown, within[*Timeline]{t.Timeline, leaf})
		} else {
			r.sums = append(r.sums, leaf.on(key.device, key.kind, t.Times))
			if key.tag != 0 {
				r.launches = append(r.launches, leaf.launch(key.tag, key.device, t.Times))
			}
		}
	}
	if key.function != 0 {
		r.launcher = a.launcher(key, order)
	}
	return r
}

// AddUnattributed adds an activity whose call is unknown to the sessions of a launch set: the newest that was not empty. A wait
// is the program's own, and known by its call or not at all.
func (a *Aggregator) AddUnattributed(k *record.Activity, set uint32) {
	if k.Kind == record.Sync {
		return
	}
	a.count(k)
	if isKernel(k.Kind) {
		a.Unattributed++
	}
	if a.Sampling != nil && k.Kind == record.Kernel {
		a.unattributed(k, set).add(k)
	}
	for _, t := range a.Sets.trees(set) {
		if !t.wants(k.Kind) {
			continue
		}
		n := t.root.child(UnattributedFrame, lastOrder).child(frameOf(k.Name, k.Kind), lastOrder)
		if t.idle != nil {
			t.idle.add(k, n)
		}
		if t.readings != nil {
			t.readings.work(k, n)
		}
		if t.Timeline != nil {
			t.Timeline.activity(k, &callpath.Attribution{}, n)
		} else {
			sum := n.on(k.Device, k.Kind, t.Times)
			sum.add(k)
			a.estimate(k, set, []*total{sum})
		}
	}
}

// Read adds a reading to the trees and timelines of a launch set.
func (a *Aggregator) Read(r *record.Reading, set uint32) {
	for _, t := range a.Sets.trees(set) {
		if t.readings != nil {
			t.readings.read(r)
		}
		if t.Timeline != nil && t.Readings {
			t.Timeline.read(r)
		}
	}
}

func isKernel(k record.Kind) bool { return k == record.Kernel || k == record.Graph }

// count keeps the totals of a run's closing line.
func (a *Aggregator) count(k *record.Activity) {
	if !isKernel(k.Kind) {
		return
	}
	a.Kernels++
	if k.Timed() {
		a.Nanos += k.Duration()
	} else {
		a.Untimed++
	}
}

// AddMetric adds a metric that was not summed in a slot: that of an op which was held back during a capture and turned
// out to be eager, or one whose slots were closed already.
func (a *Aggregator) AddMetric(p callpath.Place, order uint64, m callpath.OpMetric) {
	trees := a.Sets.trees(p.Set)
	if len(trees) == 0 && p.Set != 0 {
		a.Late++
	}
	m = a.weighted(p.Set, m)
	for _, t := range trees {
		t.add(p, metricOrder(order), m)
	}
}

func frameOf(name string, kind record.Kind) string {
	if kind == record.Graph {
		return GraphFrame
	}
	return name
}
