package chrometrace

import (
	"strconv"

	"github.com/goproton/goproton/profile"
)

// flowID names an arrow: a number, or a text.
type flowID struct {
	number uint64
	text   string
}

func (d *reader) flowID() flowID {
	if d.Peek() != '"' {
		return flowID{number: d.whole()}
	}
	text := d.Intern(d.Str("an id"))
	if n, err := strconv.ParseUint(text, 0, 64); err == nil { // also "0x1f", as Chrome writes them
		return flowID{number: n}
	}
	return flowID{text: text}
}

// flowTable holds each end of an arrow until the other end is read. Either end can come first.
type flowTable struct {
	starts, ends map[flowKey][]flowEnd
}

type flowKey struct {
	part int // of the file
	cat  string
	id   flowID
}

type flowEnd struct {
	lane int
	at   int64
}

func newFlowTable() flowTable {
	return flowTable{map[flowKey][]flowEnd{}, map[flowKey][]flowEnd{}}
}

// flow takes one end of an arrow. Upstream gives the arrows to all kernels of a launch the same id, so ends with one id are
// matched in file order.
func (d *reader) flow() {
	e := &d.e
	key := flowKey{d.lanes.part, e.Category, e.id}
	here := flowEnd{d.lanes.at(e.pid, e.tid).ID, e.Start}
	mine, others := d.flows.starts, d.flows.ends
	if e.phase != 's' {
		mine, others = others, mine
	}
	waiting := others[key]
	if len(waiting) == 0 {
		mine[key] = append(mine[key], here)
		return
	}
	from, to := here, waiting[0]
	if e.phase != 's' {
		from, to = to, from
	}
	if len(waiting) == 1 {
		delete(others, key)
	} else {
		others[key] = waiting[1:]
	}
	d.b.Flow(profile.Flow{ID: e.id.number, From: from.lane, To: to.lane, Start: from.at, End: to.at})
}
