package pprofile

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/union"
	"github.com/goproton/goproton/profile/merge"
)

// units are pprof's words for the units in the names of metrics. pprof scales those of time and bytes.
var units = map[string]string{
	"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds",
	"B": "bytes", "bytes": "bytes", "KB": "kilobytes", "MB": "megabytes", "GB": "gigabytes",
}

// sampleType turns the name of a metric into a sample type: "time (ns)" into time/nanoseconds.
func sampleType(metric string) (name, unit string) {
	if open := strings.LastIndex(metric, " ("); open > 0 && strings.HasSuffix(metric, ")") {
		name, unit = metric[:open], metric[open+2:len(metric)-1]
		if known := units[unit]; known != "" {
			unit = known
		}
		return name, unit
	}
	switch {
	case metric == profile.BytesMetric, counterOfBytes.MatchString(metric):
		return metric, "bytes"
	case strings.HasPrefix(metric, "flops"):
		return metric, "flop"
	}
	return metric, "count"
}

// metricName is the way back, for profiles of other tools: cpu/nanoseconds is read as "cpu (ns)".
func metricName(st *pprof.ValueType) string {
	if st.Unit == "" || st.Unit == "count" || st.Unit == st.Type {
		return st.Type
	}
	for _, short := range []string{"ns", "us", "ms", "s"} {
		if units[short] == st.Unit {
			return st.Type + " (" + short + ")"
		}
	}
	return st.Type + " (" + st.Unit + ")"
}

// notAdditive finds metrics that make no sense as a sum, whatever their kind says: averages, extremes, shares, rates.
// pprof adds up everything that it is given. Those of hardware counters end in .pct, .avg.per_second and the like.
var notAdditive = regexp.MustCompile(`(?i)^(avg|mean|min|max|median|p\d+|std(dev)?)_|(^|_)(util|ratio|rate|share|intensity)$|/s$|%$|__.*\.(avg|min|max|pct|ratio|max_rate)\b|__.*\.sum\.p(er|ct)_`)

// counterOfBytes matches hardware counters: dram__bytes_read.sum.
var counterOfBytes = regexp.MustCompile(`__(.*_)?bytes(_.*)?\.sum$`)

// column is a metric that is written as a sample type.
type column struct {
	metric string
	float  bool    // some value is a float
	scale  float64 // what its values are multiplied with
	unit   string  // if scale made it another
	sum    float64 // of the values' magnitudes
	large  bool    // some value is an integer that a float does not hold
}

// columns are the metrics that are written as sample types, in their order: the number of kernels first, since that is
// what pprof's -mean divides by, then the others by union.Rank.
type columns struct {
	list  []column
	index map[string]int       // by metric; -1 for one that is written as a label
	parts map[string]*part     // by metric
	kinds map[string]labelKind // by metric: what its labels hold
}

// part is a metric of a merged profile that holds what one rank or run has of another metric: "time@rank3 (ns)".
// It is written with the same sample type as that one, in a sample of its own with the rank as a label.
type part struct {
	column int // of the whole
	of     origin
}

// origin is a rank or run as a label: 3 of "rank", or "before" of "source".
type origin struct{ key, value string }

// mostDistorted is how much of a value rounding may take. A metric with a value that would lose more, a loss of 0.31, is
// not counted in whole numbers at all: it is written as a label and keeps its digits.
const mostDistorted = 1e-3

func newColumns(p *profile.Profile) *columns {
	seen := map[string]*column{}
	labels := map[string]bool{}
	types := map[string]typeSet{}
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		for i := range n.Metrics {
			m := &n.Metrics[i]
			typ := m.Value.Type()
			if depth == 0 && isKindZero(m, p.Kinds) {
				continue
			}
			types[m.Name] = types[m.Name].with(typ)
			if typ != profile.Int && typ != profile.Float {
				continue
			}
			c := seen[m.Name]
			if c == nil {
				c = newColumn(m.Name)
				seen[m.Name] = c
				labels[m.Name] = p.Kinds[m.Name] == profile.Property || notAdditive.MatchString(m.Name)
			}
			if c.add(m.Value) > mostDistorted {
				labels[m.Name] = true
			}
		}
		return true
	})
	c := sortedColumns(p, seen, labels)
	for name, set := range types {
		if c.index[name] >= 0 { // its numbers are values of samples
			set = set.without(profile.Int).without(profile.Float)
		}
		c.kinds[name] = set.label()
	}
	return c
}

func sortedColumns(p *profile.Profile, seen map[string]*column, labels map[string]bool) *columns {
	c := &columns{index: make(map[string]int, len(seen)), parts: map[string]*part{}, kinds: map[string]labelKind{}}
	for _, col := range seen {
		col.fit()
	}
	for name, col := range seen {
		c.index[name] = -1
		if whole, source, is := merge.SplitColumn(name); is && !labels[whole] && !labels[name] && seen[whole].adds(col) {
			c.parts[name] = &part{of: originOf(source)}
		} else if !labels[name] {
			c.list = append(c.list, *col)
		}
	}
	count := func(c column) int {
		if c.metric == profile.CountMetric {
			return 1
		}
		return 0
	}
	slices.SortFunc(c.list, func(a, b column) int { return cmp.Or(count(b)-count(a), union.Rank(p, a.metric, b.metric)) })
	for i := range c.list {
		c.index[c.list[i].metric] = i
	}
	for name, p := range c.parts {
		whole, _, _ := merge.SplitColumn(name)
		p.column = c.index[whole]
	}
	return c
}

