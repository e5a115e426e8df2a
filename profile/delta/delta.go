// Package delta takes from a profile that grows what was not taken before: the work of one window. The sum of all that was
// taken equals the profile, call path by call path, in the five metrics that add up in every continuous profiler.
package delta

import (
	"math"
	"strconv"

	"github.com/goproton/goproton/profile"
)

// FlopsMetric is the flops of a node for operands of all types in what Take returns: those of flops8, flops_bf16 and so on added up, or
// flops alone where the node has that, because it is the total then.
const FlopsMetric = "flops"

// metrics are what Take takes, whole numbers all of them.
var metrics = [...]string{profile.TimeMetric, profile.CountMetric, profile.SamplesMetric, profile.BytesMetric, FlopsMetric}

const (
	samplesAt = 2
	flopsAt   = 4
)

// Taken is what has been taken of one growing profile. The zero value is nothing.
type Taken struct{ root node }

// node is a call path with what was taken at it. Numbers count modulo 2^64: the flops of a day on one GPU exceed 63 bits, and
// the difference of two windows is exact all the same.
type node struct {
	step
	device   string
	kind     string // device_type
	children []*node
	byStep   map[step]*node // once there are many
	taken    [len(metrics)]uint64
	now      [len(metrics)]uint64 // in the profile that is being taken
}

// Take returns what p has that was not taken before, and remembers it. It returns nil if there is nothing. A value that is
// smaller than before, as that of samples apportioned to several call paths may be, counts as unchanged until it exceeds what was taken.
func (t *Taken) Take(p *profile.Profile) *profile.Profile {
	t.root.name = p.Root.Name
	t.root.add(p.Root)
	out := &profile.Profile{Root: &profile.Node{Name: p.Root.Name}, Devices: p.Devices, Info: p.Info, Kinds: profile.Kinds{
		profile.DeviceIDMetric: profile.Property, profile.DeviceTypeMetric: profile.Property,
	}}
	for _, m := range metrics {
		out.Kinds[m] = profile.Inclusive
	}
	if !t.root.take(out.Root) {
		return nil
	}
	return out
}

// step distinguishes siblings: the first of a name, which may have no device yet, from those right behind it, which are the same
// path on other devices.
type step struct{ name, otherDevice string }

// manyChildren is where a map beats comparing names.
const manyChildren = 12

func (n *node) child(key step) *node {
	if n.byStep != nil {
		if c := n.byStep[key]; c != nil {
			return c
		}
	} else {
		for _, c := range n.children {
			if c.step == key {
				return c
			}
		}
	}
	c := &node{step: key}
	n.children = append(n.children, c)
	if n.byStep == nil && len(n.children) > manyChildren {
		n.byStep = make(map[step]*node, 2*manyChildren)
		for _, each := range n.children {
			n.byStep[each.step] = each
		}
	}
	if n.byStep != nil {
		n.byStep[key] = c
	}
	return c
}

// add adds the values of a subtree of the profile. Siblings of one name are one here, except for those of several devices.
func (n *node) add(p *profile.Node) {
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
			if at == flopsAt && totalled && m.Name != FlopsMetric {
				continue // a part of the total
			}
			if at >= 0 && at != samplesAt { // the metric of a file repeats Samples, by source line
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
		n.child(key).add(c)
	}
}

// take moves what is new into out, and reports whether there was anything. It also clears the values for the next time.
func (n *node) take(out *profile.Node) (some bool) {
	for i, name := range metrics {
		fresh := int64(n.now[i] - n.taken[i])
		n.now[i] = 0
		if fresh <= 0 {
			continue
		}
		n.taken[i] += uint64(fresh)
		out.Set(name, profile.IntValue(fresh))
		some = true
	}
	if some && n.device != "" {
		out.Set(profile.DeviceIDMetric, profile.StringValue(n.device))
		out.Set(profile.DeviceTypeMetric, profile.StringValue(n.kind))
	}
	for _, c := range n.children {
		below := &profile.Node{Name: c.name}
		if c.take(below) {
			out.Children = append(out.Children, below)
			some = true
		}
	}
	return some
}

func index(name string) int {
	for i, m := range metrics {
		if m == name {
			return i
		}
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
