package profiler

import (
	"testing"

	"github.com/goproton/goproton/gpu/record"
)

func TestLaunchSets(t *testing.T) {
	type want struct {
		id, start uint64
		set       uint32
	}
	of := func(l *launchSets, w []want) {
		t.Helper()
		for _, w := range w {
			k := &record.Activity{Correlation: w.id, Start: w.start, End: w.start + min(w.start, 1)}
			if got := l.of(k); got != w.set {
				t.Errorf("id %d at %d: set %d, want %d", w.id, w.start, got, w.set)
			}
		}
	}
	var l launchSets
	of(&l, []want{{5, 1, 0}})
	l.change(100, 0, 1000, 7)
	l.change(200, 0, 2000, 0)
	l.change(300, 0, 3000, 8)
	of(&l, []want{{99, 5000, 0}, {100, 5000, 0}, {101, 5000, 7}, {200, 5000, 7}, {201, 5000, 0}, {301, 5000, 8}, {1 << 31, 5000, 8}})
	of(&l, []want{{0, 999, 0}, {0, 1500, 7}, {0, 2500, 0}, {0, 3500, 8}, {0, 0, 8}}) // no id: by the time
	if l.newest != 8 {
		t.Errorf("the newest set is %d, want 8", l.newest)
	}

	l = launchSets{}
	l.change(0, 50, 1000, 7) // a source without marks: what is known stands for one
	l.change(0, 50, 2000, 0) // nothing is known of the end, and no kernel may be missing
	of(&l, []want{{50, 5000, 0}, {51, 5000, 7}})
	l.change(0, 50, 3000, 8)
	of(&l, []want{{50, 5000, 8}, {51, 5000, 8}})
	l = launchSets{}
	l.change(0, 0, 1000, 7) // nothing is known, as in a replay
	of(&l, []want{{1, 5, 7}, {1<<32 - 1, 5, 7}})

	l = launchSets{} // ids of 32 bits start over
	l.change(1<<32-10, 0, 1000, 7)
	of(&l, []want{{1<<32 - 11, 5000, 0}, {1<<32 - 9, 5000, 7}, {3, 5000, 7}})
	l.expire(20)
	of(&l, []want{{1<<32 - 11, 5000, 0}})
	l.expire(1<<30 + 20)
	of(&l, []want{{1 << 31, 5000, 7}, {1<<32 - 11, 5000, 7}})

	l = launchSets{}
	for n := range uint64(1000) { // windows with pauses between them, of which nothing was handed over meanwhile
		l.change(20*n+10, 0, 0, 7)
		l.change(20*n+20, 0, 0, 0)
	}
	of(&l, []want{{20, 0, 7}, {21, 0, 0}, {31, 0, 7}, {41, 0, 0}, {10000, 0, 7}, {10001, 0, 0}})

	l = launchSets{}
	for n := range uint64(setsKept + 1) {
		l.change(10*n+10, 0, 0, uint32(n)+1)
	}
	of(&l, []want{{10 * setsKept, 0, setsKept - 1}, {10*setsKept + 1, 0, setsKept}, {5, 0, setsKept / 2}})
	if len(l.changes) > setsKept {
		t.Errorf("%d changes are kept, at most %d", len(l.changes), setsKept)
	}
}
