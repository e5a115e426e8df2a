package viewer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/internal/figures"
)

// counterColumn reads the names of figures of hardware counters, of the vendor's metrics, measured and traffic_ratio. A figure is for all
// launches of a row's measured kernels: what the measured launches had, times the launches that each stands for. Shares and ratios are
// of such sums.
func (b *builder) counterColumn(name string) (column, bool, error) {
	if c, ok := b.vendorColumn(name); ok {
		return c, true, nil
	}
	base, wanted, fixed := strings.Cut(strings.ToLower(name), "/")
	switch base {
	case "measured", "traffic_ratio", "declared_util":
		if !b.counted() || fixed && (base == "traffic_ratio" || wanted != "%") {
			return column{}, false, nil
		}
		return b.measuredColumn(base, fixed)
	}
	f := counters.Find(base)
	if f == nil || fixed && wanted == "%" && f.Unit != counters.Share { // "/%" is the share of the whole
		return column{}, false, nil
	}
	if _, recorded := b.find(base); recorded && f.Name == base { // another program's metric of that name
		return column{}, false, nil
	}
	if !b.measuredAnywhere(f) {
		return column{}, true, b.notMeasured(f)
	}
	if !f.ByLine() {
		b.needMeasured()
	}
	c := b.figureColumn(f)
	c.Label = base
	switch f.Unit {
	case counters.Bytes, counters.Flops:
		q := &figures.Flops
		if f.Unit == counters.Bytes {
			q = &figures.Bytes
		}
		return c.shownIn(q, name, wanted, fixed)
	case counters.Share:
		if fixed && wanted != "%" {
			return column{}, true, unknownUnit(name, &figures.Quantity{Units: []figures.Unit{figures.Percent}})
		}
		if fixed || base != f.Name { // the vendor's ratios are in percent
			c.in(nil, figures.Percent, true)
		}
	default:
		if fixed {
			return column{}, true, fmt.Errorf("%s: %s has no unit", name, base)
		}
	}
	return c, true, nil
}

// shownIn is the column in a unit of a quantity, or in one that is still to be chosen.
func (c column) shownIn(q *figures.Quantity, name, unit string, fixed bool) (column, bool, error) {
	u, known := q.Unit(unit)
	if fixed && !known {
		return column{}, true, unknownUnit(name, q)
	}
	c.in(q, u, fixed)
	return c, true, nil
}

func unknownUnit(name string, q *figures.Quantity) error {
	return fmt.Errorf("%s: unknown unit; use %s", name, q.Names())
}

// figureColumn is a figure in its base unit.
func (b *builder) figureColumn(f *counters.Figure) column {
	above := b.computed(ours+f.Name+" above", true, func(at *frame) float64 { above, _ := f.At(at.node); return above })
	c := column{Column: Column{Inclusive: true, Additive: true}, unit: figures.Unit{Factor: 1}, value: func(a []float64) float64 { return a[above] }}
	if f.Unit != counters.Share && f.Unit != counters.Ratio {
		return c
	}
	below := b.computed(ours+f.Name+" below", true, func(at *frame) float64 { _, below := f.At(at.node); return below })
	c.Additive, c.Ratio = false, f.Unit == counters.Share
	c.value = func(a []float64) float64 { return a[above] / a[below] }
	return c
}

// measuredAnywhere says whether some launch was measured with all metrics of a figure.
func (b *builder) measuredAnywhere(f *counters.Figure) bool {
	return (b.counted() || f.ByLine()) && slices.ContainsFunc(b.frames, func(at frame) bool { above, _ := f.At(at.node); return !math.IsNaN(above) })
}

func (b *builder) notMeasured(f *counters.Figure) error {
	switch {
	case b.trying:
		return errNotHere
	case f.ByLine():
		return fmt.Errorf("%w %s in this profile: nothing was counted by line; run with -m counters:set=%s", ErrUnknownMetric, f.Name, counters.LinesSet)
	case b.impossible() > 0:
		return fmt.Errorf("%w %s in this profile: %s", ErrUnknownMetric, f.Name, impossibleText(b.impossible()))
	case b.counted():
		return fmt.Errorf("%w %s in this profile: its run measured other hardware counters; run with -m counters:set=%s", ErrUnknownMetric, f.Name, f.Name)
	}
	return fmt.Errorf("%w %s in this profile: it has no hardware counters; run with -m counters:set=%s", ErrUnknownMetric, f.Name, f.Name)
}

