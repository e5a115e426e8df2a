package aggregate

import (
	"cmp"
	"maps"
	"slices"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/profile"
)

// idleTimes finds, in a tree, how long each GPU had nothing to do before the work of each node. Records come about in order of
// completion, so that the newest wait here until it is unlikely that older work comes.
type idleTimes struct {
	devices map[uint32]*deviceTimes
	sums    map[*node]idleSum
}

// idleSum is the time of a GPU that belongs to a node. Over all nodes, busy and idle add up to the time from the first work to the
// last end.
type idleSum struct {
	idle uint64 // ns that the GPU had nothing to do before work of the node
	busy uint64 // ns that it worked on the node, and on nothing that began earlier
	gaps uint64
}

type deviceTimes struct {
	pending spells
	until   uint64 // the latest end of work that is no longer pending; 0 before the first
}

// spell is the time of one piece of work.
type spell struct {
	start, end uint64
	node       *node
}

// maxPending is how many records wait for older ones: several buffers of the vendor's library.
const maxPending = 1 << 16

func newIdleTimes() *idleTimes {
	return &idleTimes{devices: map[uint32]*deviceTimes{}, sums: map[*node]idleSum{}}
}

// add takes a piece of work. Waits of the program are not work of a GPU.
func (t *idleTimes) add(k *record.Activity, n *node) {
	if k.Kind == record.Sync || !k.Timed() {
		return
	}
	d := t.devices[k.Device]
	if d == nil {
		d = &deviceTimes{}
		t.devices[k.Device] = d
	}
	d.pending.add(spell{k.Start, k.Start + k.Duration(), n})
	if len(d.pending) > maxPending {
		d.until = account(t.sums, d.pending.next(), d.until)
	}
}

// account adds the next work, in order of start, and returns the new latest end.
func account(sums map[*node]idleSum, s spell, until uint64) uint64 {
	sum := sums[s.node]
	if until > 0 && s.start > until {
		sum.idle += s.start - until
		sum.gaps++
	}
	if s.end > until {
		sum.busy += s.end - max(until, s.start)
		until = s.end
	}
	sums[s.node] = sum
	return until
}

// frozen are the sums with all pending work, which stays pending.
func (t *idleTimes) frozen() map[*node]idleSum {
	sums := maps.Clone(t.sums)
	for _, d := range t.devices {
		until := d.until
		for _, s := range d.pending.sorted() {
			until = account(sums, s, until)
		}
	}
	return sums
}

// idle writes a node's part.
func (f *freezer) idle(out *profile.Node, n *node) {
	s, found := f.idleSums[n]
	if !found {
		return
	}
	f.set(out, profile.BusyMetric, profile.IntValue(int64(s.busy)), profile.Inclusive)
	f.set(out, profile.IdleMetric, profile.IntValue(int64(s.idle)), profile.Inclusive)
	f.set(out, profile.IdleGapsMetric, profile.IntValue(int64(s.gaps)), profile.Inclusive)
}

// spells are pending work, a heap with the earliest start first: what is in order costs next to nothing, and what comes late not much more.
type spells []spell

func (s spell) compare(o spell) int {
	return cmp.Or(cmp.Compare(s.start, o.start), cmp.Compare(o.end, s.end))
}

func (s *spells) add(one spell) {
	*s = append(*s, one)
	list := *s
	for at := len(list) - 1; at > 0 && list[at].compare(list[(at-1)/2]) < 0; at = (at - 1) / 2 {
		list[at], list[(at-1)/2] = list[(at-1)/2], list[at]
	}
}

// next takes the first spell off.
func (s *spells) next() spell {
	list, last := *s, len(*s)-1
	list[0], list[last] = list[last], list[0]
	for at, below := 0, 1; below < last; at, below = below, 2*below+1 {
		if below+1 < last && list[below+1].compare(list[below]) < 0 {
			below++
		}
		if list[at].compare(list[below]) <= 0 {
			break
		}
		list[at], list[below] = list[below], list[at]
	}
	*s = list[:last]
	return list[last]
}

func (s spells) sorted() []spell { return slices.SortedFunc(slices.Values(s), spell.compare) }
