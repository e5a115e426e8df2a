package profiler

import (
	"fmt"
	"slices"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/profiler/callpath"
)

// tensors are what the drainer keeps of metrics of graphs that are read at each replay.
type tensors struct {
	reader       ValueSource // nil where nodes cannot read tensors
	values       *callpath.Values
	taken        []takenValues // until the rings are read
	unread       []unread      // activities that wait for their values
	lost         uint64        // activities without values
	graphUnknown bool          // a problem has been noted that names a graph captured while no session was active
}

// takenValues are values of a device in the order in which they were stored.
type takenValues struct {
	device uint32
	values []record.Value
}

// unread is the activity of a node that reads a tensor, and came before its values, or before their clock was known.
type unread struct {
	k  record.Activity
	at callpath.Attribution
}

// beginValues readies the values of tensors, for the first session of a source. What graphs of earlier sessions stored is dropped.
func (d *drainer) beginValues() {
	if d.tensors.reader, _ = d.source.(ValueSource); d.tensors.reader != nil {
		d.tensors.reader.Values(func(uint32, []record.Value) {})
	}
}

// forgetValues forgets the tensor metrics of graphs that are destroyed.
func (d *drainer) forgetValues() {
	if d.tensors.values.Any() {
		d.tensors.values.Keep(d.resolver.Tensors())
	}
}

// takeValues takes what nodes of graphs have stored. Values of an activity in a buffer were stored before the buffer was full.
func (d *drainer) takeValues() {
	if d.tensors.reader == nil || !d.attached {
		return
	}
	d.tensors.reader.Values(func(device uint32, values []record.Value) {
		d.tensors.taken = append(d.tensors.taken, takenValues{device, slices.Clone(values)})
	})
}

// addValues adds them, once their metrics are known.
func (d *drainer) addValues() {
	for _, t := range d.tensors.taken {
		d.tensors.values.Add(t.device, t.values)
	}
	d.tensors.taken = nil
}

// metricNode takes the activity of a kernel that reads a tensor. It returns false if it is to be added like any other: that
// of a node which was captured before the session began.
func (d *drainer) metricNode(k *record.Activity, at *callpath.Attribution, known bool) bool {
	if known && !at.Graph {
		d.tensors.values.ActivityAlone(k)
		return true
	}
	if !known || at.Captured == nil || at.Captured.Tensor == nil {
		return false
	}
	if len(d.tensors.unread) > 0 || !d.read(k, at, false) {
		d.tensors.unread = append(d.tensors.unread, unread{*k, *at})
	}
	return true
}

// read adds the activity of a node with the values that it read. It returns false if they are not there, unless it is late: then
// they are lost.
func (d *drainer) read(k *record.Activity, at *callpath.Attribution, late bool) bool {
	tensor := at.Captured.Tensor
	bits, outcome := d.tensors.values.Take(k, tensor.Number, max(tensor.Length, 1))
	if outcome == callpath.TooEarly || outcome == callpath.Missing && !late {
		return false
	}
	if at.Read = bits; bits == nil && at.Launch.Set != 0 {
		d.tensors.lost++
	}
	d.onOurClock(k)
	d.agg.Add(k, at)
	return true
}

// mostUnread bounds the activities that wait, 200 bytes each.
const mostUnread = 1 << 16

// readWaiting adds the activities whose values were not there when they arrived. At a flush there is nothing more to wait for.
func (d *drainer) readWaiting(flush bool) {
	waiting := d.tensors.unread
	d.tensors.unread = nil
	if flush = flush || len(waiting) > mostUnread; flush {
		d.tensors.values.NoMoreAlone()
	}
	for i := range waiting {
		u := &waiting[i]
		if flush {
			d.tensors.values.Assume(&u.k, u.at.Captured.Tensor.Number)
		}
		if !d.read(&u.k, &u.at, true) {
			d.tensors.unread = append(d.tensors.unread, *u)
		}
	}
}

// unknownGraph notes the first graph of whose nodes nothing is known. Programs look for the first words, which are upstream's.
func (d *drainer) unknownGraph(k *record.Activity, at *callpath.Attribution) {
	if at.Captured != nil || !at.Graph || k.GraphNode == 0 || k.Kind != record.Kernel || d.tensors.graphUnknown || d.resolver.HasGraph(k.GraphID) {
		return
	}
	d.tensors.graphUnknown = true
	d.problem(fmt.Sprintf("Cannot find graph for graphExecId: %d. It was captured while no session was active, so its kernels stand directly below its launches; start profiling before the graph is created", k.GraphID))
}
