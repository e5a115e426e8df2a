package hotpath_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
)

// begin makes one shadow session active, as the profiler would, and pins the test to its thread.
func begin(t *testing.T, python bool) {
	t.Helper()
	if err := hotpath.Init(); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	hotpath.Drain(func(uintptr, []hotpath.Record) {})
	hotpath.TakeSlots(func([]hotpath.Slot) {})
	hotpath.SessionBegins(true)
	hotpath.SetActive(hotpath.Listeners{LaunchSet: 1, ScopeSet: 2, Shadow: true, Python: python})
	t.Cleanup(func() {
		hotpath.SetActive(hotpath.Listeners{})
		runtime.UnlockOSThread()
	})
}

// sums returns the slots of all launch sets.
func sums() (all []hotpath.Slot) {
	hotpath.Slots(func(_ uint32, slots []hotpath.Slot) { all = append(all, slots...) })
	return all
}

func path(id uint32) string {
	var frames []string
	for nodes := hotpath.Nodes(); id != 0; id = nodes[id].Parent {
		frames = append([]string{hotpath.Text(nodes[id].Name)}, frames...)
	}
	return strings.Join(frames, " > ")
}

// drained describes every record in the rings, one line each, in order.
func drained() string {
	var out strings.Builder
	names := map[uint8]string{hotpath.Launch: "launch", hotpath.GraphLaunch: "graph launch", hotpath.NodeCreated: "node created",
		hotpath.OpMetric: "op metric", hotpath.NodeCloned: "node cloned"}
	hotpath.Drain(func(_ uintptr, rs []hotpath.Record) {
		for _, r := range rs {
			fmt.Fprintf(&out, "%s %d at %q", names[r.Type], r.ID, path(r.Node))
			if r.PyNode != 0 {
				fmt.Fprintf(&out, " python %q", path(r.PyNode))
			}
			if r.Op != 0 {
				fmt.Fprintf(&out, " op")
			}
			if r.Flags&hotpath.FlagCaptured != 0 {
				fmt.Fprintf(&out, " captured")
			}
			if r.Tag != 0 {
				fmt.Fprintf(&out, " kind %d", r.Tag)
			}
			out.WriteString("\n")
		}
	})
	return out.String()
}

func expect(t *testing.T, want string) {
	t.Helper()
	if got := drained(); got != want {
		t.Errorf("records differ\n--- got\n%s--- want\n%s", got, want)
	}
}

func TestLaunchesCarryTheirCallPath(t *testing.T) {
	begin(t, false)
	hotpathtest.Launch(1, 10)
	outer := hotpathtest.Enter("outer")
	hotpathtest.Launch(2, 10)
	inner := hotpathtest.Enter("inner")
	hotpathtest.State("hot")
	hotpathtest.Launch(3, 10)
	hotpathtest.State("hotter")
	hotpathtest.Launch(4, 10)
	hotpathtest.State("")
	hotpathtest.Launch(5, 10)
	hotpathtest.State("")
	hotpathtest.Leave(inner)
	hotpathtest.Leave(outer)
	hotpathtest.Launch(6, 10)
	expect(t, `launch 1 at ""
launch 2 at "outer"
launch 3 at "outer > inner > hot"
launch 4 at "outer > inner > hotter"
launch 5 at "outer > inner > hot"
launch 6 at ""
`)
}

func TestScopesMustBalance(t *testing.T) {
	begin(t, false)
	a, b := hotpathtest.Enter("a"), hotpathtest.Enter("b")
	for _, c := range []struct {
		what string
		got  int
		want int
	}{
		{"outer before inner", hotpathtest.Leave(a), 3},
		{"inner", hotpathtest.Leave(b), 0},
		{"outer", hotpathtest.Leave(hotpathtest.Token{}), 0},
		{"nothing", hotpathtest.Leave(hotpathtest.Token{}), 2},
		{"a state that is not there", hotpathtest.State(""), 2},
	} {
		if c.got != c.want {
			t.Errorf("leaving %s: status %d, want %d", c.what, c.got, c.want)
		}
	}
	hotpath.SetActive(hotpath.Listeners{})
	off := hotpathtest.Enter("no session")
	hotpath.SessionBegins(true)
	if rc := hotpathtest.Leave(off); rc != 2 && rc != 1 {
		t.Errorf("leaving a scope from before the session: status %d", rc)
	}
}

