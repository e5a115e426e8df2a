package vendors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu"
)

// The texts of messages include a second vendor without a change outside of this package.
func TestTwoVendors(t *testing.T) {
	before := All
	t.Cleanup(func() { All = before })
	All = List(NVIDIA, &Vendor{Name: "Other", API: "OTHER", Backends: []Backend{{Names: []string{"other"}}, {Names: []string{"another"}}}, Driver: []string{"dev/other"}})
	root := t.TempDir()
	if got, want := NoDriver(root), "no NVIDIA driver (no /dev/nvidiactl) and no Other driver (no /dev/other)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := strings.Join(Backends(), " ") + "; " + APIs(); got != "cupti other another; CUDA or OTHER" {
		t.Errorf("got %q", got)
	}
	if got := strings.Join(Injections(), " "); got != "CUDA_INJECTION64_PATH" {
		t.Errorf("libraries are injected with %q, where the second vendor's driver injects none", got)
	}
	if err := os.MkdirAll(filepath.Join(root, "dev/other"), 0o777); err != nil || NoDriver(root) != "" {
		t.Errorf("%q (%v) where one driver is", NoDriver(root), err)
	}
	for backend, want := range map[string]bool{"": true, "replay": true, "cupti": true, "other": false, "another": false} {
		if _, err := ParseMode(backend, "pcsampling", "interval=64"); (err == nil) != want {
			t.Errorf("pcsampling of %q: %v", backend, err)
		}
	}
	if _, err := ParseMode("cupti", "pcsampling", "interval=x"); err == nil {
		t.Error("an interval of x is taken")
	}
	if v, b := ByBackend("another"); v == nil || v.Name != "Other" || b != &v.Backends[1] {
		t.Errorf("the second backend is %v's: %v", v, b)
	}
}

// A vendor may lack modes, a format of binaries, and stall reasons: functions that need them return errors or empty values.
func TestVendorWithoutOptionalParts(t *testing.T) {
	v := List(&Vendor{Name: "Bare", Backends: []Backend{{Names: []string{"bare"}}}, Driver: []string{"dev/bare"}})[0]
	const want = "binaries for GPUs of Bare cannot be read"
	if _, err := v.Code.Open([]byte("image")); err == nil || err.Error() != want {
		t.Errorf("opening a binary: %v, want %s", err, want)
	}
	if _, err := v.Code.Disassemble(gpu.Disassembler{}, "file", &gpu.Function{}); err == nil || err.Error() != want {
		t.Errorf("disassembling a function: %v, want %s", err, want)
	}
	if v.Code.Is([]byte("image")) || v.Code.SourceName("_Z1f") != "_Z1f" || v.Code.Recorded("listing", "f") != nil {
		t.Error("a format that is not known knows a binary, the source's name of a symbol or a listing")
	}
	if r, known := v.Stalls.Explain("memory"); known || r.Name != "memory" || r.Means == "" {
		t.Errorf("a stall reason of a vendor without any: %+v, known %v", r, known)
	}
	if v.Backends[0].Modes["pcsampling"] != nil {
		t.Error("it can sample")
	}
}
