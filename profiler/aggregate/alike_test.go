package aggregate

import (
	"testing"

	"github.com/goproton/goproton/profiler/callpath"
	"github.com/goproton/goproton/profiler/record"
)

// Samples of one of several modules go to those of them that were launched, by the time that each ran.
func TestAlikeModulesShareTheirSamples(t *testing.T) {
	for name, c := range map[string]struct {
		nanos       map[uint64]uint64 // of launches, by module
		want        map[uint64]uint64
		apportioned uint64
	}{
		"one was launched":     {map[uint64]uint64{7: 100}, map[uint64]uint64{7: 40}, 0},
		"the other":            {map[uint64]uint64{8: 100}, map[uint64]uint64{8: 40}, 0},
		"both":                 {map[uint64]uint64{7: 300, 8: 100}, map[uint64]uint64{7: 30, 8: 10}, 40},
		"a third has its own":  {map[uint64]uint64{8: 100, 9: 100}, map[uint64]uint64{8: 40}, 0},
		"none, nobody gets it": {map[uint64]uint64{9: 100}, map[uint64]uint64{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a, tree, set := sampled(t, false)
			for module, nanos := range c.nanos {
				place := tree.root.child(ModuleName(module), module)
				l := &launcher{count: 1, nanos: nanos, to: []target{{tree, place}}}
				number := a.Sampling.Number(record.Function{Module: module, Name: "k"})
				a.Sampling.take(cacheKey{function: number, launch: callpath.Place{Node: uint32(module)}}, l)
			}
			for range 2 { // in two parts, as they come
				a.AddSample(&record.Sample{Module: 8, Alike: []uint64{7, 8}, Function: "k", Offset: 16, Stalls: []record.Stall{{Samples: 20}}}, set, nobodyWaits)
			}
			if p, _ := a.FreezeSampled(tree, "CUDA"); p.Sampling.Total != 40 || p.Sampling.Apportioned != c.apportioned {
				t.Errorf("before the period ends: %d samples, %d apportioned", p.Sampling.Total, p.Sampling.Apportioned)
			}
			a.Settle()
			for module := range c.nanos {
				place := tree.root.child(ModuleName(module), module)
				number := a.Sampling.Number(record.Function{Module: module, Name: "k"})
				if got := samplesOf(place); got != c.want[module] || got > 0 && sumOf(place.samples[number].cells()) != got {
					t.Errorf("module %d has %d samples, want %d", module, got, c.want[module])
				}
			}
			if a.Sampling.Apportioned != c.apportioned || (a.Sampling.Unlaunched > 0) != (len(c.want) == 0) {
				t.Errorf("%d apportioned, %d unlaunched", a.Sampling.Apportioned, a.Sampling.Unlaunched)
			}
		})
	}
}

// A module that is known for sure shares nothing with those that cannot be told from it.
func TestCertainSamplesAreNotShared(t *testing.T) {
	a, tree, set := sampled(t, false)
	for module := uint64(7); module <= 8; module++ {
		l := &launcher{count: 1, nanos: 100, to: []target{{tree, tree.root.child(ModuleName(module), module)}}}
		number := a.Sampling.Number(record.Function{Module: module, Name: "k"})
		a.Sampling.take(cacheKey{function: number, launch: callpath.Place{Node: uint32(module)}}, l)
	}
	take(a, set, 10, record.Function{Module: 8, Name: "k"})
	a.Settle()
	if got := samplesOf(tree.root.child(ModuleName(8), 8)); got != 10 || a.Sampling.Apportioned != 0 {
		t.Errorf("%d of 10 samples, %d apportioned", got, a.Sampling.Apportioned)
	}
}

// A sample that names its launch is of the module that was launched.
func TestLaunchesTellAlikeModulesApart(t *testing.T) {
	a, tree, set := sampled(t, true)
	f := record.Function{Module: 7, Name: "k"}
	at := launched(set, 1)
	at.Function = a.Sampling.Number(f)
	k := kernel("k", 0, 100)
	k.Correlation = 5
	a.Add(k, at)
	a.AddSample(&record.Sample{Module: 8, Alike: []uint64{7, 8}, Function: "k", Offset: 16, Correlation: 5, Stalls: []record.Stall{{Samples: 20}}}, set, nobodyWaits)
	p, _ := a.FreezeSampled(tree, "CUDA")
	if len(p.Sampling.Functions) != 1 || p.Sampling.Functions[0].Module != ModuleName(7) || p.Sampling.Total != 20 {
		t.Errorf("%+v", p.Sampling)
	}
}
