package vendor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A second vendor needs no line outside of this package to be named in messages and choices.
func TestTwoVendors(t *testing.T) {
	before := All
	t.Cleanup(func() { All = before })
	All = append(All[:1:1], &Vendor{Name: "Other", API: "OTHER", Backend: "other", Driver: []string{"dev/other"}})
	root := t.TempDir()
	if got, want := NoDriver(root), "no NVIDIA driver (no /dev/nvidiactl) and no Other driver (no /dev/other)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := strings.Join(Backends(), " ") + "; " + APIs(); got != "cupti other; CUDA or OTHER" {
		t.Errorf("got %q", got)
	}
	if got := strings.Join(Injections(), " "); got != "CUDA_INJECTION64_PATH" {
		t.Errorf("libraries are injected with %q, where the second vendor's driver injects none", got)
	}
	if err := os.MkdirAll(filepath.Join(root, "dev/other"), 0o777); err != nil || NoDriver(root) != "" {
		t.Errorf("%q (%v) where one driver is", NoDriver(root), err)
	}
	for backend, want := range map[string]bool{"": true, "replay": true, "cupti": true, "other": false} {
		if err := CheckMode(backend, "pcsampling", "interval=64"); (err == nil) != want {
			t.Errorf("pcsampling of %q: %v", backend, err)
		}
	}
	if CheckMode("cupti", "pcsampling", "interval=x") == nil {
		t.Error("an interval of x is taken")
	}
}
