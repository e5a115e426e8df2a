package merge

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
)

// TestMemoryDoesNotGrowWithTheRanks: of ranks that each lack other frames, the sum keeps one bit per frame and rank.
func TestMemoryDoesNotGrowWithTheRanks(t *testing.T) {
	const nodes, few, many = 1000, 100, 1500
	m := New(Options{})
	var before int64
	for rank := range many {
		r := rand.New(rand.NewPCG(uint64(rank), 9))
		p := wide(nodes)
		p.Root.Walk(func(n *profile.Node, _ int) bool {
			if r.IntN(20) == 0 {
				n.Metrics = nil
			}
			return true
		})
		if err := m.Add(p, Source{File: "a", Rank: fmt.Sprint(rank)}); err != nil {
			t.Fatal(err)
		}
		if rank == few {
			before = testkit.Heap()
		}
	}
	grown := testkit.Heap() - before
	if most := int64(nodes*(many-few)/8*2 + many*1024 + 1<<20); grown > most {
		t.Errorf("%d more ranks take %d bytes more, and at most %d are needed", many-few, grown, most)
	}
	runtime.KeepAlive(m)
}
