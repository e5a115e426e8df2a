package peaks

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// hipDevice is a device as HIP describes it, without the facts about its memory.
func hipDevice(arch, name string, units, clock int64) profile.Device {
	return profile.Device{Type: "HIP", ID: "0", Arch: arch, Name: name, NumSMs: units, ClockRate: clock}
}

// amdBoards are the parts with what their datasheets print: dense Tflop/s by type, and Tbyte/s. The tables of gpu/peaks have
// other figures, rates per compute unit and clock, so that this test derives each figure a second time.
var amdBoards = []struct {
	name  string
	d     profile.Device
	peaks map[string]float64
	bytes float64
}{
	{"MI100", hipDevice("gfx908:sramecc+:xnack-", "AMD Instinct MI100", 120, 1_502_000),
		map[string]float64{"fp16": 184.6, "bf16": 92.3, "int8": 184.6, "fp32": 46.1, "fp32-vector": 23.1, "fp64": 11.5}, 1.23},
	{"MI210", hipDevice("gfx90a:sramecc+:xnack-", "AMD Instinct MI210", 104, 1_700_000),
		map[string]float64{"fp16": 181, "bf16": 181, "int8": 181, "fp32": 45.3, "fp64": 45.3, "fp64-vector": 22.6}, 1.64},
	{"MI250X, one of 2 dies", hipDevice("gfx90a:sramecc+:xnack-", "AMD Instinct MI250X", 110, 1_700_000),
		map[string]float64{"fp16": 383. / 2, "bf16": 383. / 2, "int8": 383. / 2, "fp32": 95.7 / 2, "fp32-vector": 47.9 / 2, "fp64": 95.7 / 2, "fp64-vector": 47.9 / 2}, 1.64},
	{"MI300A", hipDevice("gfx942:sramecc+:xnack-", "AMD Instinct MI300A", 228, 2_100_000),
		map[string]float64{"fp8": 1961, "int8": 1961, "fp16": 981, "bf16": 981, "tf32": 490, "fp32": 122.6, "fp64": 122.6, "fp64-vector": 61.3}, 5.3},
	{"MI300X", hipDevice("gfx942:sramecc+:xnack-", "AMD Instinct MI300X", 304, 2_100_000),
		map[string]float64{"fp8": 2615, "int8": 2615, "fp16": 1307, "bf16": 1307, "xf32": 654, "fp32": 163.4, "fp64": 163.4, "fp64-vector": 81.7}, 5.3},
	{"MI325X", hipDevice("gfx942:sramecc+:xnack-", "AMD Instinct MI325X", 304, 2_100_000),
		map[string]float64{"fp8": 2615, "int8": 2615, "fp16": 1307, "xf32": 654, "fp32": 163.4, "fp64": 163.4}, 6.0},
	{"MI350X", hipDevice("gfx950:sramecc+:xnack-", "AMD Instinct MI350X", 256, 2_200_000),
		map[string]float64{"fp4": 9227, "fp6": 9227, "fp8": 4614, "int8": 4614, "fp16": 2307, "bf16": 2307, "fp32": 144.2, "fp64": 72.1}, 8},
	{"MI355X", hipDevice("gfx950:sramecc+:xnack-", "AMD Instinct MI355X", 256, 2_400_000),
		map[string]float64{"fp4": 10066, "fp6": 10066, "fp8": 5033, "int8": 5033, "fp16": 2517, "bf16": 2517, "xf32": 157.3, "fp32": 157.3, "fp64": 78.6, "fp64-vector": 78.6}, 8},
	{"RX 7900 XTX", hipDevice("gfx1100", "AMD Radeon RX 7900 XTX", 48, 2_500_000), // HIP counts pairs of compute units
		map[string]float64{"fp16": 122.9, "int8": 122.9, "fp8": 122.9, "fp32": 61.4}, 0.96},
	{"RX 9070 XT", hipDevice("gfx1201", "AMD Radeon RX 9070 XT", 32, 2_970_000),
		map[string]float64{"fp8": 389.3, "int8": 389.3, "fp16": 194.6, "fp32": 48.7}, 0.64},
	{"Strix Halo", hipDevice("gfx1151", "Radeon 8060S Graphics", 20, 2_900_000),
		map[string]float64{"fp16": 59.4, "int8": 59.4, "fp32": 29.7}, 0.256},
}

func TestAMDPeaksAreTheDatasheets(t *testing.T) {
	for _, b := range amdBoards {
		for dtype, want := range b.peaks {
			if got, err := Peak(b.d, dtype); err != nil || math.Abs(got/1e12/want-1) > 0.005 {
				t.Errorf("%s, %s: %.4g Tflop/s (%v), the datasheet says %g", b.name, dtype, got/1e12, err, want)
			}
		}
		if got, err := Bandwidth(b.d); err != nil || math.Abs(got/1e12/b.bytes-1) > 0.005 {
			t.Errorf("%s: %.4g Tbyte/s (%v), the datasheet says %g", b.name, got/1e12, err, b.bytes)
		}
		last := math.Inf(1)
		for _, dtype := range []string{"fp4", "fp6", "fp8", "fp16", "xf32", "fp32-vector"} {
			peak, err := Peak(b.d, dtype)
			if err != nil || !(peak > 0) || peak > last*1.001 {
				t.Errorf("%s: %s has %g after %g (%v)", b.name, dtype, peak, last, err)
			}
			last = peak
		}
	}
}

