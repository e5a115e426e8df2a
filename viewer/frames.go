package viewer

import (
	"slices"

	"github.com/goproton/goproton/profile"
)

// frame is one node of the profile, and where its values go.
type frame struct {
	node   *profile.Node
	work   *profile.Node // where its flops and bytes are recorded, if that is another one; nothing if they were lent to a kernel
	did    *profile.Node // its flops and bytes with those that hardware counters measured, if there are any
	said   float64       // bytes that were declared, where others were measured; else 0
	parent int32         // -1 for the root
	row    int32         // that it belongs to; -1 when it is left out
	counts bool          // its amounts count for the row; otherwise it is there for what is below it
	worked bool          // its work is known, in the roofline if there is one
	device int32         // in the roofline, if there is one; -1 for none
	itself bool          // the row is this frame's, not that of a caller it was folded into
}

// collect lists the nodes below root, parents first, without metadata frames and without frames that have nothing
// recorded at or below them. The root always stays.
func collect(root *profile.Node) []frame {
	var all []frame
	type step struct {
		node   *profile.Node
		parent int32
	}
	for pending := []step{{root, -1}}; len(pending) > 0; {
		s := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		at := int32(len(all))
		if len(all) == cap(all) {
			all = slices.Grow(all, len(all)+64) // append would grow a large list by a quarter at a time and leave four times its size behind
		}
		all = append(all, frame{node: s.node, parent: s.parent})
		for i := len(s.node.Children) - 1; i >= 0; i-- {
			if c := s.node.Children[i]; !profile.IsLaunchMetadata(c.Name) {
				pending = append(pending, step{c, at})
			}
		}
	}
	return withoutEmpty(all)
}

// withoutEmpty drops frames with nothing recorded at or below them.
func withoutEmpty(all []frame) []frame {
	used := make([]bool, len(all))
	used[0] = true
	for i := len(all) - 1; i > 0; i-- {
		n := all[i].node
		if used[i] = used[i] || len(n.Metrics) > 0 || n.Times != nil; used[i] {
			used[all[i].parent] = true
		}
	}
	moved := make([]int32, len(all))
	kept := all[:0]
	for i := range all {
		if used[i] {
			moved[i] = int32(len(kept))
			f := all[i]
			if f.parent >= 0 {
				f.parent = moved[f.parent]
			}
			kept = append(kept, f)
		}
	}
	return kept
}
