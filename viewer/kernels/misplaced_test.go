package kernels

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/cubin"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
)

// TestMisplacedLines: the binary has the load of scale.py:8 on line 9, and the multiplication there too. In the listing samples, PTX and
// instruction of the load are on its line.
func TestMisplacedLines(t *testing.T) {
	image, err := os.ReadFile("testdata/asm/cubins/scale.cubin")
	if err != nil {
		t.Fatal(err)
	}
	file, err := cubin.Read(image)
	if err != nil {
		t.Fatal(err)
	}
	code := file.Function("scale")
	sampled := &profile.SampledFunction{Name: "scale", Size: code.Size}
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Sampling: &profile.Sampling{Reasons: []string{"wait"}}}
	n := &profile.Node{Name: "scale", Samples: []profile.FunctionSamples{{}}}
	p.Root.Children = append(p.Root.Children, n)
	for pc := uint64(0); pc < code.Size; pc += cubin.InstructionSize {
		operation := cubin.Operation(code.Code[pc:])
		if operation != "LDG" && operation != "FADD" {
			continue
		}
		var frames []profile.SourceFrame
		for _, f := range code.Frames(pc) {
			frames = append(frames, profile.SourceFrame(f))
		}
		if len(frames) != 1 || frames[0].Line != 9 {
			t.Fatalf("the binary says that %s is from %v", operation, frames)
		}
		sampled.Places = append(sampled.Places, profile.Place{Offset: pc, Frames: frames})
		n.Samples[0].PCs = append(n.Samples[0].PCs, profile.PCSamples{Offset: pc, Stalls: []profile.Stall{{Samples: uint64(len(operation))}}})
	}
	p.Sampling.Functions = append(p.Sampling.Functions, *sampled)
	k := collect(t, Options{Profile: p, Trace: open(t, "testdata/asm")}).Samples.Functions[0]
	got := ""
	for _, l := range k.Lines {
		got += fmt.Sprintf("%s:%d ", l.File, l.Number) + strings.Repeat("#", int(l.Samples)) + "\n"
		for _, ir := range k.Compiled().Lines(l.File, l.Number) {
			if ir.Samples > 0 {
				got += "  " + ir.Stage + " " + ir.Number + " " + strings.Repeat("#", int(ir.Samples)) + " " + strings.TrimSpace(ir.Text) + "\n"
			}
		}
	}
	testkit.Golden(t, "testdata/asm/lines.txt", got)
}
