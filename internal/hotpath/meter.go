package hotpath

// #include "meter.h"
import "C"

import "time"

// Reading is how often the profiler's code of one kind ran on the program's threads, and what was measured of it.
type Reading struct {
	Calls    uint64
	Readings uint64 // calls that were read
	Ticks    uint64 // that those took
	Cut      uint64 // calls that were read and whose thread was interrupted: they are in neither
}

// Metered is what the meter has counted since the process began.
type Metered struct {
	Callbacks Reading // of the vendor's library
	Hooks     Reading // in the program's language
	Paths     Reading // walks of Python's stack, which the two others do not include
	Taken     uint64  // launches whose Python call path was taken
	LeftOut   uint64  // launches whose Python call path was not taken
}

// Meter is a running measurement: see internal/hotpath/meter.h.
type Meter struct {
	ticks uint64 // at its start
	began time.Time
	empty uint64 // ticks of a reading of nothing
}

const (
	interrupted = 100 * time.Microsecond // a longer reading is one of a thread that was interrupted
	firstLook   = 2 * time.Millisecond
)

// StartMeter begins to measure. It takes some milliseconds, to compare the cycle counter with the clock.
func StartMeter() *Meter {
	m := &Meter{uint64(C.hp_ticks_now()), time.Now(), uint64(C.hp_meter_empty())}
	time.Sleep(firstLook)
	C.hp_meter_run(1, C.uint64_t(float64(interrupted)/m.tick()))
	return m
}

// Stop ends it; all Python call paths are taken again.
func (m *Meter) Stop() { C.hp_meter_run(0, 0) }

// tick is how long one tick takes, in ns.
func (m *Meter) tick() float64 {
	passed := uint64(C.hp_ticks_now()) - m.ticks
	return float64(time.Since(m.began)) / float64(max(passed, 1))
}

// Nanos estimates how long the calls between two looks at a meter took: the mean of those that were read, for all.
func (m *Meter) Nanos(now, before Reading) float64 {
	n := now.Readings - before.Readings
	if n == 0 {
		return 0
	}
	ticks := float64(now.Ticks-before.Ticks) - float64(n*m.empty)
	return max(ticks, 0) / float64(n) * float64(now.Calls-before.Calls) * m.tick()
}

// ReadMeter returns the counts of all threads.
func ReadMeter() Metered {
	s := C.hp_meter_sums()
	of := func(site int) Reading {
		return Reading{uint64(s.calls[site]), uint64(s.readings[site]), uint64(s.ticks[site]), uint64(s.cut[site])}
	}
	return Metered{of(C.HP_METER_CALLBACK), of(C.HP_METER_HOOK), of(C.HP_METER_PATH), uint64(s.taken), uint64(s.left_out)}
}

// ThinPaths has the Python call path of one launch in so many taken, at random; every is a power of two, and 1 stands for all.
func ThinPaths(every int) { C.hp_paths_thin(C.uint32_t(every)) }
