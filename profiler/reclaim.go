package profiler

import "github.com/goproton/goproton/hotpath"

// Call paths and names are reclaimed when there are many of either, or of bytes of text: 16 k call paths take half a megabyte.
const (
	reclaimAt      = 1 << 14
	reclaimNamesAt = 2 * reclaimAt
	reclaimTextAt  = 4 << 20
)

// reclaimer frees call paths and names that nothing uses. hotpath/reclaim.h says how and why. The drainer calls reclaim in each
// round:
//
//   - idle: nothing happens until due finds too many call paths, names or bytes of text;
//   - waiting: the indexes were replaced, and each round asks again whether all threads have left what they were doing;
//   - freed: everything old that is not in use is given out again, left holds the rest, and the state is idle.
type reclaimer struct {
	old     spaces // in use when the indexes were last replaced
	left    spaces // the part of old that the last reclaiming could not free
	waiting bool   // until all threads have left the section that they were in when the indexes were replaced
}

// spaces are numbers of call paths, of names, and of bytes of text.
type spaces [3]int

func inUse() spaces {
	names := hotpath.NamesUsed()
	return spaces{hotpath.NodesUsed(), names.Names, names.Text}
}

// due reports whether more than twice as much of something is in use as was left, or half of the room that was free then is
// gone.
func (r *reclaimer) due() bool {
	room := hotpath.NamesRoom()
	used, least, all := inUse(), spaces{reclaimAt, reclaimNamesAt, reclaimTextAt}, spaces{hotpath.NodesRoom, room.Names, room.Text}
	for i, left := range r.left {
		if used[i] > min(max(least[i], 2*left), (left+all[i])/2) {
			return true
		}
	}
	return false
}

func (r *reclaimer) unindex() {
	r.old, r.waiting = inUse(), true
	hotpath.UnindexNodes()
}

// reclaim frees call paths and names when there are many.
func (d *drainer) reclaim() {
	if !d.paths.waiting {
		if !d.paths.due() || d.keepsCallPaths() {
			return
		}
		d.paths.unindex()
	}
	d.paths.waiting = !d.freeCallPaths()
}

// keepsCallPaths reports whether something keeps the numbers of call paths for longer than a record is on its way:
// timelines, the recorder of a trace, the sampler, or the launches of kernels with scopes.
func (d *drainer) keepsCallPaths() bool {
	return d.inside.mode != nil || d.agg.Sets.Timelines() || d.traceFolder != "" || d.sampler != nil
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
	d.counting.nodes(mark)
	for i := range d.tensors.unread {
		d.tensors.unread[i].at.Nodes(mark)
	}
	hotpath.Slots(func(_ uint32, slots []hotpath.Slot) {
		for i := range slots {
			mark(slots[i].Node)
		}
	})
	d.agg.ForgetNumbers()
	freed, names := hotpath.FreeNodes(func(id uint32) bool { return int(id) < len(live) && live[id] })
	for i, n := range (spaces{freed, names.Names, names.Text}) {
		d.paths.left[i] = d.paths.old[i] - n
	}
	return true
}
