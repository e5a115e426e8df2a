package aggregate

import (
	"fmt"
	"math"
	"testing"

	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/profile"
)

// attention is a kernel of two warps: warp 0 loads and waits, warp 1 multiplies.
var attention = &inside.Kernel{
	Name: "attention", Mode: "default", Triton: "3.6.0", Arch: "90", Backend: "cuda", Warps: 2, BufferSize: 256, SlotSize: hotpathtest.SlotSize(2, 256),
	Scopes: []inside.Scope{
		{ID: 0, Name: "produce", Parent: -1, File: "attention.py", Line: 10},
		{ID: 1, Name: "wait", Parent: 0, File: "attention.py", Line: 12},
		{ID: 2, Name: "multiply", Parent: -1, File: "attention.py", Line: 20},
		{ID: 3, Name: "wait", Parent: 0, File: "attention.py", Line: 15},
	},
}

// launchOf is a launch of n blocks, in each of which produce takes 900 cycles, of which it waits 100 and 200, and multiply 300 twice.
func launchOf(n int, set uint32, op uint64) *inside.Launch { return launchLasting(500, n, set, op) }

// launchLasting is launchOf with so many ns for the 900 cycles of a block.
func launchLasting(nanos uint64, n int, set uint32, op uint64) *inside.Launch {
	blocks := make([]hotpathtest.InsideBlock, n)
	for i := range blocks {
		blocks[i] = hotpathtest.InsideBlock{SM: uint32(100 + i%2), Init: 1e6 * op, PreFinal: 1e6*op + nanos, PostFinal: 1e6*op + nanos + 100, Warps: map[int][]hotpathtest.InsideRecord{
			0: {hotpathtest.InsideIn(0, 10), hotpathtest.InsideIn(1, 20), hotpathtest.InsideOut(1, 120), hotpathtest.InsideIn(3, 200), hotpathtest.InsideOut(3, 400), hotpathtest.InsideOut(0, 910)},
			1: {hotpathtest.InsideIn(2, 15), hotpathtest.InsideOut(2, 315), hotpathtest.InsideIn(2, 600), hotpathtest.InsideOut(2, 900)},
		}}
	}
	return &inside.Launch{Kernel: attention, Grid: [3]uint32{uint32(n), 1, 1}, Set: set, Correlation: op, Buffer: hotpathtest.InsideBuffer(attention, 0xaa, blocks)}
}

func TestScopesStandBelowTheirKernel(t *testing.T) {
	a, _, _ := stage(t)
	tree := a.Sets.NewTree(TreeOptions{Inside: true})
	other := a.Sets.NewTree(TreeOptions{})
	set := a.Sets.Launch([]*Tree{tree, other})
	a.Add(kernel("attention", 0, 700), launched(set, 1))
	a.AddInside(launchOf(4, set, 1))
	a.AddInside(launchOf(2, set, 2))
	a.AddInside(launchOf(2, 0, 3)) // of no session
	gone := a.Sets.NewTree(TreeOptions{Inside: true})
	late := a.Sets.Launch([]*Tree{gone})
	a.Drop(gone)
	a.AddInside(launchOf(2, late, 4))
	if a.Inside.Losses.Launches != 1 {
		t.Errorf("%d launches are late", a.Inside.Losses.Launches)
	}
	frozen(t, tree, "ROOT(attention{count=1 device_id=0 time (ns)=700}("+
		"produce{cycles=5400 normalized_cycles=900 device_id=0}(wait{cycles=1800 normalized_cycles=300 device_id=0}) "+
		"multiply{cycles=3600 normalized_cycles=600 device_id=0}))")
	frozen(t, other, "ROOT(attention{count=1 device_id=0 time (ns)=700})")
	if a.Inside.Launches != 2 {
		t.Errorf("%d launches", a.Inside.Launches)
	}
	p, _ := a.Freeze(tree, "CUDA")
	k := p.Root.Child("attention").Inside.Kernel
	if k.Launches != 2 || k.Blocks != 6 || k.Warps != 12 || k.AllWarps != 12 || k.Nanos != 3000 || k.CopyNanos != 600 || k.WarpNanos != 6000 {
		t.Errorf("kernel %+v", k)
	}
	if want := []profile.InsideShare{{At: 100, Count: 3, Amount: 1500}, {At: 101, Count: 3, Amount: 1500}}; fmt.Sprint(k.BySM) != fmt.Sprint(want) {
		t.Errorf("blocks by multiprocessor %v", k.BySM)
	}
	if rate := k.Rate(); rate < 1.6 || rate > 1.9 { // 900 cycles in each 500 ns
		t.Errorf("rate %v", rate)
	}
	if k.Losses.Any() {
		t.Errorf("losses %+v", k.Losses)
	}
	wait := p.Root.Child("attention").Child("produce").Child("wait").Inside.Scope
	if got := fmt.Sprint(wait.ByWarp, wait.BySM, wait.Lines, wait.Each.Count, wait.Each.Min, wait.Each.Max, wait.Sums.Min, wait.Sums.Max, wait.Count()); got !=
		"[{0 12 1800}] [{100 6 900} {101 6 900}] [{attention.py 12} {attention.py 15}] 12 100 200 300 300 12" {
		t.Errorf("wait: %s", got)
	}
	// The metric and both distributions are sums of the same cycles.
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		if n.Inside == nil || n.Inside.Scope == nil {
			return true
		}
		s := n.Inside.Scope
		cycles, _ := n.Metric(profile.CyclesMetric)
		var byWarp, bySM uint64
		for _, w := range s.ByWarp {
			byWarp += w.Amount
		}
		for _, m := range s.BySM {
			bySM += m.Amount
		}
		for _, sum := range []float64{float64(s.Cycles), s.Each.Sum(), s.Sums.Sum(), float64(byWarp), float64(bySM)} {
			if math.Abs(sum-float64(cycles.Int())) > 1e-6 {
				t.Errorf("%s: %v cycles, and the metric has %d", n.Name, sum, cycles.Int())
			}
		}
		return true
	})
}

