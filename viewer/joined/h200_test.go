package joined

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/source"
)

const recorded = "testdata/h200"

// noTools is an environment without a disassembler: instructions are then their operations, everywhere the same.
func noTools(name string) (string, bool) { return "", name == "PROTON_NVDISASM" }

// record returns the profile and the trace of one run on an H200, and the samples of some kernels.
func record(t *testing.T, kernel string) (*profile.Profile, *tritonparse.Trace, *source.Samples) {
	t.Helper()
	p, err := formats.ReadFile(filepath.Join(recorded, "joined.hatchet.zst"))
	if err != nil {
		t.Fatal(err)
	}
	samples, err := source.Collect(p, source.Options{Kernel: kernel})
	if err != nil {
		t.Fatal(err)
	}
	return p, open(t, filepath.Join(recorded, "traces")), samples
}

func TestRecordedRun(t *testing.T) {
	for name, l := range map[string]source.Listing{
		"matmul.txt": {},
		"add.txt":    {Terminal: viewer.Terminal{Width: 120, ASCII: true}},
	} {
		t.Run(name, func(t *testing.T) {
			kernel := strings.TrimSuffix(name, ".txt") + "_kernel"
			p, trace, samples := record(t, kernel)
			l.Modules = &source.Modules{Env: noTools}
			testkit.Golden(t, "testdata/h200/"+name, printed(t, Options{Profile: p, Trace: trace, Samples: samples, Kernel: kernel}, l))
		})
	}
}

// TestHottestIsTraced: where no kernel is named, table and listing are of the same one, which the trace has. More than half of
// this run's samples are of PyTorch's own kernels.
func TestHottestIsTraced(t *testing.T) {
	p, trace, samples := record(t, "")
	if samples.Kernels[0].Function.Name == "matmul_kernel" {
		t.Fatal("the hottest kernel is a traced one")
	}
	j, err := New(Options{Profile: p, Trace: trace, Samples: samples})
	if err != nil {
		t.Fatal(err)
	}
	if j.Kernels[0].Name != "matmul_kernel" || len(samples.Kernels) != 1 || samples.Kernels[0].Function.Name != "matmul_kernel" {
		t.Errorf("the table is of %s, the listing of %s", j.Kernels[0].Name, samples.Kernels[0].Function.Name)
	}
	for _, other := range samples.Others {
		if other == samples.Kernels[0] {
			t.Error("the kernel that is shown is also one of the others")
		}
	}
	// Nor has anybody who asks for a trace with nothing of it in the samples a listing of something else.
	_, _, samples = record(t, "^vectorized_elementwise_kernel")
	samples.Others = nil
	j, err = New(Options{Profile: p, Trace: trace, Samples: samples})
	if err != nil || j.options.Samples != nil || !strings.Contains(strings.Join(j.Notes, "\n"), "no kernel of the trace has samples") {
		t.Errorf("%v, %v", j.Notes, err)
	}
}

func TestRecordedTree(t *testing.T) {
	p, trace, _ := record(t, ".")
	if notes, err := Split(p, trace); err != nil || len(notes) > 0 {
		t.Fatal(notes, err)
	}
	var out bytes.Buffer
	if _, err := viewer.Render(&out, p, "tree", viewer.Options{Metrics: []string{"time", "count"}, Include: "_kernel$"}, viewer.Terminal{Width: 140}); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/h200/launches.txt", out.String())
}

// Launches of call paths that a filter takes out have no rows: the trace has them, but does not know where they came from.
func TestFilteredLaunches(t *testing.T) {
	p, trace, _ := record(t, ".")
	for exclude, want := range map[string]string{"": "n=16777216 captured in a graph", "^<captured_at>$": "n=16777216"} {
		j, err := New(Options{Profile: p, Trace: trace, Kernel: "add", Exclude: exclude})
		if err != nil {
			t.Fatal(err)
		}
		var labels []string
		for _, s := range j.Kernels[0].Specialisations {
			for _, g := range s.Groups {
				labels = append(labels, g.Label)
			}
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("without %q there are launches of %q, want %q", exclude, got, want)
		}
	}
}

