package kernels

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/cubin"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/record"
)

func TestHashIsTheCollectors(t *testing.T) {
	for _, image := range [][]byte{nil, {1}, []byte("12345678"), []byte("a module of some size")} {
		if cubin.Hash(image) != record.HashImage(image) {
			t.Errorf("%q has another hash than collectors give it", image)
		}
	}
}

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
	found, err := m.Find(f)
	if err != nil || found.File != filepath.Join(folder, "B", "matmul.cubin") || found.Function.Registers != 168 {
		t.Errorf("found %+v, %v", found, err)
	}
	f.Module = "0123456789abcdef"
	if _, err := m.Find(f); err == nil || !strings.Contains(err.Error(), "neither next to the profile nor in Triton's cache") {
		t.Errorf("a module that is nowhere: %v", err)
	}
}

// TestDisassembly: the offsets of a function that lies in a kernel's section begin at its own start.
func TestDisassembly(t *testing.T) {
	text, err := os.ReadFile("testdata/two.sm90.second.nvdisasm")
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(cubins + "two.sm90.cubin")
	if err != nil {
		t.Fatal(err)
	}
	module, err := cubin.Read(image)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"second", "$second$_Z4slowfi"} {
		f := module.Function(name)
		code := parseDisassembly(text, name, f.Size)
		if len(code.Text) == 0 {
			t.Fatalf("%s: no instructions", name)
		}
		for offset, text := range code.Text {
			operation := cubin.Operation(f.Code[offset:])
			if _, bare, found := strings.Cut(text, " "); strings.HasPrefix(text, "@") && found {
				text = bare
			}
			if !strings.HasPrefix(text, operation) {
				t.Errorf("%s+%#x is %q, and its code says %s", name, offset, text, operation)
			}
		}
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
	found, err := m.Find(&p.Sampling.Functions[0])
	if err != nil {
		t.Fatal(err)
	}
	code, err := m.Code(found)
	if err == nil || !strings.Contains(err.Error(), "exit status 3: cannot") || code.Text[0] != "IMAD" {
		t.Errorf("%q, %v", code.Text[0], err)
	}
}

func FuzzDisassembly(f *testing.F) {
	text, err := os.ReadFile("testdata/two.sm90.second.nvdisasm")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text[:4096], "second", uint64(512))
	f.Add([]byte("second:\n /*ffffffffffffffff*/ NOP ;\n/*10*/ X"), "second", uint64(1<<63))
	f.Fuzz(func(t *testing.T, text []byte, function string, size uint64) {
		for offset, text := range parseDisassembly(text, function, size).Text {
			if offset >= size || strings.Contains(text, "\n") {
				t.Errorf("%#x of %#x: %q", offset, size, text)
			}
		}
	})
}

func TestEveryReasonIsExplained(t *testing.T) {
	for _, name := range reasons {
		if _, known := About(name); !known {
			t.Errorf("%s is not explained", name)
		}
	}
	page, err := os.ReadFile("../../docs/sampling.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range Reasons {
		if row := fmt.Sprintf("| `%s` | %s | %s |\n", r.Name, r.Means, r.Hint); !bytes.Contains(page, []byte(row)) {
			t.Errorf("docs/sampling.md lacks the row\n%s", row)
		}
	}
}
