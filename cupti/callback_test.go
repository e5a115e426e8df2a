package cupti

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestCapturesAndContextsWhileDeactivated: the end of a capture and the destruction of a context are noticed while all sessions
// are deactivated. Otherwise no later flush would wait for the GPU, or one would synchronise a destroyed context.
func TestCapturesAndContextsWhileDeactivated(t *testing.T) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	program := filepath.Join(t.TempDir(), "callbacks")
	build := exec.Command(cc, "-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", "-I../hotpath", "-I.", "-o", program, "testdata/callbacks.c")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("testdata/callbacks.c does not compile: %v\n%s", err, out)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
