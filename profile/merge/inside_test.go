package merge

import (
	"fmt"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

// What is inside of kernels adds up by call path, in any order of the files.
func TestInsideAddsUp(t *testing.T) {
	for seed := range uint64(20) {
		a, b := profiletest.Random(seed), profiletest.Random(seed)
		profiletest.Instrument(a, seed)
		profiletest.Instrument(b, seed+100)
		for _, order := range [][]*profile.Profile{{a, b, b}, {b, a, b}} {
			m := New(Options{})
			for i, p := range order {
				if err := m.Add(p, Source{File: fmt.Sprint(i)}); err != nil {
					t.Fatal(err)
				}
			}
			blocks, times := inside(m.Profile())
			wantBlocks, wantTimes := inside(order...)
			if blocks != wantBlocks || times != wantTimes {
				t.Errorf("seed %d: %d blocks and %d times, want %d and %d", seed, blocks, times, wantBlocks, wantTimes)
			}
		}
	}
}

// inside adds up the blocks of all kernels and the times of all scopes.
func inside(all ...*profile.Profile) (blocks, times uint64) {
	for _, p := range all {
		p.Root.Walk(func(n *profile.Node, _ int) bool {
			if n.Inside != nil && n.Inside.Kernel != nil {
				blocks += n.Inside.Kernel.Blocks
			}
			if n.Inside != nil && n.Inside.Scope != nil {
				times += n.Inside.Scope.Count()
			}
			return true
		})
	}
	return blocks, times
}
