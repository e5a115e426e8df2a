package callpath

import (
	"cmp"
	"slices"

	"github.com/goproton/goproton/gpu/record"
)

// Values finds, for the activity of a graph node that has read a tensor, the values that it read. It holds what nodes have stored until
// the activity arrives. The drainer owns it.
//
// A node stores values with the time of the GPU's clock, and not with the launch of the graph: it cannot know it. So the values of
// an activity are those that were stored while it ran. That is right whatever else was replayed, recorded or lost: replays while
// no session was active store values too, and have no activity. The GPU's clock and that of activities differ by an amount that
// changes slowly (366 µs on an H200); one launch of the same kernel outside of graphs shows it, and every match corrects it.
type Values struct {
	queues map[uint32]*queue // by number of the tensor metric
	clocks map[uint32]*clock // by device
	held   int               // bytes of the readings in all queues
	limit  int               // of held
}

// queue holds the readings of one tensor metric in the order in which they were stored, which is that of their stamps.
type queue struct {
	device   uint32
	readings []reading
	next     int // index of the one after the last that was found
}

// reading is what a node has read at one replay.
type reading struct {
	stamp uint64
	first uint64
	more  []uint64 // elements of a vector but the first
}

// bytes is what a reading takes, with up to twice as much for its elements while it grows.
func (r *reading) bytes() int { return 40 + 8*len(r.more) }

func bytesOf(list []reading) (n int) {
	for i := range list {
		n += list[i].bytes()
	}
	return n
}

// maxHeld bounds the readings that wait for activities.
const maxHeld = 64 << 20

// NewValues returns an empty Values.
func NewValues() *Values {
	return &Values{queues: map[uint32]*queue{}, clocks: map[uint32]*clock{}, limit: maxHeld}
}

// Alone is the number in the values of a kernel that was launched outside of graphs.
const Alone = 0

// Add takes values of a device in the order in which they were stored.
func (v *Values) Add(device uint32, values []record.Value) {
	for i := range values {
		if values[i].Number == Alone {
			v.clock(device).stored(values[i].Stamp)
			continue
		}
		v.add(device, &values[i])
	}
	for v.held > v.limit {
		v.thinOut()
	}
}

func (v *Values) clock(device uint32) *clock {
	c := v.clocks[device]
	if c == nil {
		c = &clock{}
		v.clocks[device] = c
	}
	return c
}

// Expect has the values of a tensor metric kept from now on. Those of others are dropped: a graph of an earlier session still stores
// values when it is replayed.
func (v *Values) Expect(number uint32) {
	if q := v.queues[number]; q != nil {
		v.held -= bytesOf(q.readings)
	}
	v.queues[number] = &queue{}
}

// Keep forgets the tensor metrics that are not in the set: their graphs are destroyed.
func (v *Values) Keep(live map[uint32]bool) {
	for number, q := range v.queues {
		if !live[number] {
			v.held -= bytesOf(q.readings)
			delete(v.queues, number)
		}
	}
}

// Any reports whether there are tensor metrics.
func (v *Values) Any() bool { return len(v.queues) > 0 }

// add adds one element. Those of a reading come one after another.
func (v *Values) add(device uint32, value *record.Value) {
	q := v.queues[value.Number]
	if q == nil {
		return
	}
	q.device = device
	if value.Index == 0 {
		q.readings = append(q.readings, reading{stamp: value.Stamp, first: value.Bits})
		v.held += q.readings[len(q.readings)-1].bytes()
		return
	}
	if n := len(q.readings); n > 0 && int(value.Index) == 1+len(q.readings[n-1].more) {
		q.readings[n-1].more = append(q.readings[n-1].more, value.Bits)
		v.held += 8
	}
}

// thinOut drops the older half of the readings: replays without an activity, while no session was active, leave them.
func (v *Values) thinOut() {
	for _, q := range v.queues {
		n := (len(q.readings) + 1) / 2
		v.held -= bytesOf(q.readings[:n])
		q.readings = slices.Delete(q.readings, 0, n)
		q.next = max(q.next-n, 0)
	}
}

// ActivityAlone takes the activity of a kernel that was launched outside of graphs, in any order: each thread of the program has
// buffers of its own.
func (v *Values) ActivityAlone(k *record.Activity) {
	if k.Timed() {
		v.clock(k.Device).ran(k)
	}
}

// Outcome is what Take found.
type Outcome int

// Found: the values were there. TooEarly: the clock of that time is not known yet. Missing: they were overwritten, or never stored.
const (
	Found Outcome = iota
	TooEarly
	Missing
)

// Take finds the values of an activity, of which there are `elements`, and forgets them.
func (v *Values) Take(k *record.Activity, number uint32, elements int) (bits []uint64, outcome Outcome) {
	q := v.queues[number]
	if q == nil || len(q.readings) == 0 {
		return nil, Missing
	}
	c := v.clock(q.device)
	if k.Timed() && c.unsure(k) {
		return nil, TooEarly
	}
	at := 0 // without times the oldest is the likeliest
	if k.Timed() {
		e := c.expect(k)
		if at = q.find(&e); at < 0 {
			return nil, Missing
		}
		c.correct(k, q.readings[at].stamp)
	}
	r := q.remove(at)
	v.held -= r.bytes()
	if 1+len(r.more) != elements {
		return nil, Missing
	}
	return append([]uint64{r.first}, r.more...), Found
}

// find returns the index of the reading of an activity, -1 if there is none. Where a long pause leaves several in question it is
// the one after the last that was found.
func (q *queue) find(e *expected) int {
	tolerance := e.tolerance
	next := max(q.next, q.from(e.after))
	if next < len(q.readings) && e.off(q.readings[next].stamp) <= tolerance {
		return next
	}
	from := q.from(e.stamp)
	best := -1
	for at := max(from-1, 0); at <= from && at < len(q.readings); at++ {
		if off := e.off(q.readings[at].stamp); off <= tolerance {
			best, tolerance = at, off
		}
	}
	return best
}

// from is the index of the first reading from a stamp on.
func (q *queue) from(stamp uint64) int {
	i, _ := slices.BinarySearchFunc(q.readings, stamp, func(r reading, t uint64) int { return cmp.Compare(r.stamp, t) })
	return i
}

// remove removes a reading, nearly always the first: it moves those on the side where there are fewer.
func (q *queue) remove(at int) reading {
	r := q.readings[at]
	q.next = at
	if at > len(q.readings)/2 {
		q.readings = slices.Delete(q.readings, at, at+1)
		return r
	}
	copy(q.readings[1:at+1], q.readings[:at])
	q.readings[0] = reading{}
	q.readings = q.readings[1:] // append moves the rest to the front of a new array in time
	return r
}

// NoMoreAlone says that no activities of kernels outside of graphs are to come: those that have not arrived are lost.
func (v *Values) NoMoreAlone() {
	for _, c := range v.clocks {
		c.noMore()
	}
}

// Assume takes an activity for that of the oldest reading, if nothing has shown the clock of the device.
func (v *Values) Assume(k *record.Activity, number uint32) {
	q := v.queues[number]
	if q == nil || len(q.readings) == 0 || !k.Timed() {
		return
	}
	if c := v.clock(q.device); len(c.known) == 0 {
		c.learn(k, q.readings[0].stamp)
	}
}
