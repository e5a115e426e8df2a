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

// rates are those per clock and SM or CU that do not follow from the figures by width: FP4 on tensor cores, FP32 on
// the vector units, FP64 on tensor cores (or matrix cores) and on the vector units. 0 means that the GPU lacks the type.
type rates struct{ fp4, fp32, fp64, fp64Vector float64 }

// of returns the rate of a type, and whether it is one of these.
func (r rates) of(dtype string) (rate float64, found bool) {
	rate, found = map[string]float64{"fp4": r.fp4, "fp32": r.fp32, "fp64": r.fp64, "fp64-vector": r.fp64Vector}[dtype]
	return rate, found
}

// Peak returns the dense peak in flop/s (or op/s) for operands of a type.
func Peak(d profile.Device, dtype string) (float64, error) {
	if Bits(dtype) == 0 {
		return 0, fmt.Errorf("no type %q of operands; there are %s", dtype, strings.Join(DTypes, ", "))
	}
	v := vendors[d.Type]
	if v == nil {
		return 0, &UnknownError{d.Type, d.Arch}
	}
	arch := architecture(d)
	if as := v.as[arch][dtype]; as != "" {
		dtype = as
	}
	r, known := v.rates[arch]
	rate, found := r.of(dtype)
	switch {
	case !found:
		return Flops(d, Bits(dtype))
	case !known:
		return 0, &UnknownError{d.Type, d.Arch}
	case rate == 0:
		return Flops(d, 8) // operands of a type that the GPU lacks are converted to 8 bits first
	}
	d = withBoard(d)
	peak := rate * float64(d.NumSMs) * float64(d.ClockRate) * 1e3
	if peak <= 0 {
		return 0, &MissingError{d.Type, d.Arch, "num_sms or clock_rate"}
	}
	return peak, nil
}
