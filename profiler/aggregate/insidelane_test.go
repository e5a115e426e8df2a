package aggregate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/callpath"
)

// globalAhead is how far the global timer of the made-up GPU is ahead of its kernel records.
const globalAhead = 366_000

// unevenLaunch has blocks of 1000, 5000, 2000 and 1500 ns, 300 ns after each other; the clock makes 2 cycles in a ns.
func unevenLaunch(set uint32, op, begin uint64) *inside.Launch {
	var blocks []hotpathtest.InsideBlock
	for i, ran := range []uint64{1000, 5000, 2000, 1500} {
		init := begin + globalAhead + uint64(i)*300
		c := 2*init + uint64(i)*777
		blocks = append(blocks, hotpathtest.InsideBlock{SM: uint32(i), Init: init, PreFinal: init + ran, PostFinal: init + ran, Warps: map[int][]hotpathtest.InsideRecord{
			0: {hotpathtest.InsideIn(0, c+20), hotpathtest.InsideIn(1, c+220), hotpathtest.InsideOut(1, c+420), hotpathtest.InsideOut(0, c+2*ran-20)},
			1: {hotpathtest.InsideIn(2, c+40), hotpathtest.InsideOut(2, c+240)},
		}})
	}
	return &inside.Launch{Kernel: attention, Grid: [3]uint32{4, 1, 1}, Set: set, Correlation: op, Buffer: hotpathtest.InsideBuffer(attention, 0, blocks)}
}

// A timeline shows four blocks of a launch, by their roles, within the kernel's own slice, whichever of the two comes first.
func TestBlocksLieWithinTheirKernel(t *testing.T) {
	for _, recordFirst := range []bool{false, true} {
		a, _, _ := stage(t)
		var out profile.Timeline
		timeline := NewTimeline(&out, func(uint32) (string, bool) { return "", false })
		tree := a.Sets.NewTree(TreeOptions{Inside: true, Timeline: timeline})
		set := a.Sets.Launch([]*Tree{tree})
		const begin = 1e9
		k := &record.Activity{Name: "attention", Start: begin, End: begin + 5300, Correlation: 1, Context: 3, Stream: 7, Grid: 2 | 2<<31 | 1<<47}
		at := &callpath.Attribution{Launch: callpath.Place{Set: set}, Order: 1}
		if recordFirst {
			a.Add(k, at)
		}
		a.AddInside(unevenLaunch(set, 1, begin))
		if !recordFirst {
			a.Add(k, at)
		}
		var lanes []string
		for _, l := range out.Lanes {
			if l.Kind == profile.WarpLane {
				lanes = append(lanes, fmt.Sprintf("%s on %s %d", l.Name, l.Device, l.Stream))
			}
		}
		want := []string{
			"attention: first block, warp 0 on 0 7", "attention: first block, warp 1 on 0 7", "attention: longest block, warp 0 on 0 7", "attention: longest block, warp 1 on 0 7",
			"attention: median block, warp 0 on 0 7", "attention: median block, warp 1 on 0 7",
		}
		slices.Sort(lanes)
		if !slices.Equal(lanes, want) {
			t.Errorf("lanes\n%s", strings.Join(lanes, "\n"))
		}
		text := ""
		for _, s := range out.Slices {
			if s.Kind != profile.InsideSlice {
				continue
			}
			if s.Start < begin || s.Start+s.Duration > begin+5300 {
				t.Errorf("%s at %d..%d lies outside of its kernel", s.Name, s.Start-begin, s.Start+s.Duration-begin)
			}
			text += fmt.Sprintf("%s %d+%d %s", s.Name, s.Start-begin, s.Duration, strings.Join(s.Path, ">"))
			for _, m := range s.Metrics {
				text += fmt.Sprintf(" %s=%d", m.Name, m.Value.Int())
			}
			text += "\n"
		}
		if want := `CTA 0 (0, 0, 0) 0+1000 ROOT>attention cta=0 sm=0
wait 106+101 ROOT>attention>produce>wait cycles=200
produce 5+989 ROOT>attention>produce cycles=1960
CTA 0 (0, 0, 0) 0+1000 ROOT>attention cta=0 sm=0
multiply 15+101 ROOT>attention>multiply cycles=200
`; !strings.HasPrefix(text, want) {
			t.Errorf("slices\n%s\nwant\n%s", text, want)
		}
	}
}

// Launches without a record of their kernel are placed by the clock of those that have one; those beyond the bound are counted.
func TestLaunchesWithoutRecords(t *testing.T) {
	a, _, _ := stage(t)
	var out profile.Timeline
	timeline := NewTimeline(&out, func(uint32) (string, bool) { return "", false })
	set := a.Sets.Launch([]*Tree{a.Sets.NewTree(TreeOptions{Inside: true, Timeline: timeline})})
	const begin = 1e9
	a.Add(&record.Activity{Name: "attention", Start: begin, End: begin + 5300, Correlation: 1}, &callpath.Attribution{Launch: callpath.Place{Set: set}})
	a.AddInside(unevenLaunch(set, 1, begin))
	const more = shownLaunches + 4
	for n := range uint64(more) {
		a.AddInside(unevenLaunch(set, 0, begin+10000*(n+1)))
	}
	timeline.Finish(begin + 1e6)
	var last int64
	for _, s := range out.Slices {
		if s.Kind == profile.InsideSlice {
			last = max(last, s.Start+s.Duration)
		}
	}
	if want := int64(begin + 10000*(shownLaunches-1) + 5300); last != want {
		t.Errorf("the last slice ends at %d, want %d", last, want)
	}
	if a.Inside.Undrawn != more-shownLaunches+1 || a.Inside.Launches != more+1 {
		t.Errorf("%d of %d launches are not shown", a.Inside.Undrawn, a.Inside.Launches)
	}
}
