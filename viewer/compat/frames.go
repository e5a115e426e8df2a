package compat

import (
	"github.com/goproton/goproton/profile"
)

// prune returns a copy of the tree without metadata frames, without frames that have neither metrics nor
// children, and without frames that lost all of their children to that. The root always stays.
func prune(root *profile.Node) *profile.Node {
	if kept := pruneNode(root); kept != nil {
		return kept
	}
	return &profile.Node{Name: root.Name, Metrics: root.Metrics}
}

func pruneNode(n *profile.Node) *profile.Node {
	if profile.IsLaunchMetadata(n.Name) || len(n.Metrics) == 0 && len(n.Children) == 0 {
		return nil
	}
	kept := &profile.Node{Name: n.Name, Metrics: n.Metrics}
	for _, c := range n.Children {
		if c = pruneNode(c); c != nil {
			kept.Children = append(kept.Children, c)
		}
	}
	if len(kept.Children) == 0 && len(n.Children) > 0 {
		return nil
	}
	return kept
}
