package viewer

import (
	"slices"

	"github.com/goproton/goproton/profile"
)

// Metric is something that a profile can be asked for.
type Metric struct {
	Name      string // to ask for it by, without a unit: "time", "flop16/s", "loss"
	About     string // half a line
	Inclusive bool
	Text      bool
	Derived   bool // computed from what was recorded
}

// Metrics lists what a profile can be asked for: what was recorded, in the order of the file, then what derives from it.
func Metrics(p *profile.Profile) []Metric {
	b := &builder{profile: p, frames: collect(p.Root)}
	b.survey()
	var all []Metric
	for _, r := range b.recorded {
		all = append(all, Metric{Name: baseName(r.name), Inclusive: r.inclusive && !r.text, Text: r.text})
	}
	for _, d := range derived {
		if c, err := b.column(d.name); err == nil && !slices.ContainsFunc(all, func(m Metric) bool { return m.Name == d.name }) {
			all = append(all, Metric{Name: d.name, About: d.about, Inclusive: c.Inclusive, Text: c.Text, Derived: true})
		}
	}
	return all
}

// derived are the computed metrics by the names that leave their unit open.
var derived = []struct{ name, about string }{
	{"avg_time", "time per kernel launch"},
	{"avg_cpu_time", "time on the CPU per kernel launch"},
	{"flop/s", "arithmetic rate, operands of any width"},
	{"flop8/s", "arithmetic rate on 8 bit operands"},
	{"flop16/s", "arithmetic rate on 16 bit operands"},
	{"flop32/s", "arithmetic rate on 32 bit operands"},
	{"flop64/s", "arithmetic rate on 64 bit operands"},
	{"byte/s", "memory rate"},
	{"util", "least time at the roofline over the time taken"},
	{"bound", "what the roofline is set by: compute or memory"},
	{"intensity", "arithmetic intensity: flops per byte"},
	{"attainable", "arithmetic rate at the roofline"},
	{"roof_time", "least time at the roofline"},
	{"min_time", "shortest kernel"},
	{"median_time", "median kernel"},
	{"p95_time", "95th percentile of kernels"},
	{"max_time", "longest kernel"},
	{"stddev_time", "standard deviation of kernels"},
}
