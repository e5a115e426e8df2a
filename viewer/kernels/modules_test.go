package kernels

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/profile"
)

func TestModuleOfTritonsCache(t *testing.T) {
	image, err := os.ReadFile(cubins + "matmul.sm80.cubin")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, entry := range []string{"A", "B"} {
		if err := os.Mkdir(filepath.Join(folder, entry), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(folder+"/A/matmul.cubin", []byte("another one"), 0o666), os.WriteFile(folder+"/B/matmul.cubin", image, 0o666)); err != nil {
		t.Fatal(err)
	}
	m := Modules{Env: func(name string) (string, bool) { return folder, name == "TRITON_CACHE_DIR" }}
	f := &profile.SampledFunction{Name: "matmul", Module: fmt.Sprintf("%016x", record.HashImage(image))}
	found, err := m.Find(&Function{Symbol: f, Vendor: vendors.NVIDIA})
	if err != nil || found.File != filepath.Join(folder, "B", "matmul.cubin") || found.Function.Registers != 168 {
		t.Errorf("found %+v, %v", found, err)
	}
	f.Module = "0123456789abcdef"
	if _, err := m.Find(&Function{Symbol: f, Vendor: vendors.NVIDIA}); err == nil || !strings.Contains(err.Error(), "neither next to the profile nor in Triton's cache") {
		t.Errorf("a module that is nowhere: %v", err)
	}
}

// TestDisassemblerThatFails: it costs the operands and nothing else.
func TestDisassemblerThatFails(t *testing.T) {
	p := model(t)
	tool := filepath.Join(t.TempDir(), "nvdisasm")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\necho cannot >&2\nexit 3\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	m := modules(t, p, "")
	m.Env = func(name string) (string, bool) { return tool, name == "PROTON_NVDISASM" }
	found, err := m.Find(&Function{Symbol: &p.Sampling.Functions[0], Vendor: vendors.NVIDIA})
	if err != nil {
		t.Fatal(err)
	}
	code, err := m.Code(found)
	if err == nil || !strings.Contains(err.Error(), "exit status 3: cannot") || code.Text[0] != "IMAD" {
		t.Errorf("%q, %v", code.Text[0], err)
	}
}
