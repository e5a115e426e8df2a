package kernels

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer"
)

const recorded = "testdata/h200"

// noTools is an environment without a disassembler: instructions are then their operations, everywhere the same.
func noTools(name string) (string, bool) { return "", name == "PROTON_NVDISASM" }

// recordedRun returns the profile and the trace of one run on an H200, and the samples .
func recordedRun(t *testing.T) (*profile.Profile, *tritonparse.Trace) {
	t.Helper()
	p, err := formats.ReadFile(filepath.Join(recorded, "joined.hatchet.zst"))
	if err != nil {
		t.Fatal(err)
	}
	return p, open(t, filepath.Join(recorded, "traces"))
}

// TestHottestIsTraced: where no kernel is named, table and listing are of the same one, which the trace has. More than half of
// this run's samples are of PyTorch's own kernels.
func TestHottestIsTraced(t *testing.T) {
	p, trace := recordedRun(t)
	if hottest := collect(t, Options{Profile: p}).Samples.Functions[0]; hottest.Symbol.Name == "matmul_kernel" {
		t.Fatal("the hottest kernel is a traced one")
	}
	r := collect(t, Options{Profile: p, Trace: trace})
	if fs := r.Samples.Functions; r.Kernels[0].Name != "matmul_kernel" || len(fs) != 1 || fs[0].Symbol.Name != "matmul_kernel" {
		t.Errorf("the table is of %s, the listing of %s", r.Kernels[0].Name, fs[0].Symbol.Name)
	}
	for _, other := range r.Samples.Others {
		if other == r.Samples.Functions[0] {
			t.Error("the kernel that is shown is also one of the others")
		}
	}
	// If no function with samples is in the trace, there is no listing of another one.
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		if strings.HasSuffix(n.Name, "_kernel") {
			n.Samples = nil
		}
		return true
	})
	r = collect(t, Options{Profile: p, Trace: trace})
	if r.Samples != nil || !strings.Contains(strings.Join(r.Notes, "\n"), "no kernel of the trace has samples") {
		t.Errorf("%v", r.Notes)
	}
}

func TestRecordedTree(t *testing.T) {
	p, trace := recordedRun(t)
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
	p, trace := recordedRun(t)
	for exclude, want := range map[string]string{"": "n=16777216 captured in a graph", "^<captured_at>$": "n=16777216"} {
		r := collect(t, Options{Profile: p, Trace: trace, Kernel: "add", Exclude: exclude})
		var labels []string
		for _, s := range r.Kernels[0].Specialisations {
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
	p, trace := recordedRun(t)
	r := collect(t, Options{Profile: p, Trace: trace, Modules: &Modules{Env: noTools}, Kernel: "_kernel$"})
	kernels := 0
	for _, k := range r.Samples.Functions {
		if k.Compiled().Hash() == "" {
			continue // torch's own
		}
		kernels++
		sums := map[string]uint64{}
		var placed uint64
		for _, line := range k.Lines {
			var instructions uint64
			for _, l := range k.Compiled().Lines(line.File, line.Number) {
				sums[l.Stage] += l.Samples
				if l.Stage == "sass" {
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
	p, _ := recordedRun(t)
	forgotten := func(o Options) Options { // traces of TritonParse do not name binaries
		for _, c := range o.Trace.Compilations() {
			c.Extra, c.Paths = nil, nil
		}
		return o
	}
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "run.cubins"), os.DirFS(filepath.Join(recorded, "traces", "cubins"))); err != nil {
		t.Fatal(err)
	}
	modules := &Modules{Profile: filepath.Join(folder, "run.hatchet"), Env: noTools}
	for name, c := range map[string]struct {
		o       Options
		modules *Modules
		matmul  string
		add     string
	}{
		"all there":             {Options{Trace: open(t, recorded+"/traces")}, modules, "by its binary", "by its binary"},
		"binaries of samples":   {forgotten(Options{Trace: open(t, recorded+"/traces")}), modules, "by its PTX", "by its PTX"},
		"no binary":             {forgotten(Options{Trace: open(t, recorded+"/traces")}), nil, "2 compilations of that name", "by its name"},
		"a trace of other code": {Options{Trace: complexOne(t)}, nil, "3 compilations", "no compilation of that name"},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Modules, c.o.Profile, c.o.Kernel = c.modules, p, "_kernel$"
			for _, k := range collect(t, c.o).Samples.Functions {
				want := map[string]string{"matmul_kernel": c.matmul, "add_kernel": c.add}[k.Symbol.Name]
				m := k.Compiled()
				if !strings.Contains(m.how, want) {
					t.Errorf("%s is known %q, want %q", k.Name, m.how, want)
				}
				if strings.HasPrefix(want, "by its") && m.Compilation == nil {
					t.Errorf("%s has no compilation", k.Name)
				}
			}
		})
	}
}
