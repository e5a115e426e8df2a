package peaks

import "github.com/goproton/goproton/profile"

// board holds facts that a profile may lack although it names the board: Kineto's traces have neither clocks nor the bus
// width. Clocks are the maximal ones in kHz, as the driver reports them. The bus width is in bits.
type board struct{ clock, memory, bus int64 }

// knownBoards are keyed by the name that the driver reports. Twice the product of bus width and memory clock is the bandwidth
// of the datasheet.
var knownBoards = map[string]board{
	"NVIDIA H200":           {1_980_000, 3_201_000, 6016}, // as a driver reported it: 4.8 TB/s
	"NVIDIA H100 80GB HBM3": {1_980_000, 2_619_000, 5120}, // SXM5, NVIDIA H100 datasheet: 3.35 TB/s
	"NVIDIA H100 PCIe":      {1_755_000, 1_593_000, 5120}, // the same: 2.0 TB/s
	"NVIDIA A100-SXM4-80GB": {1_410_000, 1_593_000, 5120}, // NVIDIA A100 datasheet: 2,039 GB/s
	"NVIDIA A100-SXM4-40GB": {1_410_000, 1_215_000, 5120}, // the same: 1,555 GB/s
	"NVIDIA A100-PCIE-40GB": {1_410_000, 1_215_000, 5120},
	"NVIDIA L40S":           {2_520_000, 9_001_000, 384}, // NVIDIA L40S datasheet: 864 GB/s
	"NVIDIA L4":             {2_040_000, 6_251_000, 192}, // NVIDIA L4 datasheet: 300 GB/s
	"NVIDIA A10G":           {1_710_000, 6_251_000, 384}, // 600 GB/s, as the A10 of its datasheet
	"Tesla T4":              {1_590_000, 5_001_000, 256}, // NVIDIA T4 datasheet: 320 GB/s
	"Tesla V100-SXM2-16GB":  {1_530_000, 877_000, 4096},  // NVIDIA V100 datasheet: 900 GB/s
	"Tesla V100-SXM2-32GB":  {1_530_000, 877_000, 4096},
}

// nvidiaComplete fills in what a profile lacks of a board in knownBoards.
func nvidiaComplete(d *profile.Device) {
	if b, known := knownBoards[d.Name]; known {
		fill(&d.ClockRate, b.clock)
		fill(&d.MemoryClockRate, b.memory)
		fill(&d.BusWidth, b.bus)
	}
}
