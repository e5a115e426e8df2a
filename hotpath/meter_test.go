package hotpath_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
)

// metered measures until the end of the test, and returns what was counted since it was called.
func metered(t *testing.T) func() hotpath.Metered {
	t.Helper()
	m := hotpath.StartMeter()
	t.Cleanup(m.Stop)
	base := hotpath.ReadMeter()
	less := func(a, b hotpath.Reading) hotpath.Reading {
		return hotpath.Reading{Calls: a.Calls - b.Calls, Readings: a.Readings - b.Readings, Ticks: a.Ticks - b.Ticks, Cut: a.Cut - b.Cut}
	}
	return func() hotpath.Metered {
		now := hotpath.ReadMeter()
		return hotpath.Metered{
			Callbacks: less(now.Callbacks, base.Callbacks), Hooks: less(now.Hooks, base.Hooks), Paths: less(now.Paths, base.Paths),
			Taken: now.Taken - base.Taken, LeftOut: now.LeftOut - base.LeftOut,
		}
	}
}

// paths counts the launches in the rings by their Python call path.
func paths() map[string]int {
	out := map[string]int{}
	hotpath.Drain(func(_ uintptr, records []hotpath.Record) {
		for _, r := range records {
			if r.Type == hotpath.Launch {
				out[path(r.PyNode)]++
			}
		}
	})
	return out
}

func TestMeterCountsEveryCallAndReadsSome(t *testing.T) {
	begin(t, false)
	counted := metered(t)
	const n = 20_000
	for i := range uint64(n) {
		hotpathtest.MeteredLaunch(i+1, 1, false)
		if i%1000 == 0 {
			paths() // the ring has room again
		}
	}
	got := counted().Callbacks
	// Of 32 intervals each is as likely as the others: 16.5 on average, and 1,212 readings with a deviation of 19.
	if got.Calls != n || got.Readings+got.Cut < 1212-200 || got.Readings+got.Cut > 1212+200 || got.Ticks == 0 {
		t.Errorf("%+v", got)
	}
}

// The estimate of 10 s is unbiased, however rare or frequent calls are: where each takes the same time, it has an error of 1 % at most, which
// is that of comparing the cycle counter with the clock. Where times differ, as those of an exponential distribution, the mean of many
// estimates has an error of 5 of its deviations at most. Which calls are read is decided by the meter itself.
func TestEstimatesAreUnbiasedAtEveryRate(t *testing.T) {
	begin(t, false)
	const slots = 40 // of a quarter of a second
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ rate, runs int }{{1, 200}, {2, 200}, {5, 200}, {16, 100}, {50, 100}, {64, 50}, {200, 50}, {1000, 20}, {10_000, 4}, {100_000, 2}, {1_000_000, 1}} {
		sum, squares := 0.0, 0.0
		for range c.runs {
			m := hotpath.StartMeter()
			var equal, different, unit hotpath.Estimate
			const ticks = 1 << 30 // of a call: a reading of nothing is not a part of it
			call := unit.Nanos(m, hotpath.Reading{Calls: 1, Readings: 1, Ticks: ticks}, hotpath.Reading{})
			callsEqual, callsDifferent := 0.0, 0.0
			for slot := range slots {
				before := hotpath.ReadMeter().Hooks
				hotpathtest.Sections(true, uint32((slot+1)*c.rate/4-slot*c.rate/4))
				hotpathtest.Sections(false, 100) // of another kind, which does not disturb it
				now := hotpath.ReadMeter().Hooks
				reading := hotpath.Reading{Calls: now.Calls - before.Calls, Readings: now.Readings + now.Cut - before.Readings - before.Cut}
				reading.Ticks = reading.Readings * ticks
				callsEqual += equal.Nanos(m, reading, hotpath.Reading{}) / call
				reading.Ticks = 0
				for range reading.Readings {
					reading.Ticks += uint64(random.ExpFloat64() * ticks)
				}
				callsDifferent += different.Nanos(m, reading, hotpath.Reading{}) / call
			}
			m.Stop()
			n := float64(c.rate * slots / 4)
			if math.Abs(callsEqual/n-1) > 0.01 {
				t.Fatalf("%d calls a second: the time of %g calls was estimated, there were %g", c.rate, callsEqual, n)
			}
			sum += callsDifferent / n
			squares += callsDifferent / n * callsDifferent / n
		}
		if mean := sum / float64(c.runs); c.runs > 1 {
			deviation := math.Sqrt((squares/float64(c.runs) - mean*mean) / float64(c.runs))
			if math.Abs(mean-1) > 5*deviation+0.01 {
				t.Errorf("%d calls a second: %g of the time was estimated, with a deviation of %g", c.rate, mean, deviation)
			}
		}
	}
}

