package collectives

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
)

// run is a made-up run of several ranks: what happened, on the true clock, and the clocks that the ranks read.
type run struct {
	r          *rand.Rand
	ranks      int
	steps      int
	offset     []float64 // ns
	drift      []float64
	jitter     float64 // ns, of each end
	late       []int64 // ns by which a rank comes later to each collective
	stepNanos  int64
	from, to   []int // collectives that a rank's recording has; nil for all
	groupOf    []int // communicator of each rank; nil for one
	operations []string

	waiting []int64 // of each rank, as it was
	nccl    []int64
}

const began = int64(1_790_000_000_000_000_000)

var stepOperations = []string{
	"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
	"ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
	"ncclDevKernel_AllReduce_Sum_bf16_RING_LL128(ncclDevKernelArgsStorage<4096ul>)",
	"_Z31ncclDevKernel_Broadcast_RING_LL24ncclDevKernelArgsStorageILm4096EE",
}

// reads is what a rank's clock shows at a time.
func (u *run) reads(rank int, t int64) int64 {
	if u.offset == nil {
		return t
	}
	return t + int64(math.Round(u.offset[rank]+u.drift[rank]*float64(t-began)))
}

func (u *run) timelines() (ranks []Rank) {
	timelines := make([]*profile.Timeline, u.ranks)
	u.waiting, u.nccl = make([]int64, u.ranks), make([]int64, u.ranks)
	for i := range timelines {
		timelines[i] = &profile.Timeline{Lanes: []profile.Lane{{ID: 1, Kind: profile.StreamLane, Device: "0", Stream: 7}, {ID: 2, Kind: profile.StreamLane, Device: "0", Stream: 13}}}
	}
	number := 0
	for step := range u.steps {
		t := began + int64(step)*u.stepNanos + u.r.Int64N(u.stepNanos/20)
		for _, operation := range u.operations {
			u.collective(timelines, number, operation, t)
			t += u.stepNanos / int64(len(u.operations)+1)
			number++
		}
	}
	for i, t := range timelines {
		ranks = append(ranks, Rank{Label: fmt.Sprintf("rank%d", i), Timeline: t})
	}
	return ranks
}

// collective adds one: every rank arrives, and all end shortly after the last one has.
func (u *run) collective(timelines []*profile.Timeline, number int, operation string, at int64) {
	for group := range u.ranks {
		var members []int
		for rank := range u.ranks {
			if u.groupOf == nil && group == 0 || u.groupOf != nil && u.groupOf[rank] == group {
				members = append(members, rank)
			}
		}
		if members == nil {
			continue
		}
		own := at + int64(group)*3_000_000 + u.r.Int64N(400_000) // communicators have nothing to do with each other
		arrival := map[int]int64{}
		last := int64(0)
		for _, rank := range members {
			arrival[rank] = own + u.late[rank] + u.r.Int64N(5_000)
			last = max(last, arrival[rank])
		}
		for _, rank := range members {
			end := last + 80_000 + int64(math.Abs(u.r.NormFloat64()*u.jitter))
			if u.from != nil && (number < u.from[rank] || number >= u.to[rank]) {
				continue
			}
			start, over := u.reads(rank, arrival[rank]), u.reads(rank, end)
			t := timelines[rank]
			t.Slices = append(t.Slices,
				profile.Slice{Lane: 2, Kind: profile.KernelSlice, Name: operation, Start: start, Duration: over - start},
				profile.Slice{Lane: 1, Kind: profile.KernelSlice, Name: "gemm", Start: over - 20_000, Duration: 50_000},
				profile.Slice{Lane: 1, Kind: profile.CopySlice, Name: "Memcpy", Start: start, Duration: over - start})
			u.waiting[rank] += last - arrival[rank]
			u.nccl[rank] += end - arrival[rank]
		}
	}
}

func newRun(seed uint64, ranks int) *run {
	return &run{r: rand.New(rand.NewPCG(seed, 17)), ranks: ranks, steps: 60, jitter: 3_000, stepNanos: 20_000_000, late: make([]int64, ranks), operations: stepOperations}
}

