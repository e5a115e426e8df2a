package aggregate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/profile"
)

// insideLanes shows some blocks of instrumented launches on a timeline, below the kernel that they are of. The global timer of the
// GPU and the clock of kernel records are off by a constant; a launch is shown when both its scopes and its record are there, so
// that its blocks lie within its kernel.
type insideLanes struct {
	lanes    map[insideLane]int
	shown    map[*inside.Kernel]int  // launches
	waiting  map[uint64]*shownLaunch // by correlation id
	nameless uint64                  // launches without one
	kernels  map[uint64]kernelTime   // that came before their scopes
	arrived  []uint64                // correlation ids of kernels, oldest first
	ahead    map[uint32]int64        // of the global timer against records, by device
	slices   int
}

// insideLane identifies a lane: launches of a kernel share those of their roles.
type insideLane struct {
	kernel, role string
	device       uint32
	stream       uint32
	warp         uint16
}

// kernelTime is what a launch takes from the record of its kernel.
type kernelTime struct {
	start, end uint64
	stream     uint32
	context    uint32
	grid       record.Grid
}

// shownLaunch is a launch that waits for its kernel's record. Its times are those of the global timer.
type shownLaunch struct {
	kernel     string
	device     uint32
	begin, end uint64
	slices     []insideSlice
}

type insideSlice struct {
	role       string
	warp       uint16
	block      bool // the slice of a whole block, not of a scope
	program    uint32
	name       string
	path       []string
	start, end uint64
	metrics    []profile.Metric
}

const (
	shownLaunches = 16      // of each kernel, the first ones
	shownSlices   = 1 << 19 // of a timeline
	keptKernels   = 1 << 12 // whose records came before their scopes
	keptLaunches  = 256     // that wait for their records
)

func newInsideLanes() *insideLanes {
	return &insideLanes{
		lanes: map[insideLane]int{}, shown: map[*inside.Kernel]int{}, waiting: map[uint64]*shownLaunch{}, kernels: map[uint64]kernelTime{},
		ahead: map[uint32]int64{},
	}
}

// wants reports whether one more launch of a kernel is shown.
func (s *insideLanes) wants(k *inside.Kernel) bool {
	return s.shown[k] < shownLaunches && s.slices < shownSlices && len(s.waiting) < keptLaunches
}

// showInside shows a launch whose blocks have been decoded once.
func (t *Timeline) showInside(l *inside.Launch, in *Inside, measure *inside.Measure) {
	s := t.inside
	kernel := t.tree.kernelOf(l)
	if l.Replayed {
		if n := t.tree.replayedKernel(l); n != nil {
			kernel = n
		}
	}
	if t.InsideTrace != nil {
		t.InsideTrace.Begin(l.Kernel, kernel.names())
		in.decoder.Decode(l, t.InsideTrace.Add)
		return
	}
	if !s.wants(l.Kernel) {
		in.Undrawn++
		return
	}
	s.shown[l.Kernel]++
	launch := &shownLaunch{kernel: kernel.name, device: uint32(l.Device)}
	launch.begin, launch.end = in.headers.Span()
	clock := in.clock(l.Device)
	rate, _ := measure.Rate(clock)
	clock.BeginLaunch(rate)
	in.headers.Each(clock.Place)
	roles := map[uint32]string{}
	var programs []uint32
	for _, d := range in.headers.Drawn() {
		roles[d.Program] = d.Role
		programs = append(programs, d.Program)
	}
	in.decoder.Only(l, programs, func(b *inside.Block) {
		launch.add(l.Kernel, kernel, b, roles[b.Program], clock)
	})
	s.slices += len(launch.slices)
	if k, known := s.kernels[l.Correlation]; known && l.Correlation != 0 {
		delete(s.kernels, l.Correlation)
		t.showLaunch(launch, k)
		return
	}
	key := l.Correlation
	if key == 0 { // a number that no launch has
		s.nameless++
		key = 1<<63 + s.nameless
	}
	s.waiting[key] = launch
}

