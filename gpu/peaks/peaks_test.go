package peaks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestBoardsAreComplete: a board's entry gives all that its bandwidth is computed from, and a part's architecture has rates.
func TestBoardsAreComplete(t *testing.T) {
	for name := range knownBoards {
		d := profile.Device{Type: cuda, Name: name}
		nvidiaComplete(&d)
		if bytes, known := nvidiaBandwidth(d); !known || bytes == 0 || d.ClockRate == 0 || nvidia.Rates[d.Arch] == nil || d.NumSMs == 0 {
			t.Errorf("%s: %g byte/s at %d kHz", name, bytes, d.ClockRate)
		}
	}
	for _, p := range amdParts {
		if amd.Rates[p.arch] == nil || p.units <= amdPairs[p.arch] || p.bytes == 0 {
			t.Errorf("%s: %+v; its architecture has the rates %v", p.name, p, amd.Rates[p.arch])
		}
	}
}

// TestBoard: a board is found by its name or by words that no other has, and has all peaks.
func TestBoard(t *testing.T) {
	for name, want := range map[string]string{"H200": "NVIDIA H200", "nvidia h200": "NVIDIA H200", "a100 sxm4 80gb": "NVIDIA A100-SXM4-80GB", "L4": "NVIDIA L4", "MI300X": "MI300X"} {
		d, err := Board(name)
		if err != nil || d.Name != want {
			t.Errorf("%s: %s, %v", name, d.Name, err)
			continue
		}
		flops, err := Peak(d, "fp16")
		bytes, problem := Bandwidth(d)
		if err != nil || problem != nil || flops < 50e12 || bytes < 200e9 {
			t.Errorf("%s: %g flop/s %v, %g byte/s %v", name, flops, err, bytes, problem)
		}
	}
	for name, want := range map[string]string{"A100": "3 GPUs are called \"A100\": give one of NVIDIA A100-PCIE-40GB, NVIDIA A100-SXM4-40GB, NVIDIA A100-SXM4-80GB", "": "no GPU is called", "Z9": "no GPU is called \"Z9\": give one of 8060S, MI100, "} {
		if _, err := Board(name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCounted: the types in which products are computed, by the interpreter's names of them.
func TestCounted(t *testing.T) {
	for of, want := range map[string]string{"f16": "fp16 1", "bf16": "bf16 1", "f32": "fp32 1", "tf32": "tf32 1", "tf32x3": "tf32 3", "bf16x6": "bf16 6", "i8": "int8 1", "f8E5M2": "fp8 1", "f64": "fp64 1",
		"e2m1*e2m1": "fp4 1", "e2m1*e4m3": "fp8 1", "bf16*e4m3": "bf16 1"} {
		if dtype, passes := Counted(of); fmt.Sprint(dtype, " ", passes) != want {
			t.Errorf("%s: %s %d, want %s", of, dtype, passes, want)
		}
	}
}
