package kernels

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/hsaco"
	"github.com/goproton/goproton/internal/vendor"
)

// hip has AMD as a vendor until the test ends.
func hip(t *testing.T) {
	t.Helper()
	before := vendor.All
	t.Cleanup(func() { vendor.All = before })
	amd := *vendor.AMD
	amd.Code, amd.Stalls = &hsaco.Format, vendor.NVIDIA.Stalls
	vendor.All = []*vendor.Vendor{vendor.NVIDIA, &amd}
}

// TestInstructionsOfACodeObject: a binary without its assembly gets that of the trace. Every instruction then has its text, its places and the
// lines of all stages, without a disassembler; those that only fill a gap in front of an aligned one have none. The multiplication of act is inlined twice, in twice and that in the kernel.
func TestInstructionsOfACodeObject(t *testing.T) {
	hip(t)
	trace := open(t, "testdata/hip")
	modules := &Modules{Env: func(string) (string, bool) { return "", false }}
	r := collect(t, Options{Trace: trace, Kernel: "^inlined$", Modules: modules})
	k := r.Kernels[0]
	f := r.UnsampledCode(k, k.Specialisations[0])
	if f == nil {
		t.Fatal("no machine code")
	}
	code, err := r.Instructions(f)
	if err != nil || code.Tool != "the trace" {
		t.Fatalf("text from %q, %v", code.Tool, err)
	}
	offsets, found := code.Offsets(), ""
	for _, at := range offsets {
		if !strings.HasPrefix(code.Text[at], "v_mul_f32") || found != "" {
			continue
		}
		for _, place := range code.Frames(at) {
			found += fmt.Sprintf("%d ", place.Line)
		}
		for _, line := range code.IR(at) {
			found += line.Stage + " "
		}
	}
	if want := "8 14 21 ttir ttgir llir amdgcn "; len(offsets) != 59 || found != want {
		t.Errorf("%d instructions, the first multiplication is of %q, want %q", len(offsets), found, want)
	}
	stages := map[string]int{}
	for _, line := range f.Compiled().Lines("/tmp/amd-kernels/kernels.py", 21) {
		stages[line.Stage]++
	}
	if stages["ttir"] == 0 || stages["ttgir"] == 0 || stages["llir"] == 0 || stages["amdgcn"] != stages["isa"] || stages["isa"] == 0 {
		t.Errorf("line 21 has %v", stages)
	}
	if n := r.code.registers(k.Specialisations[0]); n != 7 {
		t.Errorf("%d registers", n)
	}
}
