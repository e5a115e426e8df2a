package profile

import "testing"

func TestOperands(t *testing.T) {
	for dtype, want := range map[string]int{"fp4": 4, "fp6": 6, "int8": 8, "bf16": 16, "tf32": 32, "xf32": 32, "fp64-vector": 64} {
		if got := OperandBits(dtype); got != want {
			t.Errorf("%s has %d bits, want %d", dtype, got, want)
		}
	}
	for bits, want := range map[int]string{8: "fp8", 16: "fp16", 32: "tf32", 64: "fp64"} {
		if got := OperandOfWidth(bits); got != want || OperandBits(got) != bits {
			t.Errorf("%d bits are %s, want %s", bits, got, want)
		}
	}
	for _, dtype := range OperandTypes {
		if OperandBits(dtype) == 0 {
			t.Errorf("%s has no width", dtype)
		}
	}
	if got := OperandBits("fp12"); got != 0 {
		t.Errorf("fp12 has %d bits", got)
	}
}

func TestFlops(t *testing.T) {
	for metric, want := range map[string]string{
		"flops": "", "FLOPS": "", "flops8": "fp8", "Flops16": "fp16", "flops32": "tf32", "flops64": "fp64", "flops_bf16": "bf16", "flops_fp64-vector": "fp64-vector",
	} {
		if dtype, ok := Flops(metric); !ok || dtype != want {
			t.Errorf("%s: %q, %v, want %q", metric, dtype, ok, want)
		}
	}
	for _, dtype := range OperandTypes {
		if back, ok := Flops(FlopsMetric(dtype)); !ok || back != dtype {
			t.Errorf("%s counts flops of %q, want %s", FlopsMetric(dtype), back, dtype)
		}
	}
	for _, metric := range []string{"", "flop", "flops_", "flops12", "flops_fp12", "operator_flops16", "estimated_flops16", "flops (count)"} {
		if dtype, ok := Flops(metric); ok {
			t.Errorf("%s counts flops of %q", metric, dtype)
		}
	}
}
