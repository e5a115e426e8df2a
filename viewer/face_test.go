package viewer

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
)

// faces are pictures of the views that people read, named VIEW.WHAT.txt.
var faces = []struct {
	view, name, profile string
	o                   Options
	terminal            Terminal
}{
	{"tree", "scope", "scope", Options{}, Terminal{}},
	{"tree", "scope.many", "scope", Options{Metrics: []string{"util", "time", "flop32/s", "byte/s", "bytes", "count", "tokens", "cpu_time/ms"}}, Terminal{}},
	{"tree", "matmul36.roofline", "matmul_triton36", Options{Metrics: []string{"time", "util", "flop16/s", "attainable", "intensity", "bound"}}, Terminal{}},
	{"tree", "matmul36.sorted.depth2", "matmul_triton36", Options{Metrics: []string{"time/%", "avg_time"}, Sort: "time", Depth: 2}, Terminal{}},
	{"tree", "matmul36.threshold", "matmul_triton36", Options{Metrics: []string{"time/ms"}, Threshold: 150}, Terminal{}},
	{"tree", "matmul36.include", "matmul_triton36", Options{Metrics: []string{"time", "flop/s"}, Include: "cublas"}, Terminal{}},
	{"tree", "python", "python", Options{Metrics: []string{"time", "count"}}, Terminal{}},
	{"tree", "python.full", "python", Options{Names: FullName}, Terminal{}},
	{"tree", "python.focus.function_line", "python", Options{Focus: "forward", Names: FunctionLine}, Terminal{}},
	{"tree", "python.hide.trim", "python", Options{Hide: "runpy|_wrapped", Trim: "step"}, Terminal{}},
	{"tree", "python.ascii.width60", "python", Options{}, Terminal{ASCII: true, Width: 60}},
	{"tree", "python.color.width100", "python", Options{Metrics: []string{"time", "count"}}, Terminal{Color: true, Width: 100}},
	{"tree", "graph", "graph", Options{Metrics: []string{"count", "time"}}, Terminal{}},
	{"tree", "names.width50", "names", Options{}, Terminal{Width: 50}},
	{"tree", "odd", "odd", Options{Metrics: []string{"time", "bytes", "util"}}, Terminal{}},
	{"tree", "only_bytes", "only_bytes", Options{Metrics: []string{"util", "bound"}}, Terminal{}},
	{"tree", "only_flops", "only_flops", Options{Metrics: []string{"util", "bound"}}, Terminal{}},
	{"tree", "unknown_part", "unknown_part", Options{Metrics: []string{"util", "flop16/s"}}, Terminal{}},
	{"tree", "unknown_part.peak", "unknown_part", Options{Metrics: []string{"util/%", "bound"}, Peaks: []string{"flops16=1P", "bytes=8T"}}, Terminal{}},
	{"tree", "vector", "vector", Options{Metrics: []string{"time", "bins", "weights", "label"}}, Terminal{}},
	{"tree", "cpu_only", "cpu_only", Options{}, Terminal{}},
	{"flat", "layers", "layers_main", Options{Metrics: []string{"time", "count", "byte/s"}}, Terminal{}},
	{"flat", "python", "python", Options{}, Terminal{}},
	{"top", "matmul36", "matmul_triton36", Options{Metrics: []string{"time", "util", "bound"}, Top: 3}, Terminal{}},
	{"bottom-up", "layers", "layers_main", Options{Metrics: []string{"time", "count"}}, Terminal{}},
	{"table", "layers", "layers_main", Options{Metrics: []string{"time", "count", "util", "bound"}}, Terminal{}},
	{"table", "names.ascii", "names", Options{Metrics: []string{"time", "device_id"}}, Terminal{ASCII: true}},
}

func TestGoldenFaces(t *testing.T) {
	for _, f := range faces {
		t.Run(f.view+"."+f.name, func(t *testing.T) {
			testkit.Golden(t, "testdata/"+f.view+"."+f.name+".txt", face(t, load(t, f.profile), f.view, f.o, f.terminal))
		})
	}
}