// Whatever the offsets, drifts and jitter: on the common clock, every event of every rank is where it was, as far as the report says
// that the clocks agree.
func TestClocksAreRecovered(t *testing.T) {
	for seed := range uint64(40) {
		u := newRun(seed, 2+int(seed%5))
		for range u.ranks {
			u.offset = append(u.offset, u.r.NormFloat64()*5e6)
			u.drift = append(u.drift, u.r.NormFloat64()*30e-6)
		}
		u.jitter = []float64{0, 500, 5_000, 30_000}[seed%4]
		u.steps = []int{3, 60, 400}[seed%3]
		for i := range u.late {
			u.late[i] = u.r.Int64N(2_000_000)
		}
		ranks := u.timelines()
		report := Compare(ranks)
		if want := u.steps * len(u.operations); report.Collectives != want || report.Unaligned != nil {
			t.Errorf("seed %d: %d of %d collectives were matched, unaligned %v", seed, report.Collectives, want, report.Unaligned)
			continue
		}
		worst := 0.0
		for rank := range ranks {
			for _, at := range []int64{began, began + int64(u.steps)*u.stepNanos/2, began + int64(u.steps)*u.stepNanos} {
				common := report.clocks[rank].at(u.reads(rank, at))
				worst = max(worst, math.Abs(float64(common-u.reads(0, at))))
			}
		}
		if worst > float64(report.P99)+50 {
			t.Errorf("seed %d: an event is %.0f ns off, and the report says %d", seed, worst, report.P99)
		}
	}
}

// The times of each rank are those that the run was made with.
func TestTimesOfRanks(t *testing.T) {
	u := newRun(3, 4)
	u.offset, u.drift = []float64{0, 7e6, -3e6, 1e9}, []float64{0, 20e-6, -40e-6, 0}
	u.late = []int64{0, 0, 1_000_000, 300_000} // rank 2 is late
	report := Compare(u.timelines())
	near := func(what string, got, want int64, part float64) {
		t.Helper()
		if math.Abs(float64(got-want)) > part*float64(want)+10_000*float64(report.Collectives)/10 {
			t.Errorf("%s is %d, want %d", what, got, want)
		}
	}
	for i, rank := range report.Ranks {
		near(rank.Label+" nccl", rank.NCCL, u.nccl[i], 0.001)
		near(rank.Label+" waiting", rank.Waiting, u.waiting[i], 0.02)
		near(rank.Label+" overlapped", rank.Overlapped, 20_000*int64(report.Collectives), 0.001)
		if rank.Overlapped+rank.Exposed != rank.NCCL || rank.Calls != report.Collectives {
			t.Errorf("%+v", rank)
		}
	}
	for _, k := range report.Kinds {
		if k.Last != "rank2" || k.LastIn != k.Count || k.Count != u.steps {
			t.Errorf("%+v", k)
		}
		near(k.Name+" moving", k.Transfer/int64(k.Count), 85_000, 0.1)
	}
	if names := fmt.Sprint(report.Kinds[0].Name, len(report.Kinds)); len(report.Kinds) != 4 || !strings.Contains("AllGather4 ReduceScatter Sum f324 AllReduce Sum bf164 Broadcast4", names) {
		t.Errorf("kinds %+v", report.Kinds)
	}
	if len(report.Longest) != longest || report.Longest[0].Last != "rank2" || !slices.IsSortedFunc(report.Longest, func(a, b Wait) int { return int(b.Nanos - a.Nanos) }) {
		t.Errorf("longest waits %+v", report.Longest)
	}
}

// Recordings that began and ended at different collectives, and one that was cut off.
func TestRecordingsOfDifferentLength(t *testing.T) {
	for seed := range uint64(10) {
		u := newRun(seed, 3)
		u.operations = append(u.operations, u.operations[2])
		u.offset, u.drift = []float64{0, 2e6, -1e6}, []float64{0, 10e-6, 0}
		u.from, u.to = []int{0, int(u.r.Int64N(40)), 7}, []int{300, 280, 300 - int(u.r.Int64N(100))}
		report := Compare(u.timelines())
		for rank := range 3 {
			at := began + 500_000_000
			if off := report.clocks[rank].at(u.reads(rank, at)) - at; math.Abs(float64(off)) > float64(report.P99) {
				t.Errorf("seed %d: rank %d begins with collective %d and is %d ns off, and the report says %d", seed, rank, u.from[rank], off, report.P99)
			}
		}
	}
}

// Two communicators of two ranks each, which run the same operations at other times: nothing says how the clocks of one compare
// with those of the other.
func TestSeparateCommunicators(t *testing.T) {
	u := newRun(5, 4)
	u.groupOf = []int{0, 1, 0, 1}
	u.offset, u.drift = []float64{0, 1e6, 2e6, 3e6}, make([]float64, 4)
	report := Compare(u.timelines())
	if fmt.Sprint(report.Unaligned) != "[rank1]" || report.Collectives != 2*u.steps*len(u.operations) {
		t.Errorf("unaligned %v, %d collectives", report.Unaligned, report.Collectives)
	}
	for _, c := range []struct{ a, b int }{{0, 2}, {1, 3}} {
		if off := report.clocks[c.b].at(u.reads(c.b, began)) - report.clocks[c.a].at(u.reads(c.a, began)); math.Abs(float64(off)) > float64(report.P99) {
			t.Errorf("ranks %d and %d are %d ns apart", c.a, c.b, off)
		}
	}
}

