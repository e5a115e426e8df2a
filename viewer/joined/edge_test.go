package joined

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/source"
)

// joinOf joins or fails.
func joinOf(t *testing.T, o Options) *Join {
	t.Helper()
	j, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestPeakOfOperands: rates are held against the peak of the units that did the work. On an H200 those of ieee f32 reach a
// seventh of TF32's.
func TestPeakOfOperands(t *testing.T) {
	trace := open(t, complexTrace)
	device := profileOf(t, trace).Devices[0]
	for precision, want := range map[string]float64{ // flop/s
		"":                          256 * 132 * 1980e6,
		", inputPrecision = tf32":   1513e12 / 4 * 132 / 114 * 1980 / 1755,
		", inputPrecision = tf32x3": 1513e12 / 4 * 132 / 114 * 1980 / 1755 / 3,
		", inputPrecision = bf16x6": 1513e12 / 2 * 132 / 114 * 1980 / 1755 / 6,
	} {
		trace := open(t, complexTrace)
		for _, c := range trace.Compilations() {
			c.Texts["ttir"] = strings.NewReplacer(", inputPrecision = tf32", precision, "xf16>", "xf32>").Replace(c.Texts["ttir"])
		}
		j := joinOf(t, Options{Trace: trace, Profile: profileOf(t, trace), Kernel: "matmul"})
		w := &j.Kernels[0].Specialisations[0].Groups[0].Work
		work := &worker{profile: &profile.Profile{Devices: []profile.Device{device}}}
		roof := work.roof(w, &device)
		seconds, _ := roof.Parts()
		if got := w.Flops / seconds; w.Flops == 0 || math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%q: %g flops as %s ×%d at %g flop/s, want %g", precision, w.Flops, w.Type, w.Passes, got, want)
		}
	}
}

// A hook's flops32 are those of f32; which f32 the code says.
func TestHookAndCodeTellTheType(t *testing.T) {
	for _, c := range []struct {
		hook, code, want string
	}{
		{"tf32", "fp32", "fp32"}, {"fp16", "bf16", "bf16"}, {"fp8", "int8", "int8"},
		{"fp16", "tf32", "fp16"}, // the hook knows of another multiplication
		{"", "bf16", "bf16"}, {"fp16", "", "fp16"},
	} {
		w := Work{}
		w.computes("profile", operations{1, c.hook, 1})
		w.complete(Work{Type: c.code, Passes: 1})
		if w.Type != c.want {
			t.Errorf("a hook's %s and the code's %s are %s, want %s", c.hook, c.code, w.Type, c.want)
		}
	}
}

// TestTypedFlops: a hook's flops_bf16 count as its flops16 do, and of several types the one with most is named.
func TestTypedFlops(t *testing.T) {
	for metrics, want := range map[[2]string]string{{"flops_bf16", "flops8"}: "bf16", {"flops8", "flops_bf16"}: "fp8", {"flops_fp32", "flops"}: "fp32"} {
		n := &profile.Node{Name: "k", Launches: []profile.LaunchTimes{{Durations: profile.Durations{Count: 2, Nanos: 10}}}}
		n.Set(countMetric, profile.IntValue(2))
		n.Set(metrics[0], profile.IntValue(3000))
		n.Set(metrics[1], profile.IntValue(1000))
		total := 2000.0
		if metrics[1] == "flops" { // the same work without its type
			total = 1500
		}
		g := &Group{}
		(&worker{}).measured(g, n, &n.Launches[0])
		if w := &g.Work; w.Flops != total || w.FlopsFrom != "profile" || w.Type != want {
			t.Errorf("%q: %g flops of %s by the %s, want %g of %s", metrics, w.Flops, w.Type, w.FlopsFrom, total, want)
		}
	}
}

