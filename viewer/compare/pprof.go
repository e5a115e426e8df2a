package compare

import (
	"errors"
	"io"
	"slices"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// baseLabel is the label that `pprof -diff_base` puts on the samples of the base, with their values negated. Where pprof finds
// this label, it computes percentages of the base's total.
const baseLabel = "pprof::base"

// WritePprof writes the difference of two profiles as a profile.proto, in the form that pprof itself computes with -diff_base.
// Frames are renamed and filtered as in the other outputs.
func (d *Diff) WritePprof(w io.Writer) error {
	if len(d.Profiles) != 2 {
		return errors.New("write the difference for pprof: it holds that of two profiles")
	}
	format, err := formats.ByName("pprof")
	if err != nil {
		return err
	}
	base, changed := d.Profiles[0], d.Profiles[1]
	both := &profile.Profile{Kinds: changed.Kinds, Root: &profile.Node{Name: changed.Root.Name}, Devices: changed.Devices}
	both.Root.Children = append(slices.Clone(changed.Root.Children), negated(base.Root).Children...)
	for _, m := range changed.Root.Metrics {
		old, _ := base.Root.Metric(m.Name)
		if x, ok := m.Value.Float(); ok && x == x {
			y, _ := old.Float()
			both.Root.Set(m.Name, profile.FloatValue(x-y))
		}
	}
	return formats.Target{Format: format, Compression: format.Packed}.Write(w, both)
}

// negated is a copy of a tree with all numbers negated and baseLabel on every node that has metrics.
func negated(n *profile.Node) *profile.Node {
	c := &profile.Node{Name: n.Name}
	for _, m := range n.Metrics {
		v := m.Value
		switch f, number := v.Float(); {
		case v.Type() == profile.Int:
			v = profile.IntValue(-v.Int())
		case number:
			v = profile.FloatValue(-f)
		}
		c.Metrics = append(c.Metrics, profile.Metric{Name: m.Name, Value: v})
	}
	if len(c.Metrics) > 0 {
		c.Set(baseLabel, profile.StringValue("true"))
	}
	for _, child := range n.Children {
		c.Children = append(c.Children, negated(child))
	}
	return c
}