// A rank that was started again ran the same operations once more: they do not belong together. Ranks of one host have one clock.
func TestRestartedRanks(t *testing.T) {
	first, second := newRun(6, 2), newRun(6, 2)
	second.offset, second.drift = []float64{20e9, 20e9}, make([]float64, 2) // 20 s later
	ranks := append(first.timelines(), second.timelines()...)
	for i := range ranks {
		ranks[i].Host, ranks[i].Run = "node1", fmt.Sprint(i/2)
	}
	report := Compare(ranks)
	if report.Collectives != 2*first.steps*len(first.operations) || report.Unaligned != nil {
		t.Errorf("%d collectives, unaligned %v", report.Collectives, report.Unaligned)
	}
	for i := range ranks {
		if at := began + 20e9; math.Abs(float64(report.clocks[i].at(at)-at)) > float64(report.P99) {
			t.Errorf("%s of run %s: %+v", ranks[i].Label, ranks[i].Run, report.clocks[i])
		}
		ranks[i].Run = ""
	}
	if report = Compare(ranks); report.Collectives != 2*first.steps*len(first.operations) { // the host says as much
		t.Errorf("without runs: %d collectives", report.Collectives)
	}
}

func TestNothingToMatch(t *testing.T) {
	empty := &profile.Timeline{}
	alone := newRun(1, 1).timelines()[0].Timeline
	for name, ranks := range map[string][]Rank{
		"no rank": nil, "no timeline": {{Label: "rank0", Timeline: empty}, {Label: "rank1", Timeline: empty}}, "one rank": {{Label: "rank0", Timeline: alone}}, "one with": {{Label: "rank0", Timeline: alone}, {Label: "rank1", Timeline: empty}},
	} {
		report := Compare(ranks)
		var text, document bytes.Buffer
		if err := report.Write(&text, 80, false); err != nil || report.Collectives != 0 || !strings.HasPrefix(text.String(), "no collective of NCCL was found") {
			t.Errorf("%s: %v\n%s", name, err, text.String())
		}
		if err := report.WriteJSON(&document); err != nil || !json.Valid(document.Bytes()) || strings.Contains(document.String(), "null") {
			t.Errorf("%s: %v\n%s", name, err, document.String())
		}
		for i := range ranks {
			report.Align(i, &profile.Timeline{Slices: []profile.Slice{{Start: 5, Duration: 3}}})
		}
	}
}

// Align moves what is in a timeline and keeps it nested.
func TestAlignKeepsNesting(t *testing.T) {
	u := newRun(8, 2)
	u.offset, u.drift = []float64{0, -4e6}, []float64{0, 45e-6}
	ranks := u.timelines()
	report := Compare(ranks)
	outer := profile.Slice{Lane: 1, Start: u.reads(1, began), Duration: 2_000_000_000}
	moved := &profile.Timeline{Slices: []profile.Slice{outer}, Flows: []profile.Flow{{Start: outer.Start, End: outer.Start + 10}}}
	r := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		start := r.Int64N(outer.Duration)
		moved.Slices = append(moved.Slices, profile.Slice{Lane: 1, Start: outer.Start + start, Duration: outer.Duration - start})
	}
	report.Align(1, moved)
	out := moved.Slices[0]
	if off := out.Start - began; math.Abs(float64(off)) > float64(report.P99) {
		t.Errorf("the first slice is %d ns off", off)
	}
	for _, s := range moved.Slices {
		if s.Start < out.Start || s.Start+s.Duration > out.Start+out.Duration {
			t.Fatalf("%+v is not within %+v", s, out)
		}
	}
	if f := moved.Flows[0]; f.Start != out.Start || f.End != f.Start+10 {
		t.Errorf("the arrow is %+v", f)
	}
}

func TestNamesOfKernels(t *testing.T) {
	for name, want := range map[string]string{
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)":      "AllReduce Sum f32",
		"ncclDevKernel_AllReduce_SumPostDiv_bf16_TREE_LL128":                             "AllReduce SumPostDiv bf16",
		"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)": "AllReduce Sum float",
		"ncclSymkDevKernel_AllGather_LL(ncclSymkDevWorkArgs)":                            "AllGather",
		"ncclAllReduceRingLLKernel_sum_f32(ncclWorkElem)":                                "sum f32",
		"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)":                       "SendRecv",
		"_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE":         "AllGather",
		"ncclDevKernel_Generic_1":                                                        "Generic 1",
	} {
		if got := shownName(kernelName(name)); !isCollective(kernelName(name)) || got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"void gemm(ncclKernel)", "nccl:all_reduce", "Memcpy DtoD", "", "_Z", "_Z9", "_Z99ncclDevKernel", "_Z4gemmncclDevKernel"} {
		if isCollective(kernelName(name)) {
			t.Errorf("%q is taken for a collective", name)
		}
	}
}

