package profile

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// twoGPUs is a step whose kernels run on two GPUs, with a copy, a wait, a graph scope and a nested op.
func twoGPUs() *Profile {
	gemm := []string{"ROOT", "step", "gemm"}
	flops := func(v float64) []Metric { return []Metric{{"flops", FloatValue(v)}} }
	return &Profile{
		Devices: []Device{{Type: "CUDA", ID: "0"}, {Type: "CUDA", ID: "1"}},
		Kinds:   Kinds{"loss": Property, "unused": Inclusive},
		Timeline: &Timeline{
			Lanes: []Lane{{ID: 7}, {ID: 8, Kind: StreamLane, Device: "0"}, {ID: 9, Kind: StreamLane, Device: "1"}, {ID: 10, Kind: GraphLane, Device: "0"}},
			Slices: []Slice{
				{Lane: 9, Kind: KernelSlice, Name: "gemm", Start: 60, Duration: 30, Path: gemm, Metrics: flops(5)},
				{Lane: 8, Kind: KernelSlice, Name: "gemm", Start: 20, Duration: 10, Path: gemm, Metrics: flops(2)},
				{Lane: 8, Kind: CopySlice, Name: "<memcpy HtoD>", Start: 40, Duration: 4, Path: []string{"ROOT", "step", "<memcpy HtoD>"}, Metrics: []Metric{{"bytes", IntValue(4096)}}},
				{Lane: 7, Kind: ScopeSlice, Name: "step", Start: 0, Duration: 200, Path: []string{"ROOT", "step"},
					Metrics: []Metric{{"loss", FloatValue(0.5)}, {"tokens", IntValue(8)}, {"note", StringValue("warm")}, {"shape", IntsValue([]int64{1, 2})}}},
				{Lane: 7, Kind: ScopeSlice, Name: "step", Start: 300, Duration: 100, Path: []string{"ROOT", "step"},
					Metrics: []Metric{{"loss", FloatValue(0.25)}, {"tokens", IntValue(4)}, {"shape", IntsValue([]int64{3, 4})}}},
				{Lane: 7, Kind: LaunchSlice, Name: "cuLaunchKernel", Start: 10, Duration: 2, Path: []string{"ROOT", "step"}},
				{Lane: 7, Kind: SyncSlice, Name: "cuStreamSynchronize", Start: 100, Duration: 50, Path: []string{"ROOT", "step", "cuStreamSynchronize"}},
				{Lane: 10, Kind: ScopeSlice, Name: "<captured_at>", Start: 20, Duration: 10, Path: []string{"ROOT", "step", "<captured_at>"}},
			},
		},
	}
}

func outline(root *Node) string {
	var b strings.Builder
	root.Walk(func(n *Node, depth int) bool {
		fmt.Fprintf(&b, "%s%s", strings.Repeat("  ", depth), n.Name)
		for _, m := range n.Metrics {
			if f, number := m.Value.Float(); number {
				fmt.Fprintf(&b, " %s=%v", m.Name, f)
			} else {
				fmt.Fprintf(&b, " %s=%s%v", m.Name, m.Value.Str(), m.Value.Ints())
			}
		}
		if n.Times != nil {
			fmt.Fprintf(&b, " [%d to %d]", n.Times.Min, n.Times.Max)
		}
		b.WriteByte('\n')
		return true
	})
	return b.String()
}

func TestTreeOfATimeline(t *testing.T) {
	p := twoGPUs()
	p.Summarize()
	const want = `ROOT
  step cpu_time (ns)=300 loss=0.25 tokens=12 note=warm[] shape=[4 6]
    gemm time (ns)=40 count=2 device_id=1[] device_type=CUDA[] flops=7 [10 to 30]
    <memcpy HtoD> time (ns)=4 count=1 device_id=0[] device_type=CUDA[] bytes=4096 [4 to 4]
    cuStreamSynchronize sync_time (ns)=50 sync_count=1
`
	if got := outline(p.Root); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	kinds := Kinds{"time (ns)": Inclusive, "count": Inclusive, "bytes": Inclusive, "flops": Inclusive, "tokens": Inclusive, "sync_time (ns)": Inclusive,
		"sync_count": Inclusive, "cpu_time (ns)": Exclusive, "shape": Exclusive, "loss": Property, "note": Property, "device_id": Property, "device_type": Property}
	if !reflect.DeepEqual(p.Kinds, kinds) {
		t.Errorf("kinds are %v, want %v", p.Kinds, kinds)
	}
	if n := p.BeyondTimeline(); n != 0 {
		t.Errorf("%d values are said not to come of the timeline", n)
	}
	p.Root.Children[0].Set("own", IntValue(3))
	p.Root.Children = append(p.Root.Children, &Node{Name: "other", Metrics: []Metric{{"time (ns)", IntValue(4)}}})
	if n := p.BeyondTimeline(); n != 2 {
		t.Errorf("%d values are beyond the timeline, want 2", n)
	}
}

