package report

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer/source"
)

// A line of a kernel that is in the trace has its IR below it, stage by stage.
func TestSourceTabHasTheIR(t *testing.T) {
	const recorded = "../joined/testdata/h200/"
	p, err := formats.ReadFile(recorded + "joined.hatchet.zst")
	if err != nil {
		t.Fatal(err)
	}
	trace, err := tritonparse.Open(recorded+"traces", tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	none := func(name string) (string, bool) { return "", name == "PROTON_NVDISASM" }
	page, err := sourceOf(p, &Texts{Files: &source.Files{}, Modules: &source.Modules{Env: none}, Trace: trace})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range page.Kernels {
		if k.Name != "add_kernel" {
			continue
		}
		if facts := strings.Join(k.Facts, "; "); !strings.Contains(facts, "BLOCK=1024 num_warps=4; compilation 04b93003 of the trace, known by its binary") {
			t.Errorf("facts %s", facts)
		}
		for _, row := range k.Files[0].Rows {
			if row.Number != "50" {
				continue
			}
			var stages []string
			for _, stage := range row.Inlined {
				stages = append(stages, stage.Number)
			}
			if got := strings.Join(stages, " "); got != "ttir ttgir llir ptx sass" {
				t.Errorf("line 50 has %s below it", got)
			}
			if row.Text == "" || !strings.Contains(row.Text, "tl.store(out_ptr + at") {
				t.Errorf("line 50 is %q", row.Text)
			}
			return
		}
	}
	t.Error("line 50 of add_kernel is not on the page")
}
