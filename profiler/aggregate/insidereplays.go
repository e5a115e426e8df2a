package aggregate

import (
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/profiler/callpath"
)

// insideReplays are the scopes of a captured launch whose graph has been replayed, until it is known where. A replay's records do
// not say who launched its graph. The record of its kernel does, and comes later: the scopes go below the node that it has made.
type insideReplays struct {
	launch *inside.Launch // the captured one
	sum    *node          // of its kernel, outside of the tree
	asked  bool           // a freeze has left it out
}

// replayedKernel returns the node of a captured launch's kernel below the launch of its graph. There is none as long as no record of
// a replay has come; if the graph was launched in several places, it is the node of the captured call path.
func (t *Tree) replayedKernel(l *inside.Launch) *node {
	place := placeOf(l)
	path := t.capturedPath(place)
	if !place.Op {
		path = append(path, l.Kernel.Name)
	}
	var found *node
	for _, n := range t.captures {
		for _, name := range path {
			if n = n.lookup(name); n == nil {
				break
			}
		}
		switch {
		case n == nil:
		case found != nil:
			return t.kernelOf(l)
		default:
			found = n
		}
	}
	return found
}

// waiting returns the node that collects the scopes of a captured launch until its place is known.
func (t *Tree) waiting(l *inside.Launch) *node {
	for i := range t.replays {
		if w := t.replays[i].launch; w.Kernel == l.Kernel && placeOf(w) == placeOf(l) {
			return t.replays[i].sum
		}
	}
	kept := *l
	kept.Buffer = nil
	n := &node{name: l.Kernel.Name, order: launchOrder(l.Correlation)}
	t.replays = append(t.replays, insideReplays{launch: &kept, sum: n})
	return n
}

// placeReplays puts the scopes that wait where they belong: at the captured call path if no record of a kernel says where. Then the
// graph is timed as a whole, or the vendor's library reports no kernels. With patience, one without a record waits for the next time.
func (t *Tree) placeReplays(patience bool) {
	var left []insideReplays
	for _, r := range t.replays {
		at := t.replayedKernel(r.launch)
		if at == nil && patience && !r.asked {
			r.asked = true
			left = append(left, r)
			continue
		}
		if at == nil {
			at = t.kernelOf(r.launch)
		}
		at.takeInside(r.sum)
	}
	t.replays = left
}

// takeInside adds the scopes of another kernel's node.
func (n *node) takeInside(o *node) {
	if o.inside != nil {
		i := n.scopes(o.inside.scope)
		i.Merge(&o.inside.Inside)
		i.normalized += o.inside.normalized
		for n := range o.inside.devices {
			d := &o.inside.devices[n]
			i.on(d.device, d.amount).measure.Add(&d.measure)
		}
	}
	for _, c := range o.children {
		n.child(c.name, c.order).takeInside(c)
	}
}

func placeOf(l *inside.Launch) callpath.Place {
	return callpath.Place{Set: l.Set, Node: l.Node, PyNode: l.PyNode, Op: l.IsOp}
}

// capturedAt returns the node between the launch of a graph and what was captured.
func (t *Tree) capturedAt(launch *node, order uint64) *node {
	if launch.lookup(CapturedAtFrame) == nil {
		t.captures = append(t.captures, launch.child(CapturedAtFrame, order))
	}
	return launch.child(CapturedAtFrame, order)
}

// capturedPath returns the names of a captured call path, without scopes that the session did not see.
func (t *Tree) capturedPath(p callpath.Place) (names []string) {
	id := p.Node
	if t.Python {
		id = p.PyNode
	}
	var chain []uint32
	nodes := hotpath.Nodes()
	for ; id != 0 && int(id) < len(nodes); id = nodes[id].Parent {
		chain = append(chain, id)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		if n := nodes[chain[i]]; t.sets.Sees(n.Set, t.Session) {
			names = append(names, frames(hotpath.Text(n.Name))...)
		}
	}
	return names
}
