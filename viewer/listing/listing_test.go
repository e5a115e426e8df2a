package listing

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/internal/grid"
	"github.com/goproton/goproton/viewer/kernels"
)

const cubins = "../../gpu/cubin/testdata/"

// standardPy is the file of Triton's library from which the compiler inlined a call in inlined.sm90.cubin.
const standardPy, standardLine, standardText = "/dev/null/triton39/triton/language/standard.py", 43, "    return (x + (div - 1)) // div"

// sources finds the texts next to the cubins and the one line of Triton's library that planted.hatchet needs. No text comes
// from outside testdata.
func sources() *kernels.Files {
	files := &kernels.Files{Moves: []string{"/home/user=" + cubins}}
	files.Add(standardPy, standardLine, standardText)
	return files
}

// modules are the cubins; the disassembler is nvdisasm's recorded output, if a test wants one.
func modules(t testing.TB, p *profile.Profile, disassembly string) *kernels.Modules {
	t.Helper()
	files := map[string]string{}
	for _, f := range p.Sampling.Functions {
		files["run.cubins/"+f.Module+".cubin"] = cubins + f.Module
	}
	folder := testkit.Linked(t, files)
	env := map[string]string{"PROTON_NVDISASM": ""}
	m := &kernels.Modules{Profile: filepath.Join(folder, "run.part_0.hatchet"), Env: func(name string) (string, bool) { v, set := env[name]; return v, set }}
	if disassembly != "" {
		env["PROTON_NVDISASM"] = "/bin/sh"
		m.Run = func(string, string, int) ([]byte, error) { return os.ReadFile(disassembly) }
	}
	return m
}

// slash leaves paths of this machine out of goldens.
func slash(b []byte) []byte {
	return bytes.ReplaceAll(b, []byte(filepath.Clean(cubins)), []byte("/found"))
}

