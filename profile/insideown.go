package profile

import (
	"maps"
	"slices"
)

// WarpCycles are cycles by the number of a warp in its block.
type WarpCycles map[uint32]uint64

// anyWarp stands for cycles of which it is not known whose they are.
const anyWarp = 1<<32 - 1

// Add adds other cycles.
func (c WarpCycles) Add(o WarpCycles) {
	for warp, cycles := range o {
		c[warp] += cycles
	}
}

// Sum adds up all warps.
func (c WarpCycles) Sum() (sum uint64) {
	for cycles := range maps.Values(c) {
		sum += cycles
	}
	return sum
}

// Around puts a scope around others. Own are the cycles that its warps were in none of the inner ones. Covered are those in which warps were
// in the scope or in an inner one: with specialised warps, only some are in the scope, and the others in scopes inside of it. Scopes that
// overlap each other cover what they have together, and nothing is left for the one around them.
func (s *InsideScope) Around(inner WarpCycles) (own uint64, covered WarpCycles) {
	if s == nil {
		return 0, inner
	}
	if len(s.ByWarp) == 0 {
		own = s.Cycles - min(inner.Sum(), s.Cycles)
		return own, WarpCycles{anyWarp: own + inner.Sum()}
	}
	covered = WarpCycles{}
	covered.Add(inner)
	delete(covered, anyWarp)
	for _, of := range s.ByWarp {
		own += of.Amount - min(inner[of.At], of.Amount)
		covered[of.At] = max(of.Amount, inner[of.At])
	}
	unknown := min(inner[anyWarp], own)
	if rest := inner[anyWarp] - unknown; rest > 0 {
		covered[anyWarp] = rest
	}
	return own - unknown, covered
}

// ownCycles is Around for a node and those below it.
func (n *Node) ownCycles() (own uint64, covered WarpCycles) {
	inner := WarpCycles{}
	for _, c := range n.Children {
		_, below := c.ownCycles()
		inner.Add(below)
	}
	if n.Inside == nil {
		return 0, inner
	}
	return n.Inside.Scope.Around(inner)
}

// OwnValue is a metric of a node. Of a scope inside of a kernel it is without that of the scopes inside of it, so that values add up along
// call paths.
func (n *Node) OwnValue(name string) (v Value, has bool) {
	if v, has = n.Metric(name); !n.hasInnerScopes() || !has {
		return v, has
	}
	own, _ := n.ownCycles()
	return n.cyclesAs(v, name, own), has
}

// WholeValue is a metric of a node. Of a scope inside of a kernel it is with that of other warps in the scopes inside of it, so that no scope
// has less than those inside of it.
func (n *Node) WholeValue(name string) (v Value, has bool) {
	if v, has = n.Metric(name); !n.hasInnerScopes() || !has {
		return v, has
	}
	_, covered := n.ownCycles()
	return n.cyclesAs(v, name, covered.Sum()), has
}

// cyclesAs is the metric for other cycles than those of the scope; metrics that are none of cycles stay.
func (n *Node) cyclesAs(v Value, name string, cycles uint64) Value {
	whole, _ := v.Float()
	switch {
	case cycles == n.Inside.Scope.Cycles:
	case name == CyclesMetric:
		return IntValue(int64(cycles))
	case name == NormalizedCyclesMetric:
		return FloatValue(whole * float64(cycles) / float64(max(n.Inside.Scope.Cycles, 1)))
	}
	return v
}

// WithOwnValues returns the node, or a copy that has OwnValue's metrics.
func (n *Node) WithOwnValues() *Node {
	if !n.hasInnerScopes() {
		return n
	}
	c := *n
	c.Metrics = slices.Clone(n.Metrics)
	for i := range c.Metrics {
		c.Metrics[i].Value, _ = n.OwnValue(c.Metrics[i].Name)
	}
	return &c
}

func (n *Node) hasInnerScopes() bool {
	return n.Inside != nil && n.Inside.Scope != nil && len(n.Children) > 0
}