// vendorColumn is a metric under the vendor's name: the sum over all launches if it adds up, else the mean of a launch.
func (b *builder) vendorColumn(name string) (column, bool) {
	r, ok := b.find(name)
	if !ok || r.text || !counters.IsMetric(r.name) || !b.counted() {
		return column{}, false
	}
	b.needMeasured()
	sum := b.computed(ours+"counted "+r.name, true, func(f *frame) float64 { return counters.Total(f.node, r.name) })
	c := column{Column: Column{Label: r.name, Exact: r.name, Inclusive: true, Additive: counters.Adds(r.name)}, unit: figures.Unit{Factor: 1}, value: func(a []float64) float64 { return a[sum] }}
	if !c.Additive {
		launches := b.computed(ours+"launches with "+r.name, true, func(f *frame) float64 {
			if math.IsNaN(counters.Total(f.node, r.name)) {
				return missing
			}
			return f.node.Number(counters.Launches) * counters.Stands(f.node)
		})
		c.value = func(a []float64) float64 { return a[sum] / a[launches] }
	}
	return c, true
}

// measuredColumn reads measured, traffic_ratio and declared_util.
func (b *builder) measuredColumn(name string, percent bool) (column, bool, error) {
	share := b.needMeasured()
	c := column{Column: Column{Label: name, Inclusive: true, Ratio: name != "traffic_ratio"}, unit: figures.Unit{Factor: 1}, value: share}
	if percent {
		c.in(nil, figures.Percent, true)
	}
	switch name {
	case "measured":
		return c, true, nil
	case "declared_util":
		util, err := b.declaredUtil()
		c.value = util
		return c, true, err
	}
	b.lend()
	part := func(what string, of func(f *frame) float64) int {
		return b.computed(ours+what, true, func(f *frame) float64 {
			if !(f.said > 0) {
				return missing
			}
			return of(f)
		})
	}
	moved := part("bytes measured where some were declared", func(f *frame) float64 { return f.did.Number("bytes") })
	said := part("bytes declared where some were measured", func(f *frame) float64 { return f.said })
	c.value = func(a []float64) float64 { return a[moved] / a[said] }
	if slices.ContainsFunc(b.frames, func(f frame) bool { return f.said > 0 }) {
		return c, true, nil
	}
	if b.trying {
		return column{}, true, errNotHere
	}
	return column{}, true, fmt.Errorf("traffic_ratio: no kernel has both measured bytes and declared or estimated ones; let launch_metadata return bytes, and run with -m counters")
}

// declaredUtil is util by what was declared or estimated alone, where counters measured something else.
func (b *builder) declaredUtil() (func(a []float64) float64, error) {
	if err := b.needRoofline("declared_util"); err != nil {
		return nil, err
	}
	r := b.roof
	own := func(f *frame) float64 {
		var work peaks.Roof
		r.addWork(&work, f, f.done())
		return work.Least()
	}
	known := make(map[*frame]bool, len(b.frames))
	for i := range b.frames {
		f := &b.frames[i]
		known[f] = !math.IsNaN(own(f)) || f.parent >= 0 && known[&b.frames[f.parent]]
	}
	least := b.computed(ours+"declared least time", true, func(f *frame) float64 {
		if all, lined := r.lined[f]; all != nil {
			return all.Least()
		} else if lined {
			return missing
		}
		return own(f)
	})
	covered := b.computed(ours+"time of declared work", true, func(f *frame) float64 {
		if !known[f] {
			return missing
		}
		return b.sums.amounts[r.elapsed].of(f)
	})
	return func(a []float64) float64 {
		if !(add(0, a[covered])/a[r.elapsed] >= leastCoverage) {
			return missing
		}
		return a[least] / a[covered]
	}, nil
}
