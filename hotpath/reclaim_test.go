package hotpath_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
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
	freed, _ = hotpath.FreeNodes(func(id uint32) bool { return live[id] })
	return freed
}

// fresh makes n call paths below the open scope that differ from all before.
func fresh(from, n int) {
	for i := range n {
		hotpathtest.Leave(hotpathtest.Enter(fmt.Sprintf("fresh %d", from+i)))
	}
}

func TestCallPathsAreReclaimed(t *testing.T) {
	begin(t, false)
	const each = 2000
	outer := hotpathtest.Enter("outer")
	inner := hotpathtest.Enter("inner")
	kept := hotpathtest.LeafNow() // the program may add to it later
	hotpathtest.Leave(inner)
	gone := hotpathtest.Enter("gone")
	inner = hotpathtest.Enter("inner")
	keptBelow := hotpathtest.LeafNow() // the scope around it is open no longer
	hotpathtest.Leave(inner)
	hotpathtest.Leave(gone)
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
	expectPath(hotpathtest.NodeOf(kept), "outer > inner")
	expectPath(hotpathtest.NodeOf(keptBelow), "outer > gone > inner")
	expectPath(hotpathtest.NodeOf(hotpathtest.LeafNow()), "outer")
	if rc := hotpathtest.Leave(outer); rc != 0 {
		t.Errorf("closing the scope that was open all along: status %d", rc)
	}
}

// memo is how many call paths a thread remembers, and so keeps.
const memo = 512

// limitNames leaves room for so many more names, and bytes of their texts, than there ever were.
func limitNames(t *testing.T, names, text int) {
	t.Helper()
	t.Cleanup(hotpath.LimitNames(hotpath.NameSpace{Names: names, Text: text}))
}

// Names of scopes, states and ops go with their call paths. What is open keeps its name, also when nothing was launched in
// it yet.
func TestFrameNamesAreReclaimed(t *testing.T) {
	begin(t, false)
	reclaim() // what tests before left
	const each = 500
	limitNames(t, 8*each, 8*each*32)
	outer := hotpathtest.Enter("outer scope")
	hotpathtest.State("outer state")
	lost := hotpath.Lost()
	for round := range 100 {
		hotpathtest.Op("outer op", 1)
		for i := range each {
			n := round*each + i
			scope := hotpathtest.Enter(fmt.Sprint("scope ", n))
			hotpathtest.State(fmt.Sprint("state ", n))
			hotpathtest.State("")
			hotpathtest.Leave(scope)
		}
		reclaim()
		scope := hotpathtest.Enter(fmt.Sprint("at the end of round ", round))
		hotpathtest.Launch(uint64(round), 1)
		hotpathtest.Leave(scope)
		if got, want := drained(), fmt.Sprintf("launch %d at %q op\n", round, fmt.Sprintf("outer scope > at the end of round %d > outer state > outer op", round)); got != want {
			t.Fatalf("round %d: %q, want %q", round, got, want)
		}
	}
	if n := hotpath.Lost() - lost; n != 0 {
		t.Errorf("%d names found no room", n)
	}
	hotpathtest.State("")
	hotpathtest.Leave(outer)
}

// A freed name leaves its room to names of its length. Kept names stay, whatever there was with the same text.
func TestRoomOfNamesIsUsedAgain(t *testing.T) {
	begin(t, false)
	reclaim()
	kept, lost := hotpath.Intern("kept"), hotpath.Lost()
	for round := range 300 {
		for length := 1; length < 5000; length += 1 + length/7 {
			hotpathtest.Leave(hotpathtest.Enter(fmt.Sprintf("%0*d", length, round*5000+length)))
		}
		hotpathtest.Leave(hotpathtest.Enter("kept"))
		reclaim()
		if round == 1 {
			limitNames(t, 2*memo, 4<<20)
		}
	}
	if got := hotpath.Text(kept); got != "kept" || hotpath.Intern("kept") != kept {
		t.Errorf("the kept name is %q now", got)
	}
	if n := hotpath.Lost() - lost; n != 0 {
		t.Errorf("%d names found no room", n)
	}
}

