package peaks

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

const hip = "HIP" // the type of devices in a profile

var amd = Figures{
	Rates: map[string]Rates{
		"gfx908": cdna1, "gfx90a": cdna2, "gfx940": cdna3, "gfx941": cdna3, "gfx942": cdna3, "gfx950": cdna4,
		"gfx1100": rdna3, "gfx1151": rdna3, "gfx1201": rdna4,
	},
	As: map[string]map[string]string{
		"gfx908": {"fp8": "fp16", "tf32": "fp32"}, "gfx90a": {"fp8": "fp16", "tf32": "fp32"}, "gfx950": {"tf32": "fp32"},
		"gfx1100": {"fp8": "fp16", "tf32": "fp32"}, "gfx1151": {"fp8": "fp16", "tf32": "fp32"}, "gfx1201": {"tf32": "fp32"},
	},
	Boards: amdNames, Complete: amdComplete, Bandwidth: amdBandwidth, Units: amdUnits,
	ProtonFlops: amdProtonFlops, ProtonBandwidth: amdProtonBandwidth,
}

// Rates of compute units: each figure of a datasheet divided by compute units and clock, which amdParts has. fp16 to tf32 are those of
// the matrix units; fp32 and fp64 are the faster of matrix and vector units; tf32 is what AMD calls xf32. A type that is missing in all
// datasheets of an architecture is missing here: there is none of fp64 for the Radeon parts.
var (
	// AMD Instinct MI100 datasheet: 184.6 TFLOPS FP16, 184.6 TOPS INT8, 92.3 BF16, 46.1 FP32 matrix, 23.1 FP32, 11.5 FP64.
	cdna1 = Rates{"int8": 1024, "fp16": 1024, "bf16": 512, "fp32": 256, "fp32-vector": 128, "fp64": 64, "fp64-vector": 64}
	// AMD Instinct MI250X datasheet: 383 TFLOPS FP16 and BF16, 383 TOPS INT8, 95.7 FP32 and FP64 matrix, 47.9 vector.
	cdna2 = Rates{"int8": 1024, "fp16": 1024, "bf16": 1024, "fp32": 256, "fp32-vector": 128, "fp64": 256, "fp64-vector": 128}
	// AMD Instinct MI300X datasheet: 2614.9 TFLOPS FP8 and TOPS INT8, 1307.4 FP16 and BF16, 653.7 TF32, 163.4 FP32, 163.4 FP64
	// matrix, 81.7 FP64 vector. gfx940 and gfx941 were early steppings of the MI300A and MI300X with the same units (AMD CDNA 3
	// whitepaper).
	cdna3 = Rates{"fp8": 4096, "int8": 4096, "fp16": 2048, "bf16": 2048, "tf32": 1024, "fp32": 256, "fp64": 256, "fp64-vector": 128}
	// AMD Instinct MI355X datasheet: 10.1 PFLOPS MXFP4 and MXFP6, 5 PFLOPS FP8, 5 POPS INT8, 2.5 PFLOPS FP16 and BF16, 157.3 TFLOPS
	// FP32, 78.6 FP64 matrix and vector.
	cdna4 = Rates{"fp4": 16384, "fp6": 16384, "fp8": 8192, "int8": 8192, "fp16": 4096, "bf16": 4096, "fp32": 256, "fp64": 128, "fp64-vector": 128}
	// AMD Radeon RX 7900 XTX product page: 122.8 TFLOPS FP16, 61.4 FP32 (two at a time); AMD RDNA 3 instruction set: INT8 and BF16 at the
	// rate of FP16 (WMMA).
	rdna3 = Rates{"int8": 512, "fp16": 512, "bf16": 512, "fp32": 256}
	// AMD Radeon RX 9070 XT product page: 389 TFLOPS FP8 and TOPS INT8 matrix, 195 FP16 matrix, 48.7 FP32.
	rdna4 = Rates{"fp8": 2048, "int8": 2048, "fp16": 1024, "bf16": 1024, "fp32": 256}
)

// amdPart is a product, as its datasheet describes it.
type amdPart struct {
	name  string // part of the name that the driver reports
	arch  string
	units int64   // compute units
	clock int64   // maximal, in kHz
	bytes float64 // of its memory per second
}

