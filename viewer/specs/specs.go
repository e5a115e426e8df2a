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

	"github.com/goproton/goproton/profile"
)

// Widths are the operand widths in bits for which peaks exist, in the order of the metrics flops8 to flops64.
var Widths = [4]int{8, 16, 32, 64}

// UnknownError is returned for a device whose peaks are not in the tables.
type UnknownError struct {
	Type, Arch string
}

func (e *UnknownError) Error() string {
	switch {
	case e.Arch == "":
		return fmt.Sprintf("the profile does not name the architecture of a %s device", e.Type)
	case e.Type == cuda:
		return fmt.Sprintf("no peak figures for CUDA architecture sm_%s", e.Arch)
	}
	return fmt.Sprintf("no peak figures for %s architecture %s", e.Type, e.Arch)
}

// MissingError is returned for a device whose peak per clock is known, if the profile lacks a factor such as the clock rate.
type MissingError struct {
	Type, Arch string
	Facts      string // names of fields in the device table
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("the profile holds no %s for a %s device of architecture %s", e.Facts, e.Type, e.Arch)
}

// The device types of a profile.
const (
	cuda = "CUDA"
	hip  = "HIP"
)

// Flops returns the dense peak in flop/s for operands of width bits: 8, 16, 32 or 64.
func Flops(d profile.Device, width int) (float64, error) {
	peak, known := 0.0, false
	d = withBoard(d)
	switch d.Type {
	case cuda:
		peak, known = nvidiaFlops(d, width)
	case hip:
		var perCU float64
		perCU, known = amdFlops8[amdArch(d.Arch)]
		peak = perCU * float64(d.NumSMs) * float64(d.ClockRate) * 1e3 / (float64(width) / 8)
	}
	switch {
	case !known:
		return 0, &UnknownError{d.Type, d.Arch}
	case peak <= 0:
		return 0, &MissingError{d.Type, d.Arch, "num_sms or clock_rate"}
	}
	return peak, nil
}

// Bandwidth returns the peak of the device's memory in byte/s.
func Bandwidth(d profile.Device) (float64, error) {
	d = withBoard(d)
	switch d.Type {
	case cuda:
		// Two transfers per clock on every memory that CUDA GPUs have had; the driver reports the clock so
		// that this holds for GDDR6X and HBM3e too (H200: 2 × 6016 bit × 3.201 GHz / 8 = 4.8 TB/s).
		if peak := 2 * float64(d.BusWidth) * float64(d.MemoryClockRate) * 1e3 / 8; peak > 0 {
			return peak, nil
		}
		if peak, ok := sharedMemoryBandwidth[d.Arch]; ok {
			return peak, nil
		}
		return 0, &MissingError{d.Type, d.Arch, "bus_width or memory_clock_rate"}
	case hip:
		if peak, ok := amdBandwidth[amdArch(d.Arch)]; ok {
			return peak, nil
		}
	}
	return 0, &UnknownError{d.Type, d.Arch}
}

// amdArch drops the feature flags of a full target name: gfx942:sramecc+:xnack- is gfx942.
func amdArch(arch string) string {
	name, _, _ := strings.Cut(arch, ":")
	return name
}
