package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// SelectedReason is the stall reason of samples that are not stalled: the scheduler chose the warp.
const SelectedReason = "selected"

// NoReason is that of samples whose sampler does not see why a warp waits, or whether it does.
const NoReason = ""

// AddLines shows the samples of every node as metrics: below the node a frame for the line of the function itself,
// below that those of the inlined calls, and the samples at the innermost, so that inclusive sums are right everywhere.
// Samples whose place is not known stay on the node.
func (p *Profile) AddLines() {
	if p.Sampling == nil {
		return
	}
	var sampled []*Node
	p.Root.Walk(func(n *Node, _ int) bool {
		if len(n.Samples) > 0 {
			sampled = append(sampled, n)
		}
		return true
	})
	for _, n := range sampled {
		p.Sampling.addLines(n)
	}
	if len(sampled) == 0 {
		return
	}
	reasons := p.Sampling.Reasons
	if len(reasons) == 0 || slices.ContainsFunc(reasons, func(r string) bool { return !IsCount(r) }) {
		p.Kinds[SamplesMetric], p.Kinds[StalledSamplesMetric] = Inclusive, Inclusive
	}
	for _, reason := range reasons {
		if reason != NoReason {
			p.Kinds[metricOf(reason)] = Inclusive
		}
	}
}

// metricOf is the metric of a reason's samples, or of what was counted.
func metricOf(reason string) string {
	if IsCount(reason) {
		return reason
	}
	return StalledMetricPrefix + reason
}

// AddZeros gives kernels without any sample the metric 0, which says that they were sampled and too short to be hit. captured
// says whether kernels of graphs were sampled too.
func (p *Profile) AddZeros(captured bool) {
	if p.Sampling == nil {
		return
	}
	p.Kinds[SamplesMetric] = Inclusive
	addZeros(p.Root, captured)
}

// addZeros reports whether there are samples at a node or below.
func addZeros(n *Node, captured bool) (sampled bool) {
	if n.Name == "<captured_at>" && !captured {
		return true
	}
	_, sampled = n.Metric(SamplesMetric)
	for _, c := range n.Children {
		sampled = addZeros(c, captured) || sampled
	}
	// Every activity has a device; the name of one that is not a kernel, such as <memcpy HtoD>, is in angle brackets.
	if _, activity := n.Metric(DeviceIDMetric); activity && !sampled && !strings.HasPrefix(n.Name, "<") {
		n.Set(SamplesMetric, IntValue(0))
	}
	return sampled
}

func (s *Sampling) addLines(n *Node) {
	sums := map[*Node]*stallSums{}
	var order []*Node
	lines := lineFrames{}
	for _, of := range n.Samples {
		f := &s.Functions[of.Function]
		for _, pc := range of.PCs {
			at := n
			for _, frame := range slices.Backward(f.At(pc.Offset)) {
				at = lines.below(at, frame)
			}
			if sums[at] == nil {
				sums[at] = &stallSums{byReason: make([]uint64, len(s.Reasons))}
				order = append(order, at)
			}
			sums[at].add(s, pc.Stalls)
		}
	}
	for _, at := range order {
		sums[at].set(at, s.Reasons)
	}
	lines.sort()
}

// lineFrames are the frames that were added, with the nodes that they are below.
type lineFrames map[*Node]lineFrame

type lineFrame struct {
	SourceFrame
	below *Node
}

func (l lineFrames) below(n *Node, f SourceFrame) *Node {
	c := n.Made(f.String())
	l[c] = lineFrame{f, n}
	return c
}

// sort puts lines in the order of the source, behind what else is below their nodes.
func (l lineFrames) sort() {
	sorted := map[*Node]bool{}
	for _, f := range l {
		if sorted[f.below] {
			continue
		}
		sorted[f.below] = true
		slices.SortStableFunc(f.below.Children, func(a, b *Node) int { return l.compare(a, b) })
	}
}

func (l lineFrames) compare(a, b *Node) int {
	x, line := l[a]
	y, other := l[b]
	switch {
	case !line && !other:
		return 0
	case !line:
		return -1
	case !other:
		return 1
	}
	return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Func, y.Func))
}

// String is the name of the line's frame in a tree.
func (f SourceFrame) String() string {
	if f.Func == "" {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return fmt.Sprintf("%s:%d@%s", f.File, f.Line, f.Func)
}

// stallSums are the samples of one line.
type stallSums struct {
	all, stalled uint64
	byReason     []uint64
}

func (t *stallSums) add(s *Sampling, stalls []Stall) {
	for _, stall := range stalls {
		if int(stall.Reason) < len(t.byReason) && IsCount(s.Reasons[stall.Reason]) {
			t.byReason[stall.Reason] += stall.Samples
			continue
		}
		t.all += stall.Samples
		if int(stall.Reason) >= len(t.byReason) {
			t.stalled += stall.Samples
			continue
		}
		t.byReason[stall.Reason] += stall.Samples
		if reason := s.Reasons[stall.Reason]; reason != SelectedReason && reason != NoReason {
			t.stalled += stall.Samples
		}
	}
}

func (t *stallSums) set(n *Node, reasons []string) {
	if t.all > 0 {
		n.Set(SamplesMetric, IntValue(int64(t.all)))
		n.Set(StalledSamplesMetric, IntValue(int64(t.stalled)))
	}
	for i, samples := range t.byReason {
		if samples > 0 && reasons[i] != NoReason {
			n.Set(metricOf(reasons[i]), IntValue(int64(samples)))
		}
	}
}
