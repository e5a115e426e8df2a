package specs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// DTypes are the operand types that have peaks of their own. fp16 to tf32 are those of the tensor or matrix units
// where there are any; fp32 is the vector units'; fp64 is the faster of the two, fp64-vector the vector units'.
var DTypes = []string{"fp4", "fp8", "int8", "fp16", "bf16", "tf32", "fp32", "fp64", "fp64-vector"}

// Bits is the width of a type's operands, 0 for one that is not in DTypes.
func Bits(dtype string) int {
	if !slices.Contains(DTypes, dtype) {
		return 0
	}
	name, _, _ := strings.Cut(dtype, "-")
	switch {
	case name == "tf32": // 19 bits of a 32 bit word
		return 32
	case strings.HasSuffix(name, "4") && name != "fp64":
		return 4
	case strings.HasSuffix(name, "8"):
		return 8
	case strings.HasSuffix(name, "16"):
		return 16
	case strings.HasSuffix(name, "32"):
		return 32
	}
	return 64
}

// OfWidth is the operand type that is assumed when a metric names only the width: the type that deep learning runs on the
// tensor cores.
func OfWidth(bits int) string {
	return map[int]string{8: "fp8", 16: "fp16", 32: "tf32", 64: "fp64"}[bits]
}

// OfMetric reports whether a metric counts flops, and the type of their operands: flops16 and flops_bf16 name one, flops does
// not, which returns "".
func OfMetric(name string) (dtype string, ok bool) {
	rest, ok := strings.CutPrefix(strings.ToLower(name), "flops")
	if !ok || rest == "" {
		return "", ok
	}
	if dtype, typed := strings.CutPrefix(rest, "_"); typed {
		return dtype, Bits(dtype) > 0
	}
	for _, bits := range Widths {
		if rest == strconv.Itoa(bits) {
			return OfWidth(bits), true
		}
	}
	return "", false
}

// other holds rates per clock and SM or CU that do not follow from the figures by width: FP4 on tensor cores, FP32 on
// the vector units, FP64 on tensor cores (or matrix cores) and on the vector units. 0 means that the GPU lacks the type.
type other struct{ fp4, fp32, fp64, fp64Vector float64 }

// Each figure is the datasheet's dense rate divided by units and boost clock; the documents are those that nvidia.go
// and amd.go name, and here those of the parts whose other figures are Proton's formulas.
var otherRates = map[string]other{
	"70": {0, 128, 64, 64},
	"72": {0, 128, 64, 64},
	"75": {0, 128, 4, 4},
	// NVIDIA A100 datasheet: 108 SMs, 1410 MHz, 19.5 TFLOPS FP32, 19.5 FP64 tensor, 9.7 FP64.
	"80": {0, 128, 128, 64},
	"86": {0, 256, 4, 4},
	"87": {0, 256, 4, 4},
	// NVIDIA Ada GPU Architecture whitepaper, RTX 4090: 128 SMs, 2520 MHz, 82.6 TFLOPS FP32; FP64 is 1/64 of it.
	"89": {0, 256, 4, 4},
	// NVIDIA H100 datasheet, SXM: 132 SMs, 67 TFLOPS FP32, 67 FP64 tensor, 34 FP64 at about 1980 MHz.
	"90": {0, 256, 256, 128},
	// NVIDIA HGX B200 datasheet, per GPU: 148 SMs, 9 PFLOPS FP4 dense, 75 TFLOPS FP32, 37 FP64 at about 1965 MHz.
	"100": {32768, 256, 128, 128},
	"101": {32768, 256, 4, 4},
	"110": {32768, 256, 4, 4},
	// NVIDIA HGX B300 datasheet, per GPU: 148 SMs, about 14 PFLOPS FP4 dense, 75 TFLOPS FP32, 1.2 FP64.
	"103": {49152, 256, 4, 4},
	"120": {4096, 256, 4, 4},
	"121": {4096, 256, 4, 4},
	// AMD Instinct MI250X datasheet: 220 CUs, 1700 MHz, 47.9 TFLOPS FP32 vector, 95.7 FP64 matrix, 47.9 FP64 vector.
	"gfx90a": {0, 128, 256, 128},
	// AMD Instinct MI300X datasheet: 304 CUs, 2100 MHz, 163.4 TFLOPS FP32, 163.4 FP64 matrix, 81.7 FP64 vector.
	"gfx940": {0, 256, 256, 128},
	"gfx941": {0, 256, 256, 128},
	"gfx942": {0, 256, 256, 128},
	// AMD Instinct MI355X datasheet: 256 CUs, 2400 MHz, 10.1 PFLOPS MXFP4, 157.3 TFLOPS FP32, 78.6 FP64 matrix and vector.
	"gfx950": {16384, 256, 128, 128},
}

// noTF32 are parts whose matrix units do not do TF32, though width 32 has a figure there: it is Proton's formula.
var noTF32 = []string{"70", "72", "75", "gfx90a", "gfx950"}

// noBF16 are parts whose tensor cores do FP16 but not BF16.
var noBF16 = []string{"70", "72", "75"}

// Peak returns the dense peak in flop/s (or op/s) for operands of a type.
func Peak(d profile.Device, dtype string) (float64, error) {
	arch := amdArch(d.Arch)
	switch dtype {
	case "fp8", "int8":
		return Flops(d, 8)
	case "fp16", "bf16":
		switch {
		case dtype == "bf16" && slices.Contains(noBF16, arch):
			return Peak(d, "fp32")
		case arch == "gfx90a": // as fast as 8 bit: AMD Instinct MI250X datasheet, 383 TFLOPS FP16 and BF16, 383 TOPS INT8
			return Flops(d, 8)
		}
		return Flops(d, 16)
	case "tf32":
		if slices.Contains(noTF32, arch) {
			return Peak(d, "fp32")
		}
		return Flops(d, 32)
	case "fp4", "fp32", "fp64", "fp64-vector":
		return otherPeak(d, arch, dtype)
	}
	return 0, fmt.Errorf("no type %q of operands; there are %s", dtype, strings.Join(DTypes, ", "))
}

func otherPeak(d profile.Device, arch, dtype string) (float64, error) {
	d = withBoard(d)
	rates, known := otherRates[arch]
	if !known {
		return 0, &UnknownError{d.Type, d.Arch}
	}
	rate := map[string]float64{"fp4": rates.fp4, "fp32": rates.fp32, "fp64": rates.fp64, "fp64-vector": rates.fp64Vector}[dtype]
	if rate == 0 {
		return Flops(d, 8) // operands of a type that the GPU lacks are converted to 8 bits first
	}
	peak := rate * float64(d.NumSMs) * float64(d.ClockRate) * 1e3
	if peak <= 0 {
		return 0, &MissingError{d.Type, d.Arch, "num_sms or clock_rate"}
	}
	return peak, nil
}
