package scratch_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/hotpath/scratch"
)

// arrived checks a launch and returns its number, which each of its slots has.
func arrived(t *testing.T, l *inside.Launch) uint32 {
	t.Helper()
	k := l.Kernel
	number := binary.LittleEndian.Uint32(l.Buffer[8:])
	segment := k.BufferSize / k.Warps / 4
	for i := range len(l.Buffer) / k.SlotSize {
		slot := l.Buffer[i*k.SlotSize:][:k.SlotSize]
		word := func(at int) uint32 { return binary.LittleEndian.Uint32(slot[at:]) }
		if i > 0 && (number+uint32(i))%11 == 0 {
			if word(0) == 0xdeadbeef {
				t.Fatalf("launch %d, slot %d of a block that did not start has the header of launch %d", number, i, word(8))
			}
			continue
		}
		if stream := binary.LittleEndian.Uint64(slot[32:]); stream != l.Stream {
			t.Fatalf("launch %d on stream %#x is read as one on %#x", number, stream, l.Stream)
		}
		if word(0) != 0xdeadbeef || word(4) != uint32(i) || word(8) != number {
			t.Fatalf("launch %d, slot %d begins with %x %d %d", number, i, word(0), word(4), word(8))
		}
		for w := range k.Warps {
			count := word(40 + 4*w)
			if want := (number + uint32(i+w)) % uint32(2*segment); count != want {
				t.Fatalf("launch %d, slot %d, warp %d has %d words, want %d", number, i, w, count, want)
			}
			for n := range min(int(count), segment) {
				if got := word(40 + 4*k.Warps + 4*(w*segment+n)); got != number {
					t.Fatalf("launch %d, slot %d, warp %d, word %d is of launch %d", number, i, w, n, got)
				}
			}
		}
	}
	return number
}

var driver = sync.OnceValue(func() string {
	stub, err := filepath.Abs("../../build/stub/libcuda.so.1")
	if err == nil {
		err = hotpath.Init()
	}
	if err != nil {
		return err.Error()
	}
	scratch.Init(hotpath.API())
	if !hotpathtest.LoadScratch(stub, scratch.API()) {
		return "the fake driver does not start"
	}
	return ""
})

// begin loads the fake driver, once.
func begin(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("../../build/stub/libcuda.so.1"); err != nil {
		t.Skip("the fake driver is not built: make build")
	}
	if problem := driver(); problem != "" {
		t.Fatal(problem)
	}
}

// Threads launch on two streams each, small kernels and large ones, some of which fail. Each launch arrives once, whole, and with
// the slots of no other; with little memory, launches that are missing are counted.
func TestEachLaunchArrivesOnce(t *testing.T) {
	begin(t)
	for _, limit := range []uint64{48 << 20, 4 << 30} {
		before := scratch.Lost()
		all, seen := launches(t, limit)
		lost := int(scratch.Lost().NoRoom - before.NoRoom)
		for number, times := range seen {
			if times != 1 {
				t.Errorf("launch %d arrived %d times", number, times)
			}
		}
		// A launch that fails may find no memory either.
		if len(seen)+lost < all || limit > 1<<30 && len(seen) != all {
			t.Errorf("with %d MiB, %d launches arrived and %d are counted as lost, of %d", limit>>20, len(seen), lost, all)
		}
	}
}

