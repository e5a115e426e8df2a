package viewer

import (
	"math"
	"slices"

	"github.com/goproton/goproton/internal/figures"
)

// What was read of whole GPUs over time, as its share of the time of the kernels that it was shared out among.
var activities = []string{"gpu_active", "tensor_active", "dram_reading", "dram_writing"}

// overTimeColumn reads power, in W, and the shares of the time in which parts of a GPU were active.
func (b *builder) overTimeColumn(name string) (column, bool, error) {
	of, unit := name, figures.Unit{Factor: 1}
	if name == "power" {
		of, unit.Label = "energy", "W"
	} else if !slices.Contains(activities, name) {
		return column{}, false, nil
	}
	r, recorded := b.find(of)
	if _, own := b.find(name); name == "power" && (own || !recorded) || !recorded {
		return column{}, false, nil
	}
	elapsed, err := b.seconds("time")
	if err != nil {
		return column{}, true, err
	}
	factor := 1.0
	if u, known := figures.Times.Unit(recordedUnit(r.name)); known {
		factor = u.Factor
	}
	amount := b.computed(ours+name, true, func(f *frame) float64 {
		if math.IsNaN(elapsed.own(f)) { // what was read while nothing ran
			return missing
		}
		return number(f.node, r.name)
	})
	c := column{Column: Column{Label: name, Inclusive: true, Unit: unit.Label, Ratio: name != "power"}, unit: unit}
	c.value = func(a []float64) float64 { return a[amount] * factor / elapsed.of(a) }
	return c, true, nil
}