// Calls whose readings were all cut are left out. They do not wait for a reading, whose time would stand for all of them.
func TestCutReadingsSayNothingOfTheirCalls(t *testing.T) {
	begin(t, false)
	m := hotpath.StartMeter()
	defer m.Stop()
	var e, unit hotpath.Estimate
	call := unit.Nanos(m, hotpath.Reading{Calls: 1, Readings: 1, Ticks: 1 << 30}, hotpath.Reading{})
	cut := hotpath.Reading{Calls: 100_000, Cut: 6000}
	if got := e.Nanos(m, cut, hotpath.Reading{}); got != 0 {
		t.Errorf("%g ns of calls that were not read", got)
	}
	if got := e.Nanos(m, hotpath.Reading{Calls: 100_002, Cut: 6000, Readings: 1, Ticks: 1 << 30}, cut) / call; math.Abs(got-2) > 0.1 {
		t.Errorf("the time of %g calls was estimated, there were 2", got)
	}
}

// The first walk is read, also within a callback that is not.
func TestTheFirstWalkIsRead(t *testing.T) {
	begin(t, true)
	counted := metered(t)
	hotpathtest.Sections(false, 1)
	hotpathtest.Python("a.py:1@<module>")
	for i := range uint64(2) {
		hotpathtest.MeteredLaunch(i+1, 1, false)
		if got := counted().Paths; got.Readings+got.Cut == 0 {
			t.Errorf("after %d launches: %+v", i+1, got)
		}
	}
}

// A callback inside of a hook is a part of it.
func TestMeterCountsNestedSectionsOnce(t *testing.T) {
	begin(t, false)
	counted := metered(t)
	for i := range uint64(100) {
		hotpathtest.MeteredLaunch(i+1, 1, true)
	}
	if got := counted(); got.Hooks.Calls != 100 || got.Callbacks.Calls != 0 {
		t.Errorf("%+v", got)
	}
}

func TestNothingIsMeasuredWithoutABudget(t *testing.T) {
	begin(t, true)
	before := hotpath.ReadMeter()
	hotpathtest.Python("a.py:1@<module>")
	hotpathtest.MeteredLaunch(1, 1, true)
	if now := hotpath.ReadMeter(); now != before {
		t.Errorf("%+v became %+v", before, now)
	}
}

// Each launch has its call path or the frame that says that it was not taken, with the scopes; both are counted, and add up.
func TestThinnedPathsAddUp(t *testing.T) {
	begin(t, true)
	counted := metered(t)
	hotpathtest.Python("a.py:1@<module>", "a.py:2@f")
	hotpath.ThinPaths(8)
	outer := hotpathtest.Enter("outer")
	inner := hotpathtest.Enter("inner")
	hotpathtest.State("hot")
	const n = 8000
	for i := range uint64(n) {
		hotpathtest.Launch(i+1, 1)
	}
	hotpathtest.State("")
	hotpathtest.Leave(inner)
	hotpathtest.Leave(outer)
	got, count := paths(), counted()
	taken, left := got["a.py:1@<module> > a.py:2@f > hot"], got["(path not taken) > outer > inner > hot"]
	if len(got) != 2 || taken+left != n {
		t.Fatalf("call paths %v of %d launches", got, n)
	}
	if count.Taken != uint64(taken) || count.LeftOut != uint64(left) || count.Paths.Calls != uint64(taken) {
		t.Errorf("%d taken, %d not: counted %+v", taken, left, count)
	}
	if taken < n/8-200 || taken > n/8+200 { // 30 is a deviation
		t.Errorf("%d of %d paths were taken, of one in 8", taken, n)
	}
	hotpath.ThinPaths(1)
	hotpathtest.Launch(n+1, 1)
	if got := paths(); got["a.py:1@<module> > a.py:2@f"] != 1 {
		t.Errorf("after thinning: %v", got)
	}
}

