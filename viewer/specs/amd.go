package specs

import "github.com/goproton/goproton/profile"

const hip = "HIP" // the type of devices in a profile

var amd = figures{
	flops: amdFlops, bandwidth: amdBandwidth,
	// Each figure is the datasheet's dense rate divided by units and boost clock.
	rates: map[string]rates{
		// AMD Instinct MI250X datasheet: 220 CUs, 1700 MHz, 47.9 TFLOPS FP32 vector, 95.7 FP64 matrix, 47.9 FP64 vector.
		"gfx90a": {0, 128, 256, 128},
		// AMD Instinct MI300X datasheet: 304 CUs, 2100 MHz, 163.4 TFLOPS FP32, 163.4 FP64 matrix, 81.7 FP64 vector.
		"gfx940": {0, 256, 256, 128},
		"gfx941": {0, 256, 256, 128},
		"gfx942": {0, 256, 256, 128},
		// AMD Instinct MI355X datasheet: 256 CUs, 2400 MHz, 10.1 PFLOPS MXFP4, 157.3 TFLOPS FP32, 78.6 FP64 matrix and vector.
		"gfx950": {16384, 256, 128, 128},
	},
	as: map[string]map[string]string{
		// FP16 and BF16 are as fast as 8 bit: AMD Instinct MI250X datasheet, 383 TFLOPS FP16 and BF16, 383 TOPS INT8. Neither
		// these matrix units nor the MI355X's do TF32; the 32 bit figure is Proton's formula.
		"gfx90a": {"fp16": "fp8", "bf16": "fp8", "tf32": "fp32"},
		"gfx950": {"tf32": "fp32"},
	},
}

// amdFlops8 is the dense matrix rate per clock and compute unit for 8 bit operands.
var amdFlops8 = map[string]float64{
	// AMD Instinct MI250X datasheet: 220 CUs, 1700 MHz, 383 TOPS INT8. There is no FP8; INT8 stands in.
	"gfx90a": 1024,
	// AMD Instinct MI300X datasheet: 304 CUs, 2100 MHz, 2614.9 TFLOPS FP8. gfx940 and gfx941 were early
	// steppings of the MI300A and MI300X with the same units (AMD CDNA 3 whitepaper).
	"gfx940": 4096,
	"gfx941": 4096,
	"gfx942": 4096,
	// AMD Instinct MI355X datasheet: 256 CUs, 2400 MHz, 5033 TFLOPS FP8 dense.
	"gfx950": 8192,
}

// amdBytes is the peak of the whole package in byte/s.
var amdBytes = map[string]float64{
	"gfx90a": 3.2e12, // AMD Instinct MI250X datasheet: 3.2 TB/s
	"gfx940": 5.3e12, // AMD Instinct MI300A datasheet: 5.3 TB/s
	"gfx941": 5.3e12, // AMD Instinct MI300X datasheet: 5.3 TB/s
	"gfx942": 5.3e12,
	"gfx950": 8.0e12, // AMD Instinct MI355X datasheet: 8 TB/s
}

func amdFlops(d profile.Device, width int) (float64, bool) {
	perCU, known := amdFlops8[architecture(d)]
	return perCU * float64(d.NumSMs) * float64(d.ClockRate) * 1e3 / (float64(width) / 8), known
}

func amdBandwidth(d profile.Device) (float64, error) {
	if peak, known := amdBytes[architecture(d)]; known {
		return peak, nil
	}
	return 0, &UnknownError{d.Type, d.Arch}
}
