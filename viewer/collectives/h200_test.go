package collectives

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/profile/merge"
)

// Five steps of hooks/python/gpu_tests/ranks.py on two H200 of one host (torch 2.11, 2026-11-23), without what is not a kernel. A
// kernel of 1 ms ran before each step of rank 1.
func recorded(t *testing.T, way string) (ranks []Rank) {
	for rank := range 2 {
		p, err := formats.ReadFile(fmt.Sprintf("testdata/h200/%s.rank%d.chrome_trace.gz", way, rank))
		if err != nil {
			t.Fatal(err)
		}
		ranks = append(ranks, Rank{Label: "rank" + p.Info[profile.InfoRank], Host: p.Info[profile.InfoHost], Timeline: p.Timeline})
	}
	return ranks
}

// simple computes the times of a rank in another way: by looking at every half microsecond.
func simple(r Rank) (nccl, overlapped float64) {
	const step = 500
	collective, other := map[int64]bool{}, map[int64]bool{}
	for _, s := range r.Timeline.Slices {
		if s.Kind != profile.KernelSlice {
			continue
		}
		into := other
		if strings.Contains(s.Name, "ncclDevKernel") {
			into = collective
		}
		for at := s.Start / step; at < (s.Start+s.Duration)/step; at++ {
			into[at] = true
		}
	}
	for at := range collective {
		if other[at] {
			overlapped += step
		}
	}
	return float64(len(collective)) * step, overlapped
}

// waited pairs the collectives of two ranks in order of their start, as they were on one host: how long the first one waited.
func waited(a, b Rank) (sum float64) {
	calls := func(r Rank) (list []call) {
		lanes, _ := lanesOf(0, r.Timeline)
		for _, l := range lanes {
			list = append(list, l.calls...)
		}
		return list
	}
	theirs := calls(b)
	for i, c := range calls(a) {
		sum += float64(min(max(0, theirs[i].start-c.start), c.end-c.start))
	}
	return sum
}

func TestTwoH200(t *testing.T) {
	for way, want := range map[string]struct {
		collectives int
		slow        int // the rank that others wait for
	}{"ddp": {23, 1}, "fsdp": {61, 0}} { // in these steps of fsdp the processor of rank 0 is what is slow
		ranks := recorded(t, way)
		report := Compare(ranks)
		if report.Collectives != want.collectives || report.Median > 5_000 || report.Unaligned != nil {
			t.Errorf("%s: %d collectives, ends %d ns apart", way, report.Collectives, report.Median)
		}
		for i, got := range report.Ranks {
			nccl, overlapped := simple(ranks[i])
			wait := waited(ranks[i], ranks[1-i])
			if math.Abs(float64(got.NCCL)-nccl) > 0.02*nccl || math.Abs(float64(got.Overlapped)-overlapped) > 0.02*nccl || math.Abs(float64(got.Waiting)-wait) > 0.02*nccl {
				t.Errorf("%s: %+v, and another way of counting has %.0f, %.0f and %.0f", way, got, nccl, overlapped, wait)
			}
		}
		if slow, fast := report.Ranks[want.slow], report.Ranks[1-want.slow]; slow.Waiting*4 > fast.Waiting || fast.Waiting < 5_000_000 {
			t.Errorf("%s: %+v waits for %+v", way, fast, slow)
		}
	}
}

// The same on two hosts, whose clocks are set differently and drift: all times stay as they were.
func TestTwoH200OnOtherClocks(t *testing.T) {
	for _, way := range []string{"ddp", "fsdp"} {
		same := Compare(recorded(t, way))
		ranks := recorded(t, way)
		wrong := clock{ranks[0].Timeline.First(), -7_300_000, 60e-6}
		(&Report{clocks: []clock{wrong}}).Align(0, ranks[1].Timeline)
		ranks[1].Host = "another"
		report := Compare(ranks)
		for _, w := range report.Longest {
			if off := report.clocks[1].at(wrong.at(w.Start)) - w.Start; math.Abs(float64(off)) > 10_000 {
				t.Errorf("%s: the clock is %d ns off", way, off)
			}
		}
		if report.Median > 5_000 {
			t.Errorf("%s: ends are %d ns apart", way, report.Median)
		}
		for i, got := range report.Ranks {
			if was := same.Ranks[i]; math.Abs(float64(got.Waiting-was.Waiting)) > 0.01*float64(was.NCCL) || got.Calls != was.Calls {
				t.Errorf("%s: %+v, on one clock %+v", way, got, was)
			}
		}
	}
}

// The lanes of a merged timeline say which device is whose, so that nothing is lost with the tree.
func TestMergedTimelineHasAllOfTheTree(t *testing.T) {
	m := merge.New(merge.Options{Timeline: true})
	for i, r := range recorded(t, "ddp") {
		p := &profile.Profile{Timeline: r.Timeline}
		p.Summarize()
		if err := m.Add(p, merge.Source{File: r.Label, Rank: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := m.Profile().BeyondTimeline(); n != 0 {
		t.Errorf("%d values of the tree are said not to be in the timeline", n)
	}
}
