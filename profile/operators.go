package profile

import (
	"slices"
	"strings"
)

// The flops and bytes that the profiler finds from the shapes of an operator are added to the metrics of these names, "flops16" for
// example, and to a second metric with this prefix, which distinguishes them from those that the program gives. The third prefix is
// of flops that are estimates.
const (
	OperatorPrefix  = "operator_"
	EstimatedPrefix = "estimated_"
)

// CountOperatorsOnce has each operator's work count at one place. Where the operator ran one kernel, and no other, that is the kernel,
// so that it has a rate of its own; else the operator. Where the program itself gave flops or bytes to the operator's frame or one
// around it, those count, and the operator's only remain as metrics with OperatorPrefix.
func (p *Profile) CountOperatorsOnce() {
	for name := range p.Kinds {
		if strings.HasPrefix(name, OperatorPrefix) {
			countOnce(p.Root, false)
			return
		}
	}
}

func countOnce(n *Node, given bool) {
	if hasOperators(n) {
		dropUndone(n)
	}
	given = given || givesWork(n)
	if given {
		dropOperators(n)
	}
	for _, c := range n.Children {
		countOnce(c, given)
	}
	if only := onlyKernel(n); !given && only != nil && only != n {
		moveOperators(n, only)
	}
}

// dropUndone removes the work of operators that began and did not run, of which 0 is left.
func dropUndone(n *Node) {
	var kept []Metric
	for _, m := range n.Metrics {
		work := strings.TrimPrefix(strings.TrimPrefix(m.Name, OperatorPrefix), EstimatedPrefix)
		if operators, has := n.Metric(OperatorPrefix + work); !has || !isZero(operators) || !isZero(m.Value) {
			kept = append(kept, m)
		}
	}
	n.Metrics = kept
}

func isZero(v Value) bool {
	f, ok := v.Float()
	return ok && f == 0
}

// givesWork reports whether the program gave flops or bytes to a frame. Those of copies and fills come from their records.
func givesWork(n *Node) bool {
	if WorkOf(n.Name) != KernelWork {
		return false
	}
	for i := range n.Metrics {
		if m := &n.Metrics[i]; CountsWork(m.Name) {
			operators, _ := n.Metric(OperatorPrefix + m.Name)
			if _, left := without(m.Value, operators); left {
				return true
			}
		}
	}
	return false
}

// dropOperators takes what comes from operators out of a frame's flops and bytes.
func dropOperators(n *Node) {
	var kept []Metric
	for _, m := range n.Metrics {
		if strings.HasPrefix(m.Name, EstimatedPrefix) {
			continue
		}
		if operators, has := n.Metric(OperatorPrefix + m.Name); has && CountsWork(m.Name) {
			var left bool
			if m.Value, left = without(m.Value, operators); !left {
				continue
			}
		}
		kept = append(kept, m)
	}
	n.Metrics = kept
}

// without is what is left of a sum without a part of it, if that is more than rounding.
func without(sum, part Value) (rest Value, left bool) {
	s, _ := sum.Float()
	p, _ := part.Float()
	switch {
	case !(s-p > 1e-9*s):
		return Value{}, false
	case sum.Type() == Int && part.Type() == Int:
		return IntValue(sum.Int() - part.Int()), true
	}
	return FloatValue(s - p), true
}

// onlyKernel returns the frame of the one kernel that ran at or below n; nil if there is none, or several.
func onlyKernel(n *Node) *Node {
	if !hasOperators(n) {
		return nil
	}
	var only *Node
	several := false
	n.Walk(func(k *Node, _ int) bool {
		if _, ran := k.Metric(CountMetric); ran && WorkOf(k.Name) == KernelWork {
			several = several || only != nil
			only = k
		}
		return !several
	})
	if several {
		return nil
	}
	return only
}

func hasOperators(n *Node) bool {
	return slices.ContainsFunc(n.Metrics, func(m Metric) bool { return strings.HasPrefix(m.Name, OperatorPrefix) })
}

// moveOperators moves what comes from operators from one frame to another.
func moveOperators(from, to *Node) {
	var kept []Metric
	for _, m := range from.Metrics {
		_, has := from.Metric(OperatorPrefix + m.Name)
		if !has && !strings.HasPrefix(m.Name, OperatorPrefix) && !strings.HasPrefix(m.Name, EstimatedPrefix) {
			kept = append(kept, m)
			continue
		}
		if old, ok := to.Metric(m.Name); ok {
			m.Value = Sum(old, m.Value)
		}
		to.Set(m.Name, m.Value)
	}
	from.Metrics = kept
}
