package profiletest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/goproton/goproton/profile"
)

// Start is when the samples begin: 2026-11-20 12:00:00 UTC.
const Start = 1_795_176_000_000_000_000

// SampleTimeline is a training step on two GPUs whose streams have equal ids: it has one of everything.
func SampleTimeline() *profile.Profile {
	forward, step := []string{"ROOT", "step", "forward"}, []string{"ROOT", "step"}
	at := func(us float64) int64 { return Start + int64(us*1000) }
	return &profile.Profile{
		Info: profile.Info{profile.InfoName: "train.py", profile.InfoPID: "4711", profile.InfoHost: "node1"},
		Devices: []profile.Device{
			{Type: "CUDA", ID: "0", Arch: "90", BusWidth: 6016, ClockRate: 1980000, MemoryClockRate: 3201000, NumSMs: 132, Name: "NVIDIA H200"},
			{Type: "CUDA", ID: "1", Arch: "90", BusWidth: 6016, ClockRate: 1980000, MemoryClockRate: 3201000, NumSMs: 132, Name: "NVIDIA H200"},
		},
		Kinds: profile.Kinds{"flops": profile.Inclusive, "bytes": profile.Inclusive, "tokens": profile.Inclusive, "loss": profile.Property},
		Timeline: &profile.Timeline{
			Lanes: []profile.Lane{
				{ID: 1, Kind: profile.ThreadLane, Name: "CPU Thread 0", Thread: 4711},
				{ID: 2, Kind: profile.GraphLane, Name: "Graph: GPU 0 Stream 7", Device: "0", Context: 1, Stream: 7},
				{ID: 3, Kind: profile.StreamLane, Name: "GPU 0 Stream 7", Device: "0", Context: 1, Stream: 7},
				{ID: 4, Kind: profile.StreamLane, Name: "GPU 1 Stream 7", Device: "1", Context: 2, Stream: 7},
				{ID: 5, Kind: profile.StreamLane, Name: "GPU 0 Stream 7", Device: "0", Context: 3, Stream: 7},
			},
			Slices: []profile.Slice{
				{Lane: 1, Kind: profile.ScopeSlice, Name: "step", Start: at(0), Duration: 120_500, Path: step, ID: 4,
					Metrics: []profile.Metric{{Name: "tokens", Value: profile.IntValue(512)}, {Name: "loss", Value: profile.FloatValue(2.5)}}},
				{Lane: 1, Kind: profile.ScopeSlice, Name: "forward", Start: at(1), Duration: 80_000, Path: forward, ID: 5},
				{Lane: 1, Kind: profile.LaunchSlice, Name: "cuLaunchKernel", Start: at(2.5), Duration: 4_321, Path: forward, ID: 9},
				{Lane: 1, Kind: profile.SyncSlice, Name: "cuStreamSynchronize", Start: at(90), Duration: 30_001, Path: step, ID: 12},
				{Lane: 2, Kind: profile.ScopeSlice, Name: "<captured_at>", Start: at(40), Duration: 9_000},
				{Lane: 3, Kind: profile.KernelSlice, Name: "void gemm<float, \"x\\y\">(int)", Start: at(30.2), Duration: 1_100, ID: 9,
					Path:    []string{"ROOT", "step", "forward", "void gemm<float, \"x\\y\">(int)"},
					Launch:  &profile.LaunchKind{ID: "ef9981b6a75bf6a9", Hash: "707cff48", Kernel: "void gemm<float, \"x\\y\">(int)"},
					Metrics: []profile.Metric{{Name: "flops", Value: profile.FloatValue(4096)}, {Name: "sizes", Value: profile.IntsValue([]int64{4, 8})}}},
				{Lane: 3, Kind: profile.GraphSlice, Name: "<graph>", Start: at(40), Duration: 9_000, Path: []string{"ROOT", "step", "<graph>"}, ID: 10},
				{Lane: 4, Kind: profile.CopySlice, Name: "Memcpy HtoD", Start: at(31), Duration: 2_048, Path: []string{"ROOT", "step", "Memcpy HtoD"}, ID: 11,
					Metrics: []profile.Metric{{Name: "bytes", Value: profile.IntValue(65536)}}},
				{Lane: 5, Kind: profile.FillSlice, Name: "Memset", Start: at(33.007), Duration: 0, ID: 13,
					Metrics: []profile.Metric{{Name: "bytes", Value: profile.IntValue(1 << 20)}}},
			},
			Flows: []profile.Flow{
				{ID: 9, From: 1, To: 3, Start: at(2.5), End: at(30.2)},
			},
		},
	}
}

