package tree

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// This file has what llnl-hatchet writes of its trees and others do not: several roots, its numbers of nodes, sums of metrics, and nodes that
// stand at several places of a tree.

// InclusiveMark ends the names of metrics that hatchet has summed over the subtree already.
const InclusiveMark = " (inc)"

// Statement is the name of a frame that has a file and perhaps a line instead.
func Statement(file string, line profile.Value) string {
	if file != "" && line.Type() == profile.Int {
		file += ":" + strconv.FormatInt(line.Int(), 10)
	}
	return file
}

// JoinRoots puts several roots below one, which names the metrics that they do, so that these count as inclusive.
func JoinRoots(roots []*profile.Node) *profile.Node {
	if len(roots) == 1 {
		return roots[0]
	}
	all := &profile.Node{Name: "ROOT", Children: roots}
	for _, r := range roots {
		for _, m := range r.Metrics {
			if _, number := m.Value.Float(); number && m.Name != nodeID && !strings.HasSuffix(m.Name, InclusiveMark) {
				all.Set(m.Name, profile.IntValue(0))
			}
		}
	}
	return all
}

// nodeID is hatchet's own numbering, which to_literal puts among the metrics.
const nodeID, noID = "_hatchet_nid", -1

// Untangle drops hatchet's numbering of nodes and undoes the sums that hatchet adds. "time (inc)" is dropped where the node also has
// "time", since readers add up themselves. Where "time (inc)" is alone, "time" is the part of it that the children do not account for.
func Untangle(root *profile.Node) {
	own, sums := map[string]bool{}, map[string]bool{}
	root.Walk(func(n *profile.Node, _ int) bool {
		for _, m := range n.Metrics {
			own[m.Name] = true
			if base, sum := strings.CutSuffix(m.Name, InclusiveMark); sum {
				sums[base] = true
			}
		}
		return true
	})
	if len(sums) == 0 && !own[nodeID] {
		return
	}
	// Parents come before children, so a parent still sees its children's sums.
	root.Walk(func(n *profile.Node, _ int) bool {
		kept := make([]profile.Metric, 0, len(n.Metrics))
		for _, m := range n.Metrics {
			base, sum := strings.CutSuffix(m.Name, InclusiveMark)
			_, number := m.Value.Float()
			switch {
			case m.Name == nodeID:
			case !sum || !number:
				kept = append(kept, m)
			case !own[base]:
				kept = append(kept, profile.Metric{Name: base, Value: minus(m, n.Children)})
			}
		}
		n.Metrics = kept
		return true
	})
	for _, base := range slices.Sorted(maps.Keys(sums)) {
		if !has(root, base) {
			root.Metrics = append(root.Metrics, profile.Metric{Name: base}) // a zero: it is inclusive
		}
	}
}

// IsTangled says whether a tree is llnl-hatchet's by its metrics: a number of hatchet's, or a metric of the root with the sum of it.
func (d *Decoder) IsTangled(root *profile.Node) bool {
	if d.seen[nodeID] != nil {
		return true
	}
	for i := range root.Metrics {
		if base, sum := strings.CutSuffix(root.Metrics[i].Name, InclusiveMark); sum && has(root, base) {
			return true
		}
	}
	return false
}

// DropRepeated takes the metrics from nodes that hatchet writes again, by their number: a node with several callers is in the tree once for
// each of them, and has its values each time. They count at the first. It returns how many it has found.
func DropRepeated(root *profile.Node) (n int) {
	seen := map[int64]bool{}
	root.Walk(func(node *profile.Node, _ int) bool {
		if id, numbered := node.Metric(nodeID); numbered && id.Int() != noID {
			if seen[id.Int()] {
				node.Metrics = nil
				n++
			}
			seen[id.Int()] = true
		}
		return true
	})
	return n
}

// NoteRepeated says that frames stand in the tree without their values.
func NoteRepeated(p *profile.Profile, frames int) {
	if frames > 0 {
		p.Note(figures.Plural(frames, "frame stands", "frames stand") + " again below a further caller, without values: these count below the first")
	}
}

func has(n *profile.Node, metric string) bool {
	_, found := n.Metric(metric)
	return found
}

// minus subtracts what the children have of a metric.
func minus(m profile.Metric, children []*profile.Node) profile.Value {
	whole := m.Value.Type() == profile.Int
	i := m.Value.Int()
	f, _ := m.Value.Float()
	for _, c := range children {
		v, _ := c.Metric(m.Name)
		g, number := v.Float()
		if !number || math.IsNaN(g) {
			continue
		}
		whole = whole && v.Type() == profile.Int
		i, f = i-v.Int(), f-g
	}
	if whole {
		return profile.IntValue(i)
	}
	return profile.FloatValue(f)
}
