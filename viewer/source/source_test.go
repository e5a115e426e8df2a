package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/cubin"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/profiler/record"
	"github.com/goproton/goproton/viewer"
)

const cubins = "../../internal/cubin/testdata/"

// reasons are those of an H200, without the prefix of CUPTI's names.
var reasons = []string{
	"barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle", "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle",
	"misc", "no_instructions", "not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait", "warpgroup_arrive",
}

func reason(name string) uint16 {
	for i, r := range reasons {
		if r == name {
			return uint16(i)
		}
	}
	panic("BUG: no reason " + name)
}

// sampled makes a profile with planted samples of the functions of real modules.
type sampled struct {
	*profile.Profile
}

func newSampled() sampled {
	return sampled{&profile.Profile{
		Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{}, Info: profile.Info{},
		Sampling: &profile.Sampling{Mode: "continuous", Period: 1 << 16, Reasons: reasons},
	}}
}

// plant gives a kernel samples: at each instruction those that a function says.
func (s sampled) plant(t testing.TB, file, function string, path []string, samples func(f *cubin.Function, pc uint64) []profile.Stall) {
	t.Helper()
	image, err := os.ReadFile(cubins + file)
	if err != nil {
		t.Fatal(err)
	}
	module, err := cubin.Read(image)
	if err != nil {
		t.Fatal(err)
	}
	f := module.Function(function)
	at := s.function(module, f, file)
	fs := profile.FunctionSamples{Function: at}
	for pc := uint64(0); pc < f.Size; pc += cubin.InstructionSize {
		stalls := samples(f, pc)
		if len(stalls) == 0 {
			continue
		}
		fs.PCs = append(fs.PCs, profile.PCSamples{Offset: pc, Stalls: stalls})
		for _, stall := range stalls {
			s.Sampling.Total += stall.Samples
		}
	}
	n := s.Root
	for _, name := range append(path, function) {
		next := n.Child(name)
		if next == nil {
			next = &profile.Node{Name: name}
			n.Children = append(n.Children, next)
		}
		n = next
	}
	n.Samples = append(n.Samples, fs)
}

func (s sampled) function(module *cubin.File, f *cubin.Function, file string) int {
	for i := range s.Sampling.Functions {
		if have := &s.Sampling.Functions[i]; have.Name == f.Name && have.Module == file {
			return i
		}
	}
	sf := profile.SampledFunction{
		Name: f.Name, Module: file, Index: f.Index, SM: module.SM, Size: f.Size, Registers: f.Registers, Shared: f.Shared, Frame: f.Frame,
		LocalLoads: f.LocalLoads, LocalStores: f.LocalStores,
	}
	for pc := uint64(0); pc < f.Size; pc += cubin.InstructionSize {
		var frames []profile.SourceFrame
		for _, frame := range f.Frames(pc) {
			file := strings.Replace(frame.File, tritonFolder, noFolder, 1)
			frames = append(frames, profile.SourceFrame{File: file, Line: frame.Line, Func: frame.Func})
		}
		if frames != nil {
			sf.Places = append(sf.Places, profile.Place{Offset: pc, Frames: frames})
		}
	}
	s.Sampling.Functions = append(s.Sampling.Functions, sf)
	return len(s.Sampling.Functions) - 1
}

// matmul waits most in line 50, for the tensor cores, and some in 48 and 49, for memory.
func matmul(f *cubin.Function, pc uint64) []profile.Stall {
	frames := f.Frames(pc)
	if len(frames) == 0 {
		return nil
	}
	n := pc / cubin.InstructionSize
	switch frames[len(frames)-1].Line {
	case 50:
		return []profile.Stall{{Reason: reason("math_pipe_throttle"), Samples: 40 + n%7, NotIssued: 20}, {Reason: reason("wait"), Samples: 9}, {Reason: reason("selected"), Samples: 12}}
	case 48, 49:
		return []profile.Stall{{Reason: reason("long_scoreboard"), Samples: 30 + n%11, NotIssued: 28}, {Reason: reason("lg_throttle"), Samples: 4}, {Reason: reason("selected"), Samples: 3}}
	}
	if n%5 == 0 {
		return []profile.Stall{{Reason: reason("wait"), Samples: 1 + n%3}}
	}
	return nil
}

