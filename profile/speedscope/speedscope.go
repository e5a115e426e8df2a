// Package speedscope reads and writes the JSON of speedscope.app: the tree as one sampled profile per metric that
// adds up, with the right unit, and each lane of a timeline as an evented profile.
//
// docs/formats.md describes the file field by field.
package speedscope

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/union"
)

const schema = "https://www.speedscope.app/file-format-schema.json"

// exporter is how a file says that it is ours: then the name of a sampled profile is the name of a metric.
const exporter = "goproton"

// frame is how a file names a frame.
type frame struct {
	Name string
	File string
	Line int
}

// splitFrame takes "dir/file.py:7@func" apart, as far as joinFrame makes the same of it.
func splitFrame(name string) frame {
	at := strings.LastIndexByte(name, '@')
	if at < 0 {
		return frame{Name: name}
	}
	colon := strings.LastIndexByte(name[:at], ':')
	if colon <= 0 {
		return frame{Name: name}
	}
	line, err := strconv.Atoi(name[colon+1 : at])
	f := frame{Name: name[at+1:], File: name[:colon], Line: line}
	if err != nil || line <= 0 || joinFrame(f) != name {
		return frame{Name: name}
	}
	return f
}

func joinFrame(f frame) string {
	if f.File == "" || f.Line <= 0 {
		return f.Name
	}
	return f.File + ":" + strconv.Itoa(f.Line) + "@" + f.Name
}

// units by what stands in brackets behind a metric's name, and how many ns they are.
var units = []struct {
	inName, inFile string
	nanos          float64
}{
	{"ns", "nanoseconds", 1}, {"us", "microseconds", 1e3}, {"ms", "milliseconds", 1e6}, {"s", "seconds", 1e9},
}

// unitOf returns the unit in a file of a metric.
func unitOf(metric string) string {
	if metric == profile.BytesMetric {
		return "bytes"
	}
	_, unit, _ := strings.Cut(strings.TrimSuffix(metric, ")"), "(")
	for _, u := range units {
		if unit == u.inName {
			return u.inFile
		}
	}
	return "none"
}

// metricOf returns what a value of another program's file is, and the factor that makes it so.
func metricOf(unit string) (metric string, factor float64, ok bool) {
	for _, u := range units {
		if unit == u.inFile {
			return profile.TimeMetric, u.nanos, true
		}
	}
	switch unit {
	case "bytes":
		return profile.BytesMetric, 1, true
	case "none":
		return "samples", 1, true
	}
	return "", 0, false
}

// Loses says what a file loses of p, one clause each. formats.Holds covers what no file of this format can hold, such as
// text and vectors.
func Loses(p *profile.Profile) (lost []string) {
	if p.Timeline != nil && len(p.Timeline.Counters) > 0 {
		lost = append(lost, "counters of the timeline")
	}
	metrics := union.Additive(p)
	lost = union.Clause(lost, union.Sizeless(p, metrics), "value", "values", " below zero or no number")
	lost = union.Clause(lost, union.Duplicates(p.Root), "frame", "frames", " with the name of a sibling, merged into it")
	lost = union.Clause(lost, union.Bare(p.Root, func(n *profile.Node) bool { return sized(n, metrics) }), "leaf", "leaves", " without a number")
	_, short := p.WithOwnSpans()
	lost = union.Clause(lost, short, "value", "values", " of cpu_time below the sum of those within")
	t := p.Timeline
	if t == nil {
		return lost
	}
	_, cut := rowsOf(t)
	lost = union.Clause(lost, len(t.Slices), "slice's", "slices'", " kind, metrics, call path and device")
	lost = union.Clause(lost, cut, "slice", "slices", fmt.Sprintf(" overlapping more than %d others, cut where one of these ends", mostRows))
	return union.Clause(lost, len(t.Flows), "arrow", "arrows", " of the timeline")
}

// sized says whether a stack ends in a node.
func sized(n *profile.Node, metrics []string) bool {
	return slices.ContainsFunc(metrics, func(m string) bool { _, ok := union.Size(n, m); return ok })
}