// TestOneRoof: a kernel with flops8 and flops16 has one share of the roof, in the tree and in the join with the trace, and it is that of
// the textbook: each type at its own peak, one after the other.
func TestOneRoof(t *testing.T) {
	device := profile.Device{Type: "CUDA", ID: "0", Arch: "90", NumSMs: 132, ClockRate: 1_980_000, MemoryClockRate: 3_201_000, BusWidth: 6016}
	for _, c := range []struct{ flops8, flops16, bytes int64 }{{9e12, 3e12, 1e9}, {3e12, 9e12, 0}, {1e9, 2e9, 4e10}, {0, 5e12, 0}} {
		const nanos = 50_000_000
		n := &profile.Node{Name: "k", Launches: []profile.LaunchTimes{{Durations: profile.Durations{Count: 1, Nanos: nanos}}}}
		for name, v := range map[string]int64{countMetric: 1, timeMetric: nanos, "flops8": c.flops8, "flops16": c.flops16, "bytes": c.bytes} {
			n.Set(name, profile.IntValue(v))
		}
		n.Set("device_id", profile.StringValue("0"))
		n.Set("device_type", profile.StringValue("CUDA"))
		p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{n}}, Devices: []profile.Device{device},
			Kinds: profile.Kinds{}, Launches: []profile.LaunchKind{{Kernel: "k"}}}

		table, err := viewer.NewTable(p, viewer.Options{Metrics: []string{"util", "bound"}})
		if err != nil {
			t.Fatal(err)
		}
		row := table.Root.Children[0]
		w, g := &worker{profile: p}, &Group{Times: profile.Durations{Count: 1, Nanos: nanos}}
		w.measured(g, n, &n.Launches[0])
		w.finish(g)

		const fp8 = 132.0 / 114 * 1980 / 1755 * 1513e12
		compute, memory := float64(c.flops8)/fp8+float64(c.flops16)/(fp8/2), float64(c.bytes)/(2*6016*3.201e9/8)
		want, bound := max(compute, memory)/(nanos/1e9), "compute"
		if memory > compute {
			bound = "memory"
		}
		for from, got := range map[string]float64{"tree": row.Values[0], "trace": g.Work.Roof} {
			if math.Abs(got/want-1) > 1e-9 {
				t.Errorf("%+v: %g of the roof by the %s, want %g", c, got, from, want)
			}
		}
		if table.Text(row, 1) != bound || g.Work.Bound != bound {
			t.Errorf("%+v: bound by %s and %s, want %s", c, table.Text(row, 1), g.Work.Bound, bound)
		}
	}
}

// Without a peak there is no share, and it is said why.
func TestUnknownGPU(t *testing.T) {
	trace := complexOne(t)
	p := profileOf(t, trace)
	p.Devices[0].Arch = "999"
	text := printed(t, Options{Trace: trace, Profile: p, Kernel: "matmul"}, source.Listing{})
	if !strings.Contains(text, "no share of the roof: no peak figures for CUDA architecture sm_999") {
		t.Errorf("the roof is missing without a word:\n%s", text)
	}
}

// Times of zero divide nothing.
func TestNoTime(t *testing.T) {
	trace := complexOne(t)
	p := profileOf(t, trace)
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		n.Set(timeMetric, profile.IntValue(0))
		for i := range n.Launches {
			n.Launches[i].Durations = profile.Durations{Count: n.Launches[i].Count}
		}
		return true
	})
	text := printed(t, Options{Trace: trace, Profile: p, Kernel: "matmul"}, source.Listing{})
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Errorf("numbers that are none:\n%s", text[:min(len(text), 1500)])
	}
	var out bytes.Buffer
	if err := joinOf(t, Options{Trace: trace, Profile: p, Kernel: "matmul"}).PrintJSON(&out, source.Listing{Files: source.NoFiles()}); err != nil || !json.Valid(out.Bytes()) {
		t.Errorf("the document: %v", err)
	}
}

// TestLaunchesBeforeTheTrace: what a kernel ran before its launches were traced is part of its time, in a row of its own.
func TestLaunchesBeforeTheTrace(t *testing.T) {
	trace := complexOne(t)
	p := profileOf(t, trace)
	node := p.Root.Child("matmul_kernel")
	traced := amount(node, countMetric)
	node.Set(timeMetric, profile.IntValue(int64(amount(node, timeMetric)+9000)))
	node.Set(countMetric, profile.IntValue(int64(traced+3)))
	o := Options{Trace: trace, Profile: p, Kernel: "matmul"}
	j := joinOf(t, o)
	k := j.Kernels[0]
	if left := k.Unattributed(); k.Times.Count != traced+3 || left.Count != 3 || left.Nanos != 9000 {
		t.Errorf("%d launches, %d in %d ns of them unattributed; want %d, 3 in 9000", k.Times.Count, left.Count, left.Nanos, traced+3)
	}
	if text := printed(t, o, source.Listing{}); !strings.Contains(text, "unattributed (launched before tracing") {
		t.Errorf("the table does not add up:\n%s", text[:1500])
	}
	var out bytes.Buffer
	var doc jsonDocument
	if err := j.PrintJSON(&out, source.Listing{Files: source.NoFiles()}); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil || doc.Kernels[0].Unattributed == nil || doc.Kernels[0].Unattributed.Launches != 3 {
		t.Errorf("the document has %+v, %v", doc.Kernels[0].Unattributed, err)
	}
}

