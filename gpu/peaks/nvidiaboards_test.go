package peaks

import (
	"math"
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestKnownBoards holds the clocks against what datasheets print, which are other figures than those in the table: bandwidth
// in GB/s, and dense FP16 in Tflop/s with the number of multiprocessors.
func TestKnownBoards(t *testing.T) {
	for name, sheet := range map[string]struct {
		arch            string
		sms             int64
		gigabytes, fp16 float64
	}{
		"NVIDIA H200": {"90", 132, 4800, 989}, "NVIDIA H100 80GB HBM3": {"90", 132, 3350, 989}, "NVIDIA H100 PCIe": {"90", 114, 2039, 756},
		"NVIDIA A100-SXM4-80GB": {"80", 108, 2039, 312}, "NVIDIA A100-SXM4-40GB": {"80", 108, 1555, 312}, "NVIDIA A100-PCIE-40GB": {"80", 108, 1555, 312},
		"NVIDIA L40S": {"89", 142, 864, 362}, "NVIDIA L4": {"89", 58, 300, 121}, "NVIDIA A10G": {"86", 80, 600, 0},
		"Tesla T4": {"75", 40, 320, 65}, "Tesla V100-SXM2-16GB": {"70", 80, 900, 125}, "Tesla V100-SXM2-32GB": {"70", 80, 900, 125},
	} {
		d := profile.Device{Type: "CUDA", ID: "0", Arch: sheet.arch, NumSMs: sheet.sms, Name: name} // as Kineto describes it
		bytes, err := Bandwidth(d)
		if err != nil || math.Abs(bytes/1e9/sheet.gigabytes-1) > 0.005 {
			t.Errorf("%s moves %.0f GB/s, %v; its datasheet says %.0f", name, bytes/1e9, err, sheet.gigabytes)
		}
		flops, err := Peak(d, "fp16")
		if err != nil || sheet.fp16 > 0 && math.Abs(flops/1e12/sheet.fp16-1) > 0.015 { // the L40S reaches the printed rate at 2490 of its 2520 MHz
			t.Errorf("%s computes %.0f Tflop/s of fp16, %v; its datasheet says %.0f", name, flops/1e12, err, sheet.fp16)
		}
	}
}

// TestRecordedFactsWin: what a driver reported of a board stands.
func TestRecordedFactsWin(t *testing.T) {
	d := profile.Device{Type: "CUDA", Arch: "90", NumSMs: 132, Name: "NVIDIA H200", ClockRate: 1, MemoryClockRate: 2, BusWidth: 8}
	if bytes, err := Bandwidth(d); err != nil || bytes != 4000 {
		t.Errorf("%g, %v", bytes, err)
	}
}