func TestText(t *testing.T) {
	u := newRun(11, 4)
	u.late = []int64{0, 200_000, 1_000_000, 0}
	u.offset, u.drift = []float64{0, 2.5e6, -800, 100e6}, []float64{0, 20e-6, 0, -12e-6}
	report := Compare(u.timelines())
	var b bytes.Buffer
	for _, width := range []int{0, 80, 40} {
		fmt.Fprintf(&b, "== width %d\n", width)
		var text bytes.Buffer
		if err := report.Write(&text, width, width == 40); err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(text.String(), "\n") {
			if width == 80 && len([]rune(line)) > width {
				t.Errorf("a line of %d columns: %s", len([]rune(line)), line)
			}
		}
		b.Write(text.Bytes())
	}
	if err := report.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/report.txt", b.Bytes())
}

// More ranks than the table has rows: those with least and most waiting are shown.
func TestManyRanks(t *testing.T) {
	u := newRun(12, 200)
	u.steps = 5
	u.late[77] = 2_000_000
	report := Compare(u.timelines())
	var text bytes.Buffer
	if err := report.Write(&text, 80, false); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(text.String(), "\n"); lines > 60 || !strings.Contains(text.String(), " rank77\n") || !strings.Contains(text.String(), "… 176 more") {
		t.Errorf("%d lines\n%s", lines, text.String())
	}
}

func TestFromOthers(t *testing.T) {
	for _, c := range []struct{ in, want []float64 }{
		{[]float64{1, 5}, []float64{4, 4}}, {[]float64{1, 2, 9}, []float64{4.5, 3, 7.5}}, {[]float64{3, 3, 3, 7}, []float64{0, 0, 0, 4}},
	} {
		if got := fromOthers(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.in, got, c.want)
		}
	}
}

func TestIntervals(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	for range 300 {
		var a, b []interval
		var hasA, hasB [64]bool
		for range r.IntN(8) {
			for _, side := range []struct {
				list *[]interval
				has  *[64]bool
			}{{&a, &hasA}, {&b, &hasB}} {
				start := r.Int64N(60)
				i := interval{start, start + r.Int64N(64-start)}
				*side.list = append(*side.list, i)
				for n := i.start; n < i.end; n++ {
					side.has[n] = true
				}
			}
		}
		var wantA, both int64
		for n := range hasA {
			if hasA[n] {
				wantA++
			}
			if hasA[n] && hasB[n] {
				both++
			}
		}
		if got := length(union(a)); got != wantA {
			t.Fatalf("%v takes %d, want %d", a, got, wantA)
		}
		if got := common(union(a), union(b)); got != both {
			t.Fatalf("%v and %v share %d, want %d", a, b, got, both)
		}
	}
}

// A timeline of anything is read without a panic, and times add up.
func FuzzCompare(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	f.Fuzz(func(t *testing.T, data []byte) {
		ranks := []Rank{{Label: "a", Timeline: &profile.Timeline{}}, {Label: "b", Timeline: &profile.Timeline{}}, {Label: "c", Timeline: &profile.Timeline{}}}
		for _, rank := range ranks {
			rank.Timeline.Lanes = []profile.Lane{{ID: 0, Kind: profile.StreamLane}, {ID: 1, Kind: profile.StreamLane}, {ID: 2}}
		}
		for len(data) >= 4 {
			s := profile.Slice{Lane: int(data[0] % 4), Kind: profile.SliceKind(data[0] / 16 % 4), Name: stepOperations[data[1]%4], Start: int64(int8(data[2])) << (data[1] / 4 % 56), Duration: int64(data[3])}
			if data[1]&128 != 0 {
				s.Name = "gemm"
			}
			rank := ranks[data[0]/64%3].Timeline
			rank.Slices = append(rank.Slices, s)
			data = data[4:]
		}
		r := Compare(ranks)
		for i, rank := range r.Ranks {
			if rank.Overlapped < 0 || rank.Exposed < 0 || rank.Waiting < 0 || rank.Overlapped > rank.NCCL {
				t.Errorf("%+v", rank)
			}
			r.Align(i, ranks[i].Timeline)
		}
		if err := r.Write(new(bytes.Buffer), 80, true); err != nil {
			t.Error(err)
		}
	})
}
