package inside

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/kernels"
)

const source = `@triton.jit
def scale(x):
    with pl.scope("all"):
        x = tl.load(
            x_ptr + offsets,
        )
        pl.enter_scope("steps")
        for i in range(n):
            x = x * 2

            with pl.scope("add"):
                x = x + 1
        pl.exit_scope("steps")
    tl.store(x_ptr, x)
`

func sourceFiles() *kernels.Files {
	files := kernels.NoFiles()
	files.Add("/src/k.py", 1, source)
	return files
}

func TestLinesOfScopes(t *testing.T) {
	text := sourceFiles().Text("/src/k.py")
	for _, c := range []struct {
		name        string
		line        int
		first, last int
	}{
		{"all", 3, 3, 13}, {"all", 4, 3, 13}, // the compiler names the with statement or what follows
		{"load x_ptr:4", 5, 5, 5}, {"steps", 7, 7, 13}, {"loop:8", 8, 8, 12}, {"wait:8", 8, 8, 8}, {"add", 11, 11, 12}, {"add", 12, 11, 12},
		{"store", 14, 14, 14}, {"gone", 99, 99, 99}, {"gone", 0, 0, 0},
	} {
		if first, last := linesOf(text, c.name, c.line); first != c.first || last != c.last {
			t.Errorf("%s at %d: lines %d to %d, want %d to %d", c.name, c.line, first, last, c.first, c.last)
		}
	}
}

// A scope ends with its own exit_scope, also where the name of another contains its name.
func TestExitOfAScopeWhoseNameAnotherContains(t *testing.T) {
	files := kernels.NoFiles()
	files.Add("/src/k.py", 1, `pl.enter_scope("load")
pl.enter_scope('load_k')
pl.exit_scope('load_k')
pl.exit_scope("load")
`)
	for name, want := range map[string]span{"load": {first: 1, last: 4}, "load_k": {first: 2, last: 3}} {
		if first, last := linesOf(files.Text("/src/k.py"), name, want.first); first != want.first || last != want.last {
			t.Errorf("%s: lines %d to %d, want %d to %d", name, first, last, want.first, want.last)
		}
	}
}

// Scopes that are left in another order than the reverse one have brackets in columns of their own.
func TestBracketsOfScopesThatOverlap(t *testing.T) {
	marks := []mark{{span: span{"k.py", 1, 5}}, {span: span{"k.py", 3, 8}}, {span: span{"k.py", 3, 8}}, {span: span{"k.py", 6, 9}}, {span: span{"k.py", 9, 9}}, {span: span{"l.py", 2, 3}}}
	nest(marks)
	for i, want := range []int{0, 1, 1, 0, 1, 0} {
		if marks[i].depth != want {
			t.Errorf("lines %d to %d of %s: column %d, want %d", marks[i].first, marks[i].last, marks[i].file, marks[i].depth, want)
		}
	}
}

// scoped is a profile with the scopes of the source, and sampled one with as many samples in each line as its number.
func scoped() *profile.Profile {
	scope := func(name string, line int, cycles uint64, inner ...*profile.Node) *profile.Node {
		data := &profile.InsideScope{Cycles: cycles, Lines: []profile.InsideLine{{File: "/src/k.py", Line: line}}}
		return &profile.Node{Name: name, Inside: &profile.Inside{Scope: data}, Children: inner}
	}
	kernel := &profile.Node{Name: "scale", Inside: &profile.Inside{Kernel: &profile.InsideKernel{Cycles: 1000, WarpNanos: 500, Warps: 1}}}
	kernel.Children = []*profile.Node{scope("all", 3, 900, scope("steps", 7, 600, scope("add", 11, 100)))}
	return &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{kernel}}}
}

func sampled() *profile.Profile {
	f := profile.SampledFunction{Name: "scale", Arch: "90"}
	var pcs []profile.PCSamples
	for line := 1; line <= 14; line++ {
		f.Places = append(f.Places, profile.Place{Offset: uint64(16 * line), Frames: []profile.SourceFrame{{File: "/elsewhere/k.py", Line: line}}})
		pcs = append(pcs, profile.PCSamples{Offset: uint64(16 * line), Stalls: []profile.Stall{{Reason: uint16(line % 2), Samples: uint64(line)}}})
	}
	node := &profile.Node{Name: "scale", Samples: []profile.FunctionSamples{{Function: 0, PCs: pcs}}}
	return &profile.Profile{
		Root:     &profile.Node{Name: "ROOT", Children: []*profile.Node{node}},
		Devices:  []profile.Device{{Type: "CUDA", ID: "0"}},
		Sampling: &profile.Sampling{Mode: "continuous", Reasons: []string{"wait", "long_scoreboard"}, Total: 105, Functions: []profile.SampledFunction{f}},
	}
}

// TestSamplesOfScopes counts each line for its innermost scope.
func TestSamplesOfScopes(t *testing.T) {
	k := one(t, scoped())
	s, err := Join(k, sampled(), sourceFiles())
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	own, samples := uint64(0), uint64(0)
	for _, p := range s.Parts {
		for _, scope := range p.Scopes {
			got.WriteString(scope.Name)
		}
		fmt.Fprintf(&got, " %d %d;", p.Own, p.Samples)
		own, samples = own+p.Own, samples+p.Samples
	}
	// all has lines 3 to 6, steps 7 to 10 and 13, add 11 and 12; 1, 2 and 14 are outside.
	if want := "all 300 18;steps 500 47;add 100 23; 100 17;"; got.String() != want {
		t.Errorf("got %s, want %s", got.String(), want)
	}
	lines := uint64(0)
	for _, l := range s.Lines {
		lines += l.Samples
	}
	if lines != s.All || own != k.Whole() || samples != 105 || s.All != 105 {
		t.Errorf("%d of %d cycles, %d of %d samples", own, k.Whole(), samples, s.All)
	}
}

func TestSamplesArePrinted(t *testing.T) {
	var b bytes.Buffer
	notes, err := Write(&b, scoped(), "", Options{Files: sourceFiles(), Samples: sampled()})
	want := `
105 samples of a second run, by the innermost scope of their lines
cycles  samples  stalled by                     own part of scope
 30.0%    17.1%  wait 56%, long_scoreboard 44%  all
 50.0%    44.8%  long_scoreboard 62%, wait 38%  steps
 10.0%    21.9%  wait 52%, long_scoreboard 48%  add
 10.0%    16.2%  wait 94%, long_scoreboard 6%   outside of scopes
check: the shares of cycles and of samples are at most 12.9 points apart, in all
`
	if err != nil || len(notes) != 0 || !strings.Contains(b.String(), want) {
		t.Errorf("%v %q\n%s", err, notes, b.String())
	}
	if notes, err := Write(&b, scoped(), "", Options{Samples: sampled()}); err != nil || len(notes) != 1 || !strings.HasPrefix(notes[0], "no text of /src/k.py: each scope has only its first line") {
		t.Errorf("without the source: %v %q", err, notes)
	}
	other := sampled()
	other.Sampling.Functions[0].Name = "scale2"
	if _, err := Write(&b, scoped(), "", Options{Samples: other}); err == nil || !strings.Contains(err.Error(), "join the samples of scale: no kernel with samples matches") {
		t.Errorf("another kernel: %v", err)
	}
	if _, err := Write(&b, scoped(), "", Options{Samples: scoped()}); err == nil || !strings.Contains(err.Error(), "proton run --mode pcsampling") {
		t.Errorf("no samples: %v", err)
	}
}