func inlinedCode(f *cubin.Function, pc uint64) []profile.Stall {
	n := pc / cubin.InstructionSize
	return []profile.Stall{{Reason: reason("short_scoreboard"), Samples: n % 9}, {Reason: reason("wait"), Samples: 5, NotIssued: 5}, {Reason: reason("selected"), Samples: 2}}
}

// spilling has few instructions that matter: those that read and write local memory.
func spilling(f *cubin.Function, pc uint64) []profile.Stall {
	switch cubin.Operation(f.Code[pc:]) {
	case "LDL", "STL":
		return []profile.Stall{{Reason: reason("long_scoreboard"), Samples: 100 + pc%48, NotIssued: 90}, {Reason: reason("lg_throttle"), Samples: pc % 32}}
	case "BAR":
		return []profile.Stall{{Reason: reason("barrier"), Samples: 700, NotIssued: 600}}
	}
	return []profile.Stall{{Reason: reason("selected"), Samples: pc / 16 % 2}}
}

func model(t testing.TB) *profile.Profile {
	s := newSampled()
	s.plant(t, "matmul.sm80.cubin", "matmul", []string{"forward", "mlp"}, matmul)
	s.plant(t, "matmul.sm80.cubin", "matmul", []string{"backward"}, matmul)
	s.plant(t, "inlined.sm90.cubin", "inlined", []string{"forward"}, inlinedCode)
	s.plant(t, "inlined.sm80.cubin", "inlined", []string{"forward"}, inlinedCode)
	s.plant(t, "two.sm90.cubin", "second", nil, spilling)
	s.plant(t, "two.sm90.cubin", "first", nil, inlinedCode)
	return s.Profile
}

// tritonFolder is where the cubins say Triton is installed. On the machine of a developer that folder may exist, so the
// model names one that exists nowhere instead, since /dev/null is a file.
const tritonFolder, noFolder = "/opt/triton39/", "/dev/null/triton39/"

// standardPy is the file of Triton's library from which the compiler inlined a call in inlined.sm90.cubin.
const standardPy, standardLine, standardText = noFolder + "triton/language/standard.py", 43, "    return (x + (div - 1)) // div"

// sources finds the texts next to the cubins and the one line of Triton's library that the model needs. No text comes
// from outside testdata.
func sources() *Files {
	files := &Files{Moves: []string{"/home/user=" + cubins}}
	files.Add(standardPy, standardLine, standardText)
	return files
}

// modules are the cubins; the disassembler is nvdisasm's recorded output, if a test wants one.
func modules(t testing.TB, p *profile.Profile, disassembly string) *Modules {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "run.cubins"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Sampling.Functions {
		image, err := os.ReadFile(cubins + f.Module)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "run.cubins", f.Module+".cubin"), image, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"PROTON_NVDISASM": ""}
	m := &Modules{Profile: filepath.Join(folder, "run.part_0.hatchet"), Env: func(name string) (string, bool) { v, set := env[name]; return v, set }}
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