func TestOpClosesItselfAtItsOwnLaunch(t *testing.T) {
	begin(t, false)
	hotpathtest.Enter("s")
	hotpathtest.Op("add_4096", 77)
	hotpathtest.Launch(2, 77)
	hotpathtest.Launch(3, 77)
	hotpathtest.Op("explicit", 0)
	hotpathtest.Launch(4, 77)
	hotpathtest.OpExit()
	hotpathtest.Op("its grid was empty", 77)
	hotpathtest.Launch(5, 5)
	expect(t, `launch 2 at "s > add_4096" op
launch 3 at "s"
launch 4 at "s > explicit" op
launch 5 at "s"
`)
}

// While a stream is captured, a metric of a scope is a record: what follows it decides whether it belongs to the graph.
func TestMetricsOfScopesDuringACapture(t *testing.T) {
	begin(t, false)
	hotpathtest.Capture(+1)
	hotpathtest.Enter("cap")
	hotpathtest.Int("bytes", 8)
	hotpathtest.Launch(1, 9)
	hotpathtest.NodeCreated(3, 100)
	hotpathtest.Launched()
	hotpathtest.Capture(-1)
	hotpathtest.Int("bytes", 8) // eager again: a slot, not a record
	expect(t, fmt.Sprintf(`op metric %d at "cap" captured
launch 1 at "cap"
node created 3 at "cap" captured
`, hotpath.Intern("bytes")))
	if n := len(sums()); n != 1 {
		t.Errorf("%d slots, want one", n)
	}
}

func TestCaptureKeepsPlaceAndMetricsOfTheLaunch(t *testing.T) {
	begin(t, false)
	hotpathtest.Capture(+1)
	hotpathtest.Enter("cap")
	hotpathtest.Op("op", 9)
	hotpathtest.Int("bytes", 8)
	hotpathtest.Launch(1, 9)
	hotpathtest.NodeCreated(3, 100)
	hotpathtest.Launched()
	hotpathtest.NodeCreated(3, 101) // added by hand, outside any launch
	hotpathtest.Capture(-1)
	hotpathtest.Int("bytes", 8) // eager again: a slot, not a record
	expect(t, fmt.Sprintf(`op metric %d at "cap > op" op
launch 1 at "cap > op" op
node created 3 at "cap > op" op captured
node created 3 at "cap"
`, hotpath.Intern("bytes")))
}

func TestATagBelongsToTheNextLaunchOfItsFunction(t *testing.T) {
	begin(t, false)
	hotpathtest.Tag(7, 10)
	hotpathtest.Launch(1, 99) // a kernel that a hook launches in between
	hotpathtest.Launch(2, 10)
	hotpathtest.Launch(3, 10)
	hotpathtest.Tag(8, 10) // its grid was empty
	hotpathtest.Tag(9, 11)
	hotpathtest.Launch(4, 11)
	hotpathtest.Tag(8, 10)
	hotpathtest.Tag(0, 10)
	hotpathtest.Launch(5, 10)
	hotpathtest.Tag(65535+7, 10)
	hotpathtest.GraphLaunch(6)
	hotpathtest.Work(7)
	hotpathtest.Launch(8, 10)
	expect(t, `launch 1 at ""
launch 2 at "" kind 7
launch 3 at ""
launch 4 at "" kind 9
launch 5 at ""
graph launch 6 at ""
launch 7 at ""
launch 8 at "" kind 65535
`)
	hotpath.SetActive(hotpath.Listeners{})
	hotpathtest.Tag(7, 10)
	hotpath.SetActive(hotpath.Listeners{LaunchSet: 1, ScopeSet: 2, Shadow: true})
	hotpathtest.Launch(9, 10)
	hotpathtest.Tag(7, 10)
	hotpath.SessionBegins(true)
	hotpathtest.Launch(10, 10)
	expect(t, "launch 9 at \"\"\nlaunch 10 at \"\"\n")
}

