// Package specs has the peak rates of GPUs: arithmetic by operand width or type, and memory bandwidth. It computes them from
// the description of the devices in a profile. The viewer's roofline divides by these.
//
// All figures are for dense matrices: the doubled rates that vendors print for 2:4 sparse matrices are halved. For a GPU that
// Triton's Proton supports, the formulas by width give exactly Proton's numbers, which --compat divides by: the 32 and 64 bit
// peaks of those GPUs are fixed fractions of the 8 bit peak. Peak gives the figure of a type, which util divides by.
package specs

import (
	"fmt"
	"strings"

	"github.com/goproton/goproton/internal/vendor"
	"github.com/goproton/goproton/profile"
)

// Widths are the operand widths in bits for which peaks exist, in the order of the metrics flops8 to flops64.
var Widths = [4]int{8, 16, 32, 64}

// figures are those of one vendor's GPUs.
type figures struct {
	// flops is the peak in flop/s by width, 0 where the profile lacks a factor, and whether width and architecture are known.
	flops     func(d profile.Device, width int) (float64, bool)
	bandwidth func(d profile.Device) (float64, error) // in byte/s
	rates     map[string]rates                        // by architecture
	as        map[string]map[string]string            // the types, by architecture, that run as another one, with that type
}

// vendors are the figures by the type of a profile's devices.
var vendors = map[string]*figures{cuda: &nvidia, hip: &amd}

// architecture is an architecture as the tables have it: without the features of a full target name, such as
// gfx942:sramecc+:xnack-.
func architecture(d profile.Device) string {
	name, _, _ := strings.Cut(d.Arch, ":")
	return name
}

// UnknownError is returned for a device whose peaks are not in the tables.
type UnknownError struct {
	Type, Arch string
}

func (e *UnknownError) Error() string {
	if e.Arch == "" {
		return fmt.Sprintf("the profile does not name the architecture of a %s device", e.Type)
	}
	return fmt.Sprintf("no peak figures for %s architecture %s", e.Type, vendor.ArchName(e.Type, e.Arch))
}

// MissingError is returned for a device whose peak per clock is known, if the profile lacks a factor such as the clock rate.
type MissingError struct {
	Type, Arch string
	Facts      string // names of fields in the device table
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("the profile holds no %s for a %s device of architecture %s", e.Facts, e.Type, e.Arch)
}

// Device finds a device of a profile; nil if there is none. Metrics of the intra-kernel profiler name the type by number, and
// launches have none, so a device whose type the profile does not have is looked up by its ordinal alone.
func Device(p *profile.Profile, typ, id string) *profile.Device {
	if d := p.Device(typ, id); d != nil {
		return d
	}
	for i := range p.Devices {
		if p.Devices[i].ID == id {
			return &p.Devices[i]
		}
	}
	return nil
}

// Flops returns the dense peak in flop/s for operands of width bits: 8, 16, 32 or 64.
func Flops(d profile.Device, width int) (float64, error) {
	v := vendors[d.Type]
	if v == nil {
		return 0, &UnknownError{d.Type, d.Arch}
	}
	switch peak, known := v.flops(withBoard(d), width); {
	case !known:
		return 0, &UnknownError{d.Type, d.Arch}
	case peak <= 0:
		return 0, &MissingError{d.Type, d.Arch, "num_sms or clock_rate"}
	default:
		return peak, nil
	}
}

// Bandwidth returns the peak of the device's memory in byte/s.
func Bandwidth(d profile.Device) (float64, error) {
	if v := vendors[d.Type]; v != nil {
		return v.bandwidth(withBoard(d))
	}
	return 0, &UnknownError{d.Type, d.Arch}
}
