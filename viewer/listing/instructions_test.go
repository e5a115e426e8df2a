package listing

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/kernels"
)

func instructions(t *testing.T, o kernels.Options, l Options) (text string, notes []string) {
	t.Helper()
	o.Modules, l.Instructions, l.Context = &kernels.Modules{Env: noTools}, true, 2
	var out bytes.Buffer
	notes, err := Print(&out, collect(t, o), l)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), notes
}

// TestRecordedInstructions: samples of instructions, each with its place, the text there, and what it was made of.
func TestRecordedInstructions(t *testing.T) {
	p, trace := recordedRun(t)
	text, _ := instructions(t, kernels.Options{Profile: p, Trace: trace, Kernel: "matmul"},
		Options{Terminal: viewer.Terminal{Width: 150}, Stages: []string{"ttgir", "ptx"}})
	testkit.Golden(t, "testdata/h200/matmul.sass.txt", []byte(text))
}

// TestListingsAreEqual: a binary, with the listing that was recorded of it, and the listing alone, which is all that tritonparse
// has, say the same of the instructions.
func TestListingsAreEqual(t *testing.T) {
	listing := func(recorder string) string {
		text, notes := instructions(t, kernels.Options{Trace: open(t, "../../testdata/traces/softmax_sass/"+recorder), Kernel: "softmax"}, Options{Stages: []string{"ptx"}})
		if len(notes) != 1 || !strings.HasPrefix(notes[0], "no profile") {
			t.Error(notes)
		}
		_, text, _ = strings.Cut(text, "\n\n")
		_, text, _ = strings.Cut(text, "\n\n")
		return text
	}
	ours, theirs := listing("goproton"), listing("tritonparse")
	if ours != theirs {
		t.Errorf("of the binary:\n%s\nof the listing:\n%s", ours, theirs)
	}
	for _, want := range []string{
		"    0030    MOV R9, 0xff800000   ",
		" record.py:43 > standard.py:191  e = tl.exp(x - tl.max(x, axis=0))\n", // inlined, which only PTX has
		"          .L_x_0:\n",
		"          ↳ ptx 37  mov.u32     %r20, %tid.x;\n",
	} {
		if !strings.Contains(ours, want) {
			t.Errorf("no %q in\n%s", want, ours)
		}
	}
}

// TestNoMachineCode: a trace with neither binaries nor listings says so.
func TestNoMachineCode(t *testing.T) {
	_, notes := instructions(t, kernels.Options{Trace: open(t, complexTrace), Kernel: "fused"}, Options{})
	if all := strings.Join(notes, "\n"); !strings.Contains(all, "fused_op_kernel: the trace has no machine code of it") {
		t.Error(all)
	}
}

func TestInstructionsJSON(t *testing.T) {
	p, trace := recordedRun(t)
	out := printedJSON(t, kernels.Options{Profile: p, Trace: trace, Modules: &kernels.Modules{Env: noTools}, Kernel: "matmul"}, Options{Instructions: true})
	var doc struct {
		Kernels []struct{ Name string }
		Source  struct {
			Kernels []struct {
				Hash         string `json:"compile_hash"`
				Instructions []struct {
					Offset  int
					Text    string
					Samples int
					IR      []struct{ Stage, At, Text string }
				}
			}
		}
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	k := doc.Source.Kernels[0]
	hottest := k.Instructions[0x760/16]
	if !strings.HasPrefix(k.Hash, "55378e69") || hottest.Text != "BAR" || hottest.Samples != 1407268 {
		t.Errorf("%s: %+v", k.Hash, hottest)
	}
	if ir := hottest.IR; len(ir) == 0 || ir[len(ir)-1].Stage != "ptx" || ir[len(ir)-1].At != "217" || ir[len(ir)-1].Text != "bar.sync \t0;" {
		t.Errorf("made of %+v", ir)
	}
}
