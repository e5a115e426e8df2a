package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Built returns an environment in which proton is the command as its sources are now. The other parts are those of the last make
// build; without them the test is skipped.
func Built(t testing.TB) []string {
	t.Helper()
	root := Root(t)
	build := filepath.Join(root, "build")
	for _, part := range []string{"proton-replay", "libproton.so"} {
		if _, err := os.Stat(filepath.Join(build, part)); err != nil {
			t.Skipf("needs build/%s: run make build", part)
		}
	}
	folder := t.TempDir()
	compile := exec.Command("go", "build", "-trimpath", "-o", folder, "./cmd/proton")
	compile.Dir, compile.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compile, err, out)
	}
	return append(os.Environ(), "NO_COLOR=1", "PROTON_HOME="+build, "PATH="+folder+":"+os.Getenv("PATH"))
}
