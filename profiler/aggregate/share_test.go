package aggregate

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profiler/callpath"
)

// What is divided is never lost or doubled, no part is off by one or more from what it is due, and many small numbers
// add up to what their sum would have given, but for a few.
func TestDivisionLosesNothingAndIsFairInTheLongRun(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		weights := make([]uint64, 1+random.IntN(12))
		total := uint64(0)
		for i := range weights {
			weights[i] = random.Uint64() >> (8 + random.IntN(56))
			total += weights[i]
		}
		if total == 0 {
			continue
		}
		d := newDivider(weights)
		sums, all := make([]uint64, len(weights)), uint64(0)
		for range 400 {
			n := uint64(random.IntN(5))
			if random.IntN(50) == 0 {
				n = random.Uint64() >> 20
			}
			all += n
			left := n
			for i, part := range d.divide(n) {
				left -= part
				sums[i] += part
				if off := offBy(part, n, weights[i], total); off > 1 {
					t.Fatalf("round %d: %d of %d for %d of %d", round, part, n, weights[i], total)
				}
			}
			if left != 0 {
				t.Fatalf("round %d: parts of %d lack %d", round, n, int64(left))
			}
		}
		for i := range sums {
			if off := offBy(sums[i], all, weights[i], total); off > float64(len(weights)) {
				t.Errorf("round %d: %d of %d for %d of %d: off by %.1f", round, sums[i], all, weights[i], total, off)
			}
		}
	}
}

// offBy is how far part is from n*weight/total.
func offBy(part, n, weight, total uint64) float64 {
	due := new(big.Rat).SetFrac(new(big.Int).Mul(new(big.Int).SetUint64(n), new(big.Int).SetUint64(weight)), new(big.Int).SetUint64(total))
	due.Sub(due, new(big.Rat).SetInt(new(big.Int).SetUint64(part)))
	off, _ := due.Abs(due).Float64()
	return off
}

func TestHugeWeightsDoNotOverflow(t *testing.T) {
	d := newDivider([]uint64{1 << 63, 1 << 63, 1 << 63})
	for range 10 {
		parts := d.divide(3)
		if parts[0] != 1 || parts[1] != 1 || parts[2] != 1 {
			t.Fatal(parts)
		}
	}
}

// sampled is a stage whose kernels are sampled.
func sampled(t *testing.T, serialized bool) (*Aggregator, *Tree, uint32) {
	a, tree, set := stage(t)
	a.Sampling = NewSampling(serialized)
	return a, tree, set
}

func nothingWaits(uint64) (callpath.Attribution, bool) { return callpath.Attribution{}, false }

// take adds n samples of a function, half of them of each of two reasons.
func take(a *Aggregator, set, n uint32, f record.Function) {
	a.AddSample(&record.Sample{Module: f.Module, Index: f.Index, Function: f.Name, Offset: 16,
		Stalls: []record.Stall{{Reason: 0, Samples: uint64(n / 2)}, {Reason: 1, Samples: uint64(n - n/2), NotIssued: n / 4}}}, set, nothingWaits)
}

// A sample that names its launch is of the function that was launched, also where the vendor library does not know its module.
func TestALaunchNamesTheModuleOfItsSamples(t *testing.T) {
	a, tree, set := sampled(t, true)
	at := launched(set, 1)
	at.Function = a.Sampling.Number(record.Function{Module: 7, Name: "k"})
	k := kernel("k", 0, 100)
	k.Correlation = 5
	a.Add(k, at)
	a.AddSample(&record.Sample{Module: 0xcc, Function: "k", Offset: 16, Correlation: 5, Stalls: []record.Stall{{Samples: 20}}}, set, nothingWaits)
	p, _ := a.Freeze(tree, "CUDA")
	if len(p.Sampling.Functions) != 1 || p.Sampling.Functions[0].Module != ModuleName(7) || p.Sampling.Total != 20 {
		t.Errorf("%+v", p.Sampling)
	}
}

