package roctracer_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

func compile(t *testing.T, source string, flags ...string) string {
	return testkit.CompileC(t, source, append(flags, "-I../hotpath", "-I../hotpath/recorder")...)
}

// TestLegacyABI compares every number of abi_legacy.h, abi_hip.h and hip_calls.c with the headers of HIP 7.1 and roctracer 4.1.
func TestLegacyABI(t *testing.T) {
	for _, wheel := range []string{"triton-3.6.0", "triton-3.9.0"} {
		t.Run(wheel, func(t *testing.T) {
			include := testkit.Fetched(t, "oracles/"+wheel+"/triton/backends/amd/include")
			compareHIP(t, include, include+"/roctracer")
		})
	}
}

// TestOtherHIP compares them with Debian's headers of HIP, with those that the system has, and with those in the folders of HIP_HEADERS.
// The headers of roctracer are those of the wheel, and for HIP 6.4 also its own: roctracer's interface has not changed since 4.1.
func TestOtherHIP(t *testing.T) {
	rocm := filepath.Join(testkit.Root(t), ".venv/oracles/rocm")
	roctracer := testkit.Fetched(t, "oracles/triton-3.6.0/triton/backends/amd/include/roctracer")
	compare := func(hip, roctracer string) {
		t.Run(hip, func(t *testing.T) {
			for _, file := range []string{hip + "/hip/amd_detail/hip_prof_str.h", roctracer + "/roctracer.h"} {
				if _, err := os.Stat(file); err != nil {
					t.Skipf("needs headers of HIP and roctracer (%v): run tools/rocm.sh where Debian's archive can be reached", err)
				}
			}
			compareHIP(t, hip, roctracer)
		})
	}
	for _, version := range []string{"5.2", "5.7", "6.4", "7.2"} {
		compare(rocm+"/hip-"+version+"/usr/include", roctracer)
	}
	compare(rocm+"/hip-6.4/usr/include", rocm+"/roctracer-6.4/inc")
	for _, folder := range append(filepath.SplitList(os.Getenv("HIP_HEADERS")), "/usr/include", "/opt/rocm/include") {
		if _, err := os.Stat(folder + "/hip"); err == nil {
			compare(folder, roctracer)
		}
	}
}

func compareHIP(t *testing.T, hip, roctracer string) {
	out, err := exec.Command(compile(t, "abi/legacy.c", "-I"+hip, "-isystem", roctracer)).CombinedOutput()
	if err != nil {
		t.Errorf("the declarations do not say what the headers in %s say (%v):\n%s", hip, err, out)
	}
	t.Logf("%s", out)
}

// withoutGPU is what load.c prints of HIP 5.2.3, which Debian 12 has.
const withoutGPU = `found libamdhip64.so.5
without hipGetDevicePropertiesR0600
devices: result 100, 0
current device: -1
NULL stream is captured: 0
device 0 is described: 0
synchronize: 101
`

// TestRealHIP loads Debian's libamdhip64-5, which is the oldest that is supported, where the package is installed and the machine has no
// AMD GPU.
func TestRealHIP(t *testing.T) {
	if _, err := os.Stat("/dev/kfd"); err == nil {
		t.Skip("needs a machine without an AMD GPU, and this one has /dev/kfd")
	}
	load := compile(t, "abi/load.c")
	out, err := exec.Command(load, "libamdhip64.so.5").CombinedOutput()
	if strings.Contains(string(out), "cannot open shared object file") {
		t.Skip("needs libamdhip64.so.5: install Debian 12's package libamdhip64-5")
	}
	if err != nil || string(out) != withoutGPU {
		t.Errorf("%v, got\n%s\nwant\n%s", err, out, withoutGPU)
	}
}
