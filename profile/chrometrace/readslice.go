package chrometrace

import (
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
)

// take adds the event that was read to the timeline.
func (d *reader) take() {
	e := &d.e
	switch e.phase {
	case 'X':
		d.slice(d.lanes.at(e.pid, e.tid))
	case 'B':
		l := d.lanes.at(e.pid, e.tid)
		d.callPath()
		d.describe(l, d.b.Begin(l.Lane, &e.Event))
	case 'E':
		d.b.End(d.lanes.at(e.pid, e.tid).Lane, &e.Event)
	case 's', 'f', 't':
		if e.StartFault == lanes.NoFault {
			d.flow()
		}
	case 'M':
		d.metadata()
	case 'b', 'n', 'e', 'S', 'T', 'p', 'F':
		d.b.Async++
	case 'i', 'I':
		if e.Name == windowEnd {
			d.lanes.part++
		}
	case 'C':
		if e.counts {
			d.counters = append(d.counters, readCounter{pid: e.pid, name: e.Name, point: profile.Point{At: e.Start, Value: e.counted}})
		}
	}
}

func (d *reader) slice(l *readLane) {
	d.callPath()
	d.describe(l, d.b.Slice(l.Lane, &d.e.Event, d.e.duration))
}

// describe takes the facts of a lane from the arguments of work on it.
func (d *reader) describe(l *readLane, kind profile.SliceKind) {
	switch kind {
	case profile.KernelSlice, profile.CopySlice, profile.FillSlice, profile.GraphSlice:
		if d.e.sawLaneFact {
			l.describe(&d.e.lane)
		}
	}
}

// callPath corrects the name and the call path of a slice that upstream wrote.
func (d *reader) callPath() {
	e := &d.e
	if d.ours || e.Path == 0 {
		return
	}
	switch e.Category {
	case lanes.ScopeWithMetrics:
		e.Name = d.b.Paths.Name(e.Path) // upstream adds the metrics to the name
	case "scope", "kernel":
	default: // in traces of warps the path ends at the frame above the slice
		e.Path, _ = d.b.Paths.Child(e.Path, e.Name) // if the path is too long for another frame, it stays
	}
}

func (d *reader) metadata() {
	e := &d.e
	switch e.Name {
	case "process_name":
		d.lanes.named(e.pid, e.shownName)
	case "thread_name":
		l := d.lanes.at(e.pid, e.tid)
		l.Name = strings.TrimSpace(e.shownName)
		if d.ours {
			l.describe(&e.lane)
			l.Described, l.overlaps = true, e.overlaps
		}
	}
}
