package counters

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/lookup"
	"github.com/goproton/goproton/profile"
)

// FlopsMetric is the flops of a node for operands of all types in what Take returns: those of flops8, flops_bf16 and so on added up, or
// flops alone where the node has that, because it is the total then.
const FlopsMetric = "flops"

// metrics are what Take takes, whole numbers all of them. The last two are the parts of flops and bytes that come from PyTorch's
// operators, and are not in what it returns.
var metrics = [...]string{
	profile.TimeMetric, profile.CountMetric, profile.SamplesMetric, profile.BytesMetric, FlopsMetric,
	profile.OperatorPrefix + FlopsMetric, profile.OperatorPrefix + profile.BytesMetric,
}

const (
	samplesAt       = 2
	bytesAt         = 3
	flopsAt         = 4
	operatorFlopsAt = 5
	operatorBytesAt = 6
)

// Taken is what has been taken of one growing profile. The zero value is nothing.
type Taken struct {
	root      windowNode
	operators bool // some flops or bytes come from operators
}

// windowNode is a call path with what was taken at it. Numbers count modulo 2^64: the flops of a day on one GPU exceed 63 bits, and
// the difference of two windows is exact all the same.
type windowNode struct {
	step
	device   string
	kind     string // device_type
	children []*windowNode
	byStep   lookup.Index[step]
	taken    [len(metrics)]uint64
	now      [len(metrics)]uint64 // in the profile that is being taken
}

// Take returns what p has that was not taken before, and remembers it. It returns nil if there is nothing. A value that is
// smaller than before, as that of samples apportioned to several call paths may be, counts as unchanged until it exceeds what was taken.
//
// The work of PyTorch's operators, which p has where it was recorded, counts once in each window by the rules of
// profile.CountOperatorsOnce. Those move an operator's flops to its kernel as long as it ran only one: applied to p itself, all flops so far
// would be new where a second kernel runs.
func (t *Taken) Take(p *profile.Profile) *profile.Profile {
	t.root.add(p.Root, false)
	t.operators = t.operators || hasOperators(p)
	return t.window(p)
}

// window moves what is new into a profile with the facts of another one.
func (t *Taken) window(p *profile.Profile) *profile.Profile {
	out := &profile.Profile{Root: &profile.Node{Name: p.Root.Name}, Devices: p.Devices, Info: p.Info, Kinds: profile.Kinds{
		profile.DeviceIDMetric: profile.Property, profile.DeviceTypeMetric: profile.Property,
	}}
	for _, m := range metrics {
		out.Kinds[m] = profile.Inclusive
	}
	if !t.root.take(out.Root, false) {
		return nil
	}
	if t.operators {
		out.CountOperatorsOnce()
		leaveOperatorsOut(out)
	}
	return out
}

// Sum adds up windows. The zero value is nothing.
type Sum struct {
	last *profile.Profile
	all  *Taken // of several
}

// Add adds a window that Take has returned.
func (s *Sum) Add(w *profile.Profile) {
	if s.last == nil && s.all == nil {
		s.last = w
		return
	}
	if s.all == nil {
		s.all = &Taken{}
		s.all.root.add(s.last.Root, true)
	}
	s.last = w // for the facts
	s.all.root.add(w.Root, true)
}

// Take returns the sum, nil if nothing was added, and begins anew.
func (s *Sum) Take() *profile.Profile {
	w := s.last
	if s.all != nil {
		w = s.all.window(w)
	}
	*s = Sum{}
	return w
}

func hasOperators(p *profile.Profile) bool {
	for name := range p.Kinds {
		if strings.HasPrefix(name, profile.OperatorPrefix) {
			return true
		}
	}
	return false
}

// leaveOperatorsOut leaves the parts out of which the sums remain.
func leaveOperatorsOut(p *profile.Profile) {
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		n.Metrics = slices.DeleteFunc(n.Metrics, func(m profile.Metric) bool { return strings.HasPrefix(m.Name, profile.OperatorPrefix) })
		return true
	})
	for _, at := range []int{operatorFlopsAt, operatorBytesAt} {
		delete(p.Kinds, metrics[at])
	}
}

// step distinguishes siblings: the first of a name, which may have no device yet, from those right behind it, which are the same
// path on other devices.
type step struct{ name, otherDevice string }

