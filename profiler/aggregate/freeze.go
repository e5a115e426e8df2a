package aggregate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/budget"
)

func (e *VectorSizeError) Error() string {
	return fmt.Sprintf("Vector metric size mismatch for %s: current=%d, new=%d", e.Name, e.Old, e.New)
}

// Freeze copies a tree, with all metrics recorded so far, into a profile. deviceType is that of the source's devices, such as "CUDA".
// The devices that appear are returned so that the caller can describe them. While instructions are sampled nodes have their
// samples, and Profile.Sampling has the functions and counts: the sampler's facts are for the caller to add.
func (a *Aggregator) Freeze(t *Tree, deviceType string) (*profile.Profile, []uint32) {
	t.placeReplays(false)
	return a.freeze(t, deviceType, false)
}

// FreezeSoFar is Freeze where the vendor's library has not been asked for the records of what has run: scopes of replayed kernels are left
// out once, because the record that says where they belong may be about to come.
func (a *Aggregator) FreezeSoFar(t *Tree, deviceType string) (*profile.Profile, []uint32) {
	t.placeReplays(true)
	return a.freeze(t, deviceType, false)
}

// FreezeByDevice is Freeze with a node for each device that a path ran on: siblings of one name, of which the first, that of the
// device that the path ran on first, has everything else of the path. The work of operators is where it was recorded, so that every value
// only grows.
func (a *Aggregator) FreezeByDevice(t *Tree, deviceType string) *profile.Profile {
	t.placeReplays(false)
	p, _ := a.freeze(t, deviceType, true)
	return p
}

func (a *Aggregator) freeze(t *Tree, deviceType string, byDevice bool) (*profile.Profile, []uint32) {
	f := freezer{byDevice: byDevice, kinds: profile.Kinds{}, devices: map[uint32]bool{}, deviceType: deviceType, slots: t.slotMetrics(a.weighted), windows: a.Windows, clocks: a.Inside.clocks}
	if a.Sampling != nil {
		f.samples = a.newSampleFreezer(t)
	}
	if t.idle != nil {
		f.idleSums = t.idle.frozen()
	}
	if t.readings != nil {
		f.gauges, f.readSums = t.readings.gauges, t.readings.frozen()
	}
	p := &profile.Profile{Root: f.node(t.root), Kinds: f.kinds}
	f.idleNode(p.Root)
	if !byDevice {
		p.CountOperatorsOnce()
	}
	p.Launches = f.launches.kinds
	if f.samples != nil {
		f.samples.finish(p)
	}
	return p, slices.Sorted(maps.Keys(f.devices))
}

type freezer struct {
	byDevice   bool // a node is of one device
	kinds      profile.Kinds
	devices    map[uint32]bool
	deviceType string
	slots      map[*node][]metric
	launches   launchFreezer
	idleSums   map[*node]idleSum
	gauges     []record.Gauge
	readSums   map[*node][]float64 // by gauge
	windows    *budget.Weights
	clocks     map[int]*inside.Clock // of devices that ran kernels with scopes
	samples    *sampleFreezer        // nil while instructions are not sampled
}

func (f *freezer) node(n *node) *profile.Node {
	out := &profile.Node{Name: n.name}
	first, _ := f.split(n.totals)
	f.totals(out, first)
	f.idle(out, n)
	f.readings(out, n)
	f.launches.node(out, n)
	f.inside(out, n)
	for i := range n.metrics {
		f.metric(out, &n.metrics[i])
	}
	for i := range f.slots[n] {
		f.metric(out, &f.slots[n][i])
	}
	// Chronological: by the first launch below each child. Kernels arrive in order of completion.
	sorted := slices.Clone(n.children)
	slices.SortStableFunc(sorted, func(a, b *node) int { return cmp.Or(cmp.Compare(a.order, b.order), a.inside.compare(b.inside)) })
	for _, c := range sorted {
		out.Children = append(out.Children, f.node(c))
		_, others := f.split(c.totals)
		for _, totals := range others {
			sibling := &profile.Node{Name: c.name}
			f.totals(sibling, totals)
			out.Children = append(out.Children, sibling)
		}
	}
	if f.samples != nil {
		f.samples.node(out, n)
	}
	return out
}

// metric adds one metric to a node; two raw names may have the same shown name.
func (f *freezer) metric(out *profile.Node, m *metric) {
	if _, known := f.kinds[m.name]; !known {
		f.kinds[m.name] = m.kind
	}
	v := m.frozen()
	if old, ok := out.Metric(m.name); ok && m.vector == nil {
		v = sum(old, v, m.kind == profile.Property)
	}
	out.Set(m.name, v)
}

// split returns the sums of the first device of a node, and those of each other device; without byDevice all of them.
func (f *freezer) split(totals []*total) (first []*total, others [][]*total) {
	if !f.byDevice || len(totals) < 2 {
		return totals, nil
	}
	for _, t := range totals {
		of := slices.IndexFunc(others, func(o []*total) bool { return o[0].device == t.device })
		switch {
		case t.device == totals[0].device:
			first = append(first, t)
		case of >= 0:
			others[of] = append(others[of], t)
		default:
			others = append(others, []*total{t})
		}
	}
	return first, others
}

// totals writes a node's time, count and distribution. A node that ran on several devices names the one with most
// time: one path has room for one device id, and utilisation is then wrong by least.
func (f *freezer) totals(out *profile.Node, totals []*total) {
	var gpu, waits total
	main := (*total)(nil)
	variance := 0.0
	for _, recorded := range totals {
		whole, wrong := recorded.estimated(f.windows)
		t := &whole
		variance += wrong * wrong
		if t.kind == record.Sync {
			waits.count += t.count
			waits.nanos += t.nanos
			continue
		}
		gpu.count += t.count
		gpu.nanos += t.nanos
		gpu.bytes += t.bytes
		f.devices[t.device] = true
		if main == nil || t.nanos > main.nanos {
			main = t
		}
		if out.Times == nil {
			out.Times = t.times.Clone()
		} else {
			out.Times.Merge(t.times)
		}
	}
	if main != nil {
		ran := gpu.count > 0 // otherwise its instructions were counted, and nothing else
		if ran {
			f.set(out, profile.CountMetric, profile.IntValue(int64(gpu.count)), profile.Inclusive)
		}
		f.set(out, profile.DeviceIDMetric, profile.StringValue(strconv.Itoa(int(main.device))), profile.Property)
		f.set(out, profile.DeviceTypeMetric, profile.StringValue(f.deviceType), profile.Property)
		if ran {
			f.set(out, profile.TimeMetric, profile.IntValue(int64(gpu.nanos)), profile.Inclusive)
		}
		if variance > 0 {
			f.set(out, profile.TimeErrorMetric, profile.IntValue(int64(math.Round(math.Sqrt(variance)))), profile.Exclusive)
		}
	}
	if gpu.bytes > 0 {
		f.set(out, profile.BytesMetric, profile.IntValue(int64(gpu.bytes)), profile.Inclusive)
	}
	if waits.count > 0 {
		f.set(out, profile.SyncCountMetric, profile.IntValue(int64(waits.count)), profile.Inclusive)
		f.set(out, profile.SyncTimeMetric, profile.IntValue(int64(waits.nanos)), profile.Inclusive)
	}
	for _, t := range totals {
		f.counted(out, t.counted)
		if t.lined > 0 {
			f.add(out, counters.Lined, profile.IntValue(t.lined))
		}
	}
}

func (f *freezer) set(out *profile.Node, name string, v profile.Value, kind profile.Kind) {
	out.Set(name, v)
	f.kinds[name] = kind
}
