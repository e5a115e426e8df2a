package aggregate

import (
	"maps"
	"sync/atomic"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/callpath"
)

// TakeSlots moves the metrics of launch sets that are over from the slots of the hot path to the trees, and so frees the
// slots for the phases to come.
func (a *Aggregator) TakeSlots() {
	if a.Windows != nil && a.Windows.Resting() {
		return // they wait until it is known for how long they stand
	}
	hotpath.TakeSlots(a.take)
}

// take adds slots of one launch set to its trees. A slot that belongs to no tree any more is forgotten with its phase.
func (a *Aggregator) take(slots []hotpath.Slot) {
	for i := range slots {
		s := &slots[i]
		for _, t := range a.Sets.trees(s.Set) {
			if t.reads(s) {
				t.add(callpath.Place{Node: s.Node, PyNode: s.Node}, metricOrder(s.Order), a.weighted(s.Set, metricOfSlot(s)))
			}
		}
	}
}

// Pending reports whether the hot path has slots of a tree.
func (t *Tree) Pending() (pending bool) {
	hotpath.Slots(func(set uint32, _ []hotpath.Slot) { pending = pending || t.sets.Has(set, t) })
	return pending
}

// reads reports whether a slot's call path is of the kind that the tree has.
func (t *Tree) reads(s *hotpath.Slot) bool { return (s.Flags&hotpath.SlotPython != 0) == t.Python }

func metricOfSlot(s *hotpath.Slot) callpath.OpMetric {
	return callpath.OpMetric{Name: s.Name, Double: s.Type == hotpath.SlotDouble, Bits: atomic.LoadUint64(&s.Bits)}
}

// slotMetrics reads what the slots of the hot path hold for this tree, by node.
func (t *Tree) slotMetrics(weighted func(set uint32, m callpath.OpMetric) callpath.OpMetric) map[*node][]metric {
	out := make(map[*node][]metric)
	hotpath.Slots(func(set uint32, slots []hotpath.Slot) {
		if !t.sets.Has(set, t) {
			return
		}
		for i := range slots {
			s := &slots[i]
			if atomic.LoadUint32(&s.Set) == 0 || !t.reads(s) {
				continue
			}
			n := t.path(s.Node, metricOrder(s.Order))
			name, kind := MetricName(hotpath.Text(s.Name))
			m := weighted(set, metricOfSlot(s))
			out[n] = append(out[n], metric{name: name, kind: kind, value: value(m.Double, m.Bits)})
		}
	})
	return out
}

// add adds a metric at a place. A timeline shows metrics where they happened; its tree keeps their kinds only.
func (t *Tree) add(p callpath.Place, order uint64, m callpath.OpMetric) {
	if t.Timeline == nil {
		t.at(p, order).add(m)
		return
	}
	name, kind := MetricName(hotpath.Text(m.Name))
	if t.kinds == nil {
		t.kinds = profile.Kinds{}
	}
	t.kinds[name] = kind
}

// Kinds returns the kinds of the metrics that the program has added so far.
func (t *Tree) Kinds() profile.Kinds {
	kinds := profile.Kinds{}
	maps.Copy(kinds, t.kinds)
	for _, list := range t.slotMetrics((&Aggregator{}).weighted) {
		for _, m := range list {
			kinds[m.name] = m.kind
		}
	}
	return kinds
}