// A profile that calls launches otherwise has no times for the trace's, and it is said why.
func TestLaunchesNamedByHooks(t *testing.T) {
	trace := complexOne(t)
	p := profileOf(t, trace)
	for _, n := range p.Root.Children {
		n.Name, n.Launches = "step of "+n.Name, nil
	}
	p.Launches = nil
	text := printed(t, Options{Trace: trace, Profile: p, Kernel: "matmul"}, source.Listing{})
	if !strings.Contains(text, "the profile has no frame of matmul_kernel: hooks gave its launches other names") {
		t.Errorf("times are missing without a word:\n%s", text)
	}
}

// TestSerialized: kernels that were made to run alone have other times than the program's.
func TestSerialized(t *testing.T) {
	p, trace, samples := record(t, "matmul")
	o := Options{Trace: trace, Profile: p, Samples: samples, Kernel: "matmul"}
	const note = "kernels ran one at a time"
	if text := strings.Join(joinOf(t, o).Notes, "\n"); strings.Contains(text, note) {
		t.Errorf("a continuous profile: %s", text)
	}
	p.Sampling.Mode = "serialized"
	if text := strings.Join(joinOf(t, o).Notes, "\n"); !strings.Contains(text, note) {
		t.Errorf("a serialized profile: %s", text)
	}
}

// TestUncountedWork: a loop whose end nobody knows makes rates a lower bound, and it is said.
func TestUncountedWork(t *testing.T) {
	trace := open(t, complexTrace)
	for _, c := range trace.Compilations() {
		c.Texts["ttir"] = strings.ReplaceAll(c.Texts["ttir"], "scf.for %arg9 = %c0_i32 to %", "scf.for %arg9 = %c0_i32 to %unknown")
	}
	text := strings.Join(joinOf(t, Options{Trace: trace, Profile: profileOf(t, trace), Kernel: "matmul"}).Notes, "\n")
	if !strings.Contains(text, "rates of matmul_kernel are less sure: in its TTIR, line ") || strings.Contains(text, tritonparse.NoteMasked) {
		t.Errorf("notes:\n%s", text)
	}
}

// TestBinariesBesideTheProfile: a trace of tritonparse's, whose binaries are gone, is joined by those that the profile kept,
// also after the table was made.
func TestBinariesBesideTheProfile(t *testing.T) {
	p, trace, samples := record(t, "matmul_kernel")
	for _, c := range trace.Compilations() {
		c.Extra, c.Paths = nil, nil
	}
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "run.cubins"), os.DirFS(filepath.Join(recorded, "traces", "cubins"))); err != nil {
		t.Fatal(err)
	}
	modules := &source.Modules{Profile: filepath.Join(folder, "run.hatchet"), Env: noTools}
	text := printed(t, Options{Profile: p, Trace: trace, Samples: samples, Kernel: "matmul_kernel"}, source.Listing{Modules: modules})
	if !strings.Contains(text, "of the trace, known by its PTX") {
		t.Errorf("the samples found no compilation:\n%s", text[:2500])
	}
	if !strings.Contains(text, "         62   16384  ") {
		t.Errorf("the specialisation has not the registers of its samples:\n%s", text[:1200])
	}
}

// TestSameBinary: variants that differ in nothing the GPU sees are one binary, and their samples are nobody's alone.
func TestSameBinary(t *testing.T) {
	p, trace, samples := record(t, "matmul_kernel")
	var all []*tritonparse.Compilation
	for _, c := range trace.Compilations() {
		if c.Name == "matmul_kernel" {
			all = append(all, c)
		}
	}
	image := samples.Kernels[0].Function.Module
	for _, c := range all {
		c.Extra.Image = image
	}
	text := printed(t, Options{Profile: p, Trace: trace, Samples: samples, Kernel: "matmul_kernel"}, source.Listing{Modules: &source.Modules{Env: noTools}})
	if want := "known by its binary, which it shares with " + short(all[1].Hash) + " BLOCK_M="; !strings.Contains(text, want) {
		t.Errorf("there is no %q:\n%s", want, text[:2500])
	}
}

