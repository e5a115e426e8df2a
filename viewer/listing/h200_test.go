package listing

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/kernels"
)

const recorded = "../kernels/testdata/h200"

// noTools is an environment without a disassembler: instructions are then their operations, everywhere the same.
func noTools(name string) (string, bool) { return "", name == "PROTON_NVDISASM" }

// recordedRun is the profile and the trace of one run on an H200.
func recordedRun(t *testing.T) (*profile.Profile, *tritonparse.Trace) {
	t.Helper()
	return readProfile(t, "h200/joined.hatchet.zst"), open(t, filepath.Join(recorded, "traces"))
}

func TestRecordedRun(t *testing.T) {
	for name, l := range map[string]Options{
		"matmul.txt": {},
		"add.txt":    {Terminal: viewer.Terminal{Width: 120, ASCII: true}},
	} {
		t.Run(name, func(t *testing.T) {
			kernel := strings.TrimSuffix(name, ".txt") + "_kernel"
			p, trace := recordedRun(t)
			testkit.Golden(t, "testdata/h200/"+name, []byte(printed(t, kernels.Options{Profile: p, Trace: trace, Modules: &kernels.Modules{Env: noTools}, Kernel: kernel}, l)))
		})
	}
}

// The rates of the JSON follow from its own numbers.
func TestRecordedJSON(t *testing.T) {
	p, trace := recordedRun(t)
	out := printedJSON(t, kernels.Options{Profile: p, Trace: trace, Modules: &kernels.Modules{Env: noTools}, Kernel: "add_kernel"}, Options{})
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
	if err := json.Unmarshal(out, &doc); err != nil {
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

// TestMisplacedLinesWithoutSamples: instructions without samples have the right lines, too.
func TestMisplacedLinesWithoutSamples(t *testing.T) {
	text, _ := instructions(t, kernels.Options{Trace: open(t, "../kernels/testdata/asm"), Kernel: "scale"}, Options{})
	if !strings.Contains(text, "IMAD  scale.py:8  v = tl.load(x + o)\n    0090    LDG\n") {
		t.Errorf("the load is elsewhere: %s", text)
	}
}
