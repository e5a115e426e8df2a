package viewer

import (
	"cmp"
	"math"
	"slices"

	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/profile"
)

// Roof is what bounds the work of a device: what a picture of the roofline draws as its two ceilings.
type Roof struct {
	Device   profile.Device // as the profile describes it; at least its type and ordinal
	Bytes    float64        // per second; NaN when it is not known
	Ceilings []Ceiling      // of the metrics that the profile has first, then of other types of operands
}

// Ceiling is a peak arithmetic rate.
type Ceiling struct {
	DType    string  `json:"dtype"`
	Rate     float64 `json:"rate"`     // per second
	Recorded bool    `json:"recorded"` // the profile has a metric that counts these
}

// Roofs returns the roofs of all devices that did any work, by type and ordinal; none unless a metric of the roofline
// was requested.
func (t *Table) Roofs() []Roof { return t.roofs }

func (b *builder) roofs() []Roof {
	if b.roof == nil {
		return nil
	}
	var all []Roof
	for key, at := range b.roof.of {
		r := Roof{Device: profile.Device{Type: key.typ, ID: key.id}, Bytes: b.roof.devices[at].bytes}
		for i, f := range b.roof.flops {
			if rate := b.roof.devices[at].flops[i]; !math.IsNaN(rate) {
				r.Ceilings = append(r.Ceilings, Ceiling{f.dtype, rate, true})
			}
		}
		if d := b.device(key); d != nil {
			r.Device = *d
			r.addOthers()
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Roof) int {
		return cmp.Or(cmp.Compare(a.Device.Type, b.Device.Type), cmp.Compare(a.Device.ID, b.Device.ID))
	})
	return all
}

// addOthers adds the ceilings of types that the profile counts nothing of, for comparison.
func (r *Roof) addOthers() {
	for _, dtype := range peaks.DTypes {
		if slices.ContainsFunc(r.Ceilings, func(c Ceiling) bool { return c.DType == dtype }) {
			continue
		}
		if rate, err := peaks.Peak(r.Device, dtype); err == nil {
			r.Ceilings = append(r.Ceilings, Ceiling{dtype, rate, false})
		}
	}
}
