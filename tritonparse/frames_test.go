package tritonparse

import "testing"

func TestKernelOfFrame(t *testing.T) {
	for frame, want := range map[string]string{
		"matmul": "matmul", "matmul_<grid:64x1x1>_<warps:8>": "matmul", "matmul_kernel": "matmul_kernel", "": "", "_<a>": "", "<memcpy HtoD>": "<memcpy HtoD>",
	} {
		if got := KernelOfFrame(frame); got != want {
			t.Errorf("frame %q stands for %q, want %q", frame, got, want)
		}
	}
}
