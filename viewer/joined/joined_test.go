package joined

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/source"
)

// complexTrace is tritonparse's own example: three configurations of an autotuned matmul and two of another kernel.
const complexTrace = "../../tritonparse/testdata/dedicated_log_triton_trace_complex_.ndjson.gz"

// shared is opened once: nobody changes it.
var shared = sync.OnceValues(func() (*tritonparse.Trace, error) {
	return tritonparse.Open(complexTrace, tritonparse.OpenOptions{})
})

func complexOne(t testing.TB) *tritonparse.Trace {
	t.Helper()
	trace, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func open(t *testing.T, path string) *tritonparse.Trace {
	t.Helper()
	trace, err := tritonparse.Open(path, tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// profileOf measures the launches of a trace: the time of each follows from its place, so that a test can tell. Every launch
// of a matmul of 16×16×16 on a GPU of 80 multiprocessors takes some 2 us.
func profileOf(t testing.TB, trace *tritonparse.Trace) *profile.Profile {
	t.Helper()
	p := &profile.Profile{
		Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{timeMetric: profile.Inclusive, countMetric: profile.Inclusive},
		Devices: []profile.Device{{Type: "CUDA", ID: "0", Arch: "90", BusWidth: 6016, ClockRate: 1980000, MemoryClockRate: 3201000, NumSMs: 132}},
	}
	kinds := map[key]int{}
	n := uint64(0)
	err := trace.EachLaunch(func(l *tritonparse.LaunchRecord) error {
		node := p.Root.Child(l.Name)
		if node == nil {
			node = &profile.Node{Name: strings.Clone(l.Name)}
			node.Set("device_id", profile.StringValue("0"))
			p.Root.Children = append(p.Root.Children, node)
		}
		at, known := kinds[key{l.Hash, l.Kind}]
		if !known {
			at = len(p.Launches)
			kinds[key{strings.Clone(l.Hash), l.Kind}] = at
			p.Launches = append(p.Launches, profile.LaunchKind{ID: l.Kind, Hash: strings.Clone(l.Hash), Kernel: strings.Clone(l.Name), PID: l.PID})
			node.Launches = append(node.Launches, profile.LaunchTimes{Kind: at})
		}
		ns := 2000 + 100*uint64(at) + n%7
		n++
		for i := range node.Launches {
			if node.Launches[i].Kind == at {
				node.Launches[i].Add(&profile.Durations{Count: 1, Nanos: ns, Least: ns, Most: ns})
			}
		}
		node.Set(timeMetric, profile.IntValue(int64(amount(node, timeMetric)+ns)))
		node.Set(countMetric, profile.IntValue(int64(amount(node, countMetric)+1)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	other := &profile.Node{Name: "of another library"}
	other.Set(timeMetric, profile.IntValue(1_000_000))
	p.Root.Children = append(p.Root.Children, other)
	return p
}

func printed(t *testing.T, o Options, l source.Listing) string {
	t.Helper()
	o.Modules = l.Modules
	j, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if l.Files == nil {
		l.Files = source.NoFiles()
	}
	l.Context = 2
	var out bytes.Buffer
	notes, err := j.Print(&out, l)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range notes {
		fmt.Fprintf(&out, "note: %s\n", n)
	}
	return out.String()
}

// Each golden is what a person sees who has only so much.
func TestWhatThereIs(t *testing.T) {
	trace := complexOne(t)
	told := profileOf(t, trace)
	byName := profileOf(t, trace)
	for _, n := range byName.Root.Children {
		n.Launches = nil
	}
	byName.Launches = nil
	for name, o := range map[string]Options{
		"trace-alone":   {Trace: trace, Kernel: "fused"},
		"times":         {Trace: trace, Profile: told, Kernel: "matmul"},
		"times-by-name": {Trace: trace, Profile: byName, Kernel: "matmul|fused"},
		"profile-alone": {Profile: told, Kernel: "matmul"},
	} {
		t.Run(name, func(t *testing.T) { testkit.Golden(t, "testdata/"+name+".txt", printed(t, o, source.Listing{})) })
	}
}

func TestStagesThatAreAskedFor(t *testing.T) {
	trace := complexOne(t)
	testkit.Golden(t, "testdata/ptx.txt", printed(t, Options{Trace: trace, Kernel: "fused"}, source.Listing{IRStages: []string{"ptx"}, Terminal: viewer.Terminal{ASCII: true, Width: 100}}))
}

func TestJSON(t *testing.T) {
	trace := complexOne(t)
	j, err := New(Options{Trace: trace, Profile: profileOf(t, trace), Kernel: "fused"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := j.PrintJSON(&out, source.Listing{Files: source.NoFiles(), IRStages: []string{"ttgir"}}); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out.Bytes()) {
		t.Error("it is no JSON")
	}
	testkit.Golden(t, "testdata/fused.json", out.String())
}

func TestNothingToJoin(t *testing.T) {
	trace := complexOne(t)
	for want, o := range map[string]Options{
		"neither a profile nor a trace": {},
		`no kernel matches "softmax"; those with most time are matmul_kernel, fused_op_kernel`: {Trace: trace, Kernel: "softmax"},
		`read the kernel's name "("`:                     {Trace: trace, Kernel: "("},
		`read include "("`:                               {Trace: trace, Profile: &profile.Profile{Root: &profile.Node{}}, Include: "("},
		"neither the profile nor the trace has a kernel": {Profile: &profile.Profile{Root: &profile.Node{}}},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// Split keeps every sum: what was the kernel's is its own and its launches'.
func TestSplitKeepsSums(t *testing.T) {
	trace := complexOne(t)
	p := profileOf(t, trace)
	kernel := p.Root.Child("matmul_kernel")
	kernel.Set(timeMetric, profile.IntValue(int64(amount(kernel, timeMetric)+500))) // of a launch that was not traced
	kernel.Set(countMetric, profile.IntValue(int64(amount(kernel, countMetric)+1)))
	time, count := amount(kernel, timeMetric), amount(kernel, countMetric)
	if notes, err := Split(p, trace); err != nil || len(notes) > 0 {
		t.Fatal(notes, err)
	}
	if amount(kernel, timeMetric) != 500 || amount(kernel, countMetric) != 1 {
		t.Errorf("the kernel keeps %d ns of %d launches, want 500 of 1", amount(kernel, timeMetric), amount(kernel, countMetric))
	}
	var sum, launches uint64
	kernel.Walk(func(n *profile.Node, _ int) bool {
		sum += amount(n, timeMetric)
		launches += amount(n, countMetric)
		return true
	})
	if sum != time || launches != count {
		t.Errorf("%d ns of %d launches became %d of %d", time, count, sum, launches)
	}
	var out bytes.Buffer
	if _, err := viewer.Render(&out, p, "tree", viewer.Options{Metrics: []string{"time/us", "count"}}, viewer.Terminal{}); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/launches.txt", out.String())
}

func TestSplitWithoutATrace(t *testing.T) {
	trace := complexOne(t)
	p := profileOf(t, trace)
	notes, err := Split(p, nil)
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "--trace DIR") {
		t.Errorf("notes %q, error %v", notes, err)
	}
	for _, c := range p.Root.Child("fused_op_kernel").Children {
		if !strings.HasPrefix(c.Name, "fused_op_kernel [#") {
			t.Errorf("a kind is called %s", c.Name)
		}
	}
	notes, err = Split(&profile.Profile{Root: &profile.Node{Name: "ROOT"}}, trace)
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "proton run --trace DIR") {
		t.Errorf("a profile that tells no launches apart: notes %q, error %v", notes, err)
	}
}

func TestSamePTX(t *testing.T) {
	text := "//\n// Generated by LLVM NVPTX Back-End\n//\n\n.version 8.7\n\t.file 1 \"k.py\"\n.visible .entry k(\n)\n{\n\t.reg .b32 \t%r<5>;\n\tmov.u32 \t%r1, %tid.x; // a comment\n\tret;\n}\n\t.section\t.debug_abbrev\n"
	inBinary := []string{"", "", "", "", ".version 8.7", "", ".visible .entry k(", ")", "{", ".reg .b32 \t%r<5>;", "mov.u32 \t%r1, %tid.x;", "ret;", "}", ".section\t.debug_abbrev"}
	if !samePTX(inBinary, text) {
		t.Error("the binary's own PTX is not known again")
	}
	for what, other := range map[string]string{
		"nothing": "", "another kernel": strings.ReplaceAll(text, "%tid", "%ctaid"), "one line more": "\n" + text,
	} {
		if samePTX(inBinary, other) {
			t.Errorf("%s is taken for it", what)
		}
	}
	if samePTX([]string{"", ""}, text) {
		t.Error("a binary without PTX is taken for any")
	}
}

func TestWithoutLocation(t *testing.T) {
	for line, want := range map[string]string{
		`    %1 = tt.load %0 : tensor<4x!tt.ptr<f32>> loc(#loc12)`:          `%1 = tt.load %0 : tensor<4x!tt.ptr<f32>>`,
		`%1 = arith.addi %a, %b : i32 loc("x"(#loc3))`:                      `%1 = arith.addi %a, %b : i32`,
		`%1 = arith.addi %a, %b : i32 loc(callsite(#loc3 at #loc4))`:        `%1 = arith.addi %a, %b : i32`,
		`  %11 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !8`: `%11 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()`,
		"\tadd.s64 \t%rd1, %rd2, %rd3; // %loc":                             "add.s64 \t%rd1, %rd2, %rd3;",
		`scf.for %i = %c0 to %n step %c1 : i32 {`:                           `scf.for %i = %c0 to %n step %c1 : i32 {`,
	} {
		if got := withoutLocation(line); got != want {
			t.Errorf("%q became %q, want %q", line, got, want)
		}
	}
}
