package goproton

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// TestFailuresAreNamed is about the last lines of "make test", which are all that some machines show of it. Its input is
// what go and pytest print about tests that fail, crash, never end or do not build; each of them is named with its output.
func TestFailuresAreNamed(t *testing.T) {
	const recorded = "testdata/failures"
	gotestsum, err := filepath.Abs("build/tools/gotestsum")
	if err == nil {
		_, err = os.Stat(gotestsum)
	}
	if err != nil {
		t.Skip("there is no build/tools/gotestsum: make test installs it")
	}
	logs := t.TempDir()
	sum := exec.Command(gotestsum, "--no-color", "--format", "pkgname-and-test-fails", "--format-hide-empty-pkg", "--raw-command", "--", "cat", filepath.Join(recorded, "go-test.events.json"))
	printed, err := sum.Output() // it fails, since tests did
	if len(printed) == 0 {
		t.Fatalf("%s: %v", gotestsum, err)
	}
	write(t, filepath.Join(logs, "go test.txt"), printed)
	for _, name := range []string{"lint.txt", "pytest.txt"} {
		write(t, filepath.Join(logs, name), []byte(testkit.Read(t, filepath.Join(recorded, name))))
	}
	got, err := exec.Command("tools/failures.sh", logs, "lint", "go test", "pytest").CombinedOutput()
	if err != nil {
		t.Fatalf("tools/failures.sh: %v\n%s", err, got)
	}
	testkit.Golden(t, filepath.Join(recorded, "closing.txt"), got) // the last lines of make test
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