// Where nothing says which call path a slice belongs to, nesting and launches do.
func TestCallPathsOfSlicesThatHaveNone(t *testing.T) {
	p := &Profile{Timeline: &Timeline{
		Lanes: []Lane{{ID: 0}, {ID: 1, Process: "rank 1"}, {ID: 2, Kind: StreamLane}, {ID: 3, Kind: StreamLane, Process: "rank 1"}},
		Slices: []Slice{
			{Lane: 2, Kind: KernelSlice, Name: "relu", Start: 500, Duration: 5, ID: 11},
			{Lane: 3, Kind: KernelSlice, Name: "relu", Start: 500, Duration: 7, ID: 11},
			{Lane: 2, Kind: KernelSlice, Name: "lost", Start: 600, Duration: 1, ID: 99},
			{Lane: 0, Kind: LaunchSlice, Name: "cudaLaunchKernel", Start: 30_000, Duration: 1, ID: 11},
			{Lane: 0, Kind: ScopeSlice, Name: "step", Start: 0, Duration: 100_000},
			{Lane: 0, Kind: ScopeSlice, Name: "aten::relu", Start: 20_000, Duration: 20_500}, // sticks out of nothing
			{Lane: 0, Kind: ScopeSlice, Name: "inner", Start: 25_000, Duration: 15_900},      // 400 ns too long: rounding
			{Lane: 0, Kind: ScopeSlice, Name: "after", Start: 40_900, Duration: 10},
			{Lane: 1, Kind: LaunchSlice, Name: "cudaLaunchKernel", Start: 3, Duration: 1, ID: 11},
		},
	}}
	p.Summarize()
	const want = `ROOT
  relu time (ns)=7 count=1 [7 to 7]
  step cpu_time (ns)=100000
    aten::relu cpu_time (ns)=20500
      inner cpu_time (ns)=15900
        relu time (ns)=5 count=1 [5 to 5]
    after cpu_time (ns)=10
  lost time (ns)=1 count=1 [1 to 1]
`
	got := strings.Split(strings.TrimSpace(outline(p.Root)), "\n")
	expected := strings.Split(strings.TrimSpace(want), "\n")
	slices.Sort(got) // the order of children is that of time, and the kernels' clock is made up
	slices.Sort(expected)
	if !reflect.DeepEqual(got, expected) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(expected, "\n"))
	}
}

// TestDevicesOfRanks: each process numbers its GPUs from 0, and the tree says whose a frame ran on.
func TestDevicesOfRanks(t *testing.T) {
	p := &Profile{Devices: []Device{{Type: "CUDA", ID: "0", NumSMs: 132}}, Timeline: &Timeline{}}
	for i, process := range []string{"rank1", "rank0"} {
		p.Timeline.Lanes = append(p.Timeline.Lanes, Lane{ID: i, Kind: StreamLane, Process: process, Device: "0"})
		for _, name := range []string{"all", process} {
			p.Timeline.Slices = append(p.Timeline.Slices, Slice{Lane: i, Kind: KernelSlice, Name: name, Start: int64(i), Duration: 1, Path: []string{"ROOT", name}})
		}
	}
	for range 2 { // devices are listed once
		p.Summarize()
	}
	const want = `ROOT
  all time (ns)=2 count=2 device_id=rank0:0,rank1:0[] device_type=CUDA[] [1 to 1]
  rank1 time (ns)=1 count=1 device_id=rank1:0[] device_type=CUDA[] [1 to 1]
  rank0 time (ns)=1 count=1 device_id=rank0:0[] device_type=CUDA[] [1 to 1]
`
	if got := outline(p.Root); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, id := range []string{"rank0:0", "rank1:0", "rank0:0,rank1:0"} {
		if d := p.Device("CUDA", id); d == nil || d.NumSMs != 132 {
			t.Errorf("%s is %+v", id, d)
		}
	}
	if len(p.Devices) != 4 {
		t.Errorf("devices are %+v", p.Devices)
	}
}

