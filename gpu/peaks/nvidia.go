package peaks

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

const cuda = "CUDA" // the type of devices in a profile

var nvidia = Figures{
	Boards: nvidiaNames, Complete: nvidiaComplete, Halved: halvedByGeForce, ProtonFlops: nvidiaFlops, Bandwidth: nvidiaBandwidth, ProtonBandwidth: nvidiaBandwidth,
	// Each figure is the datasheet's dense rate divided by units and boost clock. The documents are those that perClock names, and
	// here those of the parts whose other figures are Proton's formulas.
	Rates: map[string]Rates{
		"70": beyondWidth(0, 128, 64, 64),
		"72": beyondWidth(0, 128, 64, 64),
		"75": beyondWidth(0, 128, 4, 4),
		// NVIDIA A100 datasheet: 108 SMs, 1410 MHz, 19.5 TFLOPS FP32, 19.5 FP64 tensor, 9.7 FP64.
		// 624 TOPS INT8, 312 TFLOPS FP16, 156 TF32. The 8 bit figure stands for FP8 too, which the GPU lacks.
		"80": {"fp8": 4096, "int8": 4096, "fp16": 2048, "bf16": 2048, "tf32": 1024, "fp32": 128, "fp64": 128, "fp64-vector": 64},
		"86": beyondWidth(0, 256, 4, 4),
		"87": beyondWidth(0, 256, 4, 4),
		// NVIDIA L4 datasheet: 58 SMs, 2040 MHz, 242.5 TFLOPS FP8 and TOPS INT8, 121 FP16, 60 TF32, 30.3 FP32; FP64 is 1/64 of that.
		"89": {"fp8": 2048, "int8": 2048, "fp16": 1024, "bf16": 1024, "tf32": 512, "fp32": 256, "fp64": 4, "fp64-vector": 4},
		// NVIDIA H100 datasheet, SXM: 132 SMs, 67 TFLOPS FP32, 67 FP64 tensor, 34 FP64 at about 1980 MHz.
		"90": beyondWidth(0, 256, 256, 128),
		// NVIDIA HGX B200 datasheet, per GPU: 148 SMs, 9 PFLOPS FP4 dense, 75 TFLOPS FP32, 37 FP64 at about 1965 MHz.
		"100": beyondWidth(32768, 256, 128, 128),
		"101": beyondWidth(32768, 256, 4, 4),
		"110": beyondWidth(32768, 256, 4, 4),
		// NVIDIA HGX B300 datasheet, per GPU: 148 SMs, about 14 PFLOPS FP4 dense, 75 TFLOPS FP32, 1.2 FP64.
		"103": beyondWidth(49152, 256, 4, 4),
		"120": beyondWidth(4096, 256, 4, 4),
		"121": beyondWidth(4096, 256, 4, 4),
	},
	As: map[string]map[string]string{
		// The tensor cores do FP16, and neither BF16 nor TF32. The 32 bit figure of perClock is FP32.
		"70": {"bf16": "fp32", "tf32": "fp32"},
		"72": {"bf16": "fp32", "tf32": "fp32"},
		"75": {"bf16": "fp32", "tf32": "fp32"},
	},
}

// beyondWidth are the rates that do not follow from the figures by width: FP4 on tensor cores, FP32 on the vector units, FP64 on
// tensor cores and on the vector units. 0 means that the GPU lacks the type.
func beyondWidth(fp4, fp32, fp64, fp64Vector float64) Rates {
	return Rates{"fp4": fp4, "fp32": fp32, "fp64": fp64, "fp64-vector": fp64Vector}
}

