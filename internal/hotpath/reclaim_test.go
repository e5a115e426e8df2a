package hotpath_test

import (
	"fmt"
	"testing"

	"github.com/goproton/goproton/internal/hotpath"
	"github.com/goproton/goproton/internal/hotpath/drive"
)

// reclaim frees what threads do not hold, once all have left what they are in. Rings and slots are the caller's business.
func reclaim(also ...uint32) (freed int) {
	hotpath.UnindexNodes()
	nodes, live := []hotpath.Node(nil), map[uint32]bool{}
	mark := func(id uint32) {
		for nodes = hotpath.Nodes(); id != 0 && !live[id]; id = nodes[id].Parent {
			live[id] = true
		}
	}
	for !hotpath.HeldNodes(mark) {
	}
	for _, id := range also {
		mark(id)
	}
	return hotpath.FreeNodes(func(id uint32) bool { return live[id] })
}

// fresh makes n call paths below the open scope that differ from all before.
func fresh(from, n int) {
	for i := range n {
		drive.Leave(drive.Enter(fmt.Sprintf("fresh %d", from+i)))
	}
}

func TestCallPathsAreReclaimed(t *testing.T) {
	begin(t, false)
	const each = 2000
	outer := drive.Enter("outer")
	inner := drive.Enter("inner")
	kept := drive.LeafNow() // the program may add to it later
	drive.Leave(inner)
	for round := range 50 {
		fresh(round*each, each)
		freed := reclaim()
		if left := hotpath.NodesUsed(); freed == 0 || left > each {
			t.Fatalf("round %d: %d call paths were freed and %d are left", round, freed, left)
		}
	}
	if n := len(hotpath.Nodes()); n > 3*each {
		t.Errorf("%d call paths were made room for, want no more than %d", n, 3*each)
	}
	expectPath := func(id uint32, want string) {
		t.Helper()
		if got := path(id); got != want {
			t.Errorf("call path %d is %q, want %q", id, got, want)
		}
	}
	expectPath(drive.NodeOf(kept), "outer > inner")
	expectPath(drive.NodeOf(drive.LeafNow()), "outer")
	if rc := drive.Leave(outer); rc != 0 {
		t.Errorf("closing the scope that was open all along: status %d", rc)
	}
}

// Threads enter scopes of ever new call paths and launch in them, while call paths are reclaimed. Every launch is found
// where its thread was.
func TestCallPathsAreReclaimedUnderThreadsThatMakeNew(t *testing.T) {
	begin(t, false)
	done := make(chan struct{})
	const threads, each = 3, 60_000
	go func() {
		defer close(done)
		drive.Wanderers(threads, each)
	}()
	seen, reclaimed, lost := 0, 0, hotpath.Lost()
	look := func(mark func(uint32)) {
		hotpath.Drain(func(_ uintptr, records []hotpath.Record) {
			for _, r := range records {
				if seen++; r.Type != hotpath.Launch {
					t.Fatalf("a record of type %d", r.Type)
				}
				if got, want := path(r.Node), drive.Wandered(r.Correlation()); got != want {
					t.Errorf("launch %x is at %q, want %q", r.Correlation(), got, want)
				}
				mark(r.Node)
			}
		})
	}
	for running, waiting := true, false; running && !t.Failed(); {
		select {
		case <-done:
			running = false
		default:
		}
		if !waiting {
			for range 20 { // meanwhile threads take what was freed
				look(func(uint32) {})
			}
			hotpath.UnindexNodes()
		}
		live := map[uint32]bool{}
		mark := func(id uint32) {
			for nodes := hotpath.Nodes(); id != 0 && !live[id]; id = nodes[id].Parent {
				live[id] = true
			}
		}
		waiting = !hotpath.HeldNodes(mark)
		look(mark)
		if !waiting {
			reclaimed += hotpath.FreeNodes(func(id uint32) bool { return live[id] })
		}
	}
	<-done
	if t.Failed() {
		return
	}
	look(func(uint32) {})
	if all := threads * each; uint64(seen)+hotpath.Lost()-lost != uint64(all) {
		t.Errorf("%d launches were seen and %d lost, of %d", seen, hotpath.Lost()-lost, all)
	}
	t.Logf("%d launches, %d call paths reclaimed, room for %d", seen, reclaimed, len(hotpath.Nodes()))
}
