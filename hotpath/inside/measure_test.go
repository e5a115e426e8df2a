package inside_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goproton/goproton/hotpath/inside"
)

// slowed adds launches of a kernel during which the clock is slower than between them, and returns what they measured.
func slowed(r *rand.Rand, clock *inside.Clock, enclosed bool, launches, waves int, ran, outside uint64, between, while float64) (sum inside.Measure) {
	now, stood := uint64(1e9), 1e7
	for range launches {
		for wave := range uint64(waves) {
			for sm := range uint32(16) {
				begin := now + wave*(ran+200) + r.Uint64N(100)
				before := outside/3 + r.Uint64N(outside/3)
				at := func(ns uint64) uint64 { return uint64(stood+while*float64(ns-now)) + uint64(sm)*421 }
				clock.Add(&inside.Block{SM: sm, Enclosed: enclosed, Init: begin &^ 31, PreFinal: (begin + ran) &^ 31, First: at(begin + before), Last: at(begin + ran - (outside - before))})
			}
		}
		busy := float64(waves) * float64(ran+200)
		stood += while*busy + between*(1e6-busy)
		now += 1e6
		m := clock.EndLaunch()
		sum.Add(&m)
	}
	return sum
}

// TestRateWhileAKernelRan finds the rate of kernels during which the clock was slowed down, within what it says it may be off.
func TestRateWhileAKernelRan(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for range 300 {
		enclosed, waves := r.IntN(3) > 0, 1+r.IntN(4)
		while := 1.98
		if r.IntN(2) == 0 {
			while = 1.98 - 0.4*r.Float64()
		}
		ran := 1000 + r.Uint64N(100000)
		outside := 45 + r.Uint64N(min(240, ran/5))
		var clock inside.Clock
		m := slowed(r, &clock, enclosed, 1+r.IntN(30), waves, ran, outside, 1.98, while)
		rate, off := m.Rate(&clock)
		if !(math.Abs(rate-while) <= off*1.001+0.002) {
			t.Errorf("%d waves of %d ns, %d outside, enclosed %v: rate %.4f, off by at most %.4f; it was %.4f", waves, ran, outside, enclosed, rate, off, while)
		}
		if enclosed && clock.Measured() && off > rate*600/float64(ran) || waves > 1 && ran > 4000 && off > rate*150/float64(ran) {
			t.Errorf("%d waves of %d ns: off by %.4f of %.4f is too much", waves, ran, off, rate)
		}
	}
}

// TestRatesOfAnH200 has what an H200 recorded of a matmul that read the global timer itself: from 32 to 96 ns behind the block's begin to 160
// to 256 before its end, the entries made so many cycles.
func TestRatesOfAnH200(t *testing.T) {
	for _, c := range []struct {
		name               string
		cycles, ran, user  uint64
		blocks             uint64
		between, want, off float64
	}{
		{"64 blocks of a matmul", 16414, 9536, 9312, 64, 1.979, 1.757, 0.03},
		{"256 blocks of a matmul", 11304, 6816, 6624, 256, 1.979, 1.70, 0.04},
		{"66 blocks of additions", 140439, 70976, 70930, 66, 1.979, 1.979, 0.001},
		{"66 short blocks", 410, 256, 207, 66, 1.979, 1.979, 0.2},
	} {
		passed := inside.Passed{Spans: c.blocks, Cycles: c.cycles * c.blocks, Nanos: c.ran * c.blocks}
		m := inside.Measure{All: passed, Enclosed: passed}
		clock := lineOf(c.between)
		rate, off := m.Rate(clock)
		if math.Abs(rate-c.want) > c.off || off > c.off || math.Abs(rate-float64(c.cycles)/float64(c.user)) > off+0.01 {
			t.Errorf("%s: %.4f, off by at most %.4f", c.name, rate, off)
		}
	}
}

// lineOf is a clock of a known rate between launches.
func lineOf(rate float64) *inside.Clock {
	var c inside.Clock
	for n := range uint64(100) {
		at := 1e9 + n*1e6
		c.Add(&inside.Block{Init: at, PreFinal: at + 1000, First: uint64(rate * float64(at+40)), Last: uint64(rate * float64(at+960))})
		c.EndLaunch()
	}
	return &c
}
