package joined

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/cubin"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/source"
)

// TestStrays: the binary has the load of scale.py:8 on line 9, and the multiplication there too. In the listing samples, PTX and
// instruction of the load are on its line.
func TestStrays(t *testing.T) {
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
	k := &source.Kernel{Function: sampled, Name: "scale"}
	for pc := uint64(0); pc < code.Size; pc += cubin.InstructionSize {
		operation := cubin.Operation(code.Code[pc:])
		if operation != "LDG" && operation != "FADD" {
			continue
		}
		var told []profile.SourceFrame
		for _, f := range code.Frames(pc) {
			told = append(told, profile.SourceFrame(f))
		}
		if len(told) != 1 || told[0].Line != 9 {
			t.Fatalf("the binary says that %s is from %v", operation, told)
		}
		sampled.Places = append(sampled.Places, profile.Place{Offset: pc, Frames: told})
		k.PCs = append(k.PCs, source.Instruction{Offset: pc, Counts: source.Counts{Samples: uint64(len(operation))}})
		k.Add(source.Counts{Samples: uint64(len(operation))})
	}
	j, err := New(Options{Trace: open(t, "testdata/asm"), Samples: &source.Samples{Kernels: []*source.Kernel{k}, Total: k.Samples}})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, l := range k.Lines {
		got += fmt.Sprintf("%s:%d ", l.File, l.Number) + strings.Repeat("#", int(l.Samples)) + "\n"
		for _, ir := range j.IR().Lines(k, l.File, l.Number) {
			if ir.Samples > 0 {
				got += "  " + ir.Stage + " " + ir.Number + " " + strings.Repeat("#", int(ir.Samples)) + " " + strings.TrimSpace(ir.Text) + "\n"
			}
		}
	}
	testkit.Golden(t, "testdata/asm/lines.txt", got)
}

// TestStraysWithoutSamples: instructions that nobody sampled have the right lines, too.
func TestStraysWithoutSamples(t *testing.T) {
	text, _ := instructions(t, Options{Trace: open(t, "testdata/asm"), Kernel: "scale"}, source.Listing{})
	if !strings.Contains(text, "IMAD  scale.py:8  v = tl.load(x + o)\n    0090    LDG\n") {
		t.Errorf("the load is elsewhere: %s", text)
	}
}