// Instructions of a line have all its samples, and so does PTX but for what the compiler added.
func TestSamplesOfLinesAddUp(t *testing.T) {
	p, trace, samples := record(t, "_kernel$")
	j, err := New(Options{Profile: p, Trace: trace, Samples: samples, Modules: &source.Modules{Env: noTools}, Kernel: "_kernel$"})
	if err != nil {
		t.Fatal(err)
	}
	ir := j.IR()
	kernels := 0
	for _, k := range samples.Kernels {
		if ir.Compilation(k) == "" {
			continue // torch's own
		}
		kernels++
		sums := map[string]uint64{}
		var placed uint64
		for _, line := range k.Lines {
			var instructions uint64
			for _, l := range ir.Lines(k, line.File, line.Number) {
				sums[l.Stage] += l.Samples
				if l.Stage == sass {
					instructions += l.Samples
				}
			}
			placed += line.Samples
			if instructions != line.Samples {
				t.Errorf("%s line %d has %d samples, and its instructions %d", k.Name, line.Number, line.Samples, instructions)
			}
		}
		for _, stage := range []string{"ttir", "ttgir", "llir", "ptx"} {
			if share := float64(sums[stage]) / float64(placed); share < 0.95 || share > 1 {
				t.Errorf("%s: lines of %s have %.1f%% of the samples", k.Name, stage, 100*share)
			}
		}
	}
	if kernels != 3 {
		t.Errorf("%d kernels are in the trace, want 3", kernels)
	}
}

// How a function is known depends on what is left of the run.
func TestHowFunctionsAreKnown(t *testing.T) {
	_, _, samples := record(t, "_kernel$")
	forgotten := func(o Options) Options { // TritonParse's own traces say nothing of binaries
		for _, c := range o.Trace.Compilations() {
			c.Extra, c.Paths = nil, nil
		}
		return o
	}
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "run.cubins"), os.DirFS(filepath.Join(recorded, "traces", "cubins"))); err != nil {
		t.Fatal(err)
	}
	modules := &source.Modules{Profile: filepath.Join(folder, "run.hatchet"), Env: noTools}
	for name, c := range map[string]struct {
		o       Options
		modules *source.Modules
		matmul  string
		add     string
	}{
		"all there":             {Options{Trace: open(t, recorded+"/traces")}, modules, "by its binary", "by its binary"},
		"binaries of samples":   {forgotten(Options{Trace: open(t, recorded+"/traces")}), modules, "by its PTX", "by its PTX"},
		"no binary":             {forgotten(Options{Trace: open(t, recorded+"/traces")}), nil, "2 compilations of that name", "by its name"},
		"a trace of other code": {Options{Trace: complexOne(t)}, nil, "3 compilations", "no compilation of that name"},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Modules = c.modules
			known := newCode(c.o)
			for _, k := range samples.Kernels {
				want := map[string]string{"matmul_kernel": c.matmul, "add_kernel": c.add}[k.Function.Name]
				m := known.match(k)
				if !strings.Contains(m.how, want) {
					t.Errorf("%s is known %q, want %q", k.Name, m.how, want)
				}
				if strings.HasPrefix(want, "by its") && m.compilation == nil {
					t.Errorf("%s has no compilation", k.Name)
				}
			}
		})
	}
}

// The rates of the JSON follow from its own numbers.
func TestRecordedJSON(t *testing.T) {
	p, trace, samples := record(t, "add_kernel")
	modules := &source.Modules{Env: noTools}
	j, err := New(Options{Profile: p, Trace: trace, Samples: samples, Modules: modules, Kernel: "add_kernel"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := j.PrintJSON(&out, source.Listing{Files: source.NoFiles(), Modules: modules}); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Kernels []struct {
			Specialisations []struct {
				Groups []struct {
					Average float64 `json:"avg_ns"`
					Bytes   float64 `json:"bytes"`
					Rate    float64 `json:"bytes_per_s"`
					Roof    float64 `json:"share_of_roof"`
				} `json:"launch_groups"`
			} `json:"specialisations"`
		} `json:"kernels"`
		Source struct {
			Kernels []struct {
				Hash  string `json:"compile_hash"`
				Files []struct {
					Lines []struct {
						IR []struct{ Stage string } `json:"ir"`
					} `json:"lines"`
				} `json:"files"`
			} `json:"kernels"`
		} `json:"source"`
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	g := doc.Kernels[0].Specialisations[0].Groups[0]
	const elements, bandwidth = 1 << 24, 2 * 6016 / 8 * 3201e6
	if g.Bytes != 3*4*elements {
		t.Errorf("a launch moves %g bytes, want two vectors read and one written", g.Bytes)
	}
	if want := g.Bytes / g.Average * 1e9; math.Abs(g.Rate/want-1) > 1e-9 {
		t.Errorf("%g byte/s, want %g", g.Rate, want)
	}
	if want := g.Rate / bandwidth; math.Abs(g.Roof/want-1) > 1e-9 {
		t.Errorf("%g of the roof, want %g", g.Roof, want)
	}
	k := doc.Source.Kernels[0]
	if k.Hash == "" || len(k.Files[0].Lines[0].IR) == 0 {
		t.Errorf("the source has compile hash %q and no lines of IR", k.Hash)
	}
}
