package listing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/kernels"
)

// complexTrace is tritonparse's own example: three configurations of an autotuned matmul and two of another kernel.
const complexTrace = "../../tritonparse/testdata/dedicated_log_triton_trace_complex_.ndjson.gz"

func open(t *testing.T, path string) *tritonparse.Trace {
	t.Helper()
	trace, err := tritonparse.Open(path, tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// measured is a profile with the times of the launches of complexTrace.
func measured(t testing.TB) *profile.Profile { return readProfile(t, "measured.hatchet") }

func readProfile(t testing.TB, name string) *profile.Profile {
	t.Helper()
	p, err := formats.ReadFile("../kernels/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// printed is what Print prints, and its notes, with two lines of context.
func printed(t testing.TB, o kernels.Options, l Options) string {
	t.Helper()
	l.Context = 2
	return strings.ReplaceAll(string(withNotes(t, o, l)), "\n(note) ", "\nnote: ")
}

func printedJSON(t *testing.T, o kernels.Options, l Options) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := PrintJSON(&out, collect(t, o), l); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Each golden is what a person sees who has only so much.
func TestWhatThereIs(t *testing.T) {
	trace, byName := open(t, complexTrace), measured(t)
	for _, n := range byName.Root.Children {
		n.Launches = nil
	}
	byName.Launches = nil
	for name, o := range map[string]kernels.Options{
		"trace-alone":   {Trace: trace, Kernel: "fused"},
		"times":         {Trace: trace, Profile: measured(t), Kernel: "matmul"},
		"times-by-name": {Trace: trace, Profile: byName, Kernel: "matmul|fused"},
	} {
		t.Run(name, func(t *testing.T) { testkit.Golden(t, "testdata/"+name+".txt", []byte(printed(t, o, Options{}))) })
	}
}

func TestStagesThatAreAskedFor(t *testing.T) {
	testkit.Golden(t, "testdata/ptx.txt", []byte(printed(t, kernels.Options{Trace: open(t, complexTrace), Kernel: "fused"}, Options{Stages: []string{"ptx"}, Terminal: viewer.Terminal{ASCII: true, Width: 100}})))
}

func TestJSON(t *testing.T) {
	out := printedJSON(t, kernels.Options{Trace: open(t, complexTrace), Profile: measured(t), Kernel: "fused"}, Options{Stages: []string{"ttgir"}})
	if !json.Valid(out) {
		t.Error("it is not JSON")
	}
	testkit.Golden(t, "testdata/fused.json", out)
}

// TestLaunchesBeforeTheTrace: they have a row in the table, and a place in the document.
func TestLaunchesBeforeTheTrace(t *testing.T) {
	p := measured(t)
	node := p.Root.Child("matmul_kernel")
	node.Set("time (ns)", profile.IntValue(int64(tritonparse.Amount(node, "time (ns)")+9000)))
	node.Set("count", profile.IntValue(int64(tritonparse.Amount(node, "count")+3)))
	o := kernels.Options{Trace: open(t, complexTrace), Profile: p, Kernel: "matmul"}
	if text := printed(t, o, Options{}); !strings.Contains(text, "unattributed (launched before tracing") {
		t.Errorf("the table does not add up:\n%s", text[:1500])
	}
	var doc joinedDocument
	if err := json.Unmarshal(printedJSON(t, o, Options{}), &doc); err != nil || doc.Kernels[0].Unattributed == nil || doc.Kernels[0].Unattributed.Launches != 3 {
		t.Errorf("the document has %+v, %v", doc.Kernels[0].Unattributed, err)
	}
}

// Without a peak there is no share, and it is said why.
func TestUnknownGPU(t *testing.T) {
	trace, p := open(t, complexTrace), measured(t)
	p.Devices[0].Arch = "999"
	text := printed(t, kernels.Options{Trace: trace, Profile: p, Kernel: "matmul"}, Options{})
	if !strings.Contains(text, "no share of the roof: no peak figures for CUDA architecture sm_999") {
		t.Errorf("the roof is missing without a word:\n%s", text)
	}
}

// Times of zero divide nothing.
func TestNoTime(t *testing.T) {
	trace, p := open(t, complexTrace), measured(t)
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		n.Set("time (ns)", profile.IntValue(0))
		for i := range n.Launches {
			n.Launches[i].Durations = profile.Durations{Count: n.Launches[i].Count}
		}
		return true
	})
	text := printed(t, kernels.Options{Trace: trace, Profile: p, Kernel: "matmul"}, Options{})
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Errorf("numbers that are none:\n%s", text[:min(len(text), 1500)])
	}
	if out := printedJSON(t, kernels.Options{Trace: trace, Profile: p, Kernel: "matmul"}, Options{}); !json.Valid(out) {
		t.Error("the document is not JSON")
	}
}

// A profile that calls launches otherwise has no times for the trace's, and it is said why.
func TestLaunchesNamedByHooks(t *testing.T) {
	trace, p := open(t, complexTrace), measured(t)
	for _, n := range p.Root.Children {
		n.Name, n.Launches = "step of "+n.Name, nil
	}
	p.Launches = nil
	text := printed(t, kernels.Options{Trace: trace, Profile: p, Kernel: "matmul"}, Options{})
	if !strings.Contains(text, "the profile has no frame of matmul_kernel: hooks gave its launches other names") {
		t.Errorf("times are missing without a word:\n%s", text)
	}
}

// TestBinariesNextToTheProfile: a trace of tritonparse's, whose binaries are gone, is joined by those that the profile kept,
// also after the table was made.
func TestBinariesNextToTheProfile(t *testing.T) {
	p, trace := recordedRun(t)
	for _, c := range trace.Compilations() {
		c.Extra, c.Paths = nil, nil
	}
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "run.cubins"), os.DirFS(filepath.Join(recorded, "traces", "cubins"))); err != nil {
		t.Fatal(err)
	}
	modules := &kernels.Modules{Profile: filepath.Join(folder, "run.hatchet"), Env: noTools}
	text := printed(t, kernels.Options{Profile: p, Trace: trace, Kernel: "matmul_kernel", Modules: modules}, Options{})
	if !strings.Contains(text, "of the trace, known by its PTX") {
		t.Errorf("the samples found no compilation:\n%s", text[:2500])
	}
	if !strings.Contains(text, "         62   16384  ") {
		t.Errorf("the specialisation has not the registers of its samples:\n%s", text[:1200])
	}
}

