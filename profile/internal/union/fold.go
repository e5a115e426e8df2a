// Package union adds up parts of several profiles that name things by their place in a list of their own: the traced launches, and
// the samples of instructions. It also makes trees fit the limits of files, joining frames that are then equal; every writer of trees calls
// Fit first, so that every reader of ours accepts the files that we write. And it turns trees into call stacks with values and back, for the formats
// that know nothing else.
package union

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/goproton/goproton/profile"
)

// Excess is what a tree has beyond the limits of files.
type Excess struct {
	Frames  int // deeper than profile.MaxDepth
	Metrics int // of frames with more than profile.MaxMetrics
}

// ExcessOf counts what is too much of a tree.
func ExcessOf(root *profile.Node) (e Excess) {
	root.Walk(func(n *profile.Node, depth int) bool {
		if depth >= profile.MaxDepth {
			e.Frames++
		}
		if extra := len(n.Metrics) - profile.MaxMetrics; extra > 0 {
			e.Metrics += extra
		}
		return true
	})
	return e
}

// Fit returns a profile that fits, with a sentence in InfoIncomplete on what is missing. Frames that are too deep are added up in
// the last one above them, so sums over the tree stay what they were; of a frame with too many metrics the first ones are kept.
// p is returned as it is if it fits, and never changed. A profile without a tree is an error.
func Fit(p *profile.Profile) (*profile.Profile, error) {
	if p == nil || p.Root == nil {
		return nil, errors.New("encode profile: it has no root node; start a session before writing")
	}
	e := ExcessOf(p.Root)
	if e == (Excess{}) {
		return p, nil
	}
	out := *p
	out.Info = maps.Clone(p.Info)
	if out.Info == nil {
		out.Info = profile.Info{}
	}
	out.Root = folded(p.Root, p.Kinds)
	if e.Frames > 0 {
		note(out.Info, fmt.Sprintf("call paths end after %d frames: %d deeper ones are added up in the last one above them", profile.MaxDepth, e.Frames))
	}
	if e = ExcessOf(out.Root); e.Metrics > 0 { // the frames that were added up may have brought more
		out.Root.Walk(func(n *profile.Node, _ int) bool {
			n.Metrics = n.Metrics[:min(len(n.Metrics), profile.MaxMetrics)]
			return true
		})
		note(out.Info, fmt.Sprintf("frames have the first %d of their metrics: %d more are left out", profile.MaxMetrics, e.Metrics))
	}
	return &out, nil
}

// note adds a sentence on what is missing.
func note(info profile.Info, what string) {
	if before := info[profile.InfoIncomplete]; before != "" {
		what = before + "; " + what
	}
	info[profile.InfoIncomplete] = what
}

// folded copies a tree down to the last level and adds what is below to the nodes there.
func folded(root *profile.Node, kinds profile.Kinds) *profile.Node {
	var path []*profile.Node // copies, by depth
	root.Walk(func(n *profile.Node, depth int) bool {
		if depth >= profile.MaxDepth {
			add(path[profile.MaxDepth-1], n, kinds)
			return true
		}
		c := *n
		c.Children = nil
		if depth == profile.MaxDepth-1 && len(n.Children) > 0 {
			c.Metrics = append([]profile.Metric(nil), n.Metrics...)
			c.Times, c.Inside, c.Launches = n.Times.Clone(), profile.MergeInside(nil, n.Inside), launches(n)
		}
		path = append(path[:depth], &c)
		if depth > 0 {
			path[depth-1].Children = append(path[depth-1].Children, &c)
		}
		return true
	})
	return path[0]
}

// add adds what a node has at its own path. A property that is there stays.
func add(into, n *profile.Node, kinds profile.Kinds) {
	for _, m := range n.Metrics {
		have, known := into.Metric(m.Name)
		switch {
		case !known:
			into.Set(m.Name, m.Value)
		case kinds[m.Name] != profile.Property:
			into.Set(m.Name, profile.Sum(have, m.Value))
		}
	}
	if n.Times != nil {
		if into.Times == nil {
			into.Times = &profile.Sketch{}
		}
		into.Times.Merge(n.Times)
	}
	into.Inside = profile.MergeInside(into.Inside, n.Inside)
	into.Samples = JoinSamples(into.Samples, n.Samples)
	into.Launches = JoinLaunches(into.Launches, launches(n))
}

// launches are those of a node with distributions of their own, since Join adds to them.
func launches(n *profile.Node) []profile.LaunchTimes {
	list := slices.Clone(n.Launches)
	for i := range list {
		list[i].Times = list[i].Times.Clone()
	}
	return list
}
