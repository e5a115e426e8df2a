package fleet

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// paths are the call paths of all profiles, as a tree, so that what a path takes does not grow with its depth. Path 0 is the root's.
type paths struct {
	frames []pathFrame
	ids    map[pathKey]int32
}

type pathKey struct {
	parent int32
	name   string
}

type pathFrame struct {
	pathKey
	sum     float64 // of the metric
	counted bool    // it has one
}

func newPaths() paths { return paths{frames: make([]pathFrame, 1), ids: map[pathKey]int32{}} }

// child finds or makes the path that is one frame longer.
func (p *paths) child(parent int32, name string) int32 {
	id, known := p.ids[pathKey{parent, name}]
	if !known {
		key := pathKey{parent, strings.Clone(name)} // a profile is not kept
		id = int32(len(p.frames))
		p.frames = append(p.frames, pathFrame{pathKey: key})
		p.ids[key] = id
	}
	return id
}

// of is a path as names, the outermost first.
func (p *paths) of(id int32) []string {
	list := []string{}
	for ; id != 0; id = p.frames[id].parent {
		list = append(list, p.frames[id].name)
	}
	slices.Reverse(list)
	return list
}

// counted are the paths that have the metric, in the order in which their lists of names sort.
func (p *paths) counted() (ids []int32) {
	children := make([][]int32, len(p.frames))
	for id := 1; id < len(p.frames); id++ {
		parent := p.frames[id].parent
		children[parent] = append(children[parent], int32(id))
	}
	for open := []int32{0}; len(open) > 0; {
		id := open[len(open)-1]
		open = open[:len(open)-1]
		if p.frames[id].counted {
			ids = append(ids, id)
		}
		below := children[id]
		slices.SortFunc(below, func(a, b int32) int { return cmp.Compare(p.frames[b].name, p.frames[a].name) })
		open = append(open, below...)
	}
	return ids
}

// check returns an error if the paths of some frames take too much where each is written out.
func (p *paths) check(frames []Frame) error {
	const indented = 12 // bytes of a line with a name
	sizes := profile.PathSizes{What: "--json", Instead: "show fewer frames (--top), or leave some out (--exclude)", Frame: indented, Names: true}
	all, depths := make([]uint64, len(p.frames)), make([]int, len(p.frames))
	for id := 1; id < len(p.frames); id++ { // parents come first
		f := &p.frames[id]
		all[id], depths[id] = all[f.parent]+sizes.Of(f.name), depths[f.parent]+1
	}
	for _, f := range frames {
		sizes.AddPath(p.frames[f.path].name, depths[f.path], all[f.path])
	}
	return sizes.Err()
}
