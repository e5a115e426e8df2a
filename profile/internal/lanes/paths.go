package lanes

import (
	"fmt"

	"github.com/goproton/goproton/profile"
)

// Paths keeps every call path of a file once, as a node of a tree of frames. Path 0 is the empty one.
type Paths struct {
	next map[step]int32
	tree []frame // the first is above all roots
	last []int32 // the path that was followed last, one node for each frame

	lookups int // frames that were looked up in next
}

type step struct {
	parent int32
	name   string
}

type frame struct {
	step
	depth    int32
	path     []string // nil until it is asked for; equal beginnings share their memory
	extended bool     // the memory behind path is in use by a longer path
}

func newPaths() Paths {
	return Paths{next: map[step]int32{}, tree: make([]frame, 1)}
}

// Same returns the path one frame longer than parent if the previous path in the file continues with the same frame. The
// paths of neighbouring events share most of their frames, and comparing a name is cheaper than looking it up.
func (p *Paths) Same(parent int32, name []byte) (path int32, same bool) {
	depth := int(p.tree[parent].depth)
	if depth >= len(p.last) {
		return 0, false
	}
	path = p.last[depth]
	return path, p.tree[path].parent == parent && p.tree[path].name == string(name)
}

// Child finds or makes the path that is one frame longer than another one.
func (p *Paths) Child(parent int32, name string) (int32, error) {
	depth := p.tree[parent].depth
	if depth >= profile.MaxDepth {
		return parent, fmt.Errorf("a call path of more than %d frames", profile.MaxDepth)
	}
	p.lookups++
	id, found := p.next[step{parent, name}]
	if !found {
		id = int32(len(p.tree))
		p.tree = append(p.tree, frame{step: step{parent, name}, depth: depth + 1})
		p.next[step{parent, name}] = id
	}
	if int(depth) <= len(p.last) {
		p.last = append(p.last[:depth], id)
	}
	return id, nil
}

// Of returns the frames of a path, the outermost first. A path shares its memory with one path that continues it, so that the
// paths of N nested scopes take the memory of N frames, not of N².
func (p *Paths) Of(id int32) []string {
	f := &p.tree[id]
	if f.path != nil || id == 0 {
		return f.path
	}
	above := &p.tree[f.parent]
	if above.path != nil && !above.extended {
		above.extended = true
		f.path = append(above.path, f.name)
		return f.path
	}
	path := make([]string, f.depth)
	for at := id; at != 0; at = p.tree[at].parent {
		n := &p.tree[at]
		path[n.depth-1] = n.name
		if n.path == nil {
			n.path, n.extended = path[:n.depth], at != id
		}
	}
	return path
}

// Name returns the last frame of a path; "" of the empty one.
func (p *Paths) Name(id int32) string { return p.tree[id].name }