func TestGraphNodesAreOfTheKindThatWasCaptured(t *testing.T) {
	begin(t, false)
	hotpathtest.Capture(+1)
	hotpathtest.Op("op", 9)
	hotpathtest.Tag(7, 9)
	hotpathtest.Launch(1, 9)
	hotpathtest.NodeCreated(3, 100)
	hotpathtest.Launched()
	hotpathtest.Launch(2, 9)
	hotpathtest.NodeCreated(3, 101)
	hotpathtest.Launched()
	hotpathtest.Tag(8, 9)
	hotpathtest.NodeCreated(3, 102) // added by hand, outside any launch
	hotpathtest.Capture(-1)
	expect(t, `launch 1 at "op" op kind 7
node created 3 at "op" op captured kind 7
launch 2 at ""
node created 3 at "" captured
node created 3 at ""
`)
}

// The capture of another thread's stream ends inside this thread's launch: the launch's end is not reported, and
// nodes that this thread makes later are not the launch's.
func TestALaunchThatOutlastsACaptureTakesNoLaterNode(t *testing.T) {
	begin(t, false)
	hotpathtest.Capture(+1)
	s := hotpathtest.Enter("launch")
	hotpathtest.Launch(1, 9)
	hotpathtest.Leave(s)
	hotpathtest.Capture(-1)
	hotpathtest.NodeCreated(3, 100)
	hotpathtest.Launch(2, 9)
	hotpathtest.Capture(+1)
	hotpathtest.NodeCreated(3, 101)
	hotpathtest.Capture(-1)
	expect(t, `launch 1 at "launch"
node created 3 at ""
launch 2 at ""
node created 3 at ""
`)
}

func TestThreadsInheritTheMainThreadsScope(t *testing.T) {
	begin(t, false)
	hotpathtest.Enter("main")
	hotpathtest.Threads([]hotpathtest.Job{{First: 1, Count: 1}})
	expect(t, "launch 1 at \"main\"\n")
	hotpathtest.Threads([]hotpathtest.Job{{First: 2, Count: 1, Scope: "own"}})
	expect(t, "launch 2 at \"main > own\"\n")
}

func TestPythonCallPaths(t *testing.T) {
	begin(t, true)
	hotpathtest.Python("train.py:1@<module>", "train.py:9@step")
	hotpathtest.Enter("scope")
	hotpathtest.Launch(1, 1)
	hotpathtest.Op("named", 0)
	hotpathtest.Launch(2, 1)
	expect(t, `launch 1 at "scope" python "train.py:1@<module> > train.py:9@step"
launch 2 at "scope > named" python "train.py:1@<module> > train.py:9@step > named" op
`)
}

func TestHeldMetricsLandWhereTheKernelDoes(t *testing.T) {
	begin(t, true)
	hotpathtest.Enter("s")
	hotpathtest.Python("user.py:1@f", "hookchain.py:9@__call__") // the launch hook runs deeper than the launch
	hotpathtest.Op("add_4096", 7)
	hotpathtest.Int("bytes", 12)
	hotpathtest.Int("flops", 1)
	hotpathtest.Python("user.py:1@f")
	hotpathtest.Launch(1, 7)
	hotpathtest.Op("never launched", 8)
	hotpathtest.Int("bytes", 5)
	hotpathtest.OpExit()
	hotpathtest.Op("add_4096", 7)   // the same metric again, now of the other type
	hotpathtest.Float("bytes", 2.6) // counts as the nearest integer
	hotpathtest.Launch(2, 7)
	expect(t, `launch 1 at "s > add_4096" python "user.py:1@f > add_4096" op
launch 2 at "s > add_4096" python "user.py:1@f > add_4096" op
`)
	got := map[string]uint64{}
	for _, sl := range sums() {
		got[path(sl.Node)+" "+hotpath.Text(sl.Name)] += sl.Bits
	}
	want := map[string]uint64{
		"s > add_4096 bytes": 15, "s > add_4096 flops": 1, "user.py:1@f > add_4096 bytes": 15, "user.py:1@f > add_4096 flops": 1,
		"s > never launched bytes": 5, "user.py:1@f > never launched bytes": 5,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("slots %v, want %v", got, want)
	}
}

