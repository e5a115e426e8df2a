package profiler

import (
	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
)

// decoder turns activities of the hot path's buffers into those that the rest of the profiler reads. It is the drainer's.
type decoder struct {
	names    []string        // by interned number; "" where it was not asked for yet
	activity record.Activity // one for all
}

// decode hands what is in a full buffer to f, which keeps no part of it.
func (d *decoder) decode(b hotpath.Buffer, f func(*record.Activity)) {
	b.Activities(func(list []hotpath.Activity) {
		for i := range list {
			a := &list[i]
			bytes, grid := a.Bytes, record.Grid(0)
			if record.Kind(a.Kind) == record.Kernel {
				bytes, grid = 0, record.Grid(bytes)
			}
			d.activity = record.Activity{
				Kind: record.Kind(a.Kind), Name: d.name(a.Name), Start: a.Start, End: a.End,
				Correlation: a.Correlation, Device: uint32(a.Device), Context: a.Context, Stream: a.Stream,
				GraphID: a.Graph, GraphNode: a.GraphNode, Bytes: bytes, Grid: grid,
			}
			if a.Numbered {
				d.activity.GraphNode, d.activity.Number = 0, a.GraphNode
			}
			f(&d.activity)
		}
	})
}

// name returns the text of an interned name, which costs a call into C the first time only.
func (d *decoder) name(id uint32) string {
	if id == 0 {
		return ""
	}
	if int(id) >= len(d.names) {
		d.names = append(d.names, make([]string, int(id)+1-len(d.names))...)
	}
	if d.names[id] == "" {
		d.names[id] = hotpath.Text(id)
	}
	return d.names[id]
}