// What an op launches, and its metrics, stand at one place: the draw is of the op.
func TestAnOpHasOneDraw(t *testing.T) {
	begin(t, true)
	metered(t)
	hotpathtest.Python("a.py:1@<module>")
	hotpath.ThinPaths(2)
	hotpathtest.Op("seen", 7)
	hotpathtest.Int("bytes", 1)
	const n = 400
	for i := range uint64(n) {
		hotpathtest.Op("op", 0)
		hotpathtest.Int("bytes", 1)
		hotpathtest.Launch(2*i+1, 8)
		hotpathtest.Launch(2*i+2, 8)
		hotpathtest.OpExit()
	}
	launched := paths()
	metrics := map[string]int{}
	for _, s := range sums() {
		if s.Flags&hotpath.SlotPython != 0 && hotpath.Text(s.Name) == "bytes" {
			metrics[path(s.Node)] += int(s.Bits)
		}
	}
	for _, at := range []string{"a.py:1@<module> > op", "(path not taken) > op"} {
		if launched[at] == 0 || launched[at] != 2*metrics[at] {
			t.Errorf("%s: %d launches, and a metric of %d; all: %v, %v", at, launched[at], metrics[at], launched, metrics)
		}
	}
}

// A graph repeats the call paths of its capture at every replay: they are all taken.
func TestCapturesHaveAllPaths(t *testing.T) {
	begin(t, true)
	metered(t)
	hotpathtest.Python("a.py:1@<module>")
	hotpath.ThinPaths(1024)
	hotpathtest.Capture(+1)
	for i := range uint64(100) {
		hotpathtest.Launch(i+1, 1)
		hotpathtest.Launched()
	}
	hotpathtest.Capture(-1)
	if got := paths(); got["a.py:1@<module>"] != 100 {
		t.Errorf("%v", got)
	}
}

// The meter's estimate of a launch, from one in 16, next to the time of all: "read-ns/op" is less than the time of an operation, which
// includes the loop, the counts and the readings themselves.
func BenchmarkMeteredLaunch(b *testing.B) {
	if err := hotpath.Init(); err != nil {
		b.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	hotpath.SetActive(hotpath.Listeners{LaunchSet: 1, ScopeSet: 2, Shadow: true})
	defer hotpath.SetActive(hotpath.Listeners{})
	for _, on := range []bool{false, true} {
		b.Run(map[bool]string{false: "off", true: "on"}[on], func(b *testing.B) {
			var m *hotpath.Meter
			if on {
				m = hotpath.StartMeter()
				defer m.Stop()
			}
			before := hotpath.ReadMeter().Callbacks
			b.ResetTimer()
			for done := 0; done < b.N; done += 16_384 {
				hotpathtest.MeteredLaunches(uint32(done), uint32(min(16_384, b.N-done)))
				b.StopTimer()
				hotpath.Drain(func(uintptr, []hotpath.Record) {})
				b.StartTimer()
			}
			b.StopTimer()
			if on {
				b.ReportMetric(new(hotpath.Estimate).Nanos(m, hotpath.ReadMeter().Callbacks, before)/float64(b.N), "read-ns/op")
			}
		})
	}
}
