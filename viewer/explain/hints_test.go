package explain

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer/kernels"
)

// What --source says of a kernel is what explain says of it.
func TestHintsAreTheFindings(t *testing.T) {
	for _, file := range []string{"../../cmd/proton/demo/matmul.hatchet.gz", "../kernels/testdata/hotline.hatchet", "../testdata/recorded/attention_sampled.hatchet.gz"} {
		p, err := formats.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		modules := &kernels.Modules{Profile: file, Env: func(string) (string, bool) { return "", false }}
		run, err := kernels.Collect(kernels.Options{Profile: p, Kernel: "*", Modules: modules})
		if err != nil {
			t.Fatal(err)
		}
		var hints []string
		hint := Hints(run)
		for _, f := range run.Samples.AllFunctions() {
			hints = append(hints, hint(f))
		}
		tried := map[string]bool{}
		for _, f := range explained(t, Input{Profile: p, Modules: modules}).Findings {
			if f.Kernel == "" || f.Line == nil || tried[f.Kernel] {
				continue
			}
			tried[f.Kernel] = true // the finding that saves most stands first
			at := fmt.Sprintf("most at %s:%d); often: %s", path.Base(f.Line.File), f.Line.Number, f.Try)
			if !slices.ContainsFunc(hints, func(h string) bool { return strings.HasPrefix(h, f.Says+" (") && strings.HasSuffix(h, at) }) {
				t.Errorf("%s: no hint is %q, %q: %q", file, f.Says, at, hints)
			}
		}
		if len(tried) == 0 || len(hints) == 0 {
			t.Errorf("%s: %d findings, %d hints", file, len(tried), len(hints))
		}
	}
}