// launches makes launches on several threads, and returns their number and how often each arrived.
func launches(t *testing.T, limit uint64) (all int, seen map[uint32]int) {
	if err := scratch.Start(limit); err != nil {
		t.Fatal(err)
	}
	defer scratch.Stop()
	const threads, each = 6, 400
	var jobs []hotpathtest.ScratchJob
	for n := range uint32(threads) {
		warps := 1 << (n % 4)
		k := &inside.Kernel{Name: "k", Triton: "3.9.0", Warps: warps, BufferSize: 256 * warps}
		k.SlotSize = (40 + 4*warps + k.BufferSize + 127) &^ 127
		function := uint64(4096 + n)
		if err := scratch.Define(function, k); err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, hotpathtest.ScratchJob{First: n * each, Launches: each, Slot: uint32(k.SlotSize), Warps: uint32(warps), Rings: uint32(k.BufferSize), Most: 900, Function: function})
	}
	launched := make(chan struct{})
	go func() { hotpathtest.RunScratch(jobs); close(launched) }()
	seen = map[uint32]int{}
	for over := false; !over; time.Sleep(time.Millisecond) {
		select {
		case <-launched:
			over = scratch.UnderWay() == 0
		default:
		}
		for scratch.Next(func(l *inside.Launch) { seen[arrived(t, l)]++ }) {
			continue
		}
	}
	return threads * each, seen
}

// What is waited for are the launches so far: another thread that goes on launching does not keep a session from ending.
func TestAwaitingWhileAThreadLaunches(t *testing.T) {
	begin(t)
	k := &inside.Kernel{Name: "k", Triton: "3.9.0", Warps: 1, BufferSize: 256, SlotSize: 384}
	define(t, 1<<30, 4242, k)
	defer scratch.Stop()
	defer hotpathtest.HoldScratch(false)
	launch := func(n uint32) {
		hotpathtest.RunScratch([]hotpathtest.ScratchJob{{Launches: n, Slot: 384, Warps: 1, Rings: 256, Most: 4, Function: 4242}})
	}
	arrivals, moves := 0, 0
	take := func() {
		for scratch.Next(func(*inside.Launch) { arrivals++ }) {
			continue
		}
	}
	hotpathtest.HoldScratch(true)
	launch(10)
	missing := scratch.Await(time.Second, func() {
		if take(); moves > 0 {
			return
		}
		hotpathtest.HoldScratch(false)
		for scratch.UnderWay() > 0 {
			time.Sleep(time.Millisecond)
		}
		hotpathtest.HoldScratch(true)
		launch(3)
	}, func() { moves++ })
	if take(); missing > 0 || arrivals != 10 || moves != 1 {
		t.Errorf("%d launches are missing, %d arrived, in %d moves", missing, arrivals, moves)
	}
	if missing := scratch.Await(10*time.Millisecond, take, func() {}); missing != 3 {
		t.Errorf("%d launches are missing while the GPU does not go on", missing)
	}
	hotpathtest.HoldScratch(false)
	launch(2)
	if missing := scratch.Await(time.Second, take, func() {}); missing > 0 {
		t.Errorf("%d launches are missing at the end", missing)
	}
	for scratch.UnderWay() > 0 {
		time.Sleep(time.Millisecond)
	}
	if take(); arrivals != 15 {
		t.Errorf("%d launches arrived", arrivals)
	}
}

// define makes a kernel known and starts with so many bytes for records.
func define(t *testing.T, bytes, function uint64, kernel *inside.Kernel) {
	t.Helper()
	if err := scratch.Define(function, kernel); err != nil {
		t.Fatal(err)
	}
	if err := scratch.Start(bytes); err != nil {
		t.Fatal(err)
	}
}

// What is used again of a launch in one context does not go with the streams of another one.
func TestLaunchesInTwoContexts(t *testing.T) {
	begin(t)
	const slot = 384
	define(t, 48<<20, 99, &inside.Kernel{Name: "k", Triton: "3.9.0", Warps: 1, SlotSize: slot, BufferSize: 256})
	defer scratch.Stop()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, arrived := scratch.Lost(), 0
	for n := range 6 {
		hotpathtest.LentScratch(99, slot, n%2 == 1)
		if missing := scratch.Await(time.Second, func() {}, func() {}); missing > 0 {
			t.Fatalf("launch %d does not arrive", n)
		}
		for scratch.Next(func(*inside.Launch) { arrived++ }) {
			continue
		}
	}
	if lost := scratch.Lost(); lost.Failed > before.Failed || arrived != 6 {
		t.Errorf("%d launches arrived, %d failed with error %d", arrived, lost.Failed-before.Failed, lost.DriverError)
	}
}

