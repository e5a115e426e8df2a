package hotpath

// #include "meter.h"
import "C"

import (
	"math"
	"time"
)

// Reading is how often the profiler's code of one kind ran on the program's threads, and what was measured of it.
type Reading struct {
	Calls    uint64
	Readings uint64 // calls that were read
	Ticks    uint64 // the time of these readings
	Cut      uint64 // calls whose reading was interrupted: they are part of neither
}

// Metered is what the meter has counted since the process began.
type Metered struct {
	Callbacks Reading // of the vendor's library
	Hooks     Reading // in the program's language
	Paths     Reading // walks of Python's stack, which the two others do not include
	Observers Reading // hooks that are thinned out like call paths
	Taken     uint64  // launches whose Python call path was taken
	LeftOut   uint64  // launches whose Python call path was not taken
}

// Meter is a running measurement: see hotpath/meter.h.
type Meter struct {
	ticks uint64 // at its start
	began time.Time
	empty uint64 // ticks of a reading of nothing
}

const (
	interrupted = 100 * time.Microsecond // a longer reading means that the thread was interrupted
	firstLook   = 2 * time.Millisecond
)

// StartMeter begins to measure. It takes some milliseconds, to compare the cycle counter with the clock.
func StartMeter() *Meter {
	ticks, began := bothClocks()
	m := &Meter{ticks, began, uint64(C.hp_meter_empty())}
	time.Sleep(firstLook)
	C.hp_meter_run(1, C.uint64_t(float64(interrupted)/m.tick()))
	return m
}

// Stop ends it; all Python call paths are taken again.
func (m *Meter) Stop() { C.hp_meter_run(0, 0) }

// tick is how long one tick takes, in ns.
func (m *Meter) tick() float64 {
	ticks, now := bothClocks()
	return float64(now.Sub(m.began)) / float64(max(ticks-m.ticks, 1))
}

// bothClocks reads the cycle counter and the clock at one moment. On a busy machine a thread can be interrupted between the two for
// milliseconds, so the pair is read several times, and the pair that took the fewest cycles counts.
func bothClocks() (ticks uint64, now time.Time) {
	fewest := uint64(math.MaxUint64)
	for range 5 {
		before := uint64(C.hp_ticks_now())
		at := time.Now()
		if took := uint64(C.hp_ticks_now()) - before; took < fewest {
			fewest, ticks, now = took, before+took/2, at
		}
	}
	return ticks, now
}

// Estimate is how long the calls of one kind took. The mean of the readings stands for all calls: the readings between two looks at
// the meter, or the last readings if few came between the looks, as for a call that comes once in a second.
type Estimate struct {
	readings, ticks float64 // the last ones
	waiting         uint64  // calls before the first reading
}

// enough is how many readings make a mean.
const enough = 32

// Nanos estimates how long the calls between two looks at a meter took.
func (e *Estimate) Nanos(m *Meter, now, before Reading) float64 {
	n := float64(now.Readings - before.Readings)
	if keep := min(e.readings, max(enough-n, 0)); e.readings > 0 {
		e.ticks *= keep / e.readings
		e.readings = keep
	}
	e.readings += n
	e.ticks += max(float64(now.Ticks-before.Ticks)-n*float64(m.empty), 0)
	e.waiting += now.Calls - before.Calls
	if e.readings == 0 {
		if now.Cut > before.Cut {
			e.waiting = 0 // readings that are cut say nothing of calls, also not of those that waited for them
		}
		return 0
	}
	calls := e.waiting
	e.waiting = 0
	return e.ticks / e.readings * float64(calls) * m.tick()
}

// ReadMeter returns the counts of all threads.
func ReadMeter() Metered {
	s := C.hp_meter_sums()
	of := func(site int) Reading {
		return Reading{uint64(s.calls[site]), uint64(s.readings[site]), uint64(s.ticks[site]), uint64(s.cut[site])}
	}
	return Metered{of(C.HP_METER_CALLBACK), of(C.HP_METER_HOOK), of(C.HP_METER_PATH), of(C.HP_METER_OBSERVER), uint64(s.taken), uint64(s.left_out)}
}

// ThinPaths has the Python call path of one launch in so many taken, at random; every is a power of two, and 1 stands for all.
func ThinPaths(every int) { C.hp_paths_thin(C.uint32_t(every)) }