func TestMetricsOfAScopeThatIsAlsoTheLastPythonFrame(t *testing.T) {
	begin(t, true)
	hotpathtest.EnterNamed("aten::mm")
	hotpathtest.Python("user.py:1@f", "aten::mm")
	hotpathtest.Int("m", 3)
	hotpathtest.Enter("user's")
	hotpathtest.Int("m", 4)
	got := map[string]uint64{}
	for _, sl := range sums() {
		got[path(sl.Node)] = sl.Bits
	}
	want := map[string]uint64{"aten::mm": 3, "aten::mm > user's": 4, "user.py:1@f > aten::mm": 3, "user.py:1@f > aten::mm > user's": 4}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("slots %v, want %v", got, want)
	}
}

func TestMetricsSumInPlace(t *testing.T) {
	begin(t, false)
	s := hotpathtest.Enter("s")
	hotpathtest.Int("tokens", 3)
	hotpathtest.Int("tokens", 4)
	hotpathtest.Float("loss (exc)", 0.5)
	hotpathtest.Float("best (pty)", 1)
	hotpathtest.Float("best (pty)", 2)
	if rc := hotpathtest.Float("tokens", 1); rc != 4 {
		t.Errorf("an integer metric took a float: status %d", rc)
	}
	hotpathtest.Leave(s)
	got := map[string]uint64{}
	for _, sl := range sums() {
		got[path(sl.Node)+" "+hotpath.Text(sl.Name)] = sl.Bits
	}
	want := map[string]uint64{"s tokens": 7, "s loss (exc)": 0x3fe0000000000000, "s best (pty)": 0x4000000000000000}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("slots %v, want %v", got, want)
	}
}