func face(t *testing.T, p *profile.Profile, view string, o Options, terminal Terminal) string {
	t.Helper()
	var out bytes.Buffer
	notes, err := Render(&out, p, view, o, terminal)
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range notes {
		out.WriteString("note: " + note + "\n")
	}
	return out.String()
}

// model is a profile of a training run: two steps, many layers, a long tail of small kernels.
func model() *profile.Profile {
	var b strings.Builder
	for step := range 2 {
		fmt.Fprintf(&b, "step_%d\n", step)
		for layer := range 60 {
			fmt.Fprintf(&b, "  layer_%02d\n", layer)
			fmt.Fprintf(&b, "    attention time=%d count=1\n    mlp time=%d count=2\n    norm time=12 count=2\n", 4000-60*layer, 9000-150*layer)
		}
		fmt.Fprintf(&b, "  optimizer\n")
		for k := range 200 {
			fmt.Fprintf(&b, "    adam_%03d time=%d count=1\n", k, 100+k%7)
		}
	}
	return tree(b.String())
}

func TestGoldenLongTail(t *testing.T) {
	testkit.Golden(t, "testdata/tree.model.txt", face(t, model(), "tree", Options{}, Terminal{}))
	testkit.Golden(t, "testdata/flat.model.txt", face(t, model(), "flat", Options{}, Terminal{Width: 60}))
	testkit.Golden(t, "testdata/bottom-up.model.txt", face(t, model(), "bottom-up", Options{}, Terminal{ASCII: true}))
	if all := face(t, model(), "tree", Options{}, Terminal{All: true}); strings.Contains(all, "…") || strings.Count(all, "adam_") != 400 {
		t.Errorf("--all leaves rows out:\n%s", all)
	}
	if some := face(t, model(), "tree", Options{Threshold: 0.01, Metrics: []string{"time/us"}}, Terminal{}); strings.Contains(some, "--all") || strings.Count(some, "adam_") != 400 {
		t.Errorf("a threshold does not replace the rule for the long tail:\n%s", some)
	}
}

// timed gives every leaf a distribution of kernel times: as many kernels as it counts, around its mean.
func timed(p *profile.Profile) *profile.Profile {
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		total, count := n.Number("time (ns)"), n.Number("count")
		if len(n.Children) > 0 || !(count > 0) {
			return true
		}
		n.Times = &profile.Sketch{}
		for i := range int(count) {
			n.Times.Add(uint64(total/count) + uint64(i))
		}
		return true
	})
	return p
}

func TestGoldenStatistics(t *testing.T) {
	testkit.Golden(t, "testdata/tree.statistics.txt", face(t, timed(tree(network)), "tree", Options{
		Metrics: []string{"time", "count", "min_time", "median_time", "mean_time/us", "p95_time", "max_time", "stddev_time", "avg_time"}}, Terminal{}))
}

// Statistics of a subtree are those of all its kernels, whatever rows they come from.
func TestStatisticsMerge(t *testing.T) {
	p := timed(tree("a\n  x time=100 count=10\n  y time=9000 count=9\nb\n  x time=500 count=5\n"))
	var all profile.Sketch
	p.Root.Walk(func(n *profile.Node, _ int) bool { all.Merge(n.Times); return true })
	metrics := []string{"min_time/ns", "p50_time/ns", "max_time/ns", "mean_time/ns", "stddev_time/ns"}
	want := []float64{float64(all.Min), all.Quantile(0.5), float64(all.Max), all.Mean, all.StdDev()}
	for _, group := range []Grouping{ByPath, ByName, ByCaller} {
		table, err := NewTable(p, Options{Metrics: metrics, Group: group})
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			if got := table.Root.Values[i]; math.Abs(got-w) > 1e-9*w {
				t.Errorf("grouping %d: %s of the whole is %g, want %g", group, metrics[i], got, w)
			}
		}
		for r := range table.All() {
			if r.Depth == 1 && r.Name == "x" {
				if got, want := r.Values[:3], []float64{10, 17, 104}; got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
					t.Errorf("grouping %d: min, median and max of x are %v, want %v", group, got, want)
				}
			}
		}
	}
	if s := p.Root.Children[0].Children[0].Times; s.Count != 10 {
		t.Errorf("the profile's own sketch was changed: it has %d values now", s.Count)
	}
}

