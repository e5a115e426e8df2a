package viewer

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/internal/grid"
)

// Metric is a metric that a user can request of a profile.
type Metric struct {
	Name      string // in a request, without a unit: "time", "flop16/s", "loss"
	About     string // half a line
	Inclusive bool
	Text      bool
	Derived   bool // computed from what was recorded
}

// Metrics lists the metrics of a profile: first those that were recorded, in the order of the file, then those computed from them.
func Metrics(p *profile.Profile) []Metric {
	b := &builder{profile: p, frames: collect(p.Root)}
	b.survey()
	return b.metrics()
}

func (b *builder) metrics() []Metric {
	b.trying = true
	defer func() { b.trying = false }()
	var all []Metric
	for _, r := range b.recorded {
		name := figures.MetricName(r.name)
		if counters.IsMetric(r.name) {
			name = r.name // in the vendor's spelling
		}
		all = append(all, Metric{Name: name, About: aboutRecorded(r), Inclusive: r.inclusive && !r.text, Text: r.text})
	}
	for _, d := range slices.Concat(derived, overTimeMetrics(), counterMetrics()) {
		c, err := b.column(d.name)
		if err == nil && !slices.ContainsFunc(all, func(m Metric) bool { return m.Name == d.name }) {
			all = append(all, Metric{Name: d.name, About: d.about, Inclusive: c.Inclusive, Text: c.Text, Derived: true})
		}
	}
	return all
}

func aboutRecorded(r recorded) string {
	about := "of the frame itself"
	switch {
	case counters.IsMetric(r.name) && counters.Adds(r.name):
		return "hardware counter, of all launches of measured kernels"
	case counters.IsMetric(r.name):
		return "hardware counter, mean of a launch"
	case r.text:
		return "text"
	case r.inclusive:
		about = "with all below"
	}
	if unit := figures.MetricUnit(r.name); unit != "" {
		about += ", in " + unit
	}
	return about
}

// List prints the metrics of a profile.
func List(w io.Writer, p *profile.Profile) error {
	all := Metrics(p)
	if len(all) == 0 {
		return ErrNoMetrics
	}
	width := 0
	for _, m := range all {
		if !counters.IsMetric(m.Name) {
			width = max(width, grid.Columns(term.Printable(m.Name)))
		}
	}
	var b, vendors strings.Builder
	b.WriteString("recorded\n")
	wasDerived := false
	for _, m := range all {
		if counters.IsMetric(m.Name) {
			fmt.Fprintf(&vendors, "  %s\n", m.Name)
			continue
		}
		if m.Derived && !wasDerived {
			wasDerived = true
			b.WriteString("derived\n")
		}
		fmt.Fprintf(&b, "  %s  %s\n", grid.Pad(term.Printable(m.Name), width, false), m.About)
	}
	if vendors.Len() > 0 {
		b.WriteString("hardware counters by the vendor's names: for all launches of measured kernels, and the mean of a launch where a sum means nothing\n" + vendors.String())
	}
	b.WriteString("any of them with /% for the share of the whole program, times with /s /ms /us /ns, rates with a prefix: gflop/s, tbyte/s\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// ListJSON prints the metrics of a profile as the document that docs/viewer.md promises.
func ListJSON(w io.Writer, p *profile.Profile) error {
	j := (&jsonText{}).raw(`{"schema":"goproton.metrics/1",` + "\n" + `"metrics":[`)
	for i, m := range Metrics(p) {
		j.comma(i).raw("\n{\"name\":").text(m.Name).raw(`,"about":`).text(m.About).raw(`,"inclusive":`).truth(m.Inclusive)
		j.raw(`,"text":`).truth(m.Text).raw(`,"derived":`).truth(m.Derived).raw("}")
	}
	_, err := w.Write(*j.raw("\n]}\n"))
	return err
}

// offer is a computed metric.
type offer struct{ name, about string }

// counterMetrics are those of hardware counters.
func counterMetrics() []offer {
	var all []offer
	for i := range counters.Figures {
		all = append(all, offer{counters.Figures[i].Name, counters.Figures[i].About})
	}
	return append(all, offer{"measured", "share of the kernels' time that hardware counters measured"},
		offer{"declared_util", "util by what was declared or estimated: far below util where more moves than the work needs"},
		offer{"traffic_ratio", "bytes that the GPU's memory moved, over those declared or estimated: more than 1 is what caches could not hold"})
}

// derived are the computed metrics by the names that leave their unit open.
var derived = []offer{
	{"avg_time", "time per kernel, copy or fill: time / count"},
	{"avg_cpu_time", "time on the CPU per kernel, copy or fill"},
	{"flop/s", "arithmetic rate, operands of any width"},
	{"flop8/s", "arithmetic rate on 8 bit operands"},
	{"flop16/s", "arithmetic rate on 16 bit operands"},
	{"flop32/s", "arithmetic rate on 32 bit operands"},
	{"flop64/s", "arithmetic rate on 64 bit operands"},
	{"byte/s", "memory rate"},
	{"min_time", "time of the shortest kernel, copy or fill"},
	{"median_time", "median of the times of kernels, copies and fills; p90_time, p99.9_time and so on likewise"},
	{"mean_time", "mean of these times"},
	{"p95_time", "a time that 95 of 100 of them stay below"},
	{"p99_time", "a time that 99 of 100 of them stay below"},
	{"max_time", "time of the longest kernel, copy or fill"},
	{"stddev_time", "standard deviation of these times"},
	{"util", "least time that the work needs at the GPU's peaks, over the time of the kernels whose work is known; 1 is the roof"},
	{"coverage", "share of the time whose flops or bytes are known; util covers it"},
	{"roof_time", "that least time"},
	{"attainable", "arithmetic rate at the roof"},
	{"intensity", "flop per byte"},
	{"bound", "what limits it at the roof: compute or memory"},
	{"registers", "registers of a thread"},
	{"occupancy_limit", "most warps that can be resident, as a share of those that a multiprocessor holds"},
	{"limited_by", "what limits them: registers, shared memory, warps or blocks"},
}
