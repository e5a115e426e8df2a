package roctracer_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSDK compares abi_sdk.h with the headers of rocprofiler-sdk that Triton 3.9 brings, a part of those of 1.2.1. The records of
// dispatches, copies and samples, and all of layout A, are not in them.
func TestSDK(t *testing.T) {
	headers, err := filepath.Abs("../.venv/oracles/triton-3.9.0/triton/backends/amd/include")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(headers, "rocprofiler-sdk", "fwd.h")); err != nil {
		t.Skip("needs the headers of triton 3.9.0: run tools/oracles.sh where PyPI can be reached")
	}
	compiler, err := exec.LookPath("c++")
	if err != nil {
		t.Skipf("needs a C++ compiler: %v", err)
	}
	program := filepath.Join(t.TempDir(), "sdk")
	object := program + ".o"
	for _, arguments := range [][]string{
		{"-x", "c", "-std=gnu11", "-Wall", "-Werror", "-I../hotpath", "-I../hotpath/recorder", "-c", "testdata/abi/sdk_calls.c", "-o", object},
		{"-std=c++17", "-w", "-D__HIP_PLATFORM_AMD__", "-isystem", headers, "testdata/abi/sdk.cpp", object, "-o", program},
	} {
		if out, err := exec.Command(compiler, arguments...).CombinedOutput(); err != nil {
			t.Fatalf("%q does not compile: %v\n%.4000s", arguments, err, out)
		}
	}
	out, err := exec.Command(program).CombinedOutput()
	if err != nil {
		t.Errorf("the headers differ (%v):\n%s", err, out)
	}
	t.Logf("%s", out)
}