// collect collects or fails.
func collect(t testing.TB, o kernels.Options) *kernels.Run {
	t.Helper()
	r, err := kernels.Collect(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestListings(t *testing.T) {
	p := readProfile(t, "planted.hatchet")
	const second = "../../gpu/cubin/testdata/two.sm90.second.nvdisasm"
	for name, test := range map[string]struct {
		o    kernels.Options
		l    Options
		code string
	}{
		"source.hottest.txt":          {l: Options{Context: 2}},
		"source.path.txt":             {o: kernels.Options{Kernel: "matmul", Include: "^forward$", ByPath: true}, l: Options{Context: 0}},
		"source.by-path.ascii.80.txt": {o: kernels.Options{Kernel: "matmul", ByPath: true}, l: Options{Context: 1, Terminal: viewer.Terminal{ASCII: true, Width: 80}}},
		"source.inlined.unfold.txt":   {o: kernels.Options{Kernel: "^inlined$"}, l: Options{Context: 1, Unfold: true}},
		"source.two.color.txt":        {o: kernels.Options{Kernel: "first|second"}, l: Options{Context: 1, Terminal: viewer.Terminal{Color: true, Width: 100}}},
		"sass.first.txt":              {o: kernels.Options{Kernel: "first"}, l: Options{Context: 1, Instructions: true}, code: second},
		"sass.second.txt":             {o: kernels.Options{Kernel: "second"}, l: Options{Context: 1, Instructions: true}, code: second},
		"source.inlined.json":         {o: kernels.Options{Kernel: "first"}},
		"sass.first.json":             {o: kernels.Options{Kernel: "first"}, l: Options{Instructions: true}},
	} {
		t.Run(name, func(t *testing.T) {
			test.o.Profile, test.o.Files, test.o.Modules = p, sources(), modules(t, p, test.code)
			if strings.HasSuffix(name, ".json") {
				testkit.Golden(t, "testdata/"+name, slash(printedJSON(t, test.o, test.l)))
			} else {
				testkit.Golden(t, "testdata/"+name, slash(withNotes(t, test.o, test.l)))
			}
		})
	}
}

// withNotes is what Print prints, and its notes.
func withNotes(t testing.TB, o kernels.Options, l Options) []byte {
	t.Helper()
	var b bytes.Buffer
	notes, err := Print(&b, collect(t, o), l)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range notes {
		fmt.Fprintf(&b, "(note) %s\n", n)
	}
	return b.Bytes()
}

// TestInlinedLineWithoutText: where the text of an inlined function is missing, its row names the function.
func TestInlinedLineWithoutText(t *testing.T) {
	p := readProfile(t, "planted.hatchet")
	for text, files := range map[string]*kernels.Files{
		"return (x + (div - 1)) // div": sources(),
		"inlined":                       {Moves: []string{"/home/user=" + cubins}},
	} {
		got := string(withNotes(t, kernels.Options{Profile: p, Kernel: "^inlined$", Files: files}, Options{Context: 1, Unfold: true}))
		if row := fmt.Sprintf("↳ standard.py:%d  %s\n", standardLine, text); !strings.Contains(got, row) {
			t.Errorf("no row %q in:\n%s", row, got)
		}
	}
}

// TestRecorded prints what an H200 did: testdata/captures has the program and the capture of its run.
func TestRecorded(t *testing.T) {
	const file = "../kernels/testdata/hotline.hatchet"
	p := readProfile(t, "hotline.hatchet")
	for name, o := range map[string]struct {
		kernel       string
		instructions bool
	}{"hotline.hot_line.txt": {"hot_line", false}, "hotline.helpers.txt": {"helpers", false}, "hotline.hot_line.sass.txt": {"hot_line", true}} {
		files := &kernels.Files{Moves: []string{"/tmp/goproton=../../testdata/captures"}}
		got := withNotes(t, kernels.Options{Profile: p, Kernel: o.kernel, Files: files, Modules: &kernels.Modules{Profile: file, Env: noTools}}, Options{Context: 1, Instructions: o.instructions})
		testkit.Golden(t, "testdata/"+name, bytes.ReplaceAll(got, []byte("../../testdata/captures"), []byte("/found")))
	}
}

// TestMalformedSamples: what a file says may point anywhere.
func TestMalformedSamples(t *testing.T) {
	p := readProfile(t, "planted.hatchet")
	p.Root.Samples = []profile.FunctionSamples{
		{Function: -1}, {Function: math.MaxInt, PCs: []profile.PCSamples{{Offset: 1}}},
		{Function: 0, PCs: []profile.PCSamples{{Offset: math.MaxUint64, Stalls: []profile.Stall{{Reason: math.MaxUint16, Samples: 3}}}}},
	}
	p.Sampling.Functions[0].Name = "a\x1b[2Jb"
	p.Sampling.Functions[0].Places[0].Frames[0].File = "/home/\x1b]0;title\x07.py"
	for _, instructions := range []bool{true, false} {
		o := kernels.Options{Profile: p, Kernel: ".", Files: sources(), Modules: modules(t, readProfile(t, "planted.hatchet"), "")}
		if text := withNotes(t, o, Options{Context: math.MaxInt / 2, Instructions: instructions}); bytes.ContainsAny(text, "\x1b\x07") {
			t.Errorf("control characters of the profile reach the terminal")
		}
	}
}

// FuzzSource reads any text as the source of a kernel.
func FuzzSource(f *testing.F) {
	source, err := os.ReadFile(cubins + "kernels.py")
	if err != nil {
		f.Fatal(err)
	}
	p := readProfile(f, "planted.hatchet")
	f.Add(source)
	f.Add([]byte("\t\x1b[31m\xff\u202e\r\n" + strings.Repeat("x", 1000)))
	f.Fuzz(func(t *testing.T, text []byte) {
		files := sources()
		files.Add("/home/user/kernels.py", 1, string(text))
		printed := withNotes(t, kernels.Options{Profile: p, Kernel: "matmul", Files: files}, Options{Context: 3, Unfold: true, Terminal: viewer.Terminal{Width: 70}})
		for _, r := range string(printed) {
			if r < ' ' && r != '\n' || r == 0x7f || r == '\u202e' {
				t.Fatalf("%q reaches the terminal", r)
			}
		}
	})
}

// TestLinesOfTriton prints lines that the profile has as frames, without instructions.
func TestLinesOfTriton(t *testing.T) {
	r := collect(t, kernels.Options{Profile: readProfile(t, "lines.hatchet"), Files: sources()})
	var b bytes.Buffer
	if _, err := Print(&b, r, Options{Context: 1}); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/source.triton.txt", slash(b.Bytes()))
}

// TestComparison prints two runs of different periods, one with fewer samples in all lines of matmul but 48.
func TestComparison(t *testing.T) {
	var options [2]kernels.Options
	for side, name := range []string{"planted.hatchet", "planted.other.hatchet"} {
		options[side] = kernels.Options{Profile: readProfile(t, name), Files: sources()}
	}
	runs, err := kernels.CollectPair(options)
	if err != nil {
		t.Fatal(err)
	}
	c, err := kernels.CompareSamples(runs, kernels.CompareOptions{Kernel: "^matmul$"})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := PrintComparison(&b, c, viewer.Terminal{Width: 110}); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/compare.txt", b.Bytes())

	var narrow bytes.Buffer
	if _, err := PrintComparison(&narrow, c, viewer.Terminal{Width: 80}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(narrow.String()) {
		if grid.Columns(strings.TrimSpace(line)) > 80 {
			t.Errorf("of 80 columns: %s", line)
		}
	}
	if text := strings.Join(strings.Fields(narrow.String()), " "); !strings.Contains(text, "lg_throttle 8%, math_pipe_throttle 7%, wait 4%") {
		t.Errorf("the stalls are cut:\n%s", narrow.String())
	}
}