func TestListings(t *testing.T) {
	p := model(t)
	for name, test := range map[string]struct {
		o     Options
		l     Listing
		print func(w *bytes.Buffer, s *Samples, l Listing) ([]string, error)
		code  string
	}{
		"source.hottest.txt":          {l: Listing{Context: 2}},
		"source.path.txt":             {o: Options{Kernel: "matmul", Include: "^forward$", ByPath: true}, l: Listing{Context: 0}},
		"source.by-path.ascii.80.txt": {o: Options{Kernel: "matmul", ByPath: true}, l: Listing{Context: 1, Terminal: viewer.Terminal{ASCII: true, Width: 80}}},
		"source.inlined.unfold.txt":   {o: Options{Kernel: "^inlined$"}, l: Listing{Context: 1, Unfold: true}},
		"source.two.color.txt":        {o: Options{Kernel: "first|second"}, l: Listing{Context: 1, Terminal: viewer.Terminal{Color: true, Width: 100}}},
		"sass.first.txt":              {o: Options{Kernel: "first"}, l: Listing{Context: 1}, print: sass, code: "testdata/two.sm90.second.nvdisasm"},
		"sass.second.txt":             {o: Options{Kernel: "second"}, l: Listing{Context: 1}, print: sass, code: "testdata/two.sm90.second.nvdisasm"},
		"source.inlined.json":         {o: Options{Kernel: "first"}, print: func(w *bytes.Buffer, s *Samples, l Listing) ([]string, error) { return PrintJSON(w, s, l) }},
		"sass.first.json":             {o: Options{Kernel: "first"}, print: func(w *bytes.Buffer, s *Samples, l Listing) ([]string, error) { return PrintSASSJSON(w, s, l) }},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Collect(p, test.o)
			if err != nil {
				t.Fatal(err)
			}
			test.l.Files, test.l.Modules = sources(), modules(t, p, test.code)
			if test.print == nil {
				test.print = func(w *bytes.Buffer, s *Samples, l Listing) ([]string, error) { return Print(w, s, l) }
			}
			var b bytes.Buffer
			notes, err := test.print(&b, s, test.l)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range notes {
				fmt.Fprintf(&b, "(note) %s\n", n)
			}
			testkit.Golden(t, "testdata/"+name, slash(b.Bytes()))
		})
	}
}

// TestInlinedLineWithoutText: where the text of an inlined function is missing, its row names the function.
func TestInlinedLineWithoutText(t *testing.T) {
	s, err := Collect(model(t), Options{Kernel: "^inlined$"})
	if err != nil {
		t.Fatal(err)
	}
	for text, files := range map[string]*Files{
		"return (x + (div - 1)) // div": sources(),
		"inlined":                       {Moves: []string{"/home/user=" + cubins}},
	} {
		var b bytes.Buffer
		if _, err := Print(&b, s, Listing{Context: 1, Unfold: true, Files: files}); err != nil {
			t.Fatal(err)
		}
		if row := fmt.Sprintf("↳ standard.py:%d  %s\n", standardLine, text); !strings.Contains(b.String(), row) {
			t.Errorf("no row %q in:\n%s", row, b.String())
		}
	}
}

// TestRecorded prints what an H200 did: testdata/captures has the program and the capture of its run.
func TestRecorded(t *testing.T) {
	p, err := formats.ReadFile("testdata/hotline.hatchet")
	if err != nil {
		t.Fatal(err)
	}
	none := func(name string) (string, bool) { return "", name == "PROTON_NVDISASM" }
	for name, test := range map[string]struct {
		kernel string
		print  func(io.Writer, *Samples, Listing) ([]string, error)
	}{
		"hotline.hot_line.txt": {"hot_line", Print}, "hotline.helpers.txt": {"helpers", Print},
		"hotline.hot_line.sass.txt": {"hot_line", PrintSASS},
	} {
		s, err := Collect(p, Options{Kernel: test.kernel})
		if err != nil {
			t.Fatal(err)
		}
		l := Listing{Context: 1, Modules: &Modules{Profile: "testdata/hotline.hatchet", Env: none}}
		l.Files = &Files{Moves: []string{"/tmp/goproton=../../testdata/captures"}}
		var b bytes.Buffer
		notes, err := test.print(&b, s, l)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range notes {
			fmt.Fprintf(&b, "(note) %s\n", n)
		}
		testkit.Golden(t, "testdata/"+name, bytes.ReplaceAll(b.Bytes(), []byte("../../testdata/captures"), []byte("/found")))
	}
}

func sass(w *bytes.Buffer, s *Samples, l Listing) ([]string, error) { return PrintSASS(w, s, l) }

