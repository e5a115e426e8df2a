package roctracer

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSDK has records of any content decoded, and tests what is kept of code objects and how GPUs are numbered.
func TestSDK(t *testing.T) { runC(t, "testdata/sdk.c") }

func TestSamples(t *testing.T) { runC(t, "testdata/samples.c") }

func runC(t *testing.T, source string) {
	t.Helper()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	program := filepath.Join(t.TempDir(), "sdk")
	build := exec.Command(cc, "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-fsanitize=address,undefined", "-I../hotpath", "-I../hotpath/recorder", "-o", program, source, "-lpthread")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s does not compile: %v\n%s", source, err, out)
	}
	run := exec.Command(program, t.TempDir())
	run.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0")
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%.4000s", err, out)
	}
}

func TestSDKFound(t *testing.T) {
	t.Setenv("LD_LIBRARY_PATH", "")
	t.Setenv("TRITON_ROCPROFILER_SDK_LIB_PATH", "")
	if SDKFound(nil) {
		t.Skip("needs a machine without librocprofiler-sdk")
	}
	site := t.TempDir()
	os.MkdirAll(site+"/torch/lib", 0o755)
	os.WriteFile(site+"/torch/lib/librocprofiler-sdk.so.0", nil, 0o644)
	if !SDKFound([]string{t.TempDir(), site}) {
		t.Error("the library in torch's wheel is not found")
	}
}