// TestSameBinary: variants that differ in nothing the GPU sees are one binary, and their samples may be of either.
func TestSameBinary(t *testing.T) {
	p, trace := recordedRun(t)
	var all []*tritonparse.Compilation
	for _, c := range trace.Compilations() {
		if c.Name == "matmul_kernel" {
			all = append(all, c)
		}
	}
	image := collect(t, kernels.Options{Profile: p, Kernel: "matmul_kernel"}).Samples.Functions[0].Symbol.Module
	for _, c := range all {
		c.Extra.Image = image
	}
	text := printed(t, kernels.Options{Profile: p, Trace: trace, Kernel: "matmul_kernel", Modules: &kernels.Modules{Env: noTools}}, Options{})
	if want := "known by its binary, which it shares with " + kernels.ShortHash(all[1].Hash) + " BLOCK_M="; !strings.Contains(text, want) {
		t.Errorf("there is no %q:\n%s", want, text[:2500])
	}
}

// TestNarrowTable: names come first on a narrow terminal, since rows without one mean nothing; figures are left out, the least important ones
// first, and a note names them.
func TestNarrowTable(t *testing.T) {
	p, trace := recordedRun(t)
	for width, want := range map[int][]string{
		0:   {"launches  total ms  share  avg us  min us  max us   GB/s  TFLOP/s           roof  registers  shared  spec"},
		120: {"launches  total ms  share  avg us   GB/s  TFLOP/s           roof  shared  spec", "M=4096 N=4096 K=1024 grid=64×64\n", "no room for min us"},
		80:  {"launches  share  avg us           roof  specialisation, arguments\n", "M=4096 N=4096 K=1024 grid=64×64\n", "BLOCK_M=128 BLOCK_N=128"},
		40:  {"avg us  specialisation, arguments\n"},
	} {
		text := printed(t, kernels.Options{Profile: p, Trace: trace, Kernel: "matmul_kernel", Modules: &kernels.Modules{Env: noTools}}, Options{Terminal: viewer.Terminal{Width: width}})
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("at %d columns there is no %q:\n%s", width, w, text[:900])
			}
		}
		for _, line := range strings.Split(text, "\n")[2:9] {
			if n := runewidth.StringWidth(line); width >= 40 && n > width {
				t.Errorf("a line of the table has %d columns of %d: %s", n, width, line)
			}
		}
	}
}

// TestRecordedListing: a trace with machine code as text has the operands also where there is no disassembler.
func TestRecordedListing(t *testing.T) {
	trace := open(t, "../../testdata/traces/softmax_sass/goproton")
	if k := trace.Compilations()[0]; k.Cubin() == "" || k.Texts["sass"] == "" {
		t.Fatal("the sample has no binary or no listing")
	}
	text := printed(t, kernels.Options{Trace: trace, Modules: &kernels.Modules{Env: noTools}}, Options{Stages: []string{"sass"}})
	if !strings.Contains(text, "sass 0000  LDC R1, c[0x0][0x28]") {
		t.Errorf("instructions have no operands:\n%s", text[:min(len(text), 1500)])
	}
}

// TestManySpecialisations: what an autotuner tried does not fill the screen; the rest is one row, and sums stay whole.
func TestManySpecialisations(t *testing.T) {
	k := &kernels.Kernel{Name: "k"}
	for i := range 30 {
		d := profile.Durations{Count: 2, Nanos: uint64(1000 - i), Least: 400, Most: 600}
		k.Specialisations = append(k.Specialisations, &kernels.Specialisation{Hash: fmt.Sprintf("%08d", i), Shared: -1, Times: d, Groups: []*kernels.Group{{Label: "n=1", Times: d}}})
		k.Times.Add(&d)
	}
	for all, want := range map[bool]int{false: 2*mostSpecialisations + 1, true: 60} {
		table := newTable(&kernels.Run{}, k, all)
		var launches, nanos uint64
		for _, r := range table.rows {
			if !strings.HasPrefix(r.name, " ") {
				launches, nanos = launches+r.Times.Count, nanos+r.Times.Nanos
			}
		}
		if len(table.rows) != want || launches != k.Times.Count || nanos != k.Times.Nanos {
			t.Errorf("--all %t: %d rows with %d launches in %d ns, want %d with %d in %d", all, len(table.rows), launches, nanos, want, k.Times.Count, k.Times.Nanos)
		}
	}
	lines, _ := newTable(&kernels.Run{}, k, false).lines(0)
	if last := lines[len(lines)-1].Name; last != "20 more specialisations; --all shows them" {
		t.Errorf("the last row is %q", last)
	}
}

func TestOneLaunch(t *testing.T) {
	k := &kernels.Kernel{Traced: 1}
	if got := newView(&kernels.Run{}, nil, Options{}).summary(k); got != "1 launch in the trace; 0 specialisations; 0 kinds of launches" {
		t.Errorf("%q", got)
	}
}