// TestSumsAreKept: however samples are shown, none is lost and none is counted twice.
func TestSumsAreKept(t *testing.T) {
	p := model(t)
	for _, byPath := range []bool{false, true} {
		s, err := Collect(p, Options{Kernel: ".", ByPath: byPath})
		if err != nil {
			t.Fatal(err)
		}
		var kernels uint64
		for _, k := range s.Kernels {
			kernels += k.Samples
			var pcs, lines, paths uint64
			for _, pc := range k.PCs {
				pcs += pc.Samples
			}
			for _, l := range k.Lines {
				lines += l.Samples
				if own := own(l); own != l.Samples {
					t.Errorf("%s:%d: %d samples, and %d in it and what was inlined there", l.File, l.Number, l.Samples, own)
				}
			}
			for _, path := range k.Paths {
				paths += path.Samples
			}
			if pcs != k.Samples || lines+k.Unplaced.Samples != k.Samples || paths != k.Samples {
				t.Errorf("%s: %d samples, %d of instructions, %d of lines and %d without, %d of paths", k.Name, k.Samples, pcs, lines, k.Unplaced.Samples, paths)
			}
		}
		if kernels != s.Total || s.Total != p.Sampling.Total {
			t.Errorf("%d samples were planted, %d found, %d in kernels", p.Sampling.Total, s.Total, kernels)
		}
	}
}

func own(l *Line) uint64 {
	sum := l.Own
	for _, c := range l.Inlined {
		sum += own(c)
	}
	return sum
}

// linesOf is what Triton writes: lines as frames, and no instructions.
func linesOf() *profile.Profile {
	line := func(name string, metrics ...any) *profile.Node {
		n := &profile.Node{Name: name}
		for i := 0; i < len(metrics); i += 2 {
			n.Set(metrics[i].(string), profile.IntValue(int64(metrics[i+1].(int))))
		}
		return n
	}
	kernel := line("matmul", "time (ns)", 1000, "device_id", 0)
	kernel.Children = []*profile.Node{
		line("/home/user/kernels.py:50@matmul", "num_samples", 1900, "num_stalled_samples", 1000, "stalled_long_scoreboard", 700, "stalled_long_scoreboard_not_issued", 500, "stalled_wait", 200, "stalled_wait_not_issued", 200, "stalled_selected", 100, "stalled_selected_not_issued", 200),
		line("/home/user/kernels.py:48@matmul", "num_samples", 120, "num_stalled_samples", 70, "stalled_long_scoreboard", 60, "stalled_long_scoreboard_not_issued", 50),
	}
	return &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: "forward", Children: []*profile.Node{kernel}}}}}
}

