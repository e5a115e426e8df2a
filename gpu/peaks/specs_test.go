package peaks

import (
	"errors"
	"math"
	"testing"

	"github.com/goproton/goproton/profile"
)

// Boards with what their datasheets say, dense, in Tflop/s of fp8, fp16, tf32 and fp64, and Tbyte/s; 0 is a figure that the
// datasheet lacks.
var boards = []struct {
	name  string
	d     profile.Device
	flops [4]float64
	bytes float64
}{
	{"V100 SXM2", profile.Device{Type: "CUDA", Arch: "70", NumSMs: 80, ClockRate: 1530000, BusWidth: 4096, MemoryClockRate: 877000}, [4]float64{0, 125, 15.7, 7.8}, 0.9},
	{"Jetson AGX Xavier", profile.Device{Type: "CUDA", Arch: "72", NumSMs: 8, ClockRate: 1377000}, [4]float64{22.6, 11.3, 1.41, 0}, 0.1365},
	{"T4", profile.Device{Type: "CUDA", Arch: "75", NumSMs: 40, ClockRate: 1590000, BusWidth: 256, MemoryClockRate: 5001000}, [4]float64{130, 65, 8.1, 0.254}, 0.320},
	{"A100 40GB", profile.Device{Type: "CUDA", Arch: "80", NumSMs: 108, ClockRate: 1410000, BusWidth: 5120, MemoryClockRate: 1215000}, [4]float64{624, 312, 156, 19.5}, 1.555},
	{"A30", profile.Device{Type: "CUDA", Arch: "80", NumSMs: 56, ClockRate: 1440000, BusWidth: 3072, MemoryClockRate: 1215000}, [4]float64{330, 165, 82, 10.3}, 0.933},
	{"A40", profile.Device{Type: "CUDA", Arch: "86", NumSMs: 84, ClockRate: 1740000, BusWidth: 384, MemoryClockRate: 7251000}, [4]float64{299.3, 149.7, 74.8, 0.585}, 0.696},
	{"AGX Orin", profile.Device{Type: "CUDA", Arch: "87", NumSMs: 16, ClockRate: 1300000}, [4]float64{85, 42.5, 0, 0}, 0.2048},
	{"L4", profile.Device{Type: "CUDA", Arch: "89", NumSMs: 58, ClockRate: 2040000, BusWidth: 192, MemoryClockRate: 6251000}, [4]float64{242.5, 121, 60, 0}, 0.3},
	{"L40S", profile.Device{Type: "CUDA", Arch: "89", NumSMs: 142, ClockRate: 2520000, BusWidth: 384, MemoryClockRate: 9001000}, [4]float64{733, 362, 183, 0}, 0.864},
	{"RTX 4090", profile.Device{Type: "CUDA", Arch: "89", Name: "NVIDIA GeForce RTX 4090", NumSMs: 128, ClockRate: 2520000, BusWidth: 384, MemoryClockRate: 10501000}, [4]float64{330.3, 165.2, 82.6, 0}, 1.008},
	{"H100 PCIe", profile.Device{Type: "CUDA", Arch: "90", NumSMs: 114, ClockRate: 1755000, BusWidth: 5120, MemoryClockRate: 1593000}, [4]float64{1513, 756, 378, 0}, 2.039},
	{"H100 SXM5", profile.Device{Type: "CUDA", Arch: "90", NumSMs: 132, ClockRate: 1980000, BusWidth: 5120, MemoryClockRate: 2619000}, [4]float64{1979, 989, 494, 67}, 3.35},
	{"H200", profile.Device{Type: "CUDA", Arch: "90", NumSMs: 132, ClockRate: 1980000, BusWidth: 6016, MemoryClockRate: 3201000}, [4]float64{1976, 988, 494, 0}, 4.8},
	{"B200", profile.Device{Type: "CUDA", Arch: "100", NumSMs: 148, ClockRate: 1860000, BusWidth: 8192, MemoryClockRate: 3900000}, [4]float64{4510, 2255, 1128, 0}, 8},
	{"Jetson T5000", profile.Device{Type: "CUDA", Arch: "110", NumSMs: 20, ClockRate: 1575000}, [4]float64{517, 258.5, 0, 0}, 0.273},
	{"Jetson T5000, CUDA 12", profile.Device{Type: "CUDA", Arch: "101", NumSMs: 20, ClockRate: 1575000}, [4]float64{517, 258.5, 0, 0}, 0.273},
	{"B300", profile.Device{Type: "CUDA", Arch: "103", NumSMs: 148, ClockRate: 1860000}, [4]float64{4500, 2250, 1125, 0}, 0},
	{"RTX PRO 6000 Blackwell", profile.Device{Type: "CUDA", Arch: "120", NumSMs: 188, ClockRate: 2617000, BusWidth: 512, MemoryClockRate: 14001000}, [4]float64{1007, 503.8, 251.9, 1.97}, 1.792},
	{"RTX 5090", profile.Device{Type: "CUDA", Arch: "120", Name: "NVIDIA GeForce RTX 5090", NumSMs: 170, ClockRate: 2407000, BusWidth: 512, MemoryClockRate: 14001000}, [4]float64{419, 209.5, 104.8, 1.64}, 1.792},
	{"DGX Spark", profile.Device{Type: "CUDA", Arch: "121", NumSMs: 48, ClockRate: 2418000}, [4]float64{238, 0, 0, 0}, 0.273},
}

