package aggregate

import (
	"math"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profiler/callpath"
)

// replayed adds the metrics that a graph node has at each replay: those of its op, those of scopes around it, and the values of
// the tensor that it reads. A timeline shows the first and the last on the node's slice.
func (a *Aggregator) replayed(at *callpath.Attribution, key cacheKey) {
	c := at.Captured
	if len(c.Metrics) == 0 && len(c.Scoped) == 0 && c.Tensor == nil {
		return
	}
	order := launchOrder(at.Order)
	for _, t := range a.Sets.trees(at.Launch.Set) {
		if t.Timeline != nil {
			continue
		}
		for _, m := range c.Metrics {
			t.leaf(key, order).add(m)
		}
		for i := range c.Scoped {
			if n := t.replayedAt(at, c.Scoped[i].Place); n != nil {
				n.add(c.Scoped[i].OpMetric)
			}
		}
		if c.Tensor != nil && at.Read != nil {
			if n := t.replayedAt(at, c.Tensor.Place); n != nil {
				n.addRead(c.Tensor, at.Read)
			}
		}
	}
}

// replayedAt is the node of a captured call path below the launch of its graph; nil in a session that did not see the scope or op
// of the call path, because it was not active during the capture.
func (t *Tree) replayedAt(at *callpath.Attribution, p callpath.Place) *node {
	id := p.Node
	if t.Python {
		id = p.PyNode
	}
	if nodes := hotpath.Nodes(); id != 0 && (int(id) >= len(nodes) || !t.sets.Sees(nodes[id].Set, t.Session)) {
		return nil
	}
	order := launchOrder(at.Order)
	return t.graft(t.capturedAt(t.at(at.Launch, order), order), p, order)
}

// addRead adds the values of a tensor.
func (n *node) addRead(of *callpath.Tensor, read []uint64) {
	if of.Length == 0 {
		n.add(callpath.OpMetric{Name: of.Name, Double: of.Double, Bits: read[0]})
		return
	}
	_ = n.addMetric(hotpath.Text(of.Name), VectorMetric(numbers(of, read), !of.Double)) // of another length: the first one stands
}

func numbers(of *callpath.Tensor, read []uint64) []float64 {
	values := make([]float64, len(read))
	for i, bits := range read {
		if of.Double {
			values[i] = math.Float64frombits(bits)
		} else {
			values[i] = float64(int64(bits))
		}
	}
	return values
}