// A hook's name stands for the kernel, and a scope that the table lacks has one of its own.
func TestScopesOfAnOp(t *testing.T) {
	a, _, _ := stage(t)
	tree := a.Sets.NewTree(TreeOptions{Inside: true})
	set := a.Sets.Launch([]*Tree{tree})
	l := launchOf(1, set, 1)
	own := *attention
	own.Scopes = own.Scopes[:2]
	l.Kernel, l.IsOp = &own, true
	a.AddInside(l)
	frozen(t, tree, "ROOT(produce{cycles=900 normalized_cycles=450 device_id=0}(wait{cycles=100 normalized_cycles=50 device_id=0}) "+
		"scope_2{cycles=600 normalized_cycles=300 device_id=0} scope_3{cycles=200 normalized_cycles=100 device_id=0})")
	if a.Inside.Losses.Unknown != 3 {
		t.Errorf("losses %+v", a.Inside.Losses)
	}
}

func BenchmarkAddInside(b *testing.B) {
	for _, blocks := range []int{1, 264} {
		b.Run(fmt.Sprint(blocks), func(b *testing.B) {
			a := New(NewSets())
			tree := a.Sets.NewTree(TreeOptions{Inside: true})
			set := a.Sets.Launch([]*Tree{tree})
			k := *attention
			k.Warps, k.BufferSize, k.SlotSize = 4, 8192, hotpathtest.SlotSize(4, 8192)
			list := make([]hotpathtest.InsideBlock, blocks)
			for i := range list {
				records := []hotpathtest.InsideRecord{hotpathtest.InsideIn(0, 10)}
				for n := range uint64(63) {
					records = append(records, hotpathtest.InsideIn(1, 20+n*200), hotpathtest.InsideOut(1, 100+n*200+n%30), hotpathtest.InsideIn(3, 140+n*200), hotpathtest.InsideOut(3, 150+n*200+n%40))
				}
				records = append(records, hotpathtest.InsideOut(0, 20000))
				list[i] = hotpathtest.InsideBlock{SM: uint32(i % 132), Init: 1e6, PreFinal: 2e6, Warps: map[int][]hotpathtest.InsideRecord{0: records, 1: records, 2: records, 3: records}}
			}
			l := &inside.Launch{Kernel: &k, Grid: [3]uint32{uint32(blocks), 1, 1}, Set: set, Correlation: 1, Buffer: hotpathtest.InsideBuffer(&k, 0, list)}
			pairs := 0
			for b.Loop() {
				a.AddInside(l)
				pairs += blocks * 4 * 127
			}
			b.ReportMetric(float64(pairs)/b.Elapsed().Seconds()/1e6, "Mpairs/s")
		})
	}
}
