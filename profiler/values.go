package profiler

import (
	"github.com/goproton/goproton/profiler/callpath"
	"github.com/goproton/goproton/profiler/graphvalues"
	"github.com/goproton/goproton/profiler/record"
)

// unread is the activity of a node that reads a tensor, and came before the clock of its values was known.
type unread struct {
	k  record.Activity
	at callpath.Attribution
}

// beginValues readies the values of tensors, for the first session of a source. What graphs of earlier sessions stored is dropped.
func (d *drainer) beginValues() {
	if d.reader, _ = d.source.(ValueSource); d.reader != nil {
		d.reader.Values(func(uint32, []record.Value) {})
	}
}

// forgetValues forgets the tensor metrics of graphs that are destroyed.
func (d *drainer) forgetValues() {
	if d.values.Any() {
		d.values.Keep(d.resolver.Tensors())
	}
}

// readValues takes what nodes of graphs have stored. Values of an activity in a buffer were stored before the buffer was full.
func (d *drainer) readValues() {
	if d.reader != nil && d.attached {
		d.lostValues += d.reader.Values(d.values.Add)
	}
}

// metricNode takes the activity of a kernel that reads a tensor. It returns false if it is to be added like any other: that
// of a node which was captured before the session began.
func (d *drainer) metricNode(k *record.Activity, at *callpath.Attribution, known bool) bool {
	if known && !at.Graph {
		d.values.ActivityAlone(k)
		d.readWaiting(false)
		return true
	}
	if !known || at.Captured == nil || at.Captured.Tensor == nil {
		return false
	}
	if len(d.unread) > 0 || !d.read(k, at) {
		d.unread = append(d.unread, unread{*k, *at})
	}
	return true
}

// read adds the activity of a node with the values that it read; false if it is too early.
func (d *drainer) read(k *record.Activity, at *callpath.Attribution) bool {
	tensor := at.Captured.Tensor
	bits, outcome := d.values.Take(k, tensor.Number, max(tensor.Length, 1))
	if outcome == graphvalues.TooEarly {
		return false
	}
	if at.Read = bits; bits == nil && at.Launch.Set != 0 {
		d.lostValues++
	}
	d.agg.Add(k, at)
	return true
}

// readWaiting adds the activities that waited for a clock. At a flush there is nothing more to wait for.
func (d *drainer) readWaiting(flush bool) {
	waiting := d.unread
	d.unread = nil
	for i := range waiting {
		u := &waiting[i]
		if flush {
			d.values.Assume(&u.k, u.at.Captured.Tensor.Number)
		}
		if !d.read(&u.k, &u.at) {
			d.unread = append(d.unread, *u)
		}
	}
}
