package peaks

import (
	"fmt"

	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/profile"
)

// UnknownError is returned for a device whose peaks are not in the tables.
type UnknownError struct {
	Type, Arch string
	What       string // the type of operands, or the memory, if other peaks of the device are in the tables; else ""
}

func (e *UnknownError) Error() string {
	if e.Type == "" {
		return "the device is of no known vendor"
	}
	if e.Arch == "" {
		return fmt.Sprintf("the profile does not name the architecture of a %s device", e.Type)
	}
	what := "figures"
	if e.What != "" {
		what = "of " + e.What
	}
	return fmt.Sprintf("no peak %s for %s architecture %s", what, e.Type, vendors.ArchName(e.Type, e.Arch))
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

// ProtonFlops returns the dense peak in flop/s by which --compat divides, for operands of width bits: 8, 16, 32 or 64.
func ProtonFlops(d profile.Device, width int) (float64, error) {
	v := ByType[d.Type]
	if v == nil {
		return 0, unknown(d, "")
	}
	return byWidth(v, completed(v, d), width)
}

func byWidth(v *Figures, d profile.Device, width int) (float64, error) {
	switch peak, known := v.ProtonFlops(d, width); {
	case !known:
		return 0, unknown(d, "")
	case peak <= 0:
		return 0, missing(d, "num_sms or clock_rate")
	default:
		return peak, nil
	}
}

// Bandwidth returns the peak of the device's memory in byte/s.
func Bandwidth(d profile.Device) (float64, error) {
	return bandwidth(d, func(v *Figures) peakOf { return v.Bandwidth })
}

// ProtonBandwidth returns the bandwidth in byte/s by which --compat divides.
func ProtonBandwidth(d profile.Device) (float64, error) {
	return bandwidth(d, func(v *Figures) peakOf { return v.ProtonBandwidth })
}

type peakOf = func(profile.Device) (peak float64, known bool)

func bandwidth(d profile.Device, of func(*Figures) peakOf) (float64, error) {
	v := ByType[d.Type]
	if v == nil {
		return 0, unknown(d, "")
	}
	d = completed(v, d)
	switch peak, known := of(v)(d); {
	case !known && v.Rates[Architecture(d)] != nil:
		return 0, unknown(d, "memory")
	case !known:
		return 0, unknown(d, "")
	case peak <= 0:
		return 0, missing(d, "bus_width or memory_clock_rate")
	default:
		return peak, nil
	}
}

// completed is a device with the facts that the profile lacks and its board's name gives.
func completed(v *Figures, d profile.Device) profile.Device {
	if v.Complete != nil {
		v.Complete(&d)
	}
	return d
}

func unknown(d profile.Device, what string) error { return &UnknownError{d.Type, d.Arch, what} }

func missing(d profile.Device, facts string) error { return &MissingError{d.Type, d.Arch, facts} }
