package doctor

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// fakeLibraries are a libcuda and a libcupti in one source. That libcupti's functions end the process unless DRIVER is "works", as those of
// CUDA 13.2 do.
const fakeLibraries = `
#include <stdlib.h>
#include <string.h>
static int works(void) { return strcmp(getenv("DRIVER"), "works") == 0; }
int cuInit(unsigned flags) { return works() ? 0 : 100; }
int cuptiGetVersion(unsigned *version) { if (!works()) abort(); *version = 26; return 0; }
int cuptiSubscribe(void **subscriber, void *callback, void *user) { if (!works()) abort(); return 39; }
`

// TestProbeWithoutDriver: a libcupti is not asked where there is no driver that works.
func TestProbeWithoutDriver(t *testing.T) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skipf("needs a C compiler: %v", err)
	}
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	compile := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(cc, append(args, "-ldl")...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(path(name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	source, err := os.ReadFile("../../../proton-probe/probe.c") // so that go test knows that its result depends on this file
	if err != nil {
		t.Fatal(err)
	}
	write("probe.c", string(source))
	compile("-o", path("proton-probe"), path("probe.c"))
	write("fake.c", fakeLibraries)
	compile("-shared", "-fPIC", "-o", path("libcupti.so"), path("fake.c"))

	t.Setenv("LD_LIBRARY_PATH", folder)
	m := Machine{Probe: path("proton-probe"), Timeout: time.Minute}
	ask := func(driver string) probeAnswer {
		t.Helper()
		t.Setenv("DRIVER", driver)
		answer, err := m.probe(path("libcupti.so"))
		if err != nil {
			t.Fatalf("driver %s: %v", driver, err)
		}
		if !answer.CUPTI.Loaded {
			t.Errorf("driver %s: libcupti is not loaded: %s", driver, answer.CUPTI.Error)
		}
		return answer
	}
	write("libcuda.so.1", "no library, which hides that of the system")
	if answer := ask("missing"); answer.Driver.Loaded || answer.CUPTI.Version != 0 {
		t.Errorf("without libcuda: %+v", answer)
	}
	compile("-shared", "-fPIC", "-o", path("libcuda.so.1"), path("fake.c"))
	if answer := ask("fails"); answer.Driver.Init != 100 || answer.CUPTI.Version != 0 {
		t.Errorf("with a driver that does not initialise: %+v", answer)
	}
	if answer := ask("works"); answer.Driver.Init != 0 || answer.CUPTI.Version != 26 || answer.CUPTI.Subscribe != 39 {
		t.Errorf("with a driver: %+v", answer)
	}
}
