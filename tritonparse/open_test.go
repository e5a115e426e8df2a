package tritonparse_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/parse"
)

const complexTrace = "testdata/" + tritonparse.Prefix + "complex_.ndjson.gz"

func openTrace(t testing.TB, source string) *tritonparse.Trace {
	t.Helper()
	trace, err := tritonparse.Open(source, tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// launches of a trace, each in a line without its place.
func launchLines(t *testing.T, trace *tritonparse.Trace) []string {
	t.Helper()
	var lines []string
	err := trace.EachLaunch(func(l *tritonparse.LaunchRecord) error {
		lines = append(lines, fmt.Sprint(l.Hash[:8], l.Name, l.PID, l.Function, l.Stream, l.Grid, l.Kind, len(l.Args), len(l.Stack)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestRawAndParsedAreOneTrace: a trace says the same before and after it was parsed; only the order of launches differs.
func TestRawAndParsedAreOneTrace(t *testing.T) {
	out := t.TempDir()
	if _, err := parse.Parse(complexTrace, out, parse.Options{}); err != nil {
		t.Fatal(err)
	}
	raw, parsed := openTrace(t, complexTrace), openTrace(t, out)
	if len(raw.Compilations()) != 5 || len(parsed.Compilations()) != 5 {
		t.Fatalf("%d and %d compilations", len(raw.Compilations()), len(parsed.Compilations()))
	}
	for i, c := range raw.Compilations() {
		p := parsed.Compilations()[i]
		if c.Hash != p.Hash || c.Name != p.Name || c.Launches != p.Launches || c.PID != p.PID || !reflect.DeepEqual(c.Texts, p.Texts) ||
			!reflect.DeepEqual(c.Stack, p.Stack) || !reflect.DeepEqual(c.Python, p.Python) || !reflect.DeepEqual(c.Paths, p.Paths) {
			t.Errorf("compilation %d differs", i)
		}
		if got := strings.Join(c.Stages(), " "); got != "ttir ttgir llir ptx json" {
			t.Errorf("stages %s", got)
		}
	}
	count := func(lines []string) map[string]int {
		m := map[string]int{}
		for _, l := range lines {
			m[l]++
		}
		return m
	}
	a, b := launchLines(t, raw), launchLines(t, parsed)
	if len(a) != 1557 || !reflect.DeepEqual(count(a), count(b)) {
		t.Errorf("%d launches, %d when parsed", len(a), len(b))
	}
}

// TestLaunches: ids and lines are those that info prints, in order, and LaunchAt finds what EachLaunch saw.
func TestLaunches(t *testing.T) {
	info, err := tritonparse.ReadInfo(complexTrace, tritonparse.InfoOptions{Kernel: "fused_op_kernel", Args: true})
	if err != nil {
		t.Fatal(err)
	}
	trace := openTrace(t, complexTrace)
	i := 0
	if err := trace.EachLaunch(func(l *tritonparse.LaunchRecord) error {
		if l.Name != "fused_op_kernel" {
			return nil
		}
		want := info.Launches[i]
		i++
		var brief []string
		for _, a := range l.Args {
			brief = append(brief, a.Name+"="+a.Brief())
		}
		if l.ID != want.ID || l.Line != want.Line || l.Hash != want.Hash {
			t.Errorf("launch %d: %d %d %s", i, l.ID, l.Line, l.Hash)
		}
		again, err := trace.LaunchAt("", l.Line)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, l) {
			t.Errorf("LaunchAt %d is another launch", l.Line)
		}
		if got := strings.Join(brief, " "); i == 4 && got != `a_ptr=float32[6] b_ptr=float32[6] c_ptr=float32[6] output_ptr=float32[6] n_elements=6 scale_factor=1.0 ACTIVATION="relu" BLOCK_SIZE=8` {
			t.Error(got)
		}
		return nil
	}); err != nil || i != 4 {
		t.Fatal(i, err)
	}
	enough := errors.New("enough for me")
	n := 0
	err = trace.EachLaunch(func(*tritonparse.LaunchRecord) error { n++; return enough })
	if n != 1 || !errors.Is(err, enough) {
		t.Error(n, err)
	}
	for line, want := range map[int]string{0: `of type "compilation"`, 99999: "has no record 99999", -1: "has no record -1"} {
		if _, err := trace.LaunchAt("", line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("line %d: %v", line, err)
		}
	}
}

// TestFolder: several processes, a hash that was only launched, damaged records, names with dots.
func TestFolder(t *testing.T) {
	dotted := strings.ReplaceAll(testkit.CompilationRecord("aa", "cuda"), `"name":"k"`, `"name":"a.b"`)
	dir := testkit.RawTraces(t, map[string][]string{
		"u_rank_0_pid_1_host_h": {testkit.LaunchRecord("bb", 0), dotted, testkit.LaunchRecord("aa", 1), `{"cut`},
		"u_rank_0_pid_2_host_h": {testkit.CompilationRecord("aa", "cuda"), testkit.LaunchRecord("aa", 3), testkit.LaunchRecord("bb", 4)},
	})
	trace := openTrace(t, dir)
	var got []string
	for _, c := range trace.Compilations() {
		got = append(got, fmt.Sprint(c.Hash, " ", c.Name, " ", c.Inferred, " ", c.Launches, " ", c.TextNames["ttir"], " ", c.Line, " ", c.Placeholders))
	}
	want := "bb k true 2  0 map[]\naa a.b false 2 a.b.ttir 1 map[llir:<file too large: 9 bytes>]"
	if g := strings.Join(got, "\n"); g != want {
		t.Errorf("got\n%s\nwant\n%s", g, want)
	}
	if n, ok := trace.Compilation("bb").Int("num_warps"); n != 4 || !ok {
		t.Error(n, ok)
	}
	if d, n := trace.Damages(); n != 1 || d[0].Line != 4 || !strings.Contains(d[0].File, "pid_1") {
		t.Error(d, n)
	}
	second := tritonparse.Prefix + "u_rank_0_pid_2_host_h_.ndjson"
	if l, err := trace.LaunchAt(second, 2); err != nil || l.Function != 4 || l.ID != 1 {
		t.Error(l, err)
	}
	for file, want := range map[string]string{"": "has 2 files; name the file", "x": "has no file x"} {
		if _, err := trace.LaunchAt(file, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", file, err)
		}
	}
	if _, err := trace.LaunchAt(trace.Files[0], 3); err == nil || !strings.Contains(err.Error(), "record 3 of") || !strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
	only, err := tritonparse.Open(dir, tritonparse.OpenOptions{NoTexts: true, Keep: func(hash, name string) bool { return hash == "aa" }})
	if err != nil || len(only.Compilations()) != 1 || only.Compilations()[0].Raw != nil || only.Compilations()[0].Texts != nil {
		t.Error(only, err)
	}
}

func TestNoTrace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.txt")
	if err := os.WriteFile(file, []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{dir: "no trace in", file: "x.txt: line 1", filepath.Join(dir, "y"): "no such file"} {
		if _, err := tritonparse.Open(source, tritonparse.OpenOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// TestExtension: what GoProton's own traces say beyond TritonParse's.
func TestExtension(t *testing.T) {
	compilation := strings.Replace(testkit.CompilationRecord("aa", "cuda"), `"pid":1`, `"pid":1,"goproton":{"version":1,"image":"0123456789abcdef","cubin":"cubins/0123456789abcdef.cubin",`+
		`"function":"k","module":"m","params":[{"name":"x","constexpr":false},{"name":"N","constexpr":true,"default":4}],`+
		`"dependencies":[{"name":"f","module":"m","file":"/m.py","line":3,"code":"def f(): pass","kind":"jit"}],"globals":[{"name":"G","owner":"k","type":"int","value":7}],"device":2}`, 1)
	launch := strings.Replace(testkit.LaunchRecord("aa", 1), `"pid":1`, `"pid":1,"goproton":{"launch":"00ff","device":2,"timestamp":{"ns":5,"sequence":6}}`, 1)
	dir := testkit.RawTraces(t, map[string][]string{"u": {compilation, launch}})
	trace := openTrace(t, dir)
	c := trace.Compilation("aa")
	want := &tritonparse.Extension{Version: 1, Image: "0123456789abcdef", Cubin: "cubins/0123456789abcdef.cubin", Function: "k", Module: "m",
		Params:       []tritonparse.Parameter{{Name: "x"}, {Name: "N", Constexpr: true, Default: json.RawMessage("4")}},
		Dependencies: []tritonparse.Dependency{{Name: "f", Module: "m", File: "/m.py", Line: 3, Code: "def f(): pass", Kind: "jit"}},
		Globals:      []tritonparse.Global{{Name: "G", Owner: "k", Type: "int", Value: json.RawMessage("7")}}, Device: 2}
	if !reflect.DeepEqual(c.Extra, want) {
		t.Errorf("%+v", c.Extra)
	}
	if c.Cubin() != "" {
		t.Error("a cubin that is not there")
	}
	path := filepath.Join(dir, "cubins", "0123456789abcdef.cubin")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if c.Cubin() != path {
		t.Error(c.Cubin())
	}
	l, err := trace.LaunchAt("", 1)
	if err != nil || l.Extra == nil || l.Extra.Launch != "00ff" || l.Extra.Timestamp.Sequence != 6 || l.Extra.Device != 2 {
		t.Error(l, err)
	}
}

// TestArguments: every kind of argument that TritonParse describes.
func TestArguments(t *testing.T) {
	const tensor = `"shape":[2,3],"dtype":"torch.float16","device":"cuda:1","stride":[3,1],"numel":6,"is_contiguous":true,"element_size":2,"storage_offset":5,"memory_usage":12,"data_ptr":"0x7f10"`
	args := tritonparse.ReadArguments(json.RawMessage(`{"x":{"type":"tensor",` + tensor + `,"min":-1,"max":2,"mean":0.5,"std":"nan","tensor_hash":"ab","blob_path":"/b.bin","blob_size":9,"blob_size_uncompressed":10,"compression":"none"},` +
		`"y":{"type":"tensor",` + tensor + `,"error":"quota","tensor_hash":null,"tensor_capture_error":"lazy"},"n":{"type":"int","value":7},"s":{"type":"str","value":"a","length":1},"none":{"type":"NoneType","repr":"None"},` +
		`"t":{"type":"dtype","repr":"fp16"},"d":{"type":"TensorDescriptor","base":{` + tensor + `},"shape":[2,3],"strides":[3,1],"block_shape":[1,3],"padding":"zero"},` +
		`"k":{"type":"triton_kernels.tensor.Tensor","shape":[2],"shape_max":[4],"dtype":"torch.int8","storage":{"type":"triton_kernels.tensor.Storage","data":{` + tensor + `},"layout":{"type":"StridedLayout"}}}}`))
	var brief []string
	for i := range args {
		brief = append(brief, args[i].Name+"="+args[i].Brief())
	}
	if got := strings.Join(brief, " "); got != `x=float16[2,3] y=float16[2,3] n=7 s="a" none=None t=fp16 d=float16[2,3] k=int8[2]` {
		t.Error(got)
	}
	x, y, d, k := args[0], args[1], args[6], args[7]
	if x.Stats == nil || x.Stats.Max != 2 || x.Stats.Std == x.Stats.Std || *x.Blob != (tritonparse.Blob{"/b.bin", "ab", 9, 10, "none", ""}) {
		t.Errorf("x: %+v %+v", x.Stats, x.Blob)
	}
	if x.DataPtr != 0x7f10 || x.Offset != 5 || x.Numel != 6 || x.ElementSize != 2 || x.Bytes != 12 || !x.Contiguous || x.Device != "cuda:1" || fmt.Sprint(x.Stride) != "[3 1]" {
		t.Errorf("x: %+v", x)
	}
	if y.Stats != nil || y.StatsError != "lazy" || y.Blob.Error != "quota" {
		t.Errorf("y: %+v", y)
	}
	if d.Tensor() != d.Base || d.Base.Offset != 5 || fmt.Sprint(d.Block) != "[1 3]" || d.Padding != "zero" || k.Tensor().Type != "tensor" || fmt.Sprint(k.ShapeMax) != "[4]" {
		t.Errorf("d: %+v k: %+v", d, k)
	}
	if note := tritonparse.ReadArguments(json.RawMessage(`{"_note":"argument extraction skipped"}`)); len(note) != 0 {
		t.Error(note)
	}
}

// TestMaps: a helper's line knows the calls that it was inlined through.
func TestMaps(t *testing.T) {
	c := openTrace(t, "testdata/"+tritonparse.Prefix+"handmade_.ndjson").Compilations()[0]
	m := c.Maps()
	if m != c.Maps() || strings.Join(m.Stages(), " ") != "ttir ttgir llir ptx sass" {
		t.Error(m.Stages())
	}
	deepest, stages := 0, map[string]bool{}
	for _, s := range m.Stages() {
		for _, e := range m.Entries(s) {
			if len(e.Callers) > 0 && e.Callers[len(e.Callers)-1] != e.Outer || e.Inlined != (len(e.Callers) > 0) {
				t.Errorf("%s line %d: callers %v, outer %v", s, e.Own, e.Callers, e.Outer)
			}
			stages[s] = stages[s] || len(e.Callers) > 0
			deepest = max(deepest, len(e.Callers))
		}
	}
	if deepest < 2 || len(stages) != 5 {
		t.Errorf("chains of %d, in %v", deepest, stages)
	}
	for _, line := range m.PythonLines() {
		for _, own := range m.FromPython(line, "ttir") {
			e := m.At("ttir", own)
			where := e.Frame
			if e.Inlined {
				where = e.Outer
			}
			if where.Line != line || where.File != c.Python.File {
				t.Errorf("ttir line %d is said to come from line %d: %+v", own, line, e)
			}
		}
	}
}

// FuzzOpen looks for panics, and for launches that one way of reading finds and the other does not.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(testkit.CompilationRecord("aa", "cuda") + "\n" + testkit.LaunchRecord("aa", 0)))
	f.Add([]byte(`{"event_type":"launch","extracted_args":{"x":{"base":{"base":[]},"storage":{"data":3},"shape":"","min":"","data_ptr":0}},"grid":{},"stack":[3],"function":"0x1","goproton":{"device":"x"}}`))
	f.Add([]byte(`{"event_type":"compilation","payload":{"metadata":[],"file_content":{"a":1,"a.ttir":2},"python_source":{"code":0}},"goproton":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "x.ndjson")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		trace, err := tritonparse.Open(path, tritonparse.OpenOptions{})
		if err != nil {
			return
		}
		for _, c := range trace.Compilations() {
			c.Maps()
			c.Cubin()
		}
		n := 0
		if err := trace.EachLaunch(func(l *tritonparse.LaunchRecord) error {
			n++
			_, err := trace.LaunchAt("", l.Line)
			return err
		}); err != nil || n != trace.Records["launch"] {
			t.Error(n, trace.Records, err)
		}
	})
}

// TestOnlyBinariesAreReadAsSuch: a trace may name any file as a compilation's binary, and links may lead to any.
func TestOnlyBinariesAreReadAsSuch(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	for _, name := range []string{"k.cubin", "key", "k.hsaco", "key.pem"} {
		if err := os.WriteFile(at(name), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"link.cubin": "k.cubin", "bad.cubin": "key", "bad": "k.cubin", "loop.cubin": "loop.cubin"} {
		if err := os.Symlink(at(to), at(from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(at("folder.cubin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]bool{"k.cubin": true, "link.cubin": true, "k.hsaco": true, "key": false, "key.pem": false, "bad.cubin": false, "bad": false,
		"loop.cubin": false, "folder.cubin": false, "none.cubin": false} {
		c := &tritonparse.Compilation{Paths: map[string]string{"cubin": at(name)}}
		if got := c.Cubin(); (got == at(name)) != read || !read && got != "" {
			t.Errorf("%s: reads %q", name, got)
		}
	}
}
