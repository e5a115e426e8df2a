package hooks

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTraceRing: launches that find the ring full wait once and are counted, forked children write nothing, and without memory
// a record is incomplete but the program continues.
func TestTraceRing(t *testing.T) {
	program := filepath.Join(t.TempDir(), "tracering")
	flags := []string{"-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}
	if err := exec.Command("gcc", append(flags, "-x", "c", "-fsyntax-only", "/dev/null")...).Run(); err != nil {
		t.Skip("needs gcc with sanitizers: install gcc and libasan")
	}
	if out, err := exec.Command("gcc", append(flags, "-o", program, "testdata/tracering/test.c")...).CombinedOutput(); err != nil {
		t.Fatalf("it does not compile: %v\n%s", err, out)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil || string(out) != "fine\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