func (n *windowNode) child(key step) *windowNode {
	if at := n.byStep.Find(len(n.children), key, func(i int) step { return n.children[i].step }); at >= 0 {
		return n.children[at]
	}
	c := &windowNode{step: key}
	n.children = append(n.children, c)
	return c
}

// add adds the values of a subtree of a profile, or of a window, which has its samples as a metric. Siblings of one name are one here,
// except for those of several devices.
func (n *windowNode) add(p *profile.Node, window bool) {
	total, totalled := p.Metric(FlopsMetric)
	if _, number := total.Float(); !number {
		totalled = false
	}
	for i := range p.Metrics {
		m := &p.Metrics[i]
		switch m.Name {
		case profile.DeviceIDMetric:
			n.device = text(m.Value)
		case profile.DeviceTypeMetric:
			n.kind = m.Value.Str()
		default:
			at := index(m.Name)
			if (at == flopsAt || at == operatorFlopsAt) && totalled && m.Name != FlopsMetric {
				continue // a part of the total
			}
			if at >= 0 && (window || at != samplesAt) { // the metric of a file repeats Samples, by source line
				n.now[at] += whole(m.Value)
			}
		}
	}
	for _, f := range p.Samples {
		for _, pc := range f.PCs {
			for _, s := range pc.Stalls {
				n.now[samplesAt] += s.Samples
			}
		}
	}
	for i, c := range p.Children {
		key := step{name: c.Name}
		if i > 0 && p.Children[i-1].Name == c.Name {
			v, _ := c.Metric(profile.DeviceIDMetric)
			key.otherDevice = text(v)
		}
		n.child(key).add(c, window)
	}
}

// take moves what is new into out, and reports whether there was anything. It also clears the values for the next time. given says that
// the program itself gave flops or bytes to a frame around this one, so that those of operators do not count.
func (n *windowNode) take(out *profile.Node, given bool) (some bool) {
	var fresh [len(metrics)]int64
	for i := range metrics {
		fresh[i] = max(0, int64(n.now[i]-n.taken[i]))
		n.taken[i] += uint64(fresh[i])
		n.now[i] = 0
	}
	if given = given || n.givesWork(); given {
		fresh[flopsAt] -= fresh[operatorFlopsAt]
		fresh[bytesAt] -= fresh[operatorBytesAt]
		fresh[operatorFlopsAt], fresh[operatorBytesAt] = 0, 0
	}
	for i, name := range metrics {
		if fresh[i] > 0 {
			out.Set(name, profile.IntValue(fresh[i]))
			some = true
		}
	}
	if some && n.device != "" {
		out.Set(profile.DeviceIDMetric, profile.StringValue(n.device))
		out.Set(profile.DeviceTypeMetric, profile.StringValue(n.kind))
	}
	for _, c := range n.children {
		below := &profile.Node{Name: c.name}
		if c.take(below, given) {
			out.Children = append(out.Children, below)
			some = true
		}
	}
	return some
}

// givesWork reports whether the program gave flops or bytes to a frame, in any window.
func (n *windowNode) givesWork() bool {
	return profile.WorkOf(n.name) == profile.KernelWork && (n.taken[flopsAt] != n.taken[operatorFlopsAt] || n.taken[bytesAt] != n.taken[operatorBytesAt])
}

func index(name string) int {
	for i, m := range metrics {
		if m == name {
			return i
		}
	}
	if work, operators := strings.CutPrefix(name, profile.OperatorPrefix); operators {
		if _, counts := profile.Flops(work); counts {
			return operatorFlopsAt
		}
		return -1
	}
	if _, counts := profile.Flops(name); counts {
		return flopsAt
	}
	return -1
}

// whole rounds a number. Texts, vectors and what is not finite count as 0.
func whole(v profile.Value) uint64 {
	switch v.Type() {
	case profile.Int:
		return uint64(v.Int())
	case profile.Float:
		f, _ := v.Float()
		if f = math.Round(f); math.IsNaN(f) || math.IsInf(f, 0) {
			return 0
		}
		const all = 1 << 64
		if f = math.Mod(f, all); f < 0 {
			return -uint64(-f)
		}
		return uint64(f)
	}
	return 0
}

func text(v profile.Value) string {
	if v.Type() == profile.String {
		return v.Str()
	}
	return strconv.FormatInt(v.Int(), 10)
}
