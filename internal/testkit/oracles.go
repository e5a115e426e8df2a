package testkit

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// Fetched is the path of a program or package below .venv that tests compare with, where tools/oracles.sh fetches it.
// Without it the test is skipped.
func Fetched(t testing.TB, path string) string {
	t.Helper()
	path = filepath.Join(Root(t), ".venv", path)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%v: run tools/oracles.sh", err)
	}
	return path
}

var missingModule = regexp.MustCompile("ModuleNotFoundError|ImportError")

// Python runs a script of the checkout with the packages in .venv, and those in a folder of .venv/oracles unless it is "".
// It returns what the script prints. Where a package is missing, the test is skipped.
func Python(t testing.TB, packages, script string, stdin []byte) []byte {
	t.Helper()
	cmd := exec.Command(Fetched(t, "bin/python"), filepath.Join(Root(t), script))
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "MPLBACKEND=agg")
	if packages != "" {
		cmd.Env = append(cmd.Env, "PYTHONPATH="+Fetched(t, filepath.Join("oracles", packages)))
	}
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && missingModule.Match(stderr.Bytes()) {
		t.Skipf("a package is missing: run tools/oracles.sh\n%s", stderr.String())
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, stderr.String())
	}
	return out
}
