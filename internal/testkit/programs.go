package testkit

import (
	"cmp"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Piped starts a program that is written to and read from.
func Piped(t testing.TB, program *exec.Cmd) (in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	in, err := program.StdinPipe()
	if err == nil {
		out, err = program.StdoutPipe()
	}
	if err == nil {
		err = program.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return in, out
}

// CompileC compiles testdata/source, without warnings, and returns the program.
func CompileC(t testing.TB, source string, flags ...string) string {
	t.Helper()
	cc := cmp.Or(os.Getenv("CC"), "cc")
	if _, err := exec.LookPath(cc); err != nil {
		t.Skipf("needs a C compiler: %v", err)
	}
	program := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), ".c"))
	args := append([]string{"-std=gnu11", "-w", "-o", program, filepath.Join("testdata", source)}, flags...)
	if out, err := exec.Command(cc, append(args, "-ldl", "-pthread")...).CombinedOutput(); err != nil {
		t.Fatalf("%s does not compile: %v\n%.4000s", source, err, out)
	}
	return program
}
