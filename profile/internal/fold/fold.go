// Package fold shortens call paths that are too deep for a file. Every writer of trees calls Deep first, so that each file
// that we write is one that every reader of ours accepts.
package fold

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/launchunion"
	"github.com/goproton/goproton/profile/internal/sampleunion"
)

// frames counts the frames that Deep would fold.
func frames(root *profile.Node) (deeper int) {
	root.Walk(func(_ *profile.Node, depth int) bool {
		if depth >= profile.MaxDepth {
			deeper++
		}
		return true
	})
	return deeper
}

// Deep returns a profile whose call paths have at most profile.MaxDepth frames. The frames that are deeper are added up in
// the last one above them, so sums over the tree stay what they were; InfoIncomplete says so. p is returned as it is if
// it is not too deep, and never changed.
func Deep(p *profile.Profile) *profile.Profile {
	if p == nil || p.Root == nil {
		return p
	}
	deeper := frames(p.Root)
	if deeper == 0 {
		return p
	}
	out := *p
	out.Root = folded(p.Root, p.Kinds)
	out.Info = maps.Clone(p.Info)
	if out.Info == nil {
		out.Info = profile.Info{}
	}
	what := fmt.Sprintf("call paths end after %d frames: %d deeper ones are added up in the last one above them", profile.MaxDepth, deeper)
	if before := out.Info[profile.InfoIncomplete]; before != "" {
		what = before + "; " + what
	}
	out.Info[profile.InfoIncomplete] = what
	return &out
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
			c.Times, c.Launches = n.Times.Clone(), launches(n)
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
	into.Samples = sampleunion.Join(into.Samples, n.Samples)
	into.Launches = launchunion.Join(into.Launches, launches(n))
}

// launches are those of a node with distributions of their own, since Join adds to them.
func launches(n *profile.Node) []profile.LaunchTimes {
	list := slices.Clone(n.Launches)
	for i := range list {
		list[i].Times = list[i].Times.Clone()
	}
	return list
}
