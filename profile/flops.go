package profile

import (
	"slices"
	"strconv"
	"strings"
)

// OperandTypes are the types of operands that the metrics of flops may name. fp16 to tf32 are those of the tensor or matrix units
// where there are any; fp32 and fp64 are the faster of these and the vector units, fp64-vector is the vector units'; xf32 is AMD's name of
// tf32.
var OperandTypes = []string{"fp4", "fp8", "int8", "fp16", "bf16", "tf32", "fp32", "fp64", "fp64-vector", "fp6", "xf32", "fp32-vector"}

// OperandWidths are the widths in bits that a metric of flops may name instead of a type, as flops8 to flops64 do.
var OperandWidths = [4]int{8, 16, 32, 64}

// OperandBits is the width of a type's operands, 0 for one that is not in OperandTypes. TF32 has 19 bits of a 32 bit word.
func OperandBits(dtype string) int {
	if !slices.Contains(OperandTypes, dtype) {
		return 0
	}
	name, _, _ := strings.Cut(dtype, "-")
	bits, _ := strconv.Atoi(name[strings.IndexAny(name, "123468"):]) //nolint:errcheck // all types have a number
	return bits
}

// OperandOfWidth is the type that is assumed when a metric names only the width: the type that deep learning runs on the tensor cores.
func OperandOfWidth(bits int) string {
	return map[int]string{8: "fp8", 16: "fp16", 32: "tf32", 64: "fp64"}[bits]
}

// Flops reports whether a metric counts flops, and the type of their operands: flops16 and flops_bf16 name one, flops does not, which
// returns "".
func Flops(metric string) (dtype string, ok bool) {
	const counts = "flops"
	if len(metric) < len(counts) || !strings.EqualFold(metric[:len(counts)], counts) {
		return "", false
	}
	rest := strings.ToLower(metric[len(counts):])
	if rest == "" {
		return "", true
	}
	if dtype, typed := strings.CutPrefix(rest, "_"); typed {
		return dtype, OperandBits(dtype) > 0
	}
	for _, bits := range OperandWidths {
		if rest == strconv.Itoa(bits) {
			return OperandOfWidth(bits), true
		}
	}
	return "", false
}

// CountsWork reports whether a metric counts flops or bytes.
func CountsWork(metric string) bool {
	_, flops := Flops(metric)
	return flops || metric == BytesMetric
}

// FlopsMetric is the metric that counts flops on operands of a type: the one that names the width alone, if that stands for the type.
func FlopsMetric(dtype string) string {
	if bits := OperandBits(dtype); OperandOfWidth(bits) == dtype {
		return "flops" + strconv.Itoa(bits)
	}
	return "flops_" + dtype
}
