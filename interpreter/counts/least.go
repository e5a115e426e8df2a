package counts

import (
	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/profile"
)

// Least is what the work of a kernel's launches takes at least on a GPU, in seconds: dot products, and all other arithmetic. The two run on
// different units, and may overlap.
type Least struct {
	Dots, Others float64
	Memory       float64 // different bytes from memory or into it; 0 if they were not counted
	Units        float64 // as often as it would take with all multiprocessors busy
}

// Least is a bound for a GPU with so many multiprocessors. A program instance runs on one of them, so that one of them has at least the work of
// all divided by the instances, or by the multiprocessors, if these are fewer; and if all instances do the same, it has that of a whole number
// of instances. How many a multiprocessor holds at a time does not matter: they share its units. Types without a peak are left out.
func (k *Kernel) Least(d *profile.Device) (least Least) {
	least.Units = k.units(d.NumSMs)
	sum := func(to *float64, flops map[string]int64) {
		for of, n := range flops {
			dtype, passes := peaks.Counted(of)
			if peak, err := peaks.Peak(*d, dtype); err == nil && peak > 0 {
				*to += float64(n) * float64(passes) / peak * least.Units
			}
		}
	}
	bandwidth, _ := peaks.Bandwidth(*d)
	for i := range k.Lines {
		if l := &k.Lines[i]; bandwidth > 0 {
			least.Memory += float64(l.Loads.FirstBytes+l.Stores.FirstBytes+l.Atomics.FirstBytes) / bandwidth
		}
		sum(&least.Dots, k.Lines[i].DotFlops)
		sum(&least.Others, k.Lines[i].Flops)
	}
	return least
}

func (k *Kernel) units(multiprocessors int64) float64 {
	blocks := k.Most * max(k.CTAs, 1)
	switch {
	case blocks == 0 || multiprocessors == 0:
		return 1
	case blocks < multiprocessors:
		return float64(multiprocessors) / float64(blocks)
	case k.SameWork && k.CTAs <= 1:
		return float64((blocks+multiprocessors-1)/multiprocessors*multiprocessors) / float64(blocks)
	}
	return 1
}