// captured captures a launch that finds memory. What earlier tests left idle may be more than the limit, and is freed soon after a
// launch finds none. They also had launches that failed, on threads that have ended: what those held is idle, too.
func captured(t *testing.T, function, bytes uint64) hotpathtest.ScratchCaptured {
	t.Helper()
	for range 500 {
		before := scratch.Lost().NoRoom
		graph := hotpathtest.CaptureScratch(function, bytes)
		if scratch.Lost().NoRoom == before {
			return graph
		}
		graph.Destroy()
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no capture finds memory")
	return hotpathtest.ScratchCaptured{}
}

// A graph outlives the sessions in which it was captured. Its call path has no number any more when all call paths were forgotten.
func TestReplaysOfAGraphOfAnEarlierSession(t *testing.T) {
	begin(t)
	const slot = 384
	define(t, 48<<20, 123, &inside.Kernel{Name: "k", Triton: "3.9.0", Warps: 1, SlotSize: slot, BufferSize: 256})
	defer scratch.Stop()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	session := func() {
		hotpath.SessionBegins(true)
		hotpath.SetActive(hotpath.Listeners{LaunchSet: 1, ScopeSet: 1, Shadow: true})
	}
	session()
	defer hotpath.SetActive(hotpath.Listeners{})
	scope := hotpathtest.Enter("captured")
	node := hotpathtest.NodeOf(hotpathtest.LeafNow())
	graph := captured(t, 123, slot)
	defer graph.Destroy()
	hotpathtest.Leave(scope)
	replay := func(want uint32) {
		t.Helper()
		graph.Replay()
		if !scratch.Next(func(l *inside.Launch) {
			if l.Node != want || !l.Replayed {
				t.Errorf("the replay is of call path %d, want %d", l.Node, want)
			}
		}) {
			t.Error("the replay does not arrive")
		}
	}
	replay(node)
	session()
	replay(0)
}

// The memory of a graph's launches goes back when the graph and its executable form are destroyed: 12 graphs would be too many at
// once, for the limit of memory on the host.
func TestMemoryOfGraphsComesBack(t *testing.T) {
	begin(t)
	const slot, blocks = 1024, 1024
	k := &inside.Kernel{Name: "captured", Triton: "3.9.0", Warps: 4, SlotSize: slot, BufferSize: 512}
	define(t, 48<<20, 77, k)
	defer scratch.Stop()
	before, places := scratch.Lost(), map[uint64]bool{}
	for range 40 {
		place := hotpathtest.ScratchGraph(77, slot*blocks)
		if place == 0 {
			t.Fatal("two launches in one graph do not share memory")
		}
		places[place] = true
		time.Sleep(12 * time.Millisecond) // the thread that takes memory back looks every 5 ms
	}
	if lost := scratch.Lost().NoRoom - before.NoRoom; lost > 0 || len(places) > 12 {
		t.Errorf("%d launches found no memory, and 40 graphs after one another took %d places", lost, len(places))
	}
}

// Memory that larger launches have left is used where no more may be allocated.
func TestLargerMemoryIsUsedBeforeNone(t *testing.T) {
	begin(t)
	const slot, large, small = 1024, 80 << 20, 24 << 20
	define(t, 4<<30, 78, &inside.Kernel{Name: "captured", Triton: "3.9.0", Warps: 4, SlotSize: slot, BufferSize: 512})
	defer scratch.Stop()
	hotpathtest.ScratchGraph(78, large)
	time.Sleep(50 * time.Millisecond) // the thread that takes memory back looks every 5 ms
	if err := scratch.Start(100 << 20); err != nil {
		t.Fatal(err)
	}
	before := scratch.Lost().NoRoom
	hotpathtest.ScratchGraph(78, small)
	if lost := scratch.Lost().NoRoom - before; lost > 0 {
		t.Errorf("%d launches of %d MiB found no memory next to %d MiB that is idle", lost, small>>20, large>>20)
	}
}