// perClock holds flop per clock and SM for operands of 8, 16, 32 and 64 bits. The 32 bit figure is TF32 on the
// tensor cores where there are any that do it, plain FP32 otherwise. A fused multiply-add counts as two.
//
// Each figure is the datasheet's rate divided by SMs and boost clock. It is the rate of professional boards:
// halvedByGeForce says what GeForce boards run at half of it.
var perClock = map[string][4]float64{
	// Volta. NVIDIA Tesla V100 GPU Architecture whitepaper (WP-08608): 80 SMs, 1530 MHz, 125 TFLOPS FP16
	// tensor, 15.7 FP32, 7.8 FP64. There is no 8 bit tensor path, so 8 bit data run at the FP16 rate.
	"70": {1024, 1024, 128, 64},
	// Xavier. Jetson AGX Xavier datasheet (DS-09654): 8 SMs, 1377 MHz, 22 TOPS INT8, 11 TFLOPS FP16, 1.4 FP32;
	// FP64 from the throughput table of the CUDA C++ Programming Guide (compute capability 7.x).
	"72": {2048, 1024, 128, 64},
	// Turing. NVIDIA Turing GPU Architecture whitepaper (WP-09183) and T4 datasheet: 40 SMs, 1590 MHz,
	// 130 TOPS INT8, 65 TFLOPS FP16 tensor, 8.1 FP32; FP64 is 1/32 of FP32.
	"75": {2048, 1024, 128, 4},
	// Ampere GA10x. NVIDIA Ampere GA102 whitepaper and A40 datasheet: 84 SMs, 1740 MHz, 299 TOPS INT8,
	// 149.7 TFLOPS FP16 tensor, 74.8 TF32; FP64 is 1/64 of the 256 FP32 flop per SM.
	"86": {2048, 1024, 512, 4},
	// Orin. Jetson AGX Orin Series Technical Brief (2022): 16 SMs, 1300 MHz, 170 sparse INT8 TOPS, that is
	// 85 dense, 42.5 TFLOPS FP16. TF32 at half the FP16 rate as on GA100, whose tensor cores it has.
	"87": {4096, 2048, 1024, 4},
	// Thor (sm_101 up to CUDA 12, sm_110 since). Jetson T5000 datasheet: 20 SMs, 1575 MHz, 1035 sparse FP8
	// TFLOPS, that is 517 dense, half of it for FP16 and a quarter for TF32; FP64 is 1/64 of FP32.
	"101": {16384, 8192, 4096, 4},
	"110": {16384, 8192, 4096, 4},
	// Blackwell Ultra. NVIDIA HGX B300 datasheet, per GPU: 9 PFLOPS sparse FP8, that is 4.5 dense, 2.25 FP16,
	// 1.1 TF32, 1.25 TFLOPS FP64 (10 for eight GPUs) at 148 SMs and about 2.0 GHz.
	"103": {16384, 8192, 4096, 4},
	// Blackwell RTX. NVIDIA RTX Blackwell GPU Architecture whitepaper and RTX PRO 6000 Blackwell datasheet:
	// 188 SMs, 2617 MHz, 1007 TFLOPS FP8 dense, 503.8 FP16, 251.9 TF32, 126 FP32; FP64 is 1/64 of FP32.
	"120": {2048, 1024, 512, 4},
	// DGX Spark (GB10). NVIDIA DGX Spark datasheet: 48 SMs, 2418 MHz, 1 PFLOPS sparse FP4, that is 500 dense,
	// 250 for FP8; the narrower steps as on sm_120.
	"121": {2048, 1024, 512, 4},
}

// halvedByGeForce reports whether a GeForce board runs products of a type at half of the rate of its architecture. It does those of
// floats on tensor cores with accumulation in FP32, as a dot of Triton does by default. NVIDIA Ada GPU Architecture
// whitepaper, RTX 4090: 330.3 TFLOPS FP16 with FP16 accumulation, 165.2 with FP32 accumulation, 82.6 TF32, but 660.6 TOPS INT8.
func halvedByGeForce(d profile.Device, dtype string) bool {
	return strings.Contains(d.Name, "GeForce") && slices.Contains([]string{"fp8", "fp16", "bf16", "tf32"}, dtype)
}

// nvidiaFlops returns Proton's peak in flop/s for the architectures that Proton has, and whether the architecture is known.
func nvidiaFlops(d profile.Device, width int) (float64, bool) {
	share := float64(width) / 8
	sms, kHz := float64(d.NumSMs), float64(d.ClockRate)
	switch d.Arch {
	case "80":
		// NVIDIA A100 datasheet: 624 TOPS INT8, 312 TFLOPS FP16, 156 TF32 dense. A constant in Proton.
		return 624e12 / share, true
	case "89":
		// NVIDIA Ada GPU Architecture whitepaper, GeForce RTX 4090: 330.3 TFLOPS FP8 with FP32 accumulation.
		// A constant in Proton, whatever the Ada board is.
		return 330.3 * 1e12 / share, true
	case "90":
		// NVIDIA H100 datasheet, PCIe board: 114 SMs, 1755 MHz, 1513 TFLOPS FP8 dense, scaled to this board.
		return sms / 114 * kHz / (1755 * 1e3) * 1513 * 1e12 / share, true
	case "100":
		// NVIDIA Blackwell architecture technical brief: 16384 FP8 flop per clock and SM (B200: 4.5 PFLOPS).
		return sms * 16384 * (kHz / 1e3) * 1e6 / share, true
	}
	rates, ok := perClock[d.Arch]
	at := bits.Len(uint(width)) - 4 // from 8 bits on
	if !ok || at < 0 || at >= len(rates) {
		return 0, false
	}
	return rates[at] * sms * kHz * 1e3, true
}