// A sample in a module that no known launch is of stays unattributed: nothing says which of several functions of that name it is of.
func TestSamplesOfAnUnknownModuleAreUnattributed(t *testing.T) {
	a, tree, set := sampled(t, false)
	for module := uint64(7); module <= 8; module++ {
		at := launched(set, 1)
		at.Function = a.Sampling.Number(record.Function{Module: module, Name: "k"})
		a.Add(kernel("k", 0, 100), at)
	}
	take(a, set, 10, record.Function{Module: 0xcc, Name: "k"})
	a.Apportion()
	p, _ := a.Freeze(tree, "CUDA")
	if under := p.Root.Child(UnattributedFrame); under == nil || p.Sampling.Total != 10 || a.Sampling.Unlaunched != 10 {
		t.Errorf("%+v, %d unlaunched", p.Sampling, a.Sampling.Unlaunched)
	}
}

func samplesOf(n *node) (samples uint64) {
	for _, of := range n.samples {
		samples += sumOf(of.cells())
	}
	return samples
}

func TestSamplesAreNotApportionedTwice(t *testing.T) {
	a, tree, set := sampled(t, false)
	f := record.Function{Module: 7, Index: 3, Name: "k"}
	at := launched(set, 1)
	at.Function = a.Sampling.Number(f)
	a.Add(kernel("k", 0, 100), at)
	take(a, set, 10, f)
	for range 2 { // looking changes nothing
		if p, _ := a.Freeze(tree, "CUDA"); p.Sampling.Total != 10 || p.Sampling.Apportioned != 0 {
			t.Fatalf("%+v", p.Sampling)
		}
	}
	a.Apportion()
	a.Apportion()
	a.Add(kernel("k", 0, 100), at)
	take(a, set, 5, f)
	if p, _ := a.Freeze(tree, "CUDA"); p.Sampling.Total != 15 || len(p.Root.Child("k").Samples) != 1 {
		t.Fatalf("%+v", p.Sampling)
	}
}

// Samples that come after the end of their period go to who launched the function the last time, also through a phase
// that was dropped since.
func TestLateSamplesFindTheirLaunch(t *testing.T) {
	a, tree, set := sampled(t, false)
	f := record.Function{Module: 7, Index: 3, Name: "k"}
	at := launched(set, 1)
	at.Function = a.Sampling.Number(f)
	a.Add(kernel("k", 0, 100), at)
	a.Apportion()
	a.Apportion() // a period in which it was not launched
	take(a, set, 10, f)
	if p, _ := a.Freeze(tree, "CUDA"); len(p.Root.Child("k").Samples) != 1 || p.Root.Child(UnattributedFrame) != nil {
		t.Error("late samples were not given to the last launch")
	}
	a.Drop(tree)
	a.Apportion()
	if a.Sampling.Unlaunched != 0 || a.Sampling.Taken != 10 {
		t.Errorf("%d unlaunched, %d taken", a.Sampling.Unlaunched, a.Sampling.Taken)
	}
}

// The launchers of the last kernels are known by correlation, however often each was added.
func TestRecentLaunchersStay(t *testing.T) {
	r := newRecent()
	var last *launcher
	for id := range uint64(2*mostRecent + 100) {
		last = &launcher{count: id}
		for range 3 {
			r.add(id, last)
		}
	}
	const newest = 2*mostRecent + 99
	for id := uint64(newest); id > newest-mostRecent; id-- {
		if l := r.find(id); l == nil || l.count != id {
			t.Fatalf("launch %d is %v", id, l)
		}
	}
	if r.find(newest-mostRecent) != nil || len(r.byID) != mostRecent {
		t.Errorf("%d launches are kept, want %d", len(r.byID), mostRecent)
	}
	r.add(newest-5, last)
	if r.find(newest-5) != last {
		t.Error("a launch that is added again keeps its old launcher")
	}
}