func TestFlowIDsAreUnique(t *testing.T) {
	timeline := &Timeline{Flows: []Flow{{ID: 1}, {ID: 1}, {ID: 0}, {ID: 5}, {ID: 6}}}
	if got := timeline.FlowIDs(); !reflect.DeepEqual(got, []uint64{1, 7, 8, 5, 6}) {
		t.Errorf("ids are %v", got)
	}
}

func TestFirst(t *testing.T) {
	if at := (&Timeline{}).First(); at != 0 {
		t.Errorf("nothing began at %d", at)
	}
	timeline := &Timeline{Slices: []Slice{{Start: 7}, {Start: 5}}, Flows: []Flow{{Start: 6, End: 3}}}
	if at := timeline.First(); at != 3 {
		t.Errorf("it began at %d, want 3", at)
	}
}

func BenchmarkSummarize(b *testing.B) {
	p := twoGPUs()
	one := p.Timeline.Slices
	for range 20_000 {
		p.Timeline.Slices = append(p.Timeline.Slices, one...)
	}
	for b.Loop() {
		p.Summarize()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(p.Timeline.Slices)), "ns/slice")
}

// TestLaunchesOfATimeline: kernels that say of which kind their launch was are summed up by it, on each device.
func TestLaunchesOfATimeline(t *testing.T) {
	p := twoGPUs()
	a, b := LaunchKind{ID: "a", Hash: "1", Kernel: "gemm"}, LaunchKind{ID: "b", Hash: "1", Kernel: "gemm"}
	again := a // of another slice, in memory of its own
	list := p.Timeline.Slices
	list[0].Launch, list[1].Launch = &a, &b
	for _, more := range []struct {
		launch          *LaunchKind
		lane            int
		start, duration int64
	}{{&again, 9, 500, 10}, {&a, 8, 600, 4}, {nil, 8, 700, 100}} {
		list = append(list, Slice{Lane: more.lane, Kind: KernelSlice, Name: "gemm", Start: more.start, Duration: more.duration, Path: list[0].Path, Launch: more.launch})
	}
	p.Timeline.Slices = list
	for range 2 { // what was summed up before does not count again
		p.Summarize()
	}
	var got []string
	p.Root.Walk(func(n *Node, _ int) bool {
		for _, l := range n.Launches {
			got = append(got, fmt.Sprintf("%s %s on %d: %d in %d ns, %d to %d, %d timed", n.Name, p.Launches[l.Kind].ID, l.Device, l.Count, l.Nanos, l.Least, l.Most, l.Times.Count))
		}
		return true
	})
	want := []string{"gemm b on 0: 1 in 10 ns, 10 to 10, 1 timed", "gemm a on 1: 2 in 40 ns, 10 to 30, 2 timed", "gemm a on 0: 1 in 4 ns, 4 to 4, 1 timed"}
	if !slices.Equal(got, want) || len(p.Launches) != 2 {
		t.Errorf("%q of %d kinds, want %q of 2", got, len(p.Launches), want)
	}
}

// Scopes that nest deeply and share the memory of their paths: each frame is looked up once.
func TestNestedPathsAreFollowedOnce(t *testing.T) {
	const depth = 300
	path := []string{"ROOT"}
	for i := range depth {
		path = append(path, strconv.Itoa(i%3))
	}
	timeline := &Timeline{Lanes: []Lane{{}}}
	for i := range depth {
		timeline.Slices = append(timeline.Slices, Slice{Start: int64(i), Duration: int64(2 * (depth - i)), Name: path[i+1], Path: path[:i+2]})
	}
	paths := timeline.CallPaths()
	for i := range int32(depth) {
		at := paths.Of(i)
		if i > 0 && (paths.Above(at) != paths.Of(i-1) || paths.Name(at) != path[i+1]) {
			t.Fatalf("the path of scope %d is not one below that of the scope around it", i)
		}
	}
	p := &Profile{Timeline: timeline}
	p.Summarize()
	n := p.Root
	for _, name := range path[1:] {
		if len(n.Children) != 1 || n.Children[0].Name != name {
			t.Fatalf("below %s are %d nodes", n.Name, len(n.Children))
		}
		n = n.Children[0]
	}
}
