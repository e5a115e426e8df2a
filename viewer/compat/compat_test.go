package compat

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/profile/hatchet"
)

func load(t testing.TB, name string) *profile.Profile {
	t.Helper()
	p, err := formats.ReadFile(filepath.Join("../testdata/profiles", name+".hatchet"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// render prints a profile with its notes below.
func render(t testing.TB, p *profile.Profile, o Options) (string, error) {
	t.Helper()
	var out, notes bytes.Buffer
	o.Warn = func(note string) { notes.WriteString("note: " + note + "\n") }
	err := Render(&out, p, o)
	return out.String() + notes.String(), err
}

// goldens are pictures of a profile, one file each, named tree.WHAT.txt.
var goldens = []struct {
	name    string
	profile string
	o       Options
}{
	{"scope.default", "scope", Options{}},
	{"scope.util.time_us.tflop32", "scope", Options{Metrics: []string{"util", "time/us", "tflop32/s"}}},
	{"roofline.util", "roofline", Options{Metrics: []string{"util", "time/us"}}},
	{"roofline.util.sorted", "roofline", Options{Metrics: []string{"util"}, Sorted: true}},
	{"matmul36.time_ms.include_gemm.depth3", "matmul_triton36", Options{Metrics: []string{"time/ms"}, Include: ".*gemm.*", Depth: 3}},
	{"matmul36.avg_time.percent.threshold", "matmul_triton36", Options{Metrics: []string{"time/%", "avg_time/us", "tflop16/s"}, Threshold: 1}},
	{"layers.four_metrics.exclude", "layers_main", Options{Metrics: []string{"time/us", "count", "bytes", "loss"}, Exclude: "layer 0"}},
	{"graph.count.time", "graph", Options{Metrics: []string{"count", "time/us"}}},
	{"python.file_function_line", "python", Options{Metrics: []string{"time/us"}, Format: FileFunctionLine}},
	{"python.color", "python", Options{Metrics: []string{"time/us", "count"}, Format: FunctionLine, Color: true}},
	{"names.sorted", "names", Options{Metrics: []string{"time/ns"}, Sorted: true}},
	{"odd.util", "odd", Options{Metrics: []string{"time", "bytes", "util"}}},
	{"duplicates.all", "duplicates", Options{Metrics: []string{"time/us", "gbyte/s", "avg_time/us"}}},
	{"duplicates.merged", "duplicates", Options{Metrics: []string{"time/us", "gbyte/s", "avg_time/us"}, Include: "."}},
	{"only_bytes.util", "only_bytes", Options{Metrics: []string{"util"}}},
	{"only_flops.util", "only_flops", Options{Metrics: []string{"util"}}},
	{"unknown_part.util", "unknown_part", Options{Metrics: []string{"util", "tflop16/s"}}},
	{"vector.all", "vector", Options{Metrics: []string{"time", "bins", "weights", "label", "device_type"}}},
	{"vector.first.color", "vector", Options{Metrics: []string{"bins", "time"}, Sorted: true, Color: true}},
	{"cpu_only.default", "cpu_only", Options{}},
	{"cpu_only.cpu_time.sorted", "cpu_only", Options{Metrics: []string{"cpu_time/ms", "cpu_time/%"}, Sorted: true}},
}

func TestGoldenTrees(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			got, err := render(t, load(t, g.profile), g.o)
			if err != nil {
				t.Fatal(err)
			}
			testkit.Golden(t, "testdata/tree."+g.name+".txt", got)
		})
	}
}

func TestGoldenDiff(t *testing.T) {
	got, err := render(t, load(t, "after"), Options{Metrics: []string{"time/us", "count"}, Diff: load(t, "before")})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/diff.after.before.txt", got)
}

func TestGoldenList(t *testing.T) {
	for _, name := range []string{"scope", "layers_main", "vector", "cpu_only"} {
		var out bytes.Buffer
		if err := List(&out, load(t, name)); err != nil {
			t.Fatal(err)
		}
		testkit.Golden(t, "testdata/list."+name+".txt", out.String())
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		profile string
		o       Options
		want    string
	}{
		{"scope", Options{Metrics: []string{"nope"}}, "Metric nope is not found. Use the --list flag to list available metrics"},
		{"scope", Options{Metrics: []string{"tflop/s"}}, "flops32: ask for flop32/s, gflop32/s or tflop32/s"},
		{"scope", Options{Metrics: []string{"tokens/s"}}, `unsupported unit "s"`},
		{"scope", Options{Metrics: []string{"time/h"}}, `unsupported unit "h"`},
		{"scope", Options{Include: "a", Exclude: "b"}, "cannot specify both include and exclude"},
		{"scope", Options{Include: "("}, "--include"},
		{"scope", Options{Exclude: `(?=x)`}, "no look-around"},
		{"scope", Options{Include: "nothing"}, "no frame is left after --include nothing"},
		{"scope", Options{Exclude: "ROOT"}, "no frame is left after --exclude ROOT"},
		{"scope", Options{Threshold: 1e9}, "no frame is left after --threshold 1e+09"},
		{"scope", Options{Format: "short"}, "use full, file_function_line, function_line or file_function"},
		{"cpu_only", Options{Metrics: []string{"util"}}, "neither bytes nor flops8"},
		{"cpu_only", Options{Metrics: []string{"avg_cpu_time/ms"}}, "Metric count is not found"},
		{"cpu_only", Options{Metrics: []string{"gbyte/s"}}, "Metric bytes is not found"},
		{"no_metrics", Options{}, "no metrics found"},
	}
	for _, test := range tests {
		got, err := render(t, load(t, test.profile), test.o)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %+v: error %v, want …%s…", test.profile, test.o, err, test.want)
		}
		if got != "" {
			t.Errorf("%s %+v: printed %q next to the error", test.profile, test.o, got)
		}
	}
}

