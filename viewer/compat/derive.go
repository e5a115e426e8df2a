package compat

import (
	"fmt"
	"math"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
)

// metric is one shown column.
type metric struct {
	label string // "time/ms (inc)"
	value func(r *row) float64
	text  func(r *row) string // replaces value for properties and vectors
	raw   bool                // it is a recorded sum, which is computed again after a filter
}

// seconds are the sizes, in seconds, of the units in which a time may be recorded or requested.
var seconds = map[string]float64{"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

// rates are the derived metrics of the form amount per second: the recorded amount and the factor.
var rates = func() map[string]rate {
	all := map[string]rate{}
	for _, width := range []string{"", "8", "16", "32", "64"} {
		for prefix, factor := range map[string]float64{"": 1, "g": 1e9, "t": 1e12} {
			all[prefix+"flop"+width+"/s"] = rate{"flops" + width, factor}
		}
	}
	for prefix, factor := range map[string]float64{"": 1, "g": 1e9, "t": 1e12} {
		all[prefix+"byte/s"] = rate{"bytes", factor}
	}
	return all
}()

type rate struct {
	amount string
	factor float64
}

// derive resolves the requested metrics and computes them for every row.
func (t *table) derive(wanted []string, warn func(string)) error {
	for _, w := range wanted {
		m, err := t.resolve(strings.TrimSpace(w), warn)
		if err != nil {
			return err
		}
		t.metrics = append(t.metrics, m)
	}
	t.each(t.evaluate)
	return nil
}

func (t *table) evaluate(r *row) {
	r.cells = r.cells[:0]
	for i := range t.metrics {
		r.cells = append(r.cells, t.metrics[i].of(r))
	}
}

func (m *metric) of(r *row) float64 {
	if m.value == nil {
		return missing
	}
	return m.value(r)
}

func (t *table) resolve(wanted string, warn func(string)) (metric, error) {
	name := strings.ToLower(wanted)
	if name == "util" {
		return t.util(warn)
	}
	if r, ok := rates[name]; ok {
		return t.rate(name, r)
	}
	base, unit, divided := strings.Cut(name, "/")
	switch base {
	case "time", "cpu_time", "avg_time", "avg_cpu_time":
		if factor, ok := seconds[unit]; ok {
			return t.time(name, base, factor)
		}
	}
	if !divided || t.have(wanted) {
		return t.recorded(wanted)
	}
	if unit != "%" {
		return metric{}, fmt.Errorf("derive %s: unsupported unit %q; use s, ms, us or ns for times and %% for shares", wanted, unit)
	}
	return t.share(name, base)
}

func (t *table) rate(name string, r rate) (metric, error) {
	amount, err := t.find(r.amount)
	if err != nil {
		return metric{}, t.hintWidths(r.amount, err)
	}
	elapsed, err := t.inSeconds("time")
	if err != nil {
		return metric{}, err
	}
	return metric{label: name + " (inc)", value: func(row *row) float64 {
		return amount.of(row) / elapsed(row) / r.factor
	}}, nil
}

// hintWidths adds the recorded width to the error for plain flops, the most common mistake.
func (t *table) hintWidths(wanted string, err error) error {
	if wanted != "flops" {
		return err
	}
	for _, w := range []string{"8", "16", "32", "64"} {
		if t.have("flops" + w) {
			return fmt.Errorf("%w; this profile has flops%s: ask for flop%s/s, gflop%s/s or tflop%s/s", err, w, w, w, w)
		}
	}
	return err
}

func (t *table) time(name, base string, factor float64) (metric, error) {
	recorded, averaged := strings.CutPrefix(base, "avg_")
	elapsed, err := t.inSeconds(recorded)
	if err != nil {
		return metric{}, err
	}
	value := func(r *row) float64 { return elapsed(r) / factor }
	if averaged {
		count, err := t.find("count")
		if err != nil {
			return metric{}, err
		}
		value = func(r *row) float64 { return elapsed(r) / count.of(r) / factor }
	}
	return metric{label: name + " (inc)", value: value}, nil
}

// inSeconds returns a recorded time in seconds.
func (t *table) inSeconds(recorded string) (func(r *row) float64, error) {
	src, err := t.find(recorded)
	if err != nil {
		return nil, err
	}
	unit, ok := seconds[figures.MetricUnit(src.name)]
	if !ok {
		return nil, fmt.Errorf("read %q as a time: its name has no unit; record it as \"%s (ns)\"", src.name, recorded)
	}
	return func(r *row) float64 { return src.of(r) * unit }, nil
}

func (t *table) recorded(name string) (metric, error) {
	src, err := t.find(name)
	if err != nil {
		return metric{}, err
	}
	m := metric{label: term.Printable(src.label()), value: src.of, raw: src.inclusive}
	if t.columns[src.at].text {
		m.value, m.text = nil, func(r *row) string { return text(r.node, src.name) }
	}
	return m, nil
}

// share is a percentage: of the root's sum for inclusive metrics, of the sum over all frames for others.
func (t *table) share(name, base string) (metric, error) {
	src, err := t.find(base)
	if err != nil {
		return metric{}, err
	}
	total, label := 0.0, name
	if src.inclusive {
		total, label = src.of(t.root), name+" (inc)"
	} else {
		t.each(func(r *row) {
			if v := src.of(r); !math.IsNaN(v) {
				total += v
			}
		})
	}
	return metric{label: label, value: func(r *row) float64 { return src.of(r) / total * 100 }}, nil
}

// text prints a property or a vector.
func text(n *profile.Node, name string) string {
	v, ok := n.Metric(name)
	if !ok {
		return fixed(missing)
	}
	var parts []string
	switch v.Type() {
	case profile.String:
		return term.Printable(v.Str())
	case profile.Ints:
		for _, i := range v.Ints() {
			parts = append(parts, fmt.Sprint(i))
		}
	case profile.Floats:
		for _, f := range v.Floats() {
			parts = append(parts, fixed(f))
		}
	default:
		f, _ := v.Float()
		return fixed(f)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// warnOfOverflow warns if a byte count is negative.
func (t *table) warnOfOverflow(warn func(string)) {
	for i := range t.metrics {
		if t.metrics[i].label != "bytes (inc)" {
			continue
		}
		negative := false
		t.each(func(r *row) { negative = negative || r.cells[i] < 0 })
		if negative {
			warn("negative byte values: a 32 bit count in the launch metadata overflowed; compute bytes with Python integers or 64 bit tensors")
		}
	}
}

// side says which of two compared profiles has a frame.
type side uint8

const (
	both side = iota
	onlyLeft
	onlyRight
)

// subtract takes the cells of another tree from those of one, frame by frame along equal paths. A frame that only one
// profile has keeps what it has and is marked: values on the left, nothing (nan) on the right.
func subtract(left, right *row) {
	for i, v := range right.cells {
		if d := left.cells[i] - v; !math.IsNaN(d) {
			left.cells[i] = d
		}
	}
	left.children = subtractChildren(left.children, right.children)
}

// subtractChildren walks two lists in order of name.
func subtractChildren(left, right []*row) []*row {
	var all []*row
	for len(left) > 0 || len(right) > 0 {
		switch {
		case len(right) == 0 || len(left) > 0 && left[0].name < right[0].name:
			left[0].each(func(r *row) { r.side = onlyLeft })
			all, left = append(all, left[0]), left[1:]
		case len(left) == 0 || right[0].name < left[0].name:
			right[0].each(func(r *row) {
				r.side = onlyRight
				for i := range r.cells {
					r.cells[i] = missing
				}
			})
			all, right = append(all, right[0]), right[1:]
		default:
			subtract(left[0], right[0])
			all, left, right = append(all, left[0]), left[1:], right[1:]
		}
	}
	return all
}
