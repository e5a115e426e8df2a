package profile

import "fmt"

// LaunchKind is what the launches of one compiled kernel with the same arguments have in common. A trace that was
// recorded in the same run tells what those arguments were.
type LaunchKind struct {
	ID       string // of the arguments, 16 hexadecimal digits; "" for launches that found no number of their own
	Kernel   string // the kernel's name, as compiled
	Hash     string // Triton's compile hash, 64 hexadecimal digits
	PID      int    // process that launched it
	Function uint64 // the CUfunction handle there
}

// LaunchTimes sums the launches of one kind at one call path on one device. All of them are also in the node's metrics.
type LaunchTimes struct {
	Kind   int // position in Profile.Launches
	Device int // ordinal within the process

	Count, Nanos uint64  // launches, and the time that they ran
	Least, Most  uint64  // the shortest and the longest, in ns; 0 if none could be timed
	Times        *Sketch // how long each ran; nil when it was not collected
}

// Check says what is wrong with sums that were not made by Add alone, such as those of a file.
func (l *LaunchTimes) Check() error {
	switch {
	case l.Least > l.Most:
		return fmt.Errorf("the shortest took %d ns and the longest %d", l.Least, l.Most)
	case l.Times != nil && l.Times.Count > l.Count:
		return fmt.Errorf("%d launches have %d times", l.Count, l.Times.Count)
	}
	return nil
}

// Add adds launches of the same kind.
func (l *LaunchTimes) Add(o *LaunchTimes) {
	switch {
	case l.Most == 0:
		l.Least, l.Most = o.Least, o.Most
	case o.Most > 0:
		l.Least, l.Most = min(l.Least, o.Least), max(l.Most, o.Most)
	}
	l.Count += o.Count
	l.Nanos += o.Nanos
	if l.Times == nil {
		l.Times = o.Times.Clone()
	} else {
		l.Times.Merge(o.Times)
	}
}
