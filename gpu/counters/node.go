package counters

import (
	"math"

	"github.com/goproton/goproton/profile"
)

// Stands is how many launches each measured launch of a frame stands for; NaN where none was measured.
func Stands(n *profile.Node) float64 {
	measured, all := number(n, Launches), number(n, profile.CountMetric)
	switch {
	case !(measured > 0):
		return math.NaN()
	case !(all > 0):
		return 1
	}
	return all / measured
}

// Total is a metric of all launches of a frame: the sum over the measured ones, times the launches that each stands for. NaN where it was
// not measured.
func Total(n *profile.Node, metric string) float64 { return number(n, metric) * Stands(n) }

// At are what stands above and below the fraction line for all launches of a frame; NaN where it was not measured.
func (f *Figure) At(n *profile.Node) (above, below float64) {
	each := Stands(n)
	if math.IsNaN(each) {
		return each, each
	}
	above, below, ok := f.Parts(func(metric string) (float64, bool) { v := number(n, metric); return v * each, !math.IsNaN(v) })
	if !ok {
		return math.NaN(), math.NaN()
	}
	return above, below
}

func number(n *profile.Node, metric string) float64 {
	for i := range n.Metrics {
		if m := &n.Metrics[i]; m.Name == metric {
			if v, ok := m.Value.Float(); ok {
				return v
			}
			break
		}
	}
	return math.NaN()
}