// originOf makes a number of a rank: "rank3" is 3 of rank.
func originOf(source string) origin {
	if digits, is := strings.CutPrefix(source, profile.InfoRank); is {
		if n, err := strconv.ParseUint(digits, 10, 32); err == nil && strconv.FormatUint(n, 10) == digits {
			return origin{profile.InfoRank, digits}
		}
	}
	return origin{sourceLabel, source}
}

// sourceLabel is the label of runs and hosts in a merged profile.
const sourceLabel = "source"

// source is the way back; ok is false for any other label.
func (o origin) source() (name string, ok bool) {
	switch o.key {
	case profile.InfoRank:
		return profile.InfoRank + o.value, true
	case sourceLabel:
		return o.value, true
	}
	return "", false
}

// newColumn makes fractions of seconds nanoseconds; other fractions have no smaller unit.
func newColumn(metric string) *column {
	c := &column{metric: metric, scale: 1}
	for suffix, nanos := range map[string]float64{" (s)": 1e9, " (ms)": 1e6, " (us)": 1e3} {
		if strings.HasSuffix(metric, suffix) {
			c.scale, c.unit = nanos, "nanoseconds"
		}
	}
	return c
}

// add takes note of a value and returns the share of it that rounding would take.
func (c *column) add(v profile.Value) (distorted float64) {
	f, _ := v.Float()
	f = math.Abs(f * c.scale)
	if math.IsNaN(f) || math.IsInf(f, 0) || f == 0 {
		c.float = c.float || v.Type() == profile.Float
		return 0
	}
	c.sum += f
	if v.Type() == profile.Int {
		c.large = c.large || !fitsFloat(v.Int())
		return 0
	}
	c.float = true
	return math.Abs(f-math.RoundToEven(f)) / f
}

// fit keeps sums within 63 bits: a day of training has more than 9.2e18 flops. Whole numbers of seconds stay seconds.
func (c *column) fit() {
	if !c.float && c.unit != "" {
		c.sum, c.scale, c.unit = c.sum/c.scale, 1, ""
	}
	for _, prefix := range []string{"kilo", "mega", "giga", "tera", "peta", "exa"} {
		if c.sum < math.MaxInt64/2 {
			return
		}
		_, unit := sampleType(c.metric)
		c.sum, c.scale, c.unit = c.sum/1000, c.scale/1000, prefix+unit
	}
}

// adds says whether samples of parts add up to the whole exactly, or to what rounding leaves of fractions. c is nil if the
// profile has no whole.
func (c *column) adds(part *column) bool {
	if c == nil {
		return false
	}
	_, unit := sampleType(c.metric)
	fitted := c.unit != "" && c.unit != "nanoseconds" && c.unit != unit
	return !fitted && !(c.float && (c.large || part.large))
}

// fitsFloat says whether a float64 holds an integer exactly.
func fitsFloat(n int64) bool {
	f := float64(n)
	return f < math.MaxInt64 && int64(f) == n
}

// keeps says whether a value comes back from the n that a sample has of it. Only of integers it can be false: fractions
// that are rounded are among what Loses says.
func (c *column) keeps(v profile.Value, n int64) bool {
	if v.Type() != profile.Int {
		return true
	}
	back := c.facts().value(n)
	if back.Type() == profile.Int {
		return back.Int() == v.Int()
	}
	f, _ := back.Float()
	return fitsFloat(v.Int()) && f == float64(v.Int())
}

// whole rounds a number to what a sample can hold, and says how far off that is.
func (c *column) whole(v profile.Value) (n int64, off float64) {
	if v.Type() == profile.Int && c.scale == 1 {
		return v.Int(), 0
	}
	f, _ := v.Float()
	f *= c.scale
	if math.IsNaN(f) || math.Abs(f) >= math.MaxInt64 {
		return 0, math.NaN()
	}
	n = int64(math.RoundToEven(f))
	return n, math.Abs(f-float64(n)) / c.scale
}

// of returns which value of a sample a metric is; -1 for one that is a label.
func (c *columns) of(m *profile.Metric) int {
	at, known := c.index[m.Name]
	if t := m.Value.Type(); !known || t != profile.Int && t != profile.Float {
		return -1
	}
	return at
}

// types lists the sample types. Two metrics that differ only in unit keep their whole names, since pprof finds
// a sample type by its name alone. A profile without any number gets a count: pprof refuses one without types.
func (c *columns) types() []*pprof.ValueType {
	if len(c.list) == 0 {
		return []*pprof.ValueType{{Type: profile.CountMetric, Unit: "count"}}
	}
	taken := map[string]int{}
	for i := range c.list {
		name, _ := sampleType(c.list[i].metric)
		taken[name]++
	}
	list := make([]*pprof.ValueType, len(c.list))
	for i := range c.list {
		name, unit := sampleType(c.list[i].metric)
		if taken[name] > 1 {
			name = c.list[i].metric
		}
		unit = cmp.Or(c.list[i].unit, unit)
		list[i] = &pprof.ValueType{Type: name, Unit: unit}
	}
	return list
}