func TestLinesOfTriton(t *testing.T) {
	s, err := Collect(linesOf(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := s.Kernels[0]
	if k.Samples != 1070 || s.Of(k.Counts, "long_scoreboard") != 760 || s.Of(k.Counts, "unknown") != 10 || k.Stalled != 970 {
		t.Errorf("%d samples, %d stalled: %v of %v", k.Samples, k.Stalled, k.Reasons, s.reasons)
	}
	var b bytes.Buffer
	if _, err := Print(&b, s, Listing{Context: 1, Files: sources()}); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/source.triton.txt", slash(b.Bytes()))
}

func TestWhatIsNotThere(t *testing.T) {
	if _, err := Collect(&profile.Profile{Root: &profile.Node{Name: "ROOT"}}, Options{}); !errors.Is(err, ErrNoSamples) {
		t.Errorf("no samples: %v", err)
	}
	for o, want := range map[Options]string{
		{Kernel: "softmax"}:  `no kernel with samples matches "softmax"; those with most are matmul, second, inlined, inlined, first`,
		{Kernel: "("}:        "read the kernel's name",
		{Include: "no such"}: "no instruction samples are left by the filters",
		{Exclude: "["}:       "read exclude",
	} {
		if _, err := Collect(model(t), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
}

// TestMalformedSamples: what a file says may point anywhere.
func TestMalformedSamples(t *testing.T) {
	p := model(t)
	p.Root.Samples = []profile.FunctionSamples{
		{Function: -1}, {Function: math.MaxInt, PCs: []profile.PCSamples{{Offset: 1}}},
		{Function: 0, PCs: []profile.PCSamples{{Offset: math.MaxUint64, Stalls: []profile.Stall{{Reason: math.MaxUint16, Samples: 3}}}}},
	}
	p.Sampling.Functions[0].Name = "a\x1b[2Jb"
	p.Sampling.Functions[0].Places[0].Frames[0].File = "/home/\x1b]0;title\x07.py"
	s, err := Collect(p, Options{Kernel: "."})
	if err != nil {
		t.Fatal(err)
	}
	for _, print := range []func(w *bytes.Buffer, s *Samples, l Listing) ([]string, error){
		sass, func(w *bytes.Buffer, s *Samples, l Listing) ([]string, error) { return Print(w, s, l) },
	} {
		var b bytes.Buffer
		notes, err := print(&b, s, Listing{Context: math.MaxInt / 2, Files: sources(), Modules: modules(t, model(t), "")})
		if err != nil {
			t.Fatal(err)
		}
		if text := b.String() + strings.Join(notes, ""); strings.ContainsAny(text, "\x1b\x07") {
			t.Errorf("control characters of the profile reach the terminal")
		}
	}
}

func TestFiles(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("src/k.py", "a\r\nb\n\nc")
	write("k.py", "other")
	write("id_rsa", "secret")
	for _, test := range []struct {
		files    Files
		recorded string
		want     string // where it is found, "" for nowhere
	}{
		{Files{Moves: []string{"/old=" + folder}}, "/old/src/k.py", "src/k.py"},
		{Files{Moves: []string{"/old/=" + folder}}, "/old/src/k.py", "src/k.py"},
		{Files{Moves: []string{"/ol=" + folder}}, "/old/src/k.py", ""},
		{Files{Moves: []string{folder}}, "/build/7/src/k.py", "src/k.py"},
		{Files{Near: []string{folder}}, "/build/7/k.py", "k.py"},
		{Files{Near: []string{folder}}, "../k.py", ""},
		{Files{}, filepath.Join(folder, "k.py"), "k.py"},
		{Files{}, filepath.Join(folder, "id_rsa"), ""},
		{Files{}, folder, ""},
	} {
		got := test.files.Text(test.recorded)
		if want := filepath.Join(folder, test.want); (got.Err == nil) != (test.want != "") || got.Err == nil && got.Path != want {
			t.Errorf("%q with %v: found at %q, %v; want %q", test.recorded, test.files.Moves, got.Path, got.Err, test.want)
		}
	}
	f := Files{Since: time.Now().Add(-time.Hour)}
	text := f.Text(filepath.Join(folder, "src/k.py"))
	if line, found := text.Line(4); line != "c" || !found || text.Lines() != 4 || !text.Changed {
		t.Errorf("line 4 is %q of %d, changed %v", line, text.Lines(), text.Changed)
	}
	if line, _ := text.Line(1); line != "a" {
		t.Errorf("line 1 is %q", line)
	}
	if f = (Files{Since: time.Now().Add(time.Hour)}); f.Text(filepath.Join(folder, "src/k.py")).Changed {
		t.Error("a file from before the profile counts as changed")
	}
}

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

// FuzzSource reads any text as the source of a kernel.
func FuzzSource(f *testing.F) {
	kernels, err := os.ReadFile(cubins + "kernels.py")
	if err != nil {
		f.Fatal(err)
	}
	s, err := Collect(model(f), Options{Kernel: "matmul"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(kernels)
	f.Add([]byte("\t\x1b[31m\xff\u202e\r\n" + strings.Repeat("x", 1000)))
	f.Fuzz(func(t *testing.T, text []byte) {
		files := sources()
		files.texts = map[string]*Text{"/home/user/kernels.py": {Path: "kernels.py", lines: splitLines(text)}}
		var b bytes.Buffer
		if _, err := Print(&b, s, Listing{Context: 3, Unfold: true, Files: files, Terminal: viewer.Terminal{Width: 70}}); err != nil {
			t.Fatal(err)
		}
		for _, r := range b.String() {
			if r < ' ' && r != '\n' || r == 0x7f || r == '\u202e' {
				t.Fatalf("%q reaches the terminal", r)
			}
		}
	})
}
