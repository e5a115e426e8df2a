package specs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/peaks"
	"github.com/goproton/goproton/profile"
)

// DTypes are the operand types that have peaks of their own on most GPUs. fp16 to tf32 are those of the tensor or matrix units
// where there are any; fp32 and fp64 are the faster of these and the vector units, fp64-vector is the vector units'.
var DTypes = []string{"fp4", "fp8", "int8", "fp16", "bf16", "tf32", "fp32", "fp64", "fp64-vector"}

// others are types that differ from those above on few GPUs; xf32 is AMD's name of tf32.
var others = []string{"fp6", "xf32", "fp32-vector"}

// Names are all types that may be named.
func Names() []string { return slices.Concat(DTypes, others) }

// Bits is the width of a type's operands, 0 for one that is not in Names. TF32 has 19 bits of a 32 bit word.
func Bits(dtype string) int {
	if !slices.Contains(Names(), dtype) {
		return 0
	}
	name, _, _ := strings.Cut(dtype, "-")
	bits, _ := strconv.Atoi(name[strings.IndexAny(name, "123468"):])
	return bits
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

// instead has, for types that a device's figures lack, the type as which its units take them: narrower floats are converted to 8 bits,
// AMD's name of TF32 is a name only, and most GPUs have no faster FP32 than their vector units.
var instead = map[string]string{"fp4": "fp8", "fp6": "fp8", "xf32": "tf32", "fp32-vector": "fp32"}

// Peak returns the dense peak in flop/s (or op/s) for operands of a type.
func Peak(d profile.Device, dtype string) (float64, error) {
	if Bits(dtype) == 0 {
		return 0, fmt.Errorf("no type %q of operands; there are %s", dtype, strings.Join(Names(), ", "))
	}
	v := peaks.ByType[d.Type]
	if v == nil {
		return 0, unknown(d, "")
	}
	d = completed(v, d)
	rates, known := v.Rates[peaks.Architecture(d)]
	if !known {
		return byWidth(v, d, Bits(dtype))
	}
	dtype = taken(v.As[peaks.Architecture(d)], rates, dtype)
	peak, err := full(v, d, rates, dtype)
	if v.Halved != nil && v.Halved(d, dtype) {
		peak /= 2
	}
	return peak, err
}

// full is the peak of a device that runs operands of a type at the rate of its architecture.
func full(v *peaks.Figures, d profile.Device, rates peaks.Rates, dtype string) (float64, error) {
	rate, found := rates[dtype]
	if !found {
		peak, err := byWidth(v, d, Bits(dtype))
		if errors.As(err, new(*UnknownError)) {
			return 0, unknown(d, dtype)
		}
		return peak, err
	}
	units := d.NumSMs
	if v.Units != nil {
		units = v.Units(d)
	}
	peak := rate * float64(units) * float64(d.ClockRate) * 1e3
	if peak <= 0 {
		return 0, missing(d, "num_sms or clock_rate")
	}
	return peak, nil
}

// taken is the type as which the units take operands.
func taken(as map[string]string, rates peaks.Rates, dtype string) string {
	for rates[dtype] == 0 {
		next := cmp.Or(as[dtype], instead[dtype])
		if next == "" {
			break
		}
		dtype = next
	}
	return dtype
}