// TestAMDParts: devices that are a part of a package, that HIP counts in pairs, or whose names or architectures are not known.
func TestAMDParts(t *testing.T) {
	for _, c := range []struct {
		what  string
		d     profile.Device
		bytes float64 // in Tbyte/s
		fp16  float64 // in Tflop/s
	}{
		{"both dies of an MI250X as one", hipDevice("gfx90a", "", 220, 1_700_000), 3.277, 383},
		{"a die of an MI250", hipDevice("gfx90a", "AMD Instinct MI250", 104, 1_700_000), 1.638, 181},
		{"an eighth of an MI300X", hipDevice("gfx942", "AMD Instinct MI300X", 38, 2_100_000), 5.3 / 8, 1307.4 / 8},
		{"a sixth of an MI300A", hipDevice("gfx942", "AMD Instinct MI300A", 38, 2_100_000), 5.3 / 6, 980.6 / 6},
		{"a quarter of an MI325X", hipDevice("gfx942", "AMD Instinct MI325X", 76, 2_100_000), 6.0 / 4, 1307.4 / 4},
		{"a part with fewer units", hipDevice("gfx942", "AMD Instinct MI308X", 80, 2_100_000), 5.3, 344.1},
		{"an MI325X without name", profile.Device{Type: "HIP", Arch: "gfx942", NumSMs: 304, ClockRate: 2_100_000, MemoryClockRate: 1_500_000}, 6.0, 1307.4},
		{"an MI300X without name", profile.Device{Type: "HIP", Arch: "gfx942", NumSMs: 304, ClockRate: 2_100_000, MemoryClockRate: 1_300_000}, 5.3, 1307.4},
		{"an early MI300A", hipDevice("gfx940", "", 228, 2_100_000), 5.3, 980.6},
		{"as torch.profiler describes it", profile.Device{Type: "HIP", Name: "AMD Instinct MI300X", NumSMs: 304}, 5.3, 1307.4},
		{"a Radeon as the SDK counts it", hipDevice("gfx1100", "", 96, 2_500_000), 0.96, 122.9},
	} {
		if got, err := Bandwidth(c.d); err != nil || math.Abs(got/1e12/c.bytes-1) > 0.005 {
			t.Errorf("%s: %.4g Tbyte/s (%v), want %.4g", c.what, got/1e12, err, c.bytes)
		}
		if got, err := Peak(c.d, "fp16"); err != nil || math.Abs(got/1e12/c.fp16-1) > 0.005 {
			t.Errorf("%s: %.4g Tflop/s (%v), want %.4g", c.what, got/1e12, err, c.fp16)
		}
	}
}

// TestAMDPeaksThatNoDatasheetHas are said to be unknown, by type or memory and not by architecture.
func TestAMDPeaksThatNoDatasheetHas(t *testing.T) {
	var unknown *UnknownError
	if _, err := Peak(hipDevice("gfx1100", "", 96, 2_500_000), "fp64"); !errors.As(err, &unknown) || err.Error() != "no peak of fp64 for HIP architecture gfx1100" {
		t.Errorf("fp64 of a Radeon: %v", err)
	}
	if _, err := Bandwidth(hipDevice("gfx1100", "AMD Radeon PRO W7800", 70, 2_500_000)); !errors.As(err, &unknown) || err.Error() != "no peak of memory for HIP architecture gfx1100" {
		t.Errorf("memory of a Radeon that is not in the table: %v", err)
	}
	if _, err := Peak(hipDevice("gfx803", "", 64, 1_000_000), "fp32"); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "figures") {
		t.Errorf("an architecture that is not in the table: %v", err)
	}
}

// TestProtonsFiguresOfAMD are those that --compat divides by, where the hardware's differ.
func TestProtonsFiguresOfAMD(t *testing.T) {
	for _, c := range []struct {
		d     profile.Device
		flops [4]float64 // Tflop/s of 8, 16, 32 and 64 bits
		bytes float64
	}{
		{hipDevice("gfx90a", "AMD Instinct MI250X", 110, 1_700_000), [4]float64{191.5, 95.74, 47.87, 23.94}, 3.2},
		{hipDevice("gfx942", "AMD Instinct MI325X", 304, 2_100_000), [4]float64{2615, 1307, 653.7, 326.9}, 5.3},
		{hipDevice("gfx950", "AMD Instinct MI355X", 256, 2_400_000), [4]float64{5033, 2517, 1258, 629.1}, 8},
	} {
		for i, width := range profile.OperandWidths {
			if got, err := ProtonFlops(c.d, width); err != nil || math.Abs(got/1e12/c.flops[i]-1) > 0.001 {
				t.Errorf("%s, %d bit: %.4g (%v), want %g", c.d.Name, width, got/1e12, err, c.flops[i])
			}
		}
		if got, err := ProtonBandwidth(c.d); err != nil || got != c.bytes*1e12 {
			t.Errorf("%s: %.4g byte/s (%v), want %g", c.d.Name, got, err, c.bytes*1e12)
		}
	}
}