// sharedMemoryBandwidth has the bandwidth, in byte/s, of chips that share the host's memory. Their drivers may report neither
// the bus width nor the memory clock.
var sharedMemoryBandwidth = map[string]float64{
	"72":  136.5e9, // Jetson AGX Xavier datasheet: 256 bit LPDDR4x-4266
	"87":  204.8e9, // Jetson AGX Orin Series Technical Brief: 256 bit LPDDR5-6400
	"101": 273e9,   // Jetson T5000 datasheet: 256 bit LPDDR5X
	"110": 273e9,
	"121": 273e9, // NVIDIA DGX Spark datasheet: 256 bit LPDDR5X
}

func nvidiaBandwidth(d profile.Device) (float64, bool) {
	// Two transfers per clock on every memory that CUDA GPUs have had; the driver reports the clock so
	// that this holds for GDDR6X and HBM3e too (H200: 2 × 6016 bit × 3.201 GHz / 8 = 4.8 TB/s).
	if peak := 2 * float64(d.BusWidth) * float64(d.MemoryClockRate) * 1e3 / 8; peak > 0 {
		return peak, true
	}
	return sharedMemoryBandwidth[d.Arch], true
}

// board holds facts that a profile may lack although it names the board: Kineto's traces have neither clocks nor the bus
// width. Clocks are the maximal ones in kHz, as the driver reports them. The bus width is in bits.
type board struct {
	arch               string
	units              int64 // multiprocessors
	clock, memory, bus int64
}

// knownBoards are keyed by the name that the driver reports. Twice the product of bus width and memory clock is the bandwidth
// of the datasheet.
var knownBoards = map[string]board{
	"NVIDIA H200":           {"90", 132, 1_980_000, 3_201_000, 6016}, // as a driver reported it: 4.8 TB/s
	"NVIDIA H100 80GB HBM3": {"90", 132, 1_980_000, 2_619_000, 5120}, // SXM5, NVIDIA H100 datasheet: 3.35 TB/s
	"NVIDIA H100 PCIe":      {"90", 114, 1_755_000, 1_593_000, 5120}, // the same: 2.0 TB/s
	"NVIDIA A100-SXM4-80GB": {"80", 108, 1_410_000, 1_593_000, 5120}, // NVIDIA A100 datasheet: 2,039 GB/s
	"NVIDIA A100-SXM4-40GB": {"80", 108, 1_410_000, 1_215_000, 5120}, // the same: 1,555 GB/s
	"NVIDIA A100-PCIE-40GB": {"80", 108, 1_410_000, 1_215_000, 5120},
	"NVIDIA L40S":           {"89", 142, 2_520_000, 9_001_000, 384}, // NVIDIA L40S datasheet: 864 GB/s
	"NVIDIA L4":             {"89", 58, 2_040_000, 6_251_000, 192},  // NVIDIA L4 datasheet: 300 GB/s
	"NVIDIA A10G":           {"86", 80, 1_710_000, 6_251_000, 384},  // 600 GB/s, as the A10 of its datasheet
	"Tesla T4":              {"75", 40, 1_590_000, 5_001_000, 256},  // NVIDIA T4 datasheet: 320 GB/s
	"Tesla V100-SXM2-16GB":  {"70", 80, 1_530_000, 877_000, 4096},   // NVIDIA V100 datasheet: 900 GB/s
	"Tesla V100-SXM2-32GB":  {"70", 80, 1_530_000, 877_000, 4096},
}

// nvidiaComplete fills in what a profile lacks of a board in knownBoards.
func nvidiaComplete(d *profile.Device) {
	if b, known := knownBoards[d.Name]; known {
		d.Arch = cmp.Or(d.Arch, b.arch)
		d.NumSMs = cmp.Or(d.NumSMs, b.units)
		d.ClockRate = cmp.Or(d.ClockRate, b.clock)
		d.MemoryClockRate = cmp.Or(d.MemoryClockRate, b.memory)
		d.BusWidth = cmp.Or(d.BusWidth, b.bus)
	}
}

func nvidiaNames() []string { return slices.Sorted(maps.Keys(knownBoards)) }
