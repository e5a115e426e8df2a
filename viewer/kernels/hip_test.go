package kernels

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/hsaco"
	"github.com/goproton/goproton/profile"
)

// TestInstructionsOfACodeObject: a binary without its assembly gets that of the trace. Every instruction then has its text, its places and the
// lines of all stages, without a disassembler. The multiplication of act is inlined twice, in twice and that in the kernel.
func TestInstructionsOfACodeObject(t *testing.T) {
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
	if want := "8 14 21 ttir ttgir llir amdgcn "; len(offsets) != 117 || found != want {
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

// TestSamplesOfACodeObject: samples of instructions are shown at the lines of assembly that these are, and at lines of earlier stages of the
// same origin.
func TestSamplesOfACodeObject(t *testing.T) {
	const module = "15e41cd181672b7c"
	image, err := os.ReadFile("testdata/hip/cubins/" + module + ".hsaco")
	if err != nil {
		t.Fatal(err)
	}
	binary, err := hsaco.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := binary.Function(0, "inlined")
	sampled := profile.SampledFunction{Name: f.Name, Module: module, Index: f.Index, Arch: binary.Arch(), Size: f.Size, Registers: f.Registers}
	samples := profile.FunctionSamples{}
	total, placed, assembly := uint64(0), uint64(0), uint64(0)
	for at := range f.Offsets {
		samples.PCs = append(samples.PCs, profile.PCSamples{Offset: at, Stalls: []profile.Stall{{Samples: 1 + at}}})
		total += 1 + at
		var frames []profile.SourceFrame
		for _, frame := range f.Frames(at) {
			frames = append(frames, profile.SourceFrame(frame))
		}
		if frames == nil {
			continue
		}
		sampled.Places = append(sampled.Places, profile.Place{Offset: at, Frames: frames})
		if placed += 1 + at; at < 0x18 || at >= 0x100 { // what is between fills the gap in front of an aligned instruction
			assembly += 1 + at
		}
	}
	p := &profile.Profile{
		Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: "inlined", Samples: []profile.FunctionSamples{samples}}}}, Kinds: profile.Kinds{},
		Devices:  []profile.Device{{Type: "HIP", ID: "0", Arch: "gfx942"}},
		Sampling: &profile.Sampling{Mode: "continuous", Reasons: []string{"waitcnt"}, Total: total, Functions: []profile.SampledFunction{sampled}},
	}
	r := collect(t, Options{Trace: open(t, "testdata/hip"), Profile: p, Kernel: "inlined"})
	function := r.Samples.Functions[0]
	if how := function.Compiled().Facts()[0]; !strings.Contains(how, "known by its binary") {
		t.Error(how)
	}
	sums := map[string]uint64{}
	for _, l := range function.Lines {
		for _, line := range function.Compiled().Lines(l.File, l.Number) {
			if line.Shared < 2 {
				sums[line.Stage] += line.Samples
			}
		}
	}
	if sums["isa"] != placed || sums["amdgcn"] != assembly || sums["ttgir"] == 0 || sums["llir"] == 0 {
		t.Errorf("%d samples with places, of which %d are at lines of assembly; stages show %v", placed, assembly, sums)
	}
}