// Scopes that find no room for their names are left out and counted. Reclaiming makes room.
func TestFullNameTable(t *testing.T) {
	begin(t, false)
	reclaim()
	limitNames(t, 1<<20, 24<<20)
	long := strings.Repeat("long ", 2500)
	fits := func(round int) (n int) { // no earlier test has names of this length
		for lost := hotpath.Lost(); hotpath.Lost() == lost && n < 10_000; n++ {
			scope := hotpathtest.Enter(fmt.Sprint(long, round, n))
			hotpathtest.Launch(1, 1)
			hotpathtest.Leave(scope)
		}
		return n - 1
	}
	first := fits(0)
	if first < 1000 || first == 9999 {
		t.Fatalf("%d names of 16 KiB found room in 24 MiB", first)
	}
	if got := strings.Split(drained(), "\n"); got[first] != `launch 1 at ""` || got[first-1] == got[first] {
		t.Errorf("the scope that is left out: %.80q", got[first])
	}
	for round := range 3 {
		reclaim()
		if again := fits(1 + round); again < first-memo {
			t.Errorf("%d names found room, and %d after some were reclaimed", first, again)
		}
		drained()
	}
}

// A leaf is not reclaimed between LeafBegin and LeafEnd, nor is one inside another. Later the first one is.
func TestLeafIsHeldUntilItsEnd(t *testing.T) {
	begin(t, false)
	outer := hotpathtest.Enter("outer leaf")
	first := hotpathtest.LeafBegin()
	hotpathtest.Leave(outer)
	inner := hotpathtest.Enter("inner leaf")
	second := hotpathtest.LeafBegin()
	hotpathtest.Leave(inner)
	fresh(3_000_000, 4*memo) // so that the thread's memory of call paths holds neither
	reclaim()
	fresh(3_100_000, 4*memo)
	if got := path(hotpathtest.NodeOf(first)) + ", " + path(hotpathtest.NodeOf(second)); got != "outer leaf, inner leaf" {
		t.Errorf("the leaves are %q", got)
	}
	hotpathtest.LeafEnd()
	hotpathtest.LeafEnd()
	for n := range 8 * memo {
		scope := hotpathtest.Enter(fmt.Sprint("leaf ", n))
		hotpathtest.LeafBegin()
		hotpathtest.LeafEnd()
		hotpathtest.Leave(scope)
	}
	reclaim()
	if left := hotpath.NodesUsed(); left > 4*memo {
		t.Errorf("%d call paths are left after as many leaves as %d", left, 8*memo)
	}
}

// Threads enter scopes, states and ops of ever new names and launch in them, while call paths and names are reclaimed. Every
// launch is found where its thread was.
func TestCallPathsAreReclaimedUnderThreadsThatMakeNew(t *testing.T) {
	begin(t, false)
	done := make(chan struct{})
	const threads, each = 3, 60_000
	go func() {
		defer close(done)
		hotpathtest.Wanderers(threads, each)
	}()
	seen, reclaimed, lost, names := 0, 0, hotpath.Lost(), hotpath.NamesUsed()
	look := func(mark func(uint32)) {
		hotpath.Drain(func(_ uintptr, records []hotpath.Record) {
			for _, r := range records {
				if seen++; r.Type != hotpath.Launch {
					t.Fatalf("a record of type %d", r.Type)
				}
				if got, want := path(r.Node), hotpathtest.Wandered(r.Correlation()); got != want {
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
			freed, _ := hotpath.FreeNodes(func(id uint32) bool { return live[id] })
			reclaimed += freed
		}
	}
	<-done
	if t.Failed() {
		return
	}
	look(func(uint32) {})
	reclaim()
	if left := hotpath.NamesUsed(); left.Names > names.Names+10*1024 {
		t.Errorf("%d names are left, of which %d were there at the beginning", left.Names, names.Names)
	}
	if all := threads * each; uint64(seen)+hotpath.Lost()-lost != uint64(all) {
		t.Errorf("%d launches were seen and %d lost, of %d", seen, hotpath.Lost()-lost, all)
	}
	t.Logf("%d launches, %d call paths reclaimed, room for %d", seen, reclaimed, len(hotpath.Nodes()))
}
