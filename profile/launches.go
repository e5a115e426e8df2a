package profile

import (
	"fmt"
	"math"
)

// LaunchKind is what the launches of one compiled kernel with the same arguments have in common. A trace that was
// recorded in the same run holds those arguments.
type LaunchKind struct {
	ID       string // of the arguments, 16 hexadecimal digits; "" for launches that found no number of their own, as of a kernel with thousands of kinds
	Kernel   string // the kernel's name, as compiled
	Hash     string // Triton's compile hash, 64 hexadecimal digits
	PID      int    // process that launched it
	Function uint64 // the CUfunction handle there
}

// LaunchKinds has one copy of each kind, for slices that share it.
type LaunchKinds struct {
	byKind map[LaunchKind]*LaunchKind
}

// Of is that copy.
func (k *LaunchKinds) Of(kind LaunchKind) *LaunchKind {
	known := k.byKind[kind]
	if known == nil {
		if k.byKind == nil {
			k.byKind = map[LaunchKind]*LaunchKind{}
		}
		known = &kind
		k.byKind[kind] = known
	}
	return known
}

// LaunchTimes sums the launches of one kind at one call path on one device. All of them are also in the node's metrics.
type LaunchTimes struct {
	Kind   int // position in Profile.Launches
	Device int // ordinal within the process
	Durations
}

// Durations sums how long launches ran.
type Durations struct {
	Count, Nanos uint64  // launches, and the time that they ran
	Least, Most  uint64  // the shortest and the longest, in ns; 0 if none could be timed
	Times        *Sketch // how long each ran; nil when it was not collected
}

// Check says what is wrong with sums that were not made by Add alone, such as those of a file.
func (d *Durations) Check() error {
	switch {
	case d.Least > d.Most:
		return fmt.Errorf("the shortest took %d ns and the longest %d", d.Least, d.Most)
	case d.Times != nil && d.Times.Count > d.Count:
		return fmt.Errorf("%d launches have %d times", d.Count, d.Times.Count)
	}
	return nil
}

// Add adds other launches. Where none of them was timed, their shortest and longest are 0, which is not a measurement: the
// bounds are those of the launches that were timed.
func (d *Durations) Add(o *Durations) {
	switch {
	case d.Most == 0:
		d.Least, d.Most = o.Least, o.Most
	case o.Most > 0:
		d.Least, d.Most = min(d.Least, o.Least), max(d.Most, o.Most)
	}
	d.Count, d.Nanos = plus(d.Count, o.Count), plus(d.Nanos, o.Nanos)
	d.Times = mergedSketch(d.Times, o.Times)
}

// plus adds two counts, of which those that were made of a file's metrics can be anything. A sum that 63 bits do not hold is the most that they do.
func plus(a, b uint64) uint64 {
	if a >= math.MaxInt64 || b >= math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// Average is the time of one launch in ns, 0 if there is none.
func (d *Durations) Average() float64 {
	if d.Count == 0 {
		return 0
	}
	return float64(d.Nanos) / float64(d.Count)
}
