package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/validate"
)

const complexTrace = "../testdata/" + tritonparse.Prefix + "complex_.ndjson.gz"

func open(t testing.TB, source string) *tritonparse.Trace {
	t.Helper()
	trace, err := tritonparse.Open(source, tritonparse.OpenOptions{NoTexts: true})
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func diffOf(t testing.TB, a, b *tritonparse.Trace, i, j int) *Diff {
	t.Helper()
	x, y := Compilation(a, i), Compilation(b, j)
	for trace, side := range map[*tritonparse.Trace][]*Side{a: {&x}} {
		if a == b {
			side = append(side, &y)
		}
		if err := Load(trace, side...); err != nil {
			t.Fatal(err)
		}
	}
	if a != b {
		if err := Load(b, &y); err != nil {
			t.Fatal(err)
		}
	}
	return New(x, y)
}

func text(t *testing.T, d *Diff, o TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := d.WriteText(&b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTwoConfigurations compares two that the autotuner tried.
func TestTwoConfigurations(t *testing.T) {
	trace := open(t, complexTrace)
	testkit.Golden(t, "testdata/matmul.txt", text(t, diffOf(t, trace, trace, 0, 1), TextOptions{Most: 20}))
	testkit.Golden(t, "testdata/fused.txt", text(t, diffOf(t, trace, trace, 3, 4), TextOptions{Stages: []string{"ttir", "ptx"}, Most: 30}))
}

// changed writes a trace of one compilation of the sample, with what patterns match replaced, and opens it.
func changed(t *testing.T, replace func(record string) string) *tritonparse.Trace {
	t.Helper()
	trace, err := tritonparse.Open(complexTrace, tritonparse.OpenOptions{Keep: func(_, name string) bool { return name == "fused_op_kernel" }})
	if err != nil {
		t.Fatal(err)
	}
	was := string(trace.Compilations()[0].Raw)
	record := was
	if replace != nil {
		if record = replace(was); record == was {
			t.Fatal("nothing was replaced")
		}
	}
	path := filepath.Join(t.TempDir(), "x.ndjson")
	if err := os.WriteFile(path, []byte(record), 0o644); err != nil {
		t.Fatal(err)
	}
	return open(t, path)
}

// TestWhatDoesNotCount: a kernel that was moved in its file, and whose values and registers have other names.
func TestWhatDoesNotCount(t *testing.T) {
	moved := changed(t, func(record string) string {
		for _, where := range []string{`(kernels\.py\\":)(\d+)(:)`, `(\.loc\\t1 )(\d+)( )`, `(kernels\.py:)(\d+)(:)`, `(line: )(\d+)(,)`, `("(?:start|end)_line":)(\d+)(,)`} {
			re := regexp.MustCompile(where)
			record = re.ReplaceAllStringFunc(record, func(s string) string {
				m := re.FindStringSubmatch(s)
				n, _ := strconv.Atoi(m[2])
				return m[1] + strconv.Itoa(n+4000) + m[3]
			})
		}
		for from, to := range map[string]string{`%(\d+)\b`: "%7$1", `%(rd?|p|f)(\d+)\b`: "%${1}9$2", `!(\d+)`: "!9$1", `\$L__BB0`: "$$L__BB5", `#loc(\d+)`: "#loc9$1"} {
			record = regexp.MustCompile(from).ReplaceAllString(record, to)
		}
		return record
	})
	d := diffOf(t, changed(t, nil), moved, 0, 0)
	if !d.Same || len(d.Lines) > 0 || len(d.Stages) != 4 {
		t.Errorf("differs:\n%s", text(t, d, TextOptions{}))
	}
	for _, s := range d.Stages {
		if !s.Renamed {
			t.Errorf("values of %s have the same names", s.Name)
		}
	}
}

// TestWhatCounts: another operand counts, although all names are only names.
func TestWhatCounts(t *testing.T) {
	d := diffOf(t, changed(t, nil), changed(t, func(record string) string {
		return strings.Replace(record, "arith.mulf %9, %12", "arith.mulf %12, %12", 1)
	}), 0, 0)
	if d.Same {
		t.Error("another operand does not count")
	}
	d.A.Trace, d.B.Trace = "before", "after"
	testkit.Golden(t, "testdata/operand.txt", text(t, d, TextOptions{}))
}

// TestResources: registers and occupancy come from the cubins; two of other kernels stand for those of the sample, which
// has none.
func TestResources(t *testing.T) {
	with := func(cubin string) *tritonparse.Trace {
		return changed(t, func(record string) string {
			return regexp.MustCompile(`("fused_op_kernel\.cubin":")[^"]*`).ReplaceAllString(record, "${1}../../gpu/cubin/testdata/"+cubin)
		})
	}
	d := diffOf(t, with("matmul.sm80.cubin"), with("softmax.sm90.cubin"), 0, 0)
	d.A.Trace, d.B.Trace = "a", "b"
	testkit.Golden(t, "testdata/resources.txt", text(t, d, TextOptions{}))
}

func TestNames(t *testing.T) {
	same := func(g *language, a, b string) bool {
		x, y := g.read(a, ""), g.read(b, "")
		pairs, _ := checkNames(align(hashes(x), hashes(y)), x, y)
		for _, p := range pairs {
			if p.a < 0 || p.b < 0 {
				return false
			}
		}
		return true
	}
	for _, c := range []struct {
		g    *language
		a, b string
		want bool
	}{
		{mlirText, "%0 = a.x\n%1 = a.y %0", "%q = a.x\n%w = a.y %q", true},
		{mlirText, "%0 = a.x\n%1 = a.x\n%2 = a.y %0, %1", "%0 = a.x\n%1 = a.x\n%2 = a.y %1, %0", false},
		{mlirText, "%0 = a.x loc(#loc3)", "%0 = a.x loc(#loc4)", true},
		{mlirText, "a.x loc(fused<\"p\">[callsite(#loc3 at \"k.py\":1:2), #loc4])\n^bb1:  // pred: ^bb0", "a.x\n^bb1:  // 2 preds: ^bb0, ^bb2", true},
		{mlirText, "%0:2 = scf.for\na.y %0#1", "%0:2 = scf.for\na.y %0#0", true}, // bound at first use
		{llvm, "  %1 = add i32 %0, 1, !dbg !5\n!5 = x", "  %7 = add i32 %a, 1, !dbg !9", true},
		{llvm, "%1 = add i32 %0, 1\n%2 = sub i32 %1, %0", "%1 = add i32 %0, 1\n%2 = sub i32 %0, %1", false},
		{ptx, "mov.u32 %r1, %tid.x;\n@%p1 bra $L__BB0_2;", "mov.u32 %r9, %tid.x;\n@%p4 bra $L__BB7_1;", true},
		{ptx, "add.s32 %r1, %r2, %r3;\nsub.s32 %r4, %r1, %r2;", "add.s32 %r1, %r2, %r3;\nsub.s32 %r4, %r1, %r3;", false},
		{ptx, "ld.global.v2.b32 { %r1, %r2 }, [%rd1];\nadd.s32 %r3, %r1, %r2;", "ld.global.v2.b32 { %r5, %r6 }, [%rd2];\nadd.s32 %r3, %r5, %r6;", true},
		{sass, "        /*0010*/                   IADD3 R1, R2, R3 ;", "        /*0090*/                   IADD3 R7, R7, R3 ;", true},
		{sass, "/*0010*/ IADD3 R1, R2, R3 ;", "/*0010*/ IADD3 R1, R2, 0x1 ;", false},
		{amdgcn, "v_add_f32 v1, v2, v3 ; x", "v_add_f32 v5, v2, v3", true},
		{amdgcn, "f.one__fp32:         ; @f.one__fp32\nv_add_f32 v1, v2, v3", ".LBB0_1:\nv_add_f32 v5, v2, v3", true},
	} {
		if got := same(c.g, c.a, c.b); got != c.want {
			t.Errorf("%q and %q: equal %v", c.a, c.b, got)
		}
	}
}

// TestWholeTraces: nothing differs from itself; kernels that were renamed are found by their source, then by their name.
func TestWholeTraces(t *testing.T) {
	trace := open(t, complexTrace)
	d, err := Traces(trace, trace, nil, nil, &Comparer{})
	if err != nil || d.Counts["identical"] != 5 || len(d.Matches) != 5 || d.Matches[0].How != "hash" {
		t.Error(d, err)
	}
	read, err := tritonparse.Open(complexTrace, tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i, c := range read.Compilations() {
		if i == 2 {
			continue // only in A
		}
		r := strings.ReplaceAll(string(c.Raw), c.Hash, strings.Repeat(fmt.Sprint(i), 64))
		if i > 2 {
			r = strings.ReplaceAll(r, "fused_op_kernel", "other")
		}
		lines = append(lines, r)
	}
	path := filepath.Join(t.TempDir(), "b.ndjson")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	if d, err = Traces(trace, open(t, path), nil, nil, &Comparer{}); err != nil {
		t.Fatal(err)
	}
	d.TraceA, d.TraceB = "a", "b"
	var b bytes.Buffer
	if err := d.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/traces.txt", b.String())
}

// TestParametersHaveNames: our traces say what parameters are called, those of tritonparse in the source alone.
func TestParametersHaveNames(t *testing.T) {
	var sides []*tritonparse.Trace
	for _, writer := range []string{"goproton", "tritonparse"} {
		trace, err := tritonparse.Open("../../testdata/traces/vector_add/"+writer, tritonparse.OpenOptions{NoTexts: true})
		if err != nil {
			t.Fatal(err)
		}
		sides = append(sides, trace)
	}
	d, err := Traces(sides[0], sides[1], nil, nil, &Comparer{})
	if err != nil || len(d.Matches) != 1 || d.Matches[0].Status != "identical" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestTimes(t *testing.T) {
	trace := open(t, complexTrace)
	c := trace.Compilations()[0]
	metric := func(name string, v int64) profile.Metric {
		return profile.Metric{Name: name, Value: profile.IntValue(v)}
	}
	named := &profile.Profile{Root: &profile.Node{Children: []*profile.Node{{Name: c.Name, Metrics: []profile.Metric{metric("time (ns)", 900), metric("count", 3)}}}}}
	if got := TimeOf(named, c); got == nil || got.Mean() != 300 || !got.ByName {
		t.Errorf("by name: %+v", got)
	}
	named.Launches = []profile.LaunchKind{{Hash: "other"}, {Hash: c.Hash}}
	if got := TimeOf(named, c); got != nil {
		t.Errorf("by name in a profile that knows hashes: %+v", got)
	}
	named.Root.Children[0].Launches = []profile.LaunchTimes{
		{Kind: 1, Durations: profile.Durations{Count: 2, Nanos: 100, Least: 40, Most: 60}},
		{Kind: 0, Durations: profile.Durations{Count: 1, Nanos: 800}},
		{Kind: 1, Device: 1, Durations: profile.Durations{Count: 1}}, // no time of it is known, so no shortest either
	}
	if got := TimeOf(named, c); got == nil || *got != (Time{Launches: 3, Nanos: 100, Least: 40, Most: 60}) {
		t.Errorf("by hash: %+v", got)
	}
	if TimeOf(nil, c) != nil {
		t.Error("a time without a profile")
	}
}

// TestOneTime: where one of two profiles has no time of a kernel, the kernel is not reported as faster.
func TestOneTime(t *testing.T) {
	m := Match{A: Side{Kernel: "k", Time: &Time{Launches: 1, Nanos: 12000}}, B: Side{Kernel: "k"}}
	if row := m.row(true, false); row[5] != "12µs → -" || row[6] != "" {
		t.Errorf("it says %q", row)
	}
}

// TestRecordOf: code that differs only in operands is not identical; a line of B stands next to A's line of that number;
// and a compilation that is known only from its launches has no record.
func TestRecordOf(t *testing.T) {
	d := diffOf(t, changed(t, nil), changed(t, func(record string) string {
		return strings.Replace(record, "arith.mulf %9, %12", "arith.mulf %12, %12", 1)
	}), 0, 0)
	d.Lines = []ByLine{{LineA: 7, Code: "a"}, {LineB: 7, Code: "b"}, {LineB: 8, Code: "c"}}
	var b bytes.Buffer
	d.B.compilation.Inferred = true
	d.B.Hash = "other"
	if err := d.WriteRecords(&b); err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(b.Bytes()), []byte("\n"))
	var record struct {
		Summary struct {
			Status     string
			Highlights []string
		}
		Lines map[string]struct {
			Line int    `json:"python_line"`
			Code string `json:"python_code"`
		} `json:"by_python_line"`
	}
	if err := json.Unmarshal(lines[len(lines)-1], &record); err != nil || len(lines) != 2 {
		t.Fatal(len(lines), err)
	}
	if s := record.Summary; s.Status == "identical" || len(s.Highlights) != 1 || s.Highlights[0] != "TTIR: 1 of 29 lines differ" {
		t.Errorf("the summary is %+v", s)
	}
	if got := fmt.Sprint(record.Lines); got != "map[-7:{7 b} 7:{7 a} 8:{8 c}]" {
		t.Errorf("the lines are %s", got)
	}
}

const fieldsScript = `
import sys, json, dataclasses, importlib.util
spec = importlib.util.spec_from_file_location("diff_types", sys.argv[1] + "/tritonparse/diff/core/diff_types.py") # the package needs torch
t = sys.modules["diff_types"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(t)
def has(value, cls, where):
    fields = {f.name for f in dataclasses.fields(cls)}
    for k in value:
        if k != "event_type" and k not in fields:
            print(where, "has", k)
d = [json.loads(l) for l in sys.stdin][-1]
if d["event_type"] == "compilation_diff":
    has(d, t.CompilationDiffResult, "record")
    missing = {f.name for f in dataclasses.fields(t.CompilationDiffResult)} - set(d) - {"match_method", "match_confidence"}
    if missing: print("missing", missing)
    has(d["summary"], t.DiffSummary, "summary")
    has(d["python_source_diff"], t.PythonSourceDiff, "python")
    for v in d["by_python_line"].values(): has(v, t.PythonLineDiff, "line")
    for v in d["ir_stats"].values(): has(v, t.IRStatsDiff, "ir"); has(v["a"], t.IRStats, "ir.a")
    for v in d["operation_diff"].values(): has(v, t.OperationDiff, "operation")
    has(d["tensor_value_diff"], t.TensorValueDiff, "tensors")
else:
    has(d, t.TraceDiffResult, "record")
    has(d["trace_a"], t.TraceStats, "trace")
    has(d["summary"], t.TraceDiffSummary, "summary")
    for v in d["matched_kernels"]: has(v, t.KernelMatchResult, "match")
`

// TestRecords: what -o writes is a trace without faults whose last record has the members that tritonparse's have.
func TestRecords(t *testing.T) {
	trace := open(t, complexTrace)
	var pair, whole bytes.Buffer
	if err := diffOf(t, trace, trace, 0, 1).WriteRecords(&pair); err != nil {
		t.Fatal(err)
	}
	d, err := Traces(trace, trace, nil, nil, &Comparer{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteRecords(&whole, trace, trace); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*bytes.Buffer{"pair": &pair, "whole": &whole} {
		path := filepath.Join(t.TempDir(), "x.ndjson")
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		result, err := validate.Validate(path, validate.Options{Report: func(f validate.Finding) { t.Error(name, f) }})
		if err != nil || result.Records["compilation"] != map[string]int{"pair": 2, "whole": 5}[name] {
			t.Error(name, result, err)
		}
		lines := bytes.Split(bytes.TrimSpace(b.Bytes()), []byte("\n"))
		var record map[string]any
		if err := json.Unmarshal(lines[len(lines)-1], &record); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(testkit.Fetched(t, "bin/python"), "-c", fieldsScript, testkit.Fetched(t, "oracles/tritonparse-0.6.0"))
		cmd.Stdin = bytes.NewReader(b.Bytes())
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: tritonparse: %s%v", name, out, err)
		}
	}
}

// FuzzStage looks for panics, and for texts that differ from themselves.
func FuzzStage(f *testing.F) {
	f.Add("ttir", "%0 = a.x loc(#loc1)\n%1:2 = a.y %0#1", "%0 = a.x")
	f.Add("llir", "  %1 = add i32 %0, 1, !dbg !5", "!5 = x")
	f.Add("ptx", "@%p1 add.s32 {%r1}, %r2;\n.section .debug_x", "add.s32 %r1,")
	f.Add("sass", "/*0010*/ @!P0 R1", "")
	f.Add("amdgcn", "v_add v1", "s[0:3]")
	f.Fuzz(func(t *testing.T, name, a, b string) {
		if languages[name] == nil {
			return
		}
		compareStage(name, a, b, "x", "y")
		if s := compareStage(name, a, a, "x", "x"); !s.Same() {
			t.Fatalf("%q differs from itself: %+v", a, s)
		}
	})
}
