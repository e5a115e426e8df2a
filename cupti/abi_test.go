package cupti_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// versions are the oldest CUPTI that is supported, the one of Triton 3.6, and the newest.
var versions = []struct {
	folder     string
	driverless string // what testdata/abi/load.c prints on a machine without a driver
}{
	{"cupti-11.8", `
without: cuptiGetErrorMessage
without: cuptiSubscribe_v2
without: cuptiGetGraphExecId
GetVersion: 0 CUPTI_SUCCESS
version: 18
Subscribe: 15 CUPTI_ERROR_NOT_INITIALIZED
EnableCallback: 1 CUPTI_ERROR_INVALID_PARAMETER
SetAttribute: 15 CUPTI_ERROR_NOT_INITIALIZED
RegisterCallbacks: 0 CUPTI_SUCCESS
ActivityEnable: 15 CUPTI_ERROR_NOT_INITIALIZED
FlushAll: 15 CUPTI_ERROR_NOT_INITIALIZED
Unsubscribe: 1 CUPTI_ERROR_INVALID_PARAMETER
`},
	{"cupti-12.8", `
without: cuptiSubscribe_v2
GetVersion: 0 CUPTI_SUCCESS: CUPTI_SUCCESS
version: 26
Subscribe: 15 CUPTI_ERROR_NOT_INITIALIZED: CUPTI_ERROR_NOT_INITIALIZED
EnableCallback: 1 CUPTI_ERROR_INVALID_PARAMETER: CUPTI_ERROR_INVALID_PARAMETER
SetAttribute: 15 CUPTI_ERROR_NOT_INITIALIZED: CUPTI_ERROR_NOT_INITIALIZED
RegisterCallbacks: 0 CUPTI_SUCCESS: CUPTI_SUCCESS
ActivityEnable: 15 CUPTI_ERROR_NOT_INITIALIZED: CUPTI_ERROR_NOT_INITIALIZED
FlushAll: 15 CUPTI_ERROR_NOT_INITIALIZED: CUPTI_ERROR_NOT_INITIALIZED
Unsubscribe: 1 CUPTI_ERROR_INVALID_PARAMETER: CUPTI_ERROR_INVALID_PARAMETER
`},
	// Without a driver, every function of 13.0 and later returns 999: there is no version and no name of an error.
	{"cupti-13.5", `
GetVersion: 999 ?
version: 0
Subscribe: 999 ?
EnableCallback: 999 ?
SetAttribute: 999 ?
RegisterCallbacks: 999 ?
ActivityEnable: 999 ?
FlushAll: 999 ?
Unsubscribe: 999 ?
`},
}

func oracle(t *testing.T, folder string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("../.venv/oracles", folder))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("needs the headers of %s: run tools/oracles.sh where PyPI can be reached", folder)
	}
	return dir
}

func compile(t *testing.T, source string, flags ...string) string {
	return testkit.CompileC(t, source, append(flags, "-I../hotpath/recorder")...)
}

// glob returns the files nvidia/*/pattern of a folder of wheels: a wheel has its files in nvidia/<name of the wheel>.
func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "nvidia", "*", pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s has no nvidia/*/%s (%v): remove it and run tools/oracles.sh again", dir, pattern, err)
	}
	return found
}

// TestABI compares every number in cupti/abi*.h with the vendor's headers.
func TestABI(t *testing.T) {
	for _, v := range versions {
		t.Run(v.folder, func(t *testing.T) {
			flags := []string{"-Itestdata/abi/cxx"}
			for _, include := range glob(t, oracle(t, v.folder), "include") {
				flags = append(flags, "-isystem", include)
			}
			out, err := exec.Command(compile(t, "abi/check.c", flags...)).CombinedOutput()
			if err != nil {
				t.Errorf("cupti/abi*.h does not say what the headers of %s say (%v):\n%s", v.folder, err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// TestWithoutDriver loads real libraries on a machine without a driver: they have every function that the profiler needs, none
// crashes, and their results are those that refusal.go has messages for.
func TestWithoutDriver(t *testing.T) {
	load := compile(t, "abi/load.c")
	driver := exec.Command(load, "libcuda.so.1")
	if driver.Run(); driver.ProcessState.ExitCode() != 1 { // 1: it could not be opened
		t.Skip("needs a machine without an NVIDIA driver, and this one has libcuda.so.1")
	}
	for _, v := range versions {
		t.Run(v.folder, func(t *testing.T) {
			library := glob(t, oracle(t, v.folder), "lib/libcupti.so.*")[0]
			out, err := exec.Command(load, library).Output()
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				t.Fatalf("%s: %v\n%s%s", library, err, out, exit.Stderr)
			}
			if got, want := strings.TrimSpace(string(out)), strings.TrimSpace(v.driverless); got != want {
				t.Errorf("%s answers\n%s\n\nwant\n%s", library, got, want)
			}
		})
	}
}
