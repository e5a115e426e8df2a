package report

import (
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
)

// rooflineHead is what the roofline plot draws in addition to the kernels, which are the rows of the flat table.
type rooflineHead struct {
	Roofs []roof `json:"roofs"`
}

// roof is the two ceilings of one kind of device.
type roof struct {
	Device   string           `json:"device"`
	Bytes    float64          `json:"bytes"` // per second
	Ceilings []viewer.Ceiling `json:"ceilings"`
}

// addRoofline adds the plot when there is something to place on it: kernels with an intensity, and a roof.
func (b *builder) addRoofline(t *viewer.Table) {
	if b.column("intensity") < 0 || b.column("flop/s") < 0 {
		return
	}
	h := &rooflineHead{}
	for _, r := range t.Roofs() {
		if math.IsNaN(r.Bytes) || len(r.Ceilings) == 0 {
			continue
		}
		next := roof{clean(deviceName(r.Device)), r.Bytes, r.Ceilings}
		if !slices.ContainsFunc(h.Roofs, func(o roof) bool { return o.Device == next.Device && o.Bytes == next.Bytes }) { // the eight GPUs of a machine share one
			h.Roofs = append(h.Roofs, next)
		}
	}
	if len(h.Roofs) > 0 {
		b.Roofline = h
	}
}

// deviceName describes a kind of device.
func deviceName(d profile.Device) string {
	name := vendors.ArchName(d.Type, d.Arch)
	switch {
	case name == "":
		name = d.Name
	case d.Name != "":
		name = d.Name + " (" + name + ")"
	}
	if d.NumSMs > 0 {
		name += ", " + figures.Count(d.NumSMs, "multiprocessor")
	}
	return strings.TrimSpace(name)
}
