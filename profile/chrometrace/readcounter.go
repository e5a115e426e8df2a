package chrometrace

import (
	"cmp"
	"slices"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
)

// readCounter is a point of a counter, whose process is known at the end of the file.
type readCounter struct {
	pid     ident
	name    string
	point   profile.Point
	shifted bool // its time is since 1970
}

// endCounters shifts the points of a document, as Builder.EndDocument does slices.
func (d *reader) endCounters() {
	for i := len(d.counters) - 1; i >= 0 && !d.counters[i].shifted; i-- {
		c := &d.counters[i]
		c.point.At, c.shifted = lanes.Plus(c.point.At, d.base), true
	}
}

// finishCounters adds the counters to the timeline.
func (d *reader) finishCounters() {
	processes := map[ident]string{}
	for _, l := range d.lanes.order {
		processes[l.pid] = l.Process
	}
	slices.SortStableFunc(d.counters, func(a, b readCounter) int { return cmp.Compare(a.point.At, b.point.At) })
	for _, c := range d.counters {
		d.b.Profile.Timeline.Count(c.name, processes[c.pid], c.point)
	}
}
