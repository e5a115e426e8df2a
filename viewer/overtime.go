package viewer

import (
	"math"

	"github.com/goproton/goproton/internal/figures"
)

// overTime are the columns of what was read of whole GPUs over time, as a part of the time of the kernels that it was shared out among.
var overTime = []struct {
	offer
	recorded string // the amount, without its unit
}{
	{offer{"power", "watts: energy / time of the kernels that took it"}, "energy"},
	{offer{"gpu_active", "share of the kernels' time in which multiprocessors had warps, as sampled"}, "gpu_active_time"},
	{offer{"tensor_active", "share of the kernels' time in which tensor cores worked, as sampled"}, "tensor_active_time"},
	{offer{"dram_reading", "reading from the GPU's memory, as a share of the most, as sampled"}, "dram_reading_time"},
	{offer{"dram_writing", "writing to the GPU's memory, as a share of the most, as sampled"}, "dram_writing_time"},
}

// overTimeMetrics are their names.
func overTimeMetrics() (all []offer) {
	for i := range overTime {
		all = append(all, overTime[i].offer)
	}
	return all
}

// overTimeColumn reads the names of overTime.
func (b *builder) overTimeColumn(name string) (column, bool, error) {
	for i := range overTime {
		r, recorded := b.find(overTime[i].recorded)
		if _, own := b.find(name); overTime[i].name != name || own || !recorded {
			continue
		}
		elapsed, err := b.seconds("time")
		if err != nil {
			return column{}, true, err
		}
		c := column{Column: Column{Label: name, Inclusive: true}, unit: figures.Unit{Factor: 1}}
		factor := 1.0
		if u, share := figures.Times.Unit(figures.MetricUnit(r.name)); share {
			factor, c.Ratio = u.Factor, true
		} else {
			c.Unit = "W"
		}
		amount := b.computed(ours+name, true, func(f *frame) float64 {
			if math.IsNaN(elapsed.own(f)) { // what was read while nothing ran
				return missing
			}
			return f.node.Number(r.name)
		})
		c.value = func(a []float64) float64 { return a[amount] * factor / elapsed.of(a) }
		return c, true, nil
	}
	return column{}, false, nil
}