// amdParts are listed with the most common one of an architecture first: it stands for devices that are none of the others.
var amdParts = []amdPart{
	{"MI100", "gfx908", 120, 1_502_000, 1.2288e12},     // AMD Instinct MI100 datasheet
	{"MI250X", "gfx90a", 110, 1_700_000, 1.6384e12},    // one of its two dies, each a device. AMD Instinct MI250X datasheet: 3.2768 TB/s together
	{"MI210", "gfx90a", 104, 1_700_000, 1.6384e12},     // AMD Instinct MI210 datasheet
	{"MI300X", "gfx942", 304, 2_100_000, 5.3e12},       // AMD Instinct MI300X datasheet
	{"MI300A", "gfx942", 228, 2_100_000, 5.3e12},       // AMD Instinct MI300A datasheet
	{"MI325X", "gfx942", 304, 2_100_000, 6.0e12},       // AMD Instinct MI325X datasheet
	{"MI355X", "gfx950", 256, 2_400_000, 8.0e12},       // AMD Instinct MI355X datasheet
	{"MI350X", "gfx950", 256, 2_200_000, 8.0e12},       // AMD Instinct MI350X datasheet
	{"RX 7900 XTX", "gfx1100", 96, 2_500_000, 0.96e12}, // AMD Radeon RX 7900 XTX product page
	{"RX 9070 XT", "gfx1201", 64, 2_970_000, 0.64e12},  // AMD Radeon RX 9070 XT product page
	{"8060S", "gfx1151", 40, 2_900_000, 0.256e12},      // Strix Halo. AMD Ryzen AI Max+ 395 product page: 256 bit LPDDR5X-8000
	{"MI300A", "gfx940", 228, 2_100_000, 5.3e12},
	{"MI300X", "gfx941", 304, 2_100_000, 5.3e12},
}

// fastHBM3 is between the memory clocks of MI300X (1300 MHz) and MI325X, in kHz: the parts have one architecture and as many units.
const fastHBM3 = 1_400_000

// amdPairs has, for architectures whose driver may count pairs of compute units (HIP does in WGP mode), the largest number that can only
// be pairs: no part has so few units.
var amdPairs = map[string]int64{"gfx1100": 48, "gfx1151": 20, "gfx1201": 32}

func amdUnits(d profile.Device) int64 {
	if d.NumSMs <= amdPairs[Architecture(d)] {
		return 2 * d.NumSMs
	}
	return d.NumSMs
}

// amdPartOf finds the part that a device is or belongs to: by name, then by memory clock, then by the number of units. A device that is
// none of the parts counts as the first of its architecture, if that is an Instinct; nil for others.
func amdPartOf(d profile.Device) *amdPart {
	arch := Architecture(d)
	_, radeon := amdPairs[arch]
	for _, is := range []func(p *amdPart) bool{
		func(p *amdPart) bool { return strings.Contains(d.Name, p.name) },
		func(p *amdPart) bool { return p.name == "MI325X" && d.MemoryClockRate > fastHBM3 },
		func(p *amdPart) bool { return p.units == amdUnits(d) && (!radeon || d.Name == "") },
		func(p *amdPart) bool { return !radeon && arch != "" },
	} {
		for i := range amdParts {
			if p := &amdParts[i]; (p.arch == arch || arch == "") && is(p) {
				return p
			}
		}
	}
	return nil
}

func amdNames() (names []string) {
	for _, p := range amdParts {
		if !slices.Contains(names, p.name) {
			names = append(names, p.name)
		}
	}
	return names
}

// amdComplete fills in what a profile lacks of a part that it names: Kineto's traces have neither architecture nor clock.
func amdComplete(d *profile.Device) {
	if p := amdPartOf(*d); p != nil && strings.Contains(d.Name, p.name) {
		d.Arch = cmp.Or(d.Arch, p.arch)
		d.NumSMs = cmp.Or(d.NumSMs, p.units)
		d.ClockRate = cmp.Or(d.ClockRate, p.clock)
	}
}

// amdBandwidth is the share of the device in its package's bandwidth: HIP shows the dies of an MI250X as two devices, and those of an
// MI300 as one or as partitions with a part of the units each.
func amdBandwidth(d profile.Device) (float64, bool) {
	p := amdPartOf(d)
	if p == nil {
		return 0, false
	}
	if units := amdUnits(d); units > p.units || units > 0 && p.units%units == 0 {
		return p.bytes * float64(units) / float64(p.units), true
	}
	return p.bytes, true
}

// amdProtonRates are Proton's 8 bit operations per clock and compute unit. Its other widths are fixed fractions of these, which are not
// the hardware's: fp16 of gfx90a is half of it, and fp64 of gfx942 twice.
var amdProtonRates = map[string]float64{"gfx90a": 1024, "gfx940": 4096, "gfx941": 4096, "gfx942": 4096, "gfx950": 8192}

// amdProtonBytes is Proton's bandwidth of every device of an architecture: also of one die of an MI250X, and of an MI325X.
var amdProtonBytes = map[string]float64{"gfx90a": 3.2e12, "gfx940": 5.3e12, "gfx941": 5.3e12, "gfx942": 5.3e12, "gfx950": 8.0e12}

func amdProtonFlops(d profile.Device, width int) (float64, bool) {
	perCU, known := amdProtonRates[Architecture(d)]
	return perCU * float64(d.NumSMs) * float64(d.ClockRate) * 1e3 / (float64(width) / 8), known
}

func amdProtonBandwidth(d profile.Device) (float64, bool) {
	peak, known := amdProtonBytes[Architecture(d)]
	return peak, known
}
