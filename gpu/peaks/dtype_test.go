package peaks

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestPeaksByTypeAreTheDatasheets compares with what datasheets print, dense, in Tflop/s; 0 is not printed there.
func TestPeaksByTypeAreTheDatasheets(t *testing.T) {
	published := map[string]map[string]float64{
		"V100 SXM2":    {"fp16": 125, "bf16": 15.7, "tf32": 15.7, "fp32": 15.7, "fp64": 7.8, "fp64-vector": 7.8},
		"A100 40GB":    {"int8": 624, "fp16": 312, "bf16": 312, "tf32": 156, "fp32": 19.5, "fp64": 19.5, "fp64-vector": 9.7},
		"A40":          {"int8": 299.3, "bf16": 149.7, "tf32": 74.8, "fp32": 37.4},
		"A30":          {"int8": 330, "bf16": 165, "tf32": 82, "fp32": 10.3, "fp64": 10.3, "fp64-vector": 5.2},
		"L4":           {"int8": 242.5, "bf16": 121, "tf32": 60, "fp32": 30.3},
		"L40S":         {"int8": 733, "bf16": 362, "tf32": 183, "fp32": 91.6},
		"RTX 4090":     {"fp8": 330.3, "int8": 660.6, "fp16": 165.2, "bf16": 165.2, "tf32": 82.6, "fp32": 82.6, "fp64": 1.29},
		"RTX 5090":     {"fp4": 1676, "fp8": 419, "int8": 838, "fp16": 209.5, "tf32": 104.8, "fp32": 104.8},
		"H200":         {"fp8": 1979, "bf16": 989, "tf32": 494, "fp32": 67, "fp64": 67, "fp64-vector": 34},
		"B200":         {"fp4": 9000, "fp8": 4500, "bf16": 2250, "fp32": 75, "fp64": 37},
		"DGX Spark":    {"fp8": 250, "fp4": 500},
		"Jetson T5000": {"fp4": 1035},
	}
	for _, board := range boards {
		for dtype, want := range published[board.name] {
			got, err := Peak(board.d, dtype)
			// Datasheets take the boost clock of their board, the formulas the clock that the driver reports.
			if err != nil || math.Abs(got/1e12/want-1) > 0.07 {
				t.Errorf("%s, %s: %.4g Tflop/s, the datasheet says %g (%v)", board.name, dtype, got/1e12, want, err)
			}
		}
		delete(published, board.name)
	}
	for name := range published {
		t.Errorf("no board is called %s", name)
	}
}

// Every part has a peak for every type, and none is faster on wider operands.
func TestPeaksFallWithTheWidth(t *testing.T) {
	for _, board := range boards {
		last := math.Inf(1)
		for _, dtype := range []string{"fp4", "fp6", "fp8", "fp16", "xf32", "fp32-vector", "fp64-vector"} {
			peak, err := Peak(board.d, dtype)
			if err != nil || !(peak > 0) || peak > last*1.001 {
				t.Errorf("%s: %s has %g after %g (%v)", board.name, dtype, peak, last, err)
			}
			last = peak
		}
	}
}

func TestPeaksOfUnknownPartsAndTypes(t *testing.T) {
	var unknown *UnknownError
	for _, dtype := range profile.OperandTypes {
		if _, err := Peak(profile.Device{Type: "CUDA", Arch: "999", NumSMs: 1, ClockRate: 1}, dtype); !errors.As(err, &unknown) {
			t.Errorf("%s on sm_999: %v", dtype, err)
		}
	}
	var lacks *MissingError
	if _, err := Peak(profile.Device{Type: "CUDA", Arch: "90"}, "fp32"); !errors.As(err, &lacks) {
		t.Errorf("a device without multiprocessors: %v", err)
	}
	if _, err := Peak(boards[0].d, "fp12"); err == nil || !strings.Contains(err.Error(), "bf16") {
		t.Errorf("fp12: %v", err)
	}
}