func TestRooflineRollsUp(t *testing.T) {
	p := tree(`
step
  gemm time=1000 count=1 flops16=8e8 bytes=1e6 device_id='0' device_type=CUDA
  copy time=1000 count=1 bytes=2.4e6 device_id='0' device_type=CUDA
  silent time=2000 count=1 device_id='0' device_type=CUDA
scope flops16=4e8
  library time=1000 count=1 device_id='0' device_type=CUDA`)
	o := Options{Metrics: []string{"util", "bound", "intensity", "attainable", "roof_time/ns", "flop/s"}, BaseUnits: true, Peaks: []string{"flops16=1P", "bytes=4T"}}
	table, err := NewTable(p, o)
	if err != nil {
		t.Fatal(err)
	}
	// gemm: 800 ns of arithmetic against 250 of memory; copy: 600 ns of memory; scope: 400 ns on the library's device. What
	// silent does is not known, so its time is in no util.
	want := `ROOT util=0.6 bound=compute intensity=352.9flop/B attainable=6.667e+14flop/s roof_time=1800ns flop/s=2.4e+14flop/s
 step util=0.7 bound=memory intensity=235.3flop/B attainable=5.714e+14flop/s roof_time=1400ns flop/s=2e+14flop/s
  gemm util=0.8 bound=compute intensity=800flop/B attainable=1e+15flop/s roof_time=800ns flop/s=8e+14flop/s
  copy util=0.6 bound=memory intensity=NaNflop/B attainable=NaNflop/s roof_time=600ns flop/s=NaNflop/s
  silent util=NaN bound= intensity=NaNflop/B attainable=NaNflop/s roof_time=NaNns flop/s=NaNflop/s
 scope util=0.4 bound=compute intensity=NaNflop/B attainable=1e+15flop/s roof_time=400ns(own 400) flop/s=4e+14flop/s
  library util=0.4 bound=compute intensity=NaNflop/B attainable=1e+15flop/s roof_time=400ns flop/s=4e+14flop/s
`
	got := strings.ReplaceAll(sketch(table), "(own 400)", "")
	if got != strings.ReplaceAll(want, "(own 400)", "") {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A frame that says both, its flops and its flops16, means the same work.
func TestFlopsAreCountedOnce(t *testing.T) {
	p := tree("both time=10 flops=50 flops16=50 flops_fp8=0\ntyped time=10 flops16=30 flops_fp8=10\nplain time=10 flops=70\n")
	table, err := NewTable(p, Options{Metrics: []string{"flop/s", "flop16/s", "flop8/s", "util"}, BaseUnits: true, Peaks: []string{"flops16=10G", "fp8=20G"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `ROOT flop/s=5.333e+09flop/s flop16/s=2.667e+09flop/s flop8/s=3.333e+08flop/s util=0.425
 both flop/s=5e+09flop/s flop16/s=5e+09flop/s flop8/s=0flop/s util=0.5
 typed flop/s=4e+09flop/s flop16/s=3e+09flop/s flop8/s=1e+09flop/s util=0.35
 plain flop/s=7e+09flop/s flop16/s=NaNflop/s flop8/s=NaNflop/s util=NaN
`
	if got := sketch(table); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestPeakOverrides(t *testing.T) {
	util := func(peaks ...string) float64 {
		table, err := NewTable(load(t, "scope"), Options{Metrics: []string{"util"}, Peaks: peaks})
		if err != nil {
			t.Fatal(err)
		}
		return table.Root.Children[0].Children[0].Values[0]
	}
	memory, slow := util(), util("flops32=1G")
	if math.Abs(memory-49152/4.8144e12/864e-9) > 1e-4 || math.Abs(slow-4096/1e9/864e-9) > 1e-6 {
		t.Errorf("util %g, and %g at 1 Gflop/s", memory, slow)
	}
	// 4096 flops on vector units at 66.9 Tflop/s are still less than the memory's time; at a tenth of the memory it shows.
	if vector, tensor := util("flops32=fp32", "bytes=1e18"), util("bytes=1e18"); vector < 7*tensor {
		t.Errorf("util with fp32 on vector units is %g, with tf32 on tensor cores %g; peaks are 7.4 apart", vector, tensor)
	}
	for _, bad := range []string{"flops16", "flops16=", "flops16=fast", "flops16=-1T", "bytes=fp32", "speed=3T", "flops16=T", "=", "bytes=NaN", "bytes=1e400"} {
		if _, err := NewTable(load(t, "scope"), Options{Metrics: []string{"util"}, Peaks: []string{bad}}); err == nil || !strings.Contains(err.Error(), "--peak "+bad) {
			t.Errorf("--peak %s: error %v", bad, err)
		}
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	tests := []struct {
		profile string
		o       Options
		want    string
	}{
		{"scope", Options{Metrics: []string{"nope"}}, "there is no metric nope in this profile: recorded are bytes, count, flops32, time"},
		{"scope", Options{Metrics: []string{"tme"}}, "did you mean time?"},
		{"scope", Options{Metrics: []string{"tmie"}}, "did you mean time?"},
		{"scope", Options{Metrics: []string{"tokn"}}, "did you mean tokens?"},
		{"scope", Options{Metrics: []string{"flop16/s"}}, "the profile has no flops16, it has flops32; flop/s takes all of them"},
		{"scope", Options{Metrics: []string{"time/h"}}, "time/h: unknown unit; use ns, us, ms, s"},
		{"scope", Options{Metrics: []string{"cpu_time/h"}}, "cpu_time/h: unknown unit; use ns, us, ms, s"},
		{"scope", Options{Metrics: []string{"idle/ms"}}, "there is no metric idle in this profile; run the program with --idle"},
		{"scope", Options{Metrics: []string{"bytes/kib"}}, "unknown unit; use b, kb, mb, gb, tb, pb"},
		{"scope", Options{Metrics: []string{"util/ms"}}, "util/ms: unknown unit; use %"},
		{"scope", Options{Metrics: []string{"bound/ms"}}, "bound has no unit"},
		{"scope", Options{Metrics: []string{"avg_time/%"}}, "a share needs an amount that adds up"},
		{"scope", Options{Metrics: []string{"p95_time"}}, "holds sums of kernel times and not their distribution"},
		{"scope", Options{Include: "("}, "read --include"},
		{"scope", Options{Exclude: `(?=x)`}, "no look-around"},
		{"scope", Options{Include: "nothing"}, "no frame is left after --include nothing"},
		{"scope", Options{Exclude: "ROOT"}, "no frame is left after --exclude ROOT"},
		{"scope", Options{Focus: "nothing", Exclude: "x"}, "no frame is left after --exclude x --focus nothing"},
		{"scope", Options{Threshold: 1e9}, "no frame is left after --threshold 1e+09; the largest has 2624 ns"},
		{"scope", Options{Names: "long"}, "use short, full, mangled"},
		{"scope", Options{Sort: "util"}, "add it to -m"},
		{"cpu_only", Options{Metrics: []string{"util"}}, "neither flops nor bytes; for operators of PyTorch profile with --torch=modules,flops"},
		{"cpu_only", Options{Metrics: []string{"gbyte/s"}}, "the profile has no bytes"},
		{"cpu_only", Options{Metrics: []string{"avg_cpu_time/ms"}}, "there is no metric count"},
		{"only_flops", Options{Metrics: []string{"intensity"}}, "needs both flops and bytes"},
		{"no_metrics", Options{}, "no metrics found"},
	}
	for _, test := range tests {
		_, err := NewTable(load(t, test.profile), test.o)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %+v:\nerror %v\nwant …%s…", test.profile, test.o, err, test.want)
		}
	}
	if _, err := Render(nil, load(t, "scope"), "pie", Options{}, Terminal{}); err == nil || !strings.Contains(err.Error(), "there are tree, flat, top") {
		t.Errorf("view pie: %v", err)
	}
	if _, err := Render(nil, load(t, "scope"), "source", Options{}, Terminal{}); err == nil || !strings.Contains(err.Error(), "proton viewer --source") {
		t.Errorf("view source: %v", err)
	}
}

func TestUnitsFitAndExactNamesGiveTheSameColumn(t *testing.T) {
	for _, test := range []struct{ metric, unit, exact string }{
		{"time", "us", "time/us"}, {"flop/s", "Gflop/s", "gflop/s"}, {"byte/s", "MB/s", "mbyte/s"}, {"bytes", "MB", "bytes/mb"}, {"Time/S", "s", "time/s"},
		{"count", "", "count"}, {"time (ns)", "ns", "time (ns)"}, {"avg_time", "us", "avg_time/us"},
	} {
		p := tree("a time=5e6 count=2 bytes=3e7 flops16=3e9\nb time=1e6 count=2")
		p.Root.Children[0].Children = []*profile.Node{{Name: "long", Metrics: []profile.Metric{{Name: "time (ns)", Value: profile.IntValue(3e6)}, {Name: "count", Value: profile.IntValue(1)}}}}
		first, err := NewTable(p, Options{Metrics: []string{test.metric}})
		if err != nil {
			t.Fatal(err)
		}
		if c := first.Columns[0]; c.Unit != test.unit || c.Exact != test.exact {
			t.Errorf("%s comes in %q, exactly %q; want %q, %q", test.metric, c.Unit, c.Exact, test.unit, test.exact)
		}
		again, err := NewTable(p, Options{Metrics: []string{first.Columns[0].Exact}})
		if err != nil || again.Root.Values[0] != first.Root.Values[0] || again.Columns[0].Exact != first.Columns[0].Exact {
			t.Errorf("%s is %g, asked for as %s it is %g: %v", test.metric, first.Root.Values[0], first.Columns[0].Exact, again.Root.Values[0], err)
		}
	}
}

func TestNamesAreShort(t *testing.T) {
	tests := map[NameFormat]map[string]string{
		"": {
			"/a/b/c.py:12@f":                "c.py:12@f",
			"aten::add":                     "aten::add",
			"step (warm)":                   "step (warm)",
			"matmul_<grid:1x1x1>_<warps:8>": "matmul_<grid:1x1x1>_<warps:8>",
			"<captured_at>":                 "<captured_at>",
			"_Z3addPfS_":                    "add",
			"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_":                                                          "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, array<char*, 3>>",
			"_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_15sin_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE0_clEvENKUlvE0_clEvEUlfE_St5arrayIPcLm2EEEEviT0_T1_": "vectorized_elementwise_kernel<4, sin_kernel_cuda::{lambda#1}, array<char*, 2>>",
			"void (anonymous namespace)::softmax<float, 8, false>(float*, int)":                                                                                             "softmax<float, 8, false>",
			"void foo<bar<baz>::operator()(int) const::{lambda(int)#2}>(int)":                                                                                               "foo<bar<baz>::{lambda#2}>",
			"_Zinvalid":    "_Zinvalid",
			"a\x1b[2Jb\nc": `a\x1b[2Jb\nc`,
			"größe/日本:x@y": "größe/日本:x@y",
		},
		FullName:         {"/a/b/c.py:12@f": "/a/b/c.py:12@f", "_Z3addPfS_": "add(float*, float*)"},
		MangledName:      {"_Z3addPfS_": "_Z3addPfS_", "/a/c.py:1@f": "/a/c.py:1@f"},
		FileFunctionLine: {"/a/b/c.py:12@f": "c.py:12@f", "kernel": "kernel"},
		FunctionLine:     {"/a/b/c.py:12@f": "12@f", "a/b:c": "a/b:c"},
		FileFunction:     {"/a/b/c.py:12@f": "c.py@f", "kernel": "kernel"},
	}
	for format, names := range tests {
		n, err := newNamer(format)
		if err != nil {
			t.Fatal(err)
		}
		for in, want := range names {
			if got := n.label(in); got != want {
				t.Errorf("%s of %q is %q, want %q", format, in, got, want)
			}
		}
	}
}

func TestProfileIsLeftAlone(t *testing.T) {
	p := load(t, "layers_main")
	var before, after bytes.Buffer
	if err := hatchet.Write(&before, p); err != nil {
		t.Fatal(err)
	}
	for _, v := range Views() {
		if _, err := Render(&bytes.Buffer{}, p, v.Name, Options{Metrics: []string{"time", "util"}, Hide: "layer", Trim: "forward"}, Terminal{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := hatchet.Write(&after, p); err != nil {
		t.Fatal(err)
	}
	if before.String() != after.String() {
		t.Error("printing a profile changed it")
	}
}

// A call path as deep as the readers accept, and a frame with as many children as a hostile file may have.
func TestExtremeShapes(t *testing.T) {
	root := &profile.Node{Name: "ROOT"}
	n := root
	for i := range 10_000 {
		c := &profile.Node{Name: fmt.Sprint("f", i%3)}
		n.Children = []*profile.Node{c}
		n = c
	}
	n.Set("time (ns)", profile.IntValue(5))
	wide := &profile.Node{Name: "ROOT"}
	for i := range 100_000 {
		c := &profile.Node{Name: fmt.Sprint("k", i)}
		c.Set("time (ns)", profile.FloatValue([]float64{1, -1, math.NaN(), math.Inf(1)}[i%4]))
		wide.Children = append(wide.Children, c)
	}
	for _, p := range []*profile.Profile{{Root: root}, {Root: wide}, {Root: &profile.Node{Name: "ROOT", Times: &profile.Sketch{}, Metrics: []profile.Metric{{Name: "count"}}}}} {
		for _, v := range []string{"tree", "flat", "top", "bottom-up"} {
			var out bytes.Buffer
			if _, err := Render(&out, p, v, Options{}, Terminal{Width: 80}); err != nil {
				t.Errorf("%s: %v", v, err)
			}
			if strings.Contains(out.String(), "NaN") || strings.Contains(out.String(), "Inf") {
				t.Errorf("%s prints what is not a number:\n%.300s", v, out.String())
			}
		}
	}
}

// TestEndingOfAName: where there is no room, a module shows what its path adds to that of its caller, and other names their beginning.
func TestEndingOfAName(t *testing.T) {
	p := tree("DistributedDataParallel\n  DistributedDataParallel.module.encoder\n    DistributedDataParallel.module.encoder.layers.0 time=3\n" +
		"    DistributedDataParallel.module.encoder_of_images time=1\n")
	for width, want := range map[int][]string{
		45: {"DistributedDataPar…", "….module.encoder", "….layers.0", "DistributedDataP…"},
		0: {"DistributedDataParallel", "DistributedDataParallel.module.encoder", "DistributedDataParallel.module.encoder.layers.0",
			"DistributedDataParallel.module.encoder_of_images"},
	} {
		lines := strings.Split(face(t, p, "tree", Options{}, Terminal{Width: width}), "\n")
		var got []string
		for _, line := range lines[3 : len(lines)-1] {
			got = append(got, line[strings.LastIndexByte(line, ' ')+1:])
		}
		if !slices.Equal(got, want) {
			t.Errorf("width %d: got %q, want %q", width, got, want)
		}
	}
}

// TestFramesOfSamplesAreNamed: frames that have instruction samples only are counted, with the option that shows them.
func TestFramesOfSamplesAreNamed(t *testing.T) {
	for _, sampling := range []*profile.Sampling{nil, {}} {
		p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive, profile.SamplesMetric: profile.Inclusive}, Sampling: sampling}
		kernel, line := &profile.Node{Name: "k"}, &profile.Node{Name: "k.py:3"}
		kernel.Set("time (ns)", profile.IntValue(5))
		line.Set(profile.SamplesMetric, profile.IntValue(7))
		kernel.Children = append(kernel.Children, line)
		p.Root.Children = append(p.Root.Children, kernel)
		var out strings.Builder
		if _, err := Render(&out, p, "tree", Options{}, Terminal{}); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); !strings.Contains(text, "1 frame has other metrics only") || strings.Contains(text, "--source shows instruction samples") != (sampling != nil) {
			t.Error(text)
		}
	}
}