// RandomTimeline returns a timeline of any shape: slices nest or not, in any order, on lanes of several processes.
func RandomTimeline(r *rand.Rand) *profile.Profile {
	names := []string{"ROOT", "forward", "größer", `"`, "gemm\n<float>", "", "a.b", "relu"}
	name := func() string { return names[r.IntN(len(names))] }
	t := &profile.Timeline{}
	processes := []string{"", "rank 1", "rank 2"}[:1+r.IntN(3)]
	for i := range 1 + r.IntN(6) {
		l := profile.Lane{ID: i*3 + 1, Kind: profile.LaneKind(r.IntN(4)), Name: fmt.Sprint("lane ", i), Process: processes[r.IntN(len(processes))]}
		if l.Kind == profile.ThreadLane {
			l.Thread = r.Int64N(1 << 40)
		} else {
			l.Device, l.Context, l.Stream = fmt.Sprint(r.IntN(2)), r.Uint32N(3), r.Uint32()>>r.IntN(32)
		}
		t.Lanes = append(t.Lanes, l)
	}
	lane := func() int { return t.Lanes[r.IntN(len(t.Lanes))].ID }
	values := []profile.Value{profile.IntValue(-3), profile.FloatValue(2), profile.FloatValue(1e-9), profile.FloatValue(3.7e20),
		profile.StringValue("12"), profile.IntsValue([]int64{1, -2}), profile.FloatsValue([]float64{0.5, 1})}
	for range 1 + r.IntN(20) {
		s := profile.Slice{Lane: lane(), Kind: profile.SliceKind(r.IntN(int(profile.InsideSlice) + 1)), Name: name(), ID: r.Uint64() >> r.IntN(64),
			Start: Start + r.Int64N(1e15), Duration: r.Int64N(1e12)}
		for range r.IntN(4) {
			s.Path = append(s.Path, name())
		}
		if s.Kind == profile.CopySlice && r.IntN(2) == 0 {
			s.Metrics = append(s.Metrics, profile.Metric{Name: "bytes", Value: profile.IntValue(r.Int64N(1e12))})
		}
		for i := range r.IntN(3) {
			s.Metrics = append(s.Metrics, profile.Metric{Name: fmt.Sprint("m", i), Value: values[r.IntN(len(values))]})
		}
		if s.Kind == profile.KernelSlice && r.IntN(2) == 0 {
			s.Launch = &profile.LaunchKind{ID: fmt.Sprint("kind ", r.IntN(3)), Hash: name(), Kernel: s.Name}
		}
		t.Slices = append(t.Slices, s)
	}
	for i := range r.IntN(4) {
		from, to := t.Slices[r.IntN(len(t.Slices))], t.Slices[r.IntN(len(t.Slices))]
		t.Flows = append(t.Flows, profile.Flow{ID: uint64(i + 1), From: from.Lane, To: to.Lane, Start: from.Start, End: to.Start})
	}
	for i := range r.IntN(3) {
		c := profile.Counter{Name: fmt.Sprint(name(), " ", i), Process: t.Lanes[0].Process}
		for at := range int64(1 + r.IntN(5)) {
			c.Points = append(c.Points, profile.Point{At: Start + 1e12*at, Value: r.Int64() >> r.IntN(64)})
		}
		t.Counters = append(t.Counters, c)
	}
	return &profile.Profile{Timeline: t}
}

// WithCounters adds to a timeline the bytes that are allocated on a GPU, which change twice in one moment.
func WithCounters(p *profile.Profile) *profile.Profile {
	first := p.Timeline.First()
	p.Timeline.Counters = []profile.Counter{{Name: "GPU 0 allocated", Points: []profile.Point{
		{At: first + 100, Value: 512}, {At: first + 2000, Value: 81 << 30}, {At: first + 2000, Value: 4096}, {At: first + 90_000, Value: 0},
	}}}
	return p
}

// Renumber gives lanes the numbers that a reader does: those of their place.
func Renumber(t *profile.Timeline) *profile.Timeline {
	place := map[int]int{}
	var r profile.Timeline
	for i, l := range t.Lanes {
		place[l.ID] = i
		l.ID = i
		r.Lanes = append(r.Lanes, l)
	}
	for _, s := range t.Slices {
		s.Lane = place[s.Lane]
		r.Slices = append(r.Slices, s)
	}
	for _, f := range t.Flows {
		f.From, f.To = place[f.From], place[f.To]
		r.Flows = append(r.Flows, f)
	}
	r.Counters = t.Counters
	return &r
}

// Many returns a larger timeline of lanes that have names of their own, full of slices that begin and end at the
// same moments.
func Many(r *rand.Rand) *profile.Profile {
	t := &profile.Timeline{}
	for lane := range 8 {
		l := profile.Lane{ID: lane, Kind: profile.LaneKind(lane % 3), Name: fmt.Sprint("lane ", lane)}
		if l.Kind == profile.ThreadLane {
			l.Thread = int64(lane + 100)
		} else {
			l.Device, l.Stream = fmt.Sprint(lane%2), uint32(lane)
		}
		t.Lanes = append(t.Lanes, l)
		for i := range 40 {
			t.Slices = append(t.Slices, profile.Slice{
				Lane: lane, Kind: profile.SliceKind(r.IntN(8)), Name: fmt.Sprintf("slice %d of %d", i, lane), Start: Start + r.Int64N(40), Duration: r.Int64N(12),
			})
		}
	}
	return &profile.Profile{Timeline: t}
}

// Deep returns a timeline with a call path of two frames more than files have.
func Deep() *profile.Profile {
	path := slices.Repeat([]string{"f"}, profile.MaxDepth+2)
	t := &profile.Timeline{Lanes: []profile.Lane{{Name: "CPU Thread 0"}}}
	t.Slices = append(t.Slices, profile.Slice{Name: "f", Start: Start, Duration: 5, Path: path})
	return &profile.Profile{Timeline: t}
}
