package main

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestStartsInTime keeps packages that do work before main out of the way of somebody who looks at a small file. The
// fastest of many starts is what the program takes; the others are what the machine does besides.
func TestStartsInTime(t *testing.T) {
	const most = 15 * time.Millisecond
	if testing.Short() {
		t.Skip("builds the command; run without -short")
	}
	proton := filepath.Join(t.TempDir(), "proton")
	if out, err := exec.Command("go", "build", "-o", proton, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	fastest := time.Hour
	for range 40 {
		start := time.Now()
		if out, err := exec.Command(proton, "viewer", "../../viewer/testdata/profiles/scope.hatchet").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		fastest = min(fastest, time.Since(start))
	}
	t.Logf("the fastest of 40 starts took %s", fastest)
	if fastest > most {
		t.Errorf("the fastest of 40 starts took %s, want less than %s: GODEBUG=inittrace=1 says which package takes its time", fastest, most)
	}
}