// TestFilesOfOneName: a line is found by a file's last name only where that is one file's.
func TestFilesOfOneName(t *testing.T) {
	j := &Join{code: newCode(Options{})}
	k := source.Bare("k").Kernels[0]
	l := &listing{lines: map[place][]source.IRLine{
		{"/a/ops.py", 3}: {{Stage: "ttir", Number: "1"}}, {"/b/ops.py", 3}: {{Stage: "ttir", Number: "2"}}, {"/b/ops.py", 4}: {{Stage: "ttir", Number: "3"}},
	}}
	l.nameBases()
	j.code.listings[k] = l
	for line, want := range map[int]int{3: 0, 4: 1} {
		if got := (ir{j}).Lines(k, "/moved/ops.py", line); len(got) != want {
			t.Errorf("line %d of a file that is neither has %d lines of IR, want %d", line, len(got), want)
		}
	}
	if got := (ir{j}).Lines(k, "/a/ops.py", 3); len(got) != 1 || got[0].Number != "1" {
		t.Errorf("line 3 of its own file: %+v", got)
	}
}

// TestNarrowTable: names come first on a narrow terminal, since rows without one mean nothing; figures go, the least telling ones
// first, and are named.
func TestNarrowTable(t *testing.T) {
	p, trace, samples := record(t, "matmul_kernel")
	for width, want := range map[int][]string{
		0:   {"launches  total ms  share  avg us  min us  max us   GB/s  TFLOP/s           roof  registers  shared  spec"},
		120: {"launches  total ms  share  avg us   GB/s  TFLOP/s           roof  shared  spec", "M=4096 N=4096 K=1024 grid=64×64\n", "no room for min us"},
		80:  {"launches  share  avg us           roof  specialisation, arguments\n", "M=4096 N=4096 K=1024 grid=64×64\n", "BLOCK_M=128 BLOCK_N=128"},
		40:  {"avg us  specialisation, arguments\n"},
	} {
		text := printed(t, Options{Profile: p, Trace: trace, Samples: samples, Kernel: "matmul_kernel"}, source.Listing{Terminal: viewer.Terminal{Width: width}, Modules: &source.Modules{Env: noTools}})
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
	if k := trace.Compilations()[0]; k.Cubin() == "" || k.Texts[sass] == "" {
		t.Fatal("the sample has no binary or no listing")
	}
	text := printed(t, Options{Trace: trace}, source.Listing{Modules: &source.Modules{Env: noTools}, IRStages: []string{"sass"}})
	if !strings.Contains(text, "sass 0000  LDC R1, c[0x0][0x28]") {
		t.Errorf("instructions have no operands:\n%s", text[:min(len(text), 1500)])
	}
}

// TestManySpecialisations: what an autotuner tried does not fill the screen; the rest is one row, and sums stay whole.
func TestManySpecialisations(t *testing.T) {
	k := &Kernel{Name: "k"}
	for i := range 30 {
		d := profile.Durations{Count: 2, Nanos: uint64(1000 - i), Least: 400, Most: 600}
		k.Specialisations = append(k.Specialisations, &Specialisation{Hash: fmt.Sprintf("%08d", i), Shared: -1, Times: d, Groups: []*Group{{Label: "n=1", Times: d}}})
		k.Times.Add(&d)
	}
	for all, want := range map[bool]int{false: 2*mostSpecialisations + 1, true: 60} {
		table := newTable(&Join{}, k, all)
		var launches, nanos uint64
		for _, r := range table.rows {
			if !strings.HasPrefix(r.name, " ") {
				launches, nanos = launches+r.times.Count, nanos+r.times.Nanos
			}
		}
		if len(table.rows) != want || launches != k.Times.Count || nanos != k.Times.Nanos {
			t.Errorf("--all %t: %d rows with %d launches in %d ns, want %d with %d in %d", all, len(table.rows), launches, nanos, want, k.Times.Count, k.Times.Nanos)
		}
	}
	lines := newTable(&Join{}, k, false).lines(0)
	if last := lines[len(lines)-1].Name; last != "20 more specialisations; --all shows them" {
		t.Errorf("the last row is %q", last)
	}
}

// TestFramesWithMetadataInTheirNames: a hook named the launches; the profile does not tell them apart, and their times are still
// the kernel's.
func TestFramesWithMetadataInTheirNames(t *testing.T) {
	trace := complexOne(t)
	p := profileOf(t, trace)
	p.Launches = nil
	for _, n := range p.Root.Children {
		n.Name, n.Launches = n.Name+"_<grid:4x1x1>_<warps:2>", nil
	}
	j := joinOf(t, Options{Trace: trace, Profile: p, Kernel: "matmul"})
	if k := j.Kernels[0]; k.Times.Count == 0 || k.Times.Nanos == 0 {
		t.Errorf("%s has no times: %+v", k.Name, k.Times)
	}
}
