package chrometrace

import (
	"fmt"
	"strconv"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
)

// laneTable gives every lane a thread id of the trace, unique in its process, and every process its id.
type laneTable struct {
	lanes     map[int]*writtenLane
	processes map[string]int
	described map[int]bool // processes with a lane; the others have counters only
	taken     map[threadID]bool
	threads   map[int]int // next thread of each process
}

type threadID struct{ pid, tid int }

// writtenLane is what the writer keeps of a lane.
type writtenLane struct {
	lane profile.Lane
	rows []laneRow // the first is the lane itself; the others have the slices that overlap
	nest lanes.Nest

	last    int64 // start of its last slice, and the row of that
	lastRow int
}

// laneRow is a thread of the trace: where its events belong, as text.
type laneRow struct {
	threadID
	place []byte // `,"pid":0,"tid":200007,"ts":`
}

func (id threadID) row() laneRow {
	return laneRow{id, fmt.Appendf(nil, `,"pid":%d,"tid":%d,"ts":`, id.pid, id.tid)}
}

func newLaneTable() laneTable {
	return laneTable{map[int]*writtenLane{}, map[string]int{}, map[int]bool{}, map[threadID]bool{}, map[int]int{}}
}

// add places a lane; newProcess says that it is the first one of its process.
func (t *laneTable) add(l profile.Lane) (w *writtenLane, newProcess bool, err error) {
	if t.lanes[l.ID] != nil {
		return nil, false, fmt.Errorf("lane %d (%s) is described twice", l.ID, l.Name)
	}
	pid := t.process(l.Process)
	known := t.described[pid]
	id := threadID{pid, t.preferred(pid, l)}
	for t.taken[id] {
		id.tid++
	}
	if l.Kind == profile.StreamLane && id.tid >= firstWarp || l.Kind == profile.GraphLane && id.tid >= firstStream || l.Kind == profile.ThreadLane && id.tid >= firstGraph {
		return nil, false, fmt.Errorf("lane %d (%s) is one too many: a trace has room for %d of a kind", l.ID, l.Name, bandWidth)
	}
	t.taken[id], t.described[pid] = true, true
	w = &writtenLane{lane: l, rows: []laneRow{id.row()}}
	t.lanes[l.ID] = w
	return w, !known, nil
}

// addRow gives a lane one more thread, from the end of the band, so that lanes keep the ids they would have. It does nothing where
// the band is full.
func (t *laneTable) addRow(w *writtenLane) bool {
	first := w.rows[0].threadID
	band := first.tid - first.tid%bandWidth
	id := threadID{first.pid, band + bandWidth - 1}
	if len(w.rows) > 1 {
		id.tid = w.rows[len(w.rows)-1].tid - 1
	}
	for t.taken[id] && id.tid > band {
		id.tid--
	}
	if t.taken[id] {
		return false
	}
	t.taken[id] = true
	w.rows = append(w.rows, id.row())
	return true
}

// process is the id of a process in the trace.
func (t *laneTable) process(name string) int {
	pid, known := t.processes[name]
	if !known {
		pid = len(t.processes)
		t.processes[name] = pid
	}
	return pid
}

// perDevice is the share of a band that starts at each GPU. Upstream's id of a lane is the band plus the stream's id,
// whatever the GPU, which is what ours is on GPU 0.
const perDevice = 1000

// preferred is the id a lane gets unless another has it: a second context's stream of the same id, say.
func (t *laneTable) preferred(pid int, l profile.Lane) int {
	switch l.Kind {
	case profile.ThreadLane:
		if t.threads[pid]++; pid > 0 { // Perfetto takes thread 0 of process 1 for its thread 1
			return firstThread + t.threads[pid]
		}
		return firstThread + t.threads[pid] - 1
	case profile.WarpLane:
		return firstWarp
	}
	tid := firstStream
	if l.Kind == profile.GraphLane {
		tid = firstGraph
	}
	if device, err := strconv.Atoi(l.Device); err == nil && device > 0 && device < bandWidth/perDevice {
		tid += perDevice * device
	}
	if l.Stream < perDevice {
		tid += int(l.Stream)
	}
	return tid
}

// laneName is what viewers show at the left.
func laneName(l *profile.Lane, tid int) string {
	switch {
	case l.Name != "":
		return l.Name
	case l.Kind == profile.ThreadLane:
		return fmt.Sprintf("CPU Thread %d", tid)
	case l.Kind == profile.GraphLane:
		return fmt.Sprintf("Graph: GPU %s Stream %d", l.Device, l.Stream)
	default:
		return fmt.Sprintf("GPU %s Stream %d", l.Device, l.Stream)
	}
}
