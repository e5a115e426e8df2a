package profiler

import (
	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/profiler/callpath"
)

// launchSets remembers which launch set was active from which correlation id on. An activity without a known launch belongs to
// the sessions that were active when it was launched: to none if it was launched before the first session, or while no session
// was active. The vendor's library may report such an activity much later, for example that of a kernel that was queued when
// the former session ended.
type launchSets struct {
	changes []setChange // oldest first
	before  uint32      // the set that was active before the first change
	newest  uint32      // the last set that was not empty
}

// setChange says which set is active from some moment on.
type setChange struct {
	after uint64 // the first id of the set comes after this one
	at    uint64 // the time, in ns since 1970, for activities without an id
	any   bool   // the moment is not known: all later activities are of the set
	set   uint32
}

const (
	// A program that records in short windows makes a thousand changes in a second, and the vendor's library hands over some
	// activities seconds later. So many changes take 2 MiB.
	setsKept = 1 << 16
	// Ids of 32 bits start over. A change is forgotten long before ids that are newer than it seem to be older.
	setExpires = 1 << 30
)

// change notes that a set is active for launches after the id mark. mark 0: the id is not known. The first change then takes
// the newest id of former sessions for it; after later changes, every activity belongs to the newest set that is not empty.
func (l *launchSets) change(mark, former, now uint64, set uint32) {
	c := setChange{after: mark, at: now, set: set}
	switch {
	case mark == 0 && set == 0:
		return
	case mark == 0 && len(l.changes) == 0:
		c = setChange{after: former, any: former == 0, set: set}
	case mark == 0:
		c = setChange{any: true, set: set}
	}
	if l.changes = append(l.changes, c); len(l.changes) > setsKept {
		l.forget(setsKept / 2)
	}
	if set != 0 {
		l.newest = set
	}
}

func (l *launchSets) forget(n int) {
	l.before = l.changes[n-1].set
	l.changes = append(l.changes[:0], l.changes[n:]...)
}

// of returns the set of an activity whose launch is not known.
func (l *launchSets) of(k *record.Activity) uint32 {
	for i := len(l.changes) - 1; i >= 0; i-- {
		if c := &l.changes[i]; c.any || c.precedes(k) {
			return c.set
		}
	}
	return l.before
}

func (c *setChange) precedes(k *record.Activity) bool {
	if k.Correlation == 0 {
		return !k.Timed() || k.Start >= c.at
	}
	return callpath.Later(k.Correlation, c.after)
}

// expire forgets changes that are far behind the newest id.
func (l *launchSets) expire(newest uint64) {
	n := 0
	for n < len(l.changes) && newest != 0 && uint32(newest)-uint32(l.changes[n].after) > setExpires && callpath.Later(newest, l.changes[n].after) {
		n++
	}
	if n > 0 {
		l.forget(n)
	}
}