// add adds the slices of one block: the block itself on the lane of each of its warps, and the scopes on it.
func (l *shownLaunch) add(k *inside.Kernel, node *node, b *inside.Block, role string, clock *inside.Clock) {
	where := []profile.Metric{
		{Name: "cta", Value: profile.IntValue(int64(b.Program))}, {Name: "sm", Value: profile.IntValue(int64(b.SM))},
	}
	warps := map[uint16]bool{}
	for i := range b.Pairs {
		p := &b.Pairs[i]
		if !warps[p.Warp] {
			warps[p.Warp] = true
			l.slices = append(l.slices, insideSlice{
				role: role, warp: p.Warp, block: true, program: b.Program, name: fmt.Sprintf("CTA %d", b.Program), path: node.names(),
				start: b.Init, end: b.PreFinal, metrics: where,
			})
		}
		path := k.Path(p.Scope)
		l.slices = append(l.slices, insideSlice{
			role: role, warp: p.Warp, name: path[len(path)-1], path: append(slices.Clone(node.names()), path...),
			start: clock.Nanos(b, p.Start), end: clock.Nanos(b, p.End),
			metrics: []profile.Metric{{Name: profile.CyclesMetric, Value: profile.IntValue(int64(p.Cycles()))}},
		})
	}
}

// insideKernel takes the record of a kernel, which may be that of a launch with scopes.
func (t *Timeline) insideKernel(k *record.Activity) {
	s := t.inside
	if s == nil || t.InsideTrace != nil || k.Kind != record.Kernel || !k.Timed() {
		return
	}
	at := kernelTime{k.Start, k.End, k.Stream, k.Context, k.Grid}
	if l := s.waiting[k.Correlation]; l != nil {
		delete(s.waiting, k.Correlation)
		t.showLaunch(l, at)
		return
	}
	s.kernels[k.Correlation] = at
	if s.arrived = append(s.arrived, k.Correlation); len(s.arrived) > keptKernels {
		delete(s.kernels, s.arrived[0])
		s.arrived = s.arrived[1:]
	}
}

// showLaunch writes the slices of a launch, moved so that the middles of its blocks and of its kernel are at the same time.
func (t *Timeline) showLaunch(l *shownLaunch, at kernelTime) {
	ahead := t.inside.ahead[l.device]
	if at.end > 0 {
		ahead = int64((l.begin-at.start)+(l.end-at.end)) / 2
		t.inside.ahead[l.device] = ahead
	}
	for i := range l.slices {
		p := &l.slices[i]
		if place, is := at.grid.Place(p.program); is && p.block {
			p.name += fmt.Sprintf(" (%d, %d, %d)", place[0], place[1], place[2])
		}
		t.slice = profile.Slice{
			Lane: t.warpLane(l, p, at), Kind: profile.InsideSlice, Name: p.name, Start: int64(p.start) - ahead, Duration: int64(since(p.start, p.end)),
			Path: p.path, Metrics: p.metrics,
		}
		t.write(&t.slice)
	}
}

func (t *Timeline) warpLane(l *shownLaunch, p *insideSlice, at kernelTime) int {
	key := insideLane{l.kernel, p.role, l.device, at.stream, p.warp}
	id, known := t.inside.lanes[key]
	if !known {
		id = t.lane(profile.Lane{
			Kind: profile.WarpLane, Name: fmt.Sprintf("%s: %s, warp %d", l.kernel, p.role, p.warp),
			Device: strconv.Itoa(int(l.device)), Context: at.context, Stream: at.stream,
		})
		t.inside.lanes[key] = id
	}
	return id
}

// finishInside shows the launches whose kernels have no record, by the clock of those that have one.
func (t *Timeline) finishInside() {
	if t.inside == nil {
		return
	}
	for _, op := range slices.Sorted(maps.Keys(t.inside.waiting)) {
		t.showLaunch(t.inside.waiting[op], kernelTime{})
	}
	clear(t.inside.waiting)
}