func TestPythonMetricsAtTheRootAreKept(t *testing.T) {
	begin(t, true)
	hotpathtest.Python() // a thread that runs no Python, outside any scope
	hotpathtest.Int("m", 3)
	n := 0
	for _, sl := range sums() {
		if sl.Flags&hotpath.SlotPython != 0 && sl.Node == 0 && sl.Bits == 3 {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d metrics at the root of the python call paths, want 1", n)
	}
}

func TestFullRingCountsWhatItLoses(t *testing.T) {
	begin(t, false)
	before := hotpath.Lost()
	const ring, extra = 1 << 15, 1000
	hotpathtest.Launches(1, ring+extra)
	n := hotpath.Drain(func(uintptr, []hotpath.Record) {})
	if lost := hotpath.Lost() - before; n != ring || lost != extra {
		t.Errorf("%d records came out and %d were lost, want %d and %d", n, lost, ring, extra)
	}
}

func TestManyThreadsLoseNothing(t *testing.T) {
	begin(t, false)
	const threads, each = 16, 10000
	var jobs []hotpathtest.Job
	for i := range uint32(threads) {
		jobs = append(jobs, hotpathtest.Job{First: i*each + 1, Count: each, Scope: fmt.Sprintf("t%d", i)})
	}
	hotpathtest.Threads(jobs)
	got := map[string]int{}
	hotpath.Drain(func(_ uintptr, rs []hotpath.Record) {
		for _, r := range rs {
			got[path(r.Node)]++
		}
	})
	for i := range threads {
		if n := got[fmt.Sprintf("t%d", i)]; n != each {
			t.Errorf("thread %d left %d records, want %d", i, n, each)
		}
	}
}

// Between sessions there is no drainer: what threads leave then must free itself.
func TestThreadsThatComeAndGoUndrained(t *testing.T) {
	begin(t, false)
	run := func(n int) {
		for range n {
			hotpathtest.Threads([]hotpathtest.Job{{Scope: "short"}})
		}
	}
	run(1)
	before := hotpath.Threads()
	run(500)
	if n := hotpath.Threads(); n > before {
		t.Errorf("500 threads, one at a time, took %d states in addition to %d", n-before, before)
	}
}

func TestManyDistinctScopes(t *testing.T) {
	begin(t, false)
	const n = 100_000
	seen := make(map[uint32]bool, n)
	for i := range uint32(n) {
		s := hotpathtest.Enter(fmt.Sprintf("scope %d", i))
		hotpathtest.Launch(uint64(i+1), 1)
		hotpathtest.Leave(s)
		if i%10_000 == 9_999 {
			hotpath.Drain(func(_ uintptr, rs []hotpath.Record) {
				for _, r := range rs {
					seen[r.Node] = true
				}
			})
		}
	}
	if len(seen) != n {
		t.Errorf("%d distinct call paths, want %d", len(seen), n)
	}
}

func TestBuffersThatNeverCameBackAreReclaimed(t *testing.T) {
	begin(t, false)
	hotpath.ReclaimBuffers()
	all := hotpathtest.KeepBuffers(1 << 20)
	if more := hotpathtest.KeepBuffers(1); all == 0 || more != 0 {
		t.Fatalf("a pool that gave %d buffers gave %d more", all, more)
	}
	hotpath.ReclaimBuffers()
	if again := hotpathtest.KeepBuffers(1 << 20); again != all {
		t.Errorf("%d buffers came back of %d", again, all)
	}
	hotpath.ReclaimBuffers()
}

func TestForkedChildIsSilent(t *testing.T) {
	begin(t, false)
	if status := hotpathtest.ForkAndUse(); status != 0 {
		t.Errorf("the child ended with wait status %#x", status)
	}
	hotpathtest.Launch(1, 1)
	expect(t, "launch 1 at \"\"\n")
}

func BenchmarkLaunch(b *testing.B) {
	benchmark(b, func(n int) { hotpathtest.Launches(1, uint32(n)) })
}

func BenchmarkTaggedLaunch(b *testing.B) {
	benchmark(b, func(n int) { hotpathtest.TaggedLaunches(1, uint32(n)) })
}

func BenchmarkScope(b *testing.B) {
	benchmark(b, func(n int) { hotpathtest.Scopes("forward", n) })
}

func BenchmarkMetric(b *testing.B) {
	benchmark(b, func(n int) { hotpathtest.Metrics("tokens", n) })
}

// benchmark drains between batches: a full ring would time the loss, not the push.
// A thread that records faster than the drainer takes must not keep it from the other threads, nor its caller.
func TestDrainEndsWhileAThreadRecordsOn(t *testing.T) {
	begin(t, false)
	hotpath.SetActive(hotpath.Listeners{LaunchSet: 1, ScopeSet: 2, Shadow: true, Timeline: true})
	hotpathtest.Leave(hotpathtest.Enter("on and on"))
	calls := 0
	hotpath.Drain(func(uintptr, []hotpath.Record) {
		if calls++; calls <= 1<<16 { // what is more would never end
			hotpathtest.Leave(hotpathtest.Enter("on and on"))
		}
	})
	if calls > 1<<16 {
		t.Error("it drained for as long as there was something")
	}
}

func benchmark(b *testing.B, f func(n int)) {
	hotpath.Init()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	hotpath.SessionBegins(true)
	hotpath.SetActive(hotpath.Listeners{LaunchSet: 1, ScopeSet: 2, Shadow: true})
	defer hotpath.SetActive(hotpath.Listeners{})
	for done := 0; done < b.N; {
		n := min(b.N-done, 16384)
		f(n)
		done += n
		b.StopTimer()
		hotpath.Drain(func(uintptr, []hotpath.Record) {})
		b.StartTimer()
	}
}
