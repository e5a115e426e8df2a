package goproton

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestFailuresAreNamed is about the last lines of "make test", which are all that some machines show of it: what go and
// pytest say of tests that fail, crash, never end or do not build goes in, each with its name comes out.
func TestFailuresAreNamed(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here, which make test has its results read by")
	}
	const recorded = "testdata/failures"
	logs := t.TempDir()
	events, err := os.Open(filepath.Join(recorded, "go-test.events.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	read := exec.Command(python, "tools/gotest.py", filepath.Join(logs, "go test.jsonl"))
	read.Stdin = events
	if out, err := read.CombinedOutput(); err != nil {
		t.Fatalf("tools/gotest.py: %v\n%s", err, out)
	}
	for _, name := range []string{"lint.txt", "pytest.xml"} {
		text, err := os.ReadFile(filepath.Join(recorded, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(logs, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := exec.Command(python, "tools/failures.py", logs, "6", "lint", "go test", "pytest").CombinedOutput()
	if err != nil {
		t.Fatalf("tools/failures.py: %v\n%s", err, got)
	}
	got = bytes.ReplaceAll(got, []byte(logs), []byte("build/test"))
	golden := filepath.Join(recorded, "closing.txt")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the last lines of make test are now (-update rewrites %s):\n%s", golden, got)
	}
}
