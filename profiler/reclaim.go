package profiler

import (
	"github.com/goproton/goproton/internal/hotpath"
)

// reclaimAt is how many call paths there must be before unused ones are reclaimed: 16 k of them take
// half a megabyte.
const reclaimAt = 1 << 14

// reclaimer frees call paths, in one round of the drainer if all threads allow it. hotpath/reclaim.h says how and why.
type reclaimer struct {
	due     int  // how many call paths there may be until the next time
	waiting bool // for threads to leave what they were doing when the index was replaced
}

// reclaim frees call paths when there are many.
func (d *drainer) reclaim() {
	r := &d.paths
	if !r.waiting {
		if hotpath.NodesUsed() <= max(r.due, reclaimAt) || d.keepsCallPaths() {
			return
		}
		hotpath.UnindexNodes()
	}
	r.waiting = !d.freeCallPaths()
}

// keepsCallPaths reports whether something keeps the numbers of call paths for longer than a record is on its way:
// timelines, the recorder of a trace, or the sampler.
func (d *drainer) keepsCallPaths() bool {
	return d.agg.Sets.Timelines() || d.traceFolder != "" || d.sampler != nil
}

// freeCallPaths frees the call paths that no thread, no launch on its way, no graph and no slot uses. Trees know them by
// number for speed only, and forget the numbers. It returns false if it is too early.
func (d *drainer) freeCallPaths() bool {
	var nodes []hotpath.Node
	var live []bool
	mark := func(id uint32) {
		for id != 0 {
			if int(id) >= len(nodes) { // made meanwhile
				nodes = hotpath.Nodes()
				live = append(live, make([]bool, len(nodes)-len(live))...)
			}
			if int(id) >= len(nodes) || live[id] {
				return
			}
			live[id] = true
			id = nodes[id].Parent
		}
	}
	if !hotpath.HeldNodes(mark) {
		return false
	}
	d.drain() // after HeldNodes: what a thread recorded and no longer holds is in its ring
	d.resolver.Nodes(mark)
	hotpath.Slots(func(_ uint32, slots []hotpath.Slot) {
		for i := range slots {
			mark(slots[i].Node)
		}
	})
	d.agg.ForgetNumbers()
	hotpath.FreeNodes(func(id uint32) bool { return int(id) < len(live) && live[id] })
	d.paths.due = 2 * hotpath.NodesUsed()
	return true
}