func TestTimeNeedsAUnit(t *testing.T) {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Metrics: []profile.Metric{{Name: "time", Value: profile.IntValue(3)}}}}
	if _, err := render(t, p, Options{Metrics: []string{"time/ms"}}); err == nil || !strings.Contains(err.Error(), `"time (ns)"`) {
		t.Errorf("error %v", err)
	}
	if got, err := render(t, p, Options{Metrics: []string{"time"}}); err != nil || got != "3.000 ROOT\n\n" {
		t.Errorf("printed %q, %v", got, err)
	}
}

func TestMetricWithSlashInItsName(t *testing.T) {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Metrics: []profile.Metric{{Name: "tok/s", Value: profile.FloatValue(2.5)}}}}
	if got, err := render(t, p, Options{Metrics: []string{"tok/s"}}); err != nil || got != "2.500 ROOT\n\n" {
		t.Errorf("printed %q, %v", got, err)
	}
}

func TestProfileIsLeftAlone(t *testing.T) {
	p := load(t, "layers_main")
	var before, after bytes.Buffer
	if err := hatchet.Write(&before, p); err != nil {
		t.Fatal(err)
	}
	if _, err := render(t, p, Options{Metrics: []string{"time"}, Exclude: "layer", Threshold: 1, Format: FileFunction}); err != nil {
		t.Fatal(err)
	}
	if err := hatchet.Write(&after, p); err != nil {
		t.Fatal(err)
	}
	if before.String() != after.String() {
		t.Error("printing a profile changed it")
	}
}

// Options is reused by callers that print several profiles.
func TestOptionsAreReusable(t *testing.T) {
	o := Options{}
	for range 2 {
		for _, name := range []string{"scope", "cpu_only"} {
			if _, err := render(t, load(t, name), o); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestShortIsPythons(t *testing.T) {
	// Each pair is '{:.4}'.format(value) of Python 3.
	for v, want := range map[float64]string{
		0: "0.0", 1: "1.0", 100: "100.0", 123.4: "123.4", 999.94: "999.9", 999.96: "1e+03", 1000: "1e+03",
		1234: "1.234e+03", 5120: "5.12e+03", 0.5: "0.5", 0.00012345: "0.0001234", 0.000012345: "1.234e-05",
		-3.14159: "-3.142", 1e100: "1e+100", 12.3456: "12.35", 7.168: "7.168",
	} {
		if got := short(v); got != want {
			t.Errorf("short(%v) = %s, want %s", v, got, want)
		}
	}
}

func TestNameFormats(t *testing.T) {
	tests := map[NameFormat]map[string]string{
		FileFunctionLine: {"/a/b/c.py:12@f": "c.py:12@f", "kernel": "kernel"},
		FunctionLine:     {"/a/b/c.py:12@f": "12@f", "kernel": "kernel"},
		FileFunction:     {"/a/b/c.py:12@f": "c.py@f", "kernel": "kernel@kernel"},
		FullName:         {"/a/b/c.py:12@f": "/a/b/c.py:12@f"},
	}
	for format, names := range tests {
		for in, want := range names {
			tb := table{root: &row{name: in}}
			if err := tb.formatNames(format); err != nil || tb.root.name != want {
				t.Errorf("%s of %s is %s, want %s (%v)", format, in, tb.root.name, want, err)
			}
		}
	}
}

// trainingTree has as many rows as a real model's tree: 13k.
func trainingTree() *profile.Profile {
	p := &profile.Profile{
		Root:    &profile.Node{Name: "ROOT"},
		Kinds:   profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive, "bytes": profile.Inclusive, "flops16": profile.Inclusive},
		Devices: []profile.Device{{Type: "CUDA", ID: "0", Arch: "90", BusWidth: 6016, ClockRate: 1980000, MemoryClockRate: 3201000, NumSMs: 132}},
	}
	for step := range 10 {
		s := &profile.Node{Name: "step " + string(rune('0'+step))}
		p.Root.Children = append(p.Root.Children, s)
		for layer := range 100 {
			l := &profile.Node{Name: "layer " + string(rune('A'+layer%26)) + string(rune('a'+layer/26))}
			s.Children = append(s.Children, l)
			for k := range 12 {
				n := &profile.Node{Name: "void at::native::vectorized_elementwise_kernel<4> " + string(rune('a'+k))}
				n.Metrics = []profile.Metric{
					{Name: "time (ns)", Value: profile.IntValue(int64(1000*k + layer))}, {Name: "count", Value: profile.IntValue(2)},
					{Name: "bytes", Value: profile.IntValue(1 << 20)}, {Name: "flops16", Value: profile.FloatValue(1e9)},
					{Name: "device_id", Value: profile.StringValue("0")}, {Name: "device_type", Value: profile.StringValue("CUDA")}}
				l.Children = append(l.Children, n)
			}
		}
	}
	return p
}

// BenchmarkReadAndRender13k is what a user waits for.
func BenchmarkReadAndRender13k(b *testing.B) {
	var file bytes.Buffer
	if err := hatchet.Write(&file, trainingTree()); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(file.Len()))
	for b.Loop() {
		p, err := hatchet.Read(bytes.NewReader(file.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		var out bytes.Buffer
		if err := Render(&out, p, Options{Metrics: []string{"util", "tflop16/s", "time/ms"}}); err != nil {
			b.Fatal(err)
		}
	}
}
