package aggregate

import (
	"math"
	"strings"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/internal/lookup"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/budget"
	"github.com/goproton/goproton/profiler/callpath"
)

// lastOrder sorts frames that have no place in time behind all others.
const lastOrder = math.MaxUint64

// launchOrder and metricOrder give an event's place in time from correlation ids, which count up through the
// process: a metric comes after the launch that its thread made last.
func launchOrder(corr uint64) uint64 { return corr << 1 }
func metricOrder(corr uint64) uint64 { return corr<<1 | 1 }

// TreeOptions say what a tree is for.
type TreeOptions struct {
	Session  int
	Phase    int
	Python   bool         // call paths are python frames instead of scopes
	Times    bool         // keep how long the kernels of a node ran, as a distribution
	Also     record.Kinds // what the session asked for in addition to kernels
	Inside   bool         // show scopes inside kernels
	Idle     bool         // sum how long GPUs had nothing to do
	Readings bool         // share out what is read of whole GPUs
	Timeline *Timeline    // where every activity is shown; nil: they are summed in the tree
}

// Tree is the growing call-path tree of one session's phase.
type Tree struct {
	TreeOptions

	sets   *Sets
	serial uint32 // a cleared phase starts over with a new tree, of another number
	root   *node
	index  []*node // by hotpath node id

	kinds    profile.Kinds // of the metrics on a timeline, as far as they are out of the slots
	idle     *idleTimes    // nil without TreeOptions.Idle
	readings *readings     // nil without TreeOptions.Readings
	shared   *shares       // samples of periods that are over; nil while there are none

	captures []*node         // between launches of graphs and what was captured
	replays  []insideReplays // scopes inside kernels of graphs whose place is not known yet
}

type node struct {
	name     string
	parent   *node
	children []*node
	byName   lookup.Index[string] // of children
	order    uint64               // place in time of the first event below, see launchOrder
	totals   []*total
	launches map[launchKey]*launchTotal
	metrics  []metric
	inside   *insideNode             // of a kernel with scopes, or of a scope
	samples  map[uint32]*nodeSamples // of instructions, by number of the function
	path     []string                // names from the root to here, once a timeline has asked
}

// total sums the activities of one node on one device.
type total struct {
	device       uint32
	kind         record.Kind
	count, nanos uint64
	bytes        uint64          // of copies and fills
	times        *profile.Sketch // nil when the session does not want distributions
	counted      *counterSums    // nil while no launch was measured
	lined        int64           // launches whose instructions were counted
	others       *budget.Sum     // what was not recorded, between windows; nil: nothing
}

func (t *total) add(k *record.Activity) {
	t.count++
	t.bytes += k.Bytes
	if !k.Timed() {
		return
	}
	nanos := k.Duration()
	t.nanos += nanos
	if t.times != nil {
		t.times.Add(nanos)
	}
}

// NewTree returns an empty tree that reads call paths for one session.
func (s *Sets) NewTree(o TreeOptions) *Tree {
	s.serials++
	t := &Tree{TreeOptions: o, sets: s, serial: s.serials, root: &node{name: "ROOT"}}
	if o.Idle {
		t.idle = newIdleTimes()
	}
	if o.Readings && o.Timeline == nil {
		t.readings = newReadings()
	}
	if o.Timeline != nil {
		o.Timeline.tree = t
		if o.Inside {
			o.Timeline.inside = newInsideLanes()
		}
		s.timelines = append(s.timelines, t)
	}
	return t
}

func (t *Tree) wants(k record.Kind) bool { return isKernel(k) || t.Also.Has(k) }

func (n *node) child(name string, order uint64) *node {
	c := n.lookup(name)
	if c == nil {
		c = &node{name: name, parent: n, order: order}
		n.children = append(n.children, c)
	}
	for a := c; a != nil && order < a.order; a = a.parent {
		a.order = order
	}
	return c
}

// metadataFrame is the state around work that is done only to compute a launch's metrics. With a kernel's
// name after it, it is two frames, as upstream writes them.
const metadataFrame = "__proton_launch_metadata"

func (n *node) frame(name string, order uint64) *node {
	for _, name := range frames(name) {
		n = n.child(name, order)
	}
	return n
}

// frames are those of a name in a call path.
func frames(name string) []string {
	if kernel, ok := strings.CutPrefix(name, metadataFrame+":"); ok {
		return []string{metadataFrame, kernel}
	}
	return []string{name}
}

func (n *node) lookup(name string) *node {
	if at := n.byName.Find(len(n.children), name, func(i int) string { return n.children[i].name }); at >= 0 {
		return n.children[at]
	}
	return nil
}

// on returns the node's sum for a kind of activity on a device. Routes keep the pointer, so it must never move.
func (n *node) on(device uint32, kind record.Kind, times bool) *total {
	for _, t := range n.totals {
		if t.device == device && t.kind == kind {
			return t
		}
	}
	t := &total{device: device, kind: kind}
	if times && kind != record.Sync {
		t.times = &profile.Sketch{}
	}
	n.totals = append(n.totals, t)
	return t
}

// names returns the node's call path, root and node included. It is shared.
func (n *node) names() []string {
	if n.path == nil {
		if n.parent != nil {
			n.path = append(n.path, n.parent.names()...)
		}
		n.path = append(n.path, n.name)
	}
	return n.path
}

// path returns the tree's node of a hotpath call path, leaving out scopes that the session did not see.
func (t *Tree) path(id uint32, order uint64) *node {
	if id == 0 {
		return t.root
	}
	if int(id) < len(t.index) && t.index[id] != nil {
		n := t.index[id]
		for a := n; a != nil && order < a.order; a = a.parent {
			a.order = order
		}
		return n
	}
	nodes := hotpath.Nodes()
	if int(id) >= len(nodes) {
		return t.root
	}
	if len(t.index) < len(nodes) {
		t.index = append(t.index, make([]*node, len(nodes)-len(t.index))...)
	}
	n := t.path(nodes[id].Parent, order)
	if t.sets.Sees(nodes[id].Set, t.Session) {
		n = n.frame(hotpath.Text(nodes[id].Name), order)
	}
	t.index[id] = n
	return n
}

func (t *Tree) at(p callpath.Place, order uint64) *node {
	if t.Python {
		return t.path(p.PyNode, order)
	}
	return t.path(p.Node, order)
}

// leaf returns the node that a kernel's time goes onto.
func (t *Tree) leaf(k cacheKey, order uint64) *node {
	n := t.at(k.launch, order)
	if !k.replayed {
		if k.launch.Op {
			return n
		}
		return n.child(frameOf(k.name, k.kind), order)
	}
	if k.captured == (callpath.Place{}) {
		return n.child(frameOf(k.name, k.kind), order)
	}
	n = t.graft(t.capturedAt(n, order), k.captured, order)
	if k.captured.Op {
		return n
	}
	return n.child(k.name, order)
}

// graft repeats a captured call path below the place of a graph launch.
func (t *Tree) graft(under *node, p callpath.Place, order uint64) *node {
	for _, name := range t.capturedPath(p) {
		under = under.child(name, order)
	}
	return under
}
