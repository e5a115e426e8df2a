package cupti

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestCapturesAndContextsWithoutAListener: a capture that ends, or a context that goes, while all sessions
// are deactivated is known about afterwards. A capture taken to last for ever would keep every later flush from
// waiting for the GPU; a context that is gone would be synchronised.
func TestCapturesAndContextsWithoutAListener(t *testing.T) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	program := filepath.Join(t.TempDir(), "callbacks")
	build := exec.Command(cc, "-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-I../internal/hotpath", "-I.", "-o", program, "testdata/callbacks.c")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("testdata/callbacks.c does not compile: %v\n%s", err, out)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
