package peaks

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
)

// DTypes are the types, of profile.OperandTypes, that have peaks of their own on most GPUs.
var DTypes = []string{"fp4", "fp8", "int8", "fp16", "bf16", "tf32", "fp32", "fp64", "fp64-vector"}

// instead has, for types that a device's figures lack, the type as which its units take them: narrower floats are converted to 8 bits,
// AMD's name of TF32 is a name only, and most GPUs have no faster FP32 than their vector units.
var instead = map[string]string{"fp4": "fp8", "fp6": "fp8", "xf32": "tf32", "fp32-vector": "fp32"}

// Peak returns the dense peak in flop/s (or op/s) for operands of a type.
func Peak(d profile.Device, dtype string) (float64, error) {
	if profile.OperandBits(dtype) == 0 {
		return 0, fmt.Errorf("no type %q of operands; there are %s", dtype, strings.Join(profile.OperandTypes, ", "))
	}
	v := ByType[d.Type]
	if v == nil {
		return 0, unknown(d, "")
	}
	d = completed(v, d)
	rates, known := v.Rates[Architecture(d)]
	if !known {
		return byWidth(v, d, profile.OperandBits(dtype))
	}
	dtype = taken(v.As[Architecture(d)], rates, dtype)
	peak, err := full(v, d, rates, dtype)
	if v.Halved != nil && v.Halved(d, dtype) {
		peak /= 2
	}
	return peak, err
}

// full is the peak of a device that runs operands of a type at the rate of its architecture. A type without a rate there has the figure of
// Triton's formula for its width: of most GPUs that is so for 8 and 16 bits and TF32.
func full(v *Figures, d profile.Device, rates Rates, dtype string) (float64, error) {
	rate, found := rates[dtype]
	if !found {
		peak, err := byWidth(v, d, profile.OperandBits(dtype))
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
func taken(as map[string]string, rates Rates, dtype string) string {
	for rates[dtype] == 0 {
		next := cmp.Or(as[dtype], instead[dtype])
		if next == "" {
			break
		}
		dtype = next
	}
	return dtype
}

// Multiplied is the type, of profile.OperandTypes, in which a kernel of Triton's multiplies matrices, and the number of its multiplications for
// each of the code's, by the type of the operands, as TTIR has it, and of f32 the input_precision. Without a multiplication the vector units
// compute: "" is fp32.
func Multiplied(element, precision string) (dtype string, passes int) {
	switch {
	case element == "f16":
		return "fp16", 1
	case element == "bf16":
		return "bf16", 1
	case element == "f32":
		return ofPrecision(precision)
	case element == "f64":
		return "fp64", 1
	case element == "i8":
		return "int8", 1
	case strings.HasPrefix(element, "f8"):
		return "fp8", 1
	case strings.HasPrefix(element, "f6"):
		return "fp6", 1
	case strings.HasPrefix(element, "f4"):
		return "fp4", 1
	}
	return "fp32", 1
}

// ofPrecision is the type in which tl.dot multiplies operands of f32, by its input_precision. Only ieee has no tensor core.
func ofPrecision(name string) (dtype string, passes int) {
	switch name {
	case "tf32":
		return "tf32", 1
	case "tf32x3":
		return "tf32", 3
	case "bf16x3":
		return "bf16", 3
	case "bf16x6":
		return "bf16", 6
	}
	return "fp32", 1
}

// Counted is Multiplied by the name that the interpreter counts an operation under: the type of its operands, f16, of products of f32 the
// input_precision, tf32x3, and of scaled products both formats, e2m1*e4m3.
func Counted(name string) (dtype string, passes int) {
	if left, right, scaled := strings.Cut(name, "*"); scaled {
		return Multiplied(widest(left, right), "")
	}
	if strings.HasPrefix(name, "tf32") || strings.HasPrefix(name, "bf16x") {
		return ofPrecision(name)
	}
	return Multiplied(name, "ieee")
}

// formats of scaled products, the narrowest first. Of two that differ the wider is multiplied.
var formats = []struct{ name, element string }{{"e2m1", "f4"}, {"e2m3", "f6"}, {"e3m2", "f6"}, {"e4m3", "f8"}, {"e5m2", "f8"}, {"fp16", "f16"}, {"bf16", "bf16"}}

func widest(left, right string) string {
	for _, f := range slices.Backward(formats) {
		if f.name == left || f.name == right {
			return f.element
		}
	}
	return left
}