func TestPeaksAreTheDatasheets(t *testing.T) {
	near := func(got, want float64) bool { return math.Abs(got-want) <= 0.02*want }
	for _, b := range boards {
		for i, w := range profile.OperandWidths {
			got, err := Peak(b.d, profile.OperandOfWidth(w))
			if err != nil {
				t.Fatalf("%s: %v", b.name, err)
			}
			if want := b.flops[i] * 1e12; want > 0 && !near(got, want) {
				t.Errorf("%s: %.4g flop/s for %d bits, the datasheet says %.4g", b.name, got, w, want)
			}
			if got <= 0 {
				t.Errorf("%s: no peak for %d bits", b.name, w)
			}
		}
		if b.bytes == 0 {
			continue
		}
		got, err := Bandwidth(b.d)
		if err != nil || !near(got, b.bytes*1e12) {
			t.Errorf("%s: %.4g byte/s (%v), the datasheet says %.4g", b.name, got, err, b.bytes*1e12)
		}
	}
}

func TestUnknownPartsAreNamed(t *testing.T) {
	for want, d := range map[string]profile.Device{
		"no peak figures for CUDA architecture sm_200":                {Type: "CUDA", Arch: "200"},
		"no peak figures for HIP architecture gfx1100":                {Type: "HIP", Arch: "gfx1100"}, // in Proton; Peak knows it
		"no peak figures for XPU architecture pvc":                    {Type: "XPU", Arch: "pvc"},
		"the profile does not name the architecture of a CUDA device": {Type: "CUDA"},
		"the device is of no known vendor":                            {},
	} {
		_, err := ProtonFlops(d, 16)
		var unknown *UnknownError
		if !errors.As(err, &unknown) || err.Error() != want {
			t.Errorf("ProtonFlops: %v, want %s", err, want)
		}
		if _, err := ProtonBandwidth(d); err == nil {
			t.Errorf("Bandwidth of %+v is known", d)
		}
	}
}

func TestMissingFactsAreNamed(t *testing.T) {
	var missing *MissingError
	for _, d := range []profile.Device{{Type: "CUDA", Arch: "90"}, {Type: "CUDA", Arch: "120"}, {Type: "HIP", Arch: "gfx942"}} {
		if _, err := ProtonFlops(d, 16); !errors.As(err, &missing) || missing.Facts != "num_sms or clock_rate" {
			t.Errorf("ProtonFlops of %+v: %v", d, err)
		}
	}
	if _, err := Bandwidth(profile.Device{Type: "CUDA", Arch: "90"}); !errors.As(err, &missing) || missing.Facts != "bus_width or memory_clock_rate" {
		t.Errorf("Bandwidth: %v", err)
	}
}
