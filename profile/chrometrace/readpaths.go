package chrometrace

import (
	"slices"

	"github.com/goproton/goproton/profile"
)

// pathTable keeps every call path once: a trace says the same ones again and again.
type pathTable struct {
	next  map[pathStep]int32
	nodes []pathNode // of the tree of paths; the first is above all roots
}

type pathStep struct {
	parent int32
	name   string
}

type pathNode struct {
	pathStep
	depth int32
	path  []string // made when it is first asked for
}

func newPathTable() pathTable {
	return pathTable{map[pathStep]int32{}, []pathNode{{}}}
}

// child finds or makes the path one frame longer.
func (t *pathTable) child(parent int32, name string) int32 {
	step := pathStep{parent, name}
	id, found := t.next[step]
	if !found {
		id = int32(len(t.nodes))
		t.nodes = append(t.nodes, pathNode{pathStep: step, depth: t.nodes[parent].depth + 1})
		t.next[step] = id
	}
	return id
}

// path returns the frames, the outermost first.
func (t *pathTable) path(id int32) []string {
	n := &t.nodes[id]
	if n.path == nil && n.depth > 0 {
		path := make([]string, 0, n.depth)
		for ; id != 0; id = t.nodes[id].parent {
			path = append(path, t.nodes[id].name)
		}
		slices.Reverse(path)
		n.path = path
	}
	return n.path
}

// callStack reads a call path.
func (d *reader) callStack() {
	if d.Peek() != '[' {
		d.Skip(0)
		return
	}
	at := d.Offset()
	id := int32(0)
	d.Expect('[', "")
	for more := d.Begin(']'); more; more = d.More(']') {
		if id = d.paths.child(id, d.text()); d.paths.nodes[id].depth > profile.MaxDepth {
			d.Fail(at, "a call path of more than %d frames", profile.MaxDepth)
		}
	}
	if d.Err == nil {
		d.e.path, d.e.pathID = d.paths.path(id), id
	}
}
