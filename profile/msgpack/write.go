// Package msgpack reads and writes .hatchet_msgpack files: the trees of package hatchet in MessagePack, a quarter of the
// size of indented JSON. data.get_msgpack hands out the same bytes.
//
// The layout is upstream's to the byte: a map per node with frame, metrics and children in this order, numbers in
// their shortest form, floats always in eight bytes. The tree is the one of our JSON; upstream leaves out
// leaves without metrics here, and only here. docs/formats.md describes the file field by field.
package msgpack

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/tree"
	"github.com/goproton/goproton/profile/internal/union"
)

// Write writes p.
func Write(w io.Writer, p *profile.Profile) error {
	e, err := encode(w, p)
	if err != nil {
		return err
	}
	return e.flush()
}

// Encode returns p as bytes; nil for a profile without a root.
func Encode(p *profile.Profile) []byte {
	e, err := encode(nil, p)
	if err != nil {
		return nil
	}
	return e.buf
}

// spillAt is what is collected before a write, as in package hatchet.
const spillAt = 64 << 10

// encoder writes nodes, and empties its buffer into w now and then if there is one.
type encoder struct {
	output
	w     io.Writer
	err   error
	root  *profile.Node
	extra tree.Encoder
	list  []ranked // scratch of sorted
}

func encode(w io.Writer, p *profile.Profile) (*encoder, error) {
	p, err := union.Fit(p)
	if err != nil {
		return nil, err
	}
	e := &encoder{w: w, root: p.Root}
	e.extra = tree.NewEncoder(&e.output, p)
	e.extra.NoteAll(p.Root)
	e.List(2)
	e.node(p.Root)
	tree.Devices(&e.output, p.Devices, true, deviceFacts[:])
	return e, nil
}

// deviceFacts are in upstream's order; it does not know the name.
var deviceFacts = [...]string{profile.DeviceName, profile.DeviceClockRate, profile.DeviceMemoryClockRate, profile.DeviceBusWidth,
	profile.DeviceArch, profile.DeviceNumSMs}

func (e *encoder) flush() error {
	if len(e.buf) > 0 && e.err == nil {
		_, e.err = e.w.Write(e.buf)
	}
	e.buf = e.buf[:0]
	return e.err
}

// node writes a node and what is below it. Upstream's three keys come first, then those that only we have.
func (e *encoder) node(n *profile.Node) {
	if e.w != nil && len(e.buf) >= spillAt {
		e.flush()
	}
	metrics, extra := n.Metrics, e.extra.Keys(n)
	if n == e.root {
		metrics = e.extra.WithZeros(metrics)
	}
	e.Object(3 + extra.Count())
	e.raw(frame)
	e.Text(n.Name)
	e.raw(metricsAfterName)
	e.metrics(metrics)
	e.raw(children)
	e.List(len(n.Children))
	for _, c := range n.Children {
		e.node(c)
	}
	e.extra.Write(n, extra)
}

// What is the same in every node: texts of less than 32 bytes begin with 0xa0 and their length.
const (
	frame            = "\xa5frame\x82\xa4name"
	metricsAfterName = "\xa4type\xa8function\xa7metrics"
	children         = "\xa8children"
)

func (e *encoder) metrics(list []profile.Metric) {
	e.Object(len(list))
	for _, m := range e.sorted(list) {
		e.Text(m.Name)
		switch v := m.Value; v.Type() {
		case profile.Int:
			e.Integer(v.Int())
		case profile.String:
			e.Text(v.Str())
		default:
			tree.Value(&e.output, v)
		}
	}
}

// fixed are the metrics that upstream's profilers measure, in its order. A group counts only where its first two
// are there: a user may well have called a metric "count".
var fixed = [...][]string{
	{profile.TimeMetric, profile.CountMetric, profile.DeviceIDMetric, profile.DeviceTypeMetric},
	{profile.SamplesMetric, profile.StalledSamplesMetric, "stalled_branch_resolving", "stalled_no_instruction", "stalled_short_scoreboard",
		"stalled_wait", "stalled_long_scoreboard", "stalled_tex_throttle", "stalled_barrier", "stalled_membar",
		"stalled_imc_miss", "stalled_mio_throttle", "stalled_math_pipe_throttle", "stalled_drain", "stalled_lg_throttle",
		"stalled_not_Selected", "stalled_misc", "stalled_dispatch_stall", "stalled_sleeping", "stalled_selected"},
	{"cycles", "normalized_cycles", profile.DeviceIDMetric, profile.DeviceTypeMetric},
}

// ranked is a metric with its place among the fixed ones; 0 for the user's.
type ranked struct {
	*profile.Metric
	rank int
}

// sorted returns metrics in upstream's order: the fixed ones, then the user's by name.
func (e *encoder) sorted(list []profile.Metric) []ranked {
	var present [len(fixed)]bool
	for g := range fixed {
		present[g] = has(list, fixed[g][0]) && has(list, fixed[g][1])
	}
	e.list = e.list[:0]
	for i := range list {
		e.list = append(e.list, ranked{&list[i], rank(list[i].Name, present)})
	}
	slices.SortFunc(e.list, func(a, b ranked) int { return cmp.Or(a.rank-b.rank, strings.Compare(a.Name, b.Name)) })
	return e.list
}

func rank(name string, present [len(fixed)]bool) int {
	for g := range fixed {
		if at := slices.Index(fixed[g], name); present[g] && at >= 0 {
			return (g-len(fixed))*len(fixed[1]) + at
		}
	}
	return 0
}

func has(list []profile.Metric, name string) bool {
	return slices.ContainsFunc(list, func(m profile.Metric) bool { return m.Name == name })
}
