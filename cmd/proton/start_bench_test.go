package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkStart is the time until the first output for a small file: under 15 ms on an idle machine, most of it the
// kernel's for a new process. GODEBUG=inittrace=1 says which package does work before main.
func BenchmarkStart(b *testing.B) {
	proton := filepath.Join(b.TempDir(), "proton")
	if out, err := exec.Command("go", "build", "-o", proton, ".").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	for b.Loop() {
		if out, err := exec.Command(proton, "viewer", "../../viewer/testdata/profiles/scope.hatchet").CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
}