// Two functions of one name are two: each sample finds its own launches.
func TestFunctionsOfOneNameAreDistinguished(t *testing.T) {
	a, tree, set := sampled(t, false)
	scopes := []*node{tree.root.child("a", 1), tree.root.child("b", 2)}
	for i, n := range []uint32{10, 30} {
		f := record.Function{Module: uint64(i + 1), Index: 3, Name: "k"}
		l := &launcher{count: 1, nanos: 5, to: []target{{tree, scopes[i].child("k", 1)}}}
		a.Sampling.take(cacheKey{function: a.Sampling.Number(f), launch: callpath.Place{Node: uint32(i)}}, l)
		take(a, set, n, f)
	}
	a.Apportion()
	for i, want := range []uint64{10, 30} {
		if got := samplesOf(scopes[i].child("k", 1)); got != want {
			t.Errorf("scope %d has %d samples, want %d", i, got, want)
		}
	}
	if a.Sampling.Apportioned != 0 || a.Sampling.Taken != 40 {
		t.Errorf("%d apportioned, %d taken", a.Sampling.Apportioned, a.Sampling.Taken)
	}
}

// Where the module of a launch or of a sample is not known, names have to do.
func TestNamesDoWhereModulesAreUnknown(t *testing.T) {
	for _, c := range []struct{ launched, sampled uint64 }{{0, 7}, {7, 0}, {0, 0}} {
		a, tree, set := sampled(t, false)
		at := launched(set, 1)
		if c.launched != 0 {
			at.Function = a.Sampling.Number(record.Function{Module: c.launched, Index: 3, Name: "k"})
		}
		a.Add(kernel("k", 0, 100), at)
		take(a, set, 10, record.Function{Module: c.sampled, Index: 4, Name: "k"})
		a.Apportion()
		if p, _ := a.Freeze(tree, "CUDA"); len(p.Root.Child("k").Samples) != 1 || a.Sampling.Apportioned+a.Sampling.Unlaunched != 0 {
			t.Errorf("launched in module %d, sampled in %d: %+v", c.launched, c.sampled, a.Sampling)
		}
	}
}

// A phase that is dropped takes its share with it: what is left does not get more than was its own.
func TestADroppedTreeKeepsItsShare(t *testing.T) {
	a, first, set := sampled(t, false)
	second := a.Sets.NewTree(TreeOptions{Phase: 1})
	later := a.Sets.Launch([]*Tree{second})
	f := record.Function{Module: 7, Index: 3, Name: "k"}
	for i, s := range []uint32{set, later} {
		at := launched(s, uint64(i+1))
		at.Function = a.Sampling.Number(f)
		a.Add(kernel("k", 0, uint64(100+200*i)), at)
	}
	a.Drop(first)
	take(a, later, 40, f)
	a.Apportion()
	p, _ := a.Freeze(second, "CUDA")
	if p.Sampling.Total != 30 || p.Sampling.Apportioned != 30 {
		t.Errorf("%d samples, %d apportioned, want 30 of 40 for 300 of 400 ns", p.Sampling.Total, p.Sampling.Apportioned)
	}
}

// A function of 64 KiB, sampled at each instruction for 20 reasons, launched from 1 and from 100 call paths.
func BenchmarkApportion(b *testing.B) {
	for _, paths := range []int{1, 100} {
		b.Run(fmt.Sprintf("paths=%d", paths), func(b *testing.B) {
			if err := hotpath.Init(); err != nil {
				b.Fatal(err)
			}
			a := New(NewSets())
			a.Sampling = NewSampling(false)
			tree := a.Sets.NewTree(TreeOptions{})
			set := a.Sets.Launch([]*Tree{tree})
			f := record.Function{Module: 7, Index: 3, Name: "k"}
			r := record.Sample{Module: f.Module, Index: f.Index, Function: f.Name}
			for reason := range uint16(20) {
				r.Stalls = append(r.Stalls, record.Stall{Reason: reason, Samples: 3 + uint64(reason), NotIssued: 2})
			}
			for b.Loop() {
				for i := range paths {
					at := launched(set, uint64(i+1))
					at.Function = a.Sampling.Number(f)
					at.Launch.Op, at.Launch.PyNode = false, uint32(i)
					a.Add(kernel(fmt.Sprint("k", i), 0, uint64(100+i)), at)
				}
				for r.Offset = 0; r.Offset < 64<<10; r.Offset += 16 {
					a.AddSample(&r, set, nothingWaits)
				}
				a.Apportion()
			}
		})
	}
}
