package record

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// PercentOfNanos is the Factor of shares of the time, whose amounts are ns; those of bytes are bytes.
const PercentOfNanos = 100.0 / 1e9

// ReplayHasNoReadings is why a source reads nothing of whole GPUs.
const ReplayHasNoReadings = "energy and counters over time are not read: a recording is replayed, which has neither"

// CountersUseTheHardware is why a session cannot have both.
const CountersUseTheHardware = "counters of whole GPUs over time (pm) and of single launches (mode counters) need the same hardware: leave one of them out"

// EnergyGauges are the gauges of Readings.AddEnergy, where the clock of the GPU's processors is called so. Amounts of clocks are MHz times
// seconds, which nothing is shared out of.
func EnergyGauges(processors string) []Gauge {
	return []Gauge{
		{Metric: "energy (J)", Lane: "power (W)", Factor: 1},
		{Lane: processors + " clock (MHz)", Factor: 1},
		{Lane: "memory clock (MHz)", Factor: 1},
	}
}

// Readings are what a source has read of whole GPUs and the drainer has not taken, and what could not be read. The lock also guards the calls of the
// vendor's library: Add, AddEnergy and Problem are called with it held.
type Readings struct {
	sync.Mutex
	Losses func() []string // adds to Problems, with the lock held; may be nil

	list     []Reading
	problems []string

	stop, stopped chan struct{} // of Start's goroutine; nil: none runs
}

// Start calls read with the lock held, from a goroutine of its own, again and again after the pause that it returns.
func (r *Readings) Start(read func() (pause time.Duration)) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	r.stop, r.stopped = stop, stopped
	go func() {
		defer close(stopped)
		runtime.LockOSThread() // the vendor's library may keep state for each thread
		defer runtime.UnlockOSThread()
		for {
			r.Lock()
			pause := read()
			r.Unlock()
			select {
			case <-stop:
				return
			case <-time.After(pause):
			}
		}
	}()
}

// Started reports whether Start's goroutine runs.
func (r *Readings) Started() bool { return r.stop != nil }

// Stop ends that goroutine, and waits for its end.
func (r *Readings) Stop() {
	close(r.stop)
	<-r.stopped
	r.stop = nil
}

// Add adds a reading.
func (r *Readings) Add(one Reading) { r.list = append(r.list, one) }

// AddEnergy adds what a GPU took in an interval, in J, with its clocks at the end of it, in MHz.
func (r *Readings) AddEnergy(device uint32, gauges []Gauge, start, end uint64, joules float64, processors, memory uint32) {
	seconds := float64(end-start) / 1e9
	r.Add(Reading{Device: device, Gauges: gauges, Start: start, End: end, Amounts: []float64{joules, float64(processors) * seconds, float64(memory) * seconds}})
}

// Problem adds a sentence about what is not read, once.
func (r *Readings) Problem(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.problems, text) {
		r.problems = append(r.problems, text)
	}
}

// Take passes on the readings since the last call; none while the lock is held, since the vendor's library may take some ms.
func (r *Readings) Take(f func(*Reading)) {
	if !r.TryLock() {
		return
	}
	list := r.list
	r.list = nil
	r.Unlock()
	for i := range list {
		f(&list[i])
	}
}

// Problems are the sentences of Problem, and those of Losses.
func (r *Readings) Problems() []string {
	r.Lock()
	defer r.Unlock()
	problems := slices.Clone(r.problems)
	if r.Losses != nil {
		problems = append(problems, r.Losses()...)
	}
	return problems
}
