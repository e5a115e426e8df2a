package cupti_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The driver compiles the text of the kernel on the user's machine. NVIDIA's own compiler takes it here, for the oldest and the newest
// GPUs that it knows.
func TestTheKernelThatStoresTensorsCompiles(t *testing.T) {
	text, err := exec.Command(compile(t, "abi/tensor.c", "-I../hotpath")).Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tensor.ptx")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		folder string
		archs  []string
	}{
		{"cupti-11.8", []string{"sm_50", "sm_70", "sm_90"}},
		{"cupti-12.8", []string{"sm_75", "sm_90", "sm_100", "sm_120"}},
	} {
		t.Run(c.folder, func(t *testing.T) {
			ptxas := filepath.Join(oracle(t, c.folder), "nvidia/cuda_nvcc/bin/ptxas")
			if _, err := os.Stat(ptxas); err != nil {
				t.Skip("needs ptxas: run tools/oracles.sh")
			}
			for _, arch := range c.archs {
				if out, err := exec.Command(ptxas, "-arch", arch, "-o", file+"."+arch, file).CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", arch, err, out)
				}
			}
		})
	}
}
