package aggregate

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/profile"
)

// Inside reads the scopes inside of kernels for all sessions. Blocks are decoded once, whatever the number of sessions.
type Inside struct {
	Launches uint64 // that had scopes
	Undrawn  uint64 // of them, those that a timeline has no room for
	Losses   profile.InsideLosses
	Full     []profile.InsideBuild // how the kernel was compiled whose records need most room, if some found none

	decoder inside.Decoder
	headers inside.Headers // of the blocks of a launch
	tally   inside.Tally
	clocks  map[int]*inside.Clock // by device
}

// insideNode is what a node has of the scopes inside of kernels.
type insideNode struct {
	profile.Inside
	normalized float64       // cycles by recorded warps, of a scope
	devices    []deviceShare // most often one
	scope      int           // ID: siblings are in order of it
}

// deviceShare is what was measured on one device: cycles of a scope, or ns of a kernel's recorded warps.
type deviceShare struct {
	device  int
	amount  uint64
	measure inside.Measure // of the clock, while a kernel ran
}

// device is the one with most: one path has room for one device id.
func (i *insideNode) device() int {
	return slices.MaxFunc(i.devices, func(a, b deviceShare) int { return cmp.Compare(a.amount, b.amount) }).device
}

func (i *insideNode) on(device int, amount uint64) *deviceShare {
	at := slices.IndexFunc(i.devices, func(s deviceShare) bool { return s.device == device })
	if at < 0 {
		at = len(i.devices)
		i.devices = append(i.devices, deviceShare{device: device})
	}
	i.devices[at].amount += amount
	return &i.devices[at]
}

// AddInside adds the scopes of one finished launch to the sessions of its launch set. It never fails: what cannot be read is
// counted. The drainer calls it; nothing of the launch is kept.
func (a *Aggregator) AddInside(l *inside.Launch) {
	trees := a.insideTrees(l.Set)
	if len(trees) == 0 {
		if l.Set != 0 && len(a.Sets.trees(l.Set)) == 0 {
			a.Inside.Losses.Launches++ // its phase is written or cleared
		}
		return
	}
	in := &a.Inside
	clock := in.clock(l.Device)
	in.headers.Reset()
	timelines := slices.ContainsFunc(trees, func(t *Tree) bool { return t.Timeline != nil })
	losses := in.decoder.Decode(l, func(b *inside.Block) {
		in.tally.Add(b, l.Kernel)
		if timelines {
			in.headers.Add(b)
		}
		clock.Add(b)
	})
	measure := clock.EndLaunch()
	sum := in.tally.Take(l.Kernel, &losses)
	in.Launches++
	if losses.Need > in.Losses.Need {
		in.Full = sum.Kernel.Builds
	}
	in.Losses.Add(&losses)
	for _, t := range trees {
		if t.Timeline == nil {
			t.addInside(l, &sum, &measure)
		} else {
			t.Timeline.showInside(l, in, &measure)
		}
	}
}

// insideTrees are the trees of a launch set that show scopes inside of kernels.
func (a *Aggregator) insideTrees(set uint32) (some []*Tree) {
	for _, t := range a.Sets.trees(set) {
		if t.Inside {
			some = append(some, t)
		}
	}
	return some
}

func (in *Inside) clock(device int) *inside.Clock {
	c := in.clocks[device]
	if c == nil {
		c = &inside.Clock{}
		if in.clocks == nil {
			in.clocks = map[int]*inside.Clock{}
		}
		in.clocks[device] = c
	}
	return c
}

// kernelOf is the node that the time of a launch's kernel goes onto.
func (t *Tree) kernelOf(l *inside.Launch) *node {
	order := uint64(lastOrder)
	if l.Correlation != 0 {
		order = launchOrder(l.Correlation)
	}
	return t.leaf(cacheKey{launch: placeOf(l), name: l.Kernel.Name, kind: record.Kernel}, order)
}

func (t *Tree) addInside(l *inside.Launch, sum *inside.Sum, measure *inside.Measure) {
	kernel := t.insideAt(l)
	kernel.addInside(&profile.Inside{Kernel: sum.Kernel}, l.Device, 0).measure.Add(measure)
	for _, s := range sum.Scopes {
		n := kernel
		for _, name := range l.Kernel.Path(s.ID) {
			n = n.child(name, kernel.order)
		}
		n.addInside(&profile.Inside{Scope: s.InsideScope}, l.Device, int(s.ID))
		n.inside.normalized += float64(s.Cycles) / float64(sum.Kernel.Warps)
	}
}

// insideAt is the node that the scopes of a launch go below.
func (t *Tree) insideAt(l *inside.Launch) *node {
	if !l.Replayed {
		return t.kernelOf(l)
	}
	if n := t.replayedKernel(l); n != nil {
		return n
	}
	return t.waiting(l)
}

func (n *node) addInside(sum *profile.Inside, device, scope int) *deviceShare {
	i := n.scopes(scope)
	i.Merge(sum)
	if sum.Kernel != nil {
		return i.on(device, sum.Kernel.WarpNanos)
	}
	return i.on(device, sum.Scope.Cycles)
}

// scopes returns what the node has of scopes inside of kernels.
func (n *node) scopes(scope int) *insideNode {
	if n.inside == nil {
		n.inside = &insideNode{scope: scope}
	}
	return n.inside
}

// compare puts scopes in order of their IDs, and behind all that is not one.
func (i *insideNode) compare(o *insideNode) int {
	return cmp.Compare(i.place(), o.place())
}

func (i *insideNode) place() int {
	if i == nil {
		return -1
	}
	return i.scope
}

// inside copies what a node has into a profile.
func (f *freezer) inside(out *profile.Node, n *node) {
	if n.inside == nil {
		return
	}
	out.Inside = profile.MergeInside(nil, &n.inside.Inside)
	s := out.Inside.Scope
	if k := out.Inside.Kernel; k != nil {
		k.Cycles, k.CyclesOff = 0, 0
		for i := range n.inside.devices {
			d := &n.inside.devices[i]
			if clock := f.clocks[d.device]; clock != nil {
				rate, off := d.measure.Rate(clock) // by all launches so far
				k.Cycles += uint64(rate * float64(d.amount))
				k.CyclesOff += uint64(off * float64(d.amount))
			}
		}
	}
	if s == nil {
		return
	}
	out.Set(profile.CyclesMetric, profile.IntValue(int64(s.Cycles)))
	out.Set(profile.NormalizedCyclesMetric, profile.FloatValue(n.inside.normalized))
	out.Set(profile.DeviceIDMetric, profile.StringValue(strconv.Itoa(n.inside.device())))
	out.Set(profile.DeviceTypeMetric, profile.StringValue(f.deviceType))
	for _, d := range n.inside.devices {
		f.devices[uint32(d.device)] = true
	}
	f.kinds[profile.DeviceIDMetric], f.kinds[profile.DeviceTypeMetric] = profile.Property, profile.Property
}
