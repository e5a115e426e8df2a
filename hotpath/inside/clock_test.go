package inside_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/goproton/goproton/hotpath/inside"
)

// gpu makes blocks with clocks of a known rate, and of a known offset for each multiprocessor.
type gpu struct {
	r    *rand.Rand
	rate float64
	mask uint64

	since, stood uint64 // when the rate was set, and what the clocks had then
}

func (g *gpu) turn(at uint64, rate float64) {
	g.since, g.stood, g.rate = at, g.clock(0, at), rate
}

// block begins at a time in ns and runs so many of them. Its first entry comes up to 300 ns after the timer was read.
func (g *gpu) block(sm uint32, begin, ran uint64) *inside.Block {
	b := &inside.Block{SM: sm, Init: begin &^ 31, PreFinal: (begin + ran) &^ 31, Clock32: g.mask == 1<<32-1}
	first := g.clock(sm, begin+200+g.r.Uint64N(100))
	b.First = first&g.mask + 1<<43
	b.Last = b.First + (g.clock(sm, begin+ran-50)-first)&g.mask
	return b
}

func (g *gpu) clock(sm uint32, at uint64) uint64 {
	stood := g.stood
	if stood == 0 {
		stood = 1<<32 - 70000
	}
	return stood + uint64(g.rate*float64(at-g.since)) + uint64(sm)*421
}

func TestRate(t *testing.T) {
	for _, c := range []struct {
		name     string
		launches int
		every    uint64 // ns
		ran      uint64 // ns
		mask     uint64
		within   float64
		measured bool
	}{
		{"many launches", 200, 1e6, 5000, 1<<43 - 1, 1e-4, true},
		{"many launches, 32 bits", 200, 1e6, 5000, 1<<32 - 1, 1e-4, true},
		{"some launches", 10, 2e5, 5000, 1<<43 - 1, 1e-3, true},
		{"one launch", 1, 0, 30000, 1<<43 - 1, 0.02, false},
		{"seconds apart", 20, 2e9, 5000, 1<<43 - 1, 1e-4, true},
		{"seconds apart, 32 bits", 20, 2e9, 30000, 1<<32 - 1, 0.02, false},
	} {
		g := gpu{r: rand.New(rand.NewPCG(3, 4)), rate: 1.98, mask: c.mask}
		var clock inside.Clock
		for n := range c.launches {
			for sm := range uint32(132) {
				clock.Add(g.block(sm, 1e9+uint64(n)*c.every+g.r.Uint64N(500), c.ran))
			}
			clock.EndLaunch()
		}
		if got := clock.Rate(); math.Abs(got/1.98-1) > c.within || clock.Measured() != c.measured {
			t.Errorf("%s: rate %.5f, measured %v", c.name, got, clock.Measured())
		}
	}
}

// A GPU may change its rate: old points are forgotten.
func TestRateChanges(t *testing.T) {
	g := gpu{r: rand.New(rand.NewPCG(3, 4)), rate: 1.98, mask: 1<<43 - 1}
	var clock inside.Clock
	begin := uint64(1e9)
	for n := range 1000 {
		if n == 300 {
			g.turn(begin, 1.2)
		}
		for sm := range uint32(4) {
			clock.Add(g.block(sm, begin, 5000))
		}
		clock.EndLaunch()
		begin += 1e6
	}
	if got := clock.Rate(); math.Abs(got/1.2-1) > 1e-3 {
		t.Errorf("rate %.5f", got)
	}
}

// Times in a block are right within what passes before its first and behind its last entry, and never outside of it.
func TestTimesInBlocks(t *testing.T) {
	g := gpu{r: rand.New(rand.NewPCG(5, 6)), rate: 1.98, mask: 1<<43 - 1}
	var clock inside.Clock
	for n := range 50 {
		var blocks []*inside.Block
		for sm := range uint32(8) {
			blocks = append(blocks, g.block(sm, 1e9+uint64(n)*1e6, 5000))
		}
		for _, b := range blocks {
			clock.Add(b)
		}
		clock.EndLaunch()
		clock.BeginLaunch(clock.Rate())
		for _, b := range blocks {
			clock.Place(b)
		}
		if !clock.Measured() {
			continue
		}
		for _, b := range blocks {
			first, last := clock.Nanos(b, b.First), clock.Nanos(b, b.Last)
			if first < b.Init || first > b.Init+350 || last > b.PreFinal || last+250 < b.PreFinal {
				t.Fatalf("launch %d: first at +%d, last at -%d", n, first-b.Init, b.PreFinal-last)
			}
			if ns := float64(last - first); math.Abs(ns-float64(b.Last-b.First)/1.98) > 3 {
				t.Fatalf("launch %d: %v ns between the entries, and %d cycles", n, ns, b.Last-b.First)
			}
			if far := clock.Nanos(b, b.Last+1e9); far != b.PreFinal {
				t.Fatalf("a clock outside of the block is at %d", far)
			}
		}
	}
}
