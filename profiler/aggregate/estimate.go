package aggregate

import (
	"math"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/budget"
	"github.com/goproton/goproton/profiler/callpath"
)

// estimate has an activity stand for those that were not recorded, between windows.
func (a *Aggregator) estimate(k *record.Activity, set uint32, sums []*total) {
	if a.Windows == nil {
		return
	}
	x := budget.Amount{Count: 1, Bytes: float64(k.Bytes)}
	if k.Timed() {
		x.Nanos = float64(k.Duration())
	}
	if isKernel(k.Kind) {
		a.Total.Add(a.Windows, set, x)
	}
	for _, t := range sums {
		if t.others == nil {
			t.others = &budget.Sum{}
		}
		t.others.Add(a.Windows, set, x)
	}
}

// weighted is a metric that stands for those of the time between windows, too. A property is not added up.
func (a *Aggregator) weighted(set uint32, m callpath.OpMetric) callpath.OpMetric {
	if a.Windows == nil {
		return m
	}
	if _, kind := MetricName(hotpath.Text(m.Name)); kind == profile.Property {
		return m
	}
	times := a.Windows.Of(set)
	if m.Double {
		m.Bits = math.Float64bits(math.Float64frombits(m.Bits) * times)
	} else {
		m.Bits = uint64(int64(math.Round(float64(int64(m.Bits)) * times)))
	}
	return m
}

// estimated is a sum with what is estimated for the time between windows, and the standard error of its time.
func (t *total) estimated(w *budget.Weights) (whole total, wrong float64) {
	whole = *t
	if w == nil || t.others == nil {
		return whole, 0
	}
	others, wrong := t.others.Total(w)
	whole.count += uint64(math.Round(others.Count))
	whole.nanos += uint64(math.Round(others.Nanos))
	whole.bytes += uint64(math.Round(others.Bytes))
	return whole, wrong
}
