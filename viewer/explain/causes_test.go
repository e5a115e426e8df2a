package explain

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer/kernels"
)

// TestKnownCauses is an exam: programs that testdata/h200/record.py ran on an H200, whose slowness has a cause that is known from their text, and healthy
// ones. Of the first, nine in ten of the first findings have the right class, and nine in ten of those with a line of ours name one that is marked as
// the fault; of the healthy ones, one in twenty has a finding that is more than a hint. The golden has all answers.
func TestKnownCauses(t *testing.T) {
	folder := testkit.Untar(t, "testdata/h200/runs.tar.zst")
	trace, err := tritonparse.Open(folder+"/traces", tritonparse.OpenOptions{Kinds: true})
	if err != nil {
		t.Fatal(err)
	}
	source := strings.Split(testkit.Read(t, "testdata/h200/kernels.py"), "\n")
	var answers strings.Builder
	var known, right, lines, rightLines, healthy, alarmed int
	for row := range strings.Lines(testkit.Read(t, folder+"/wants.tsv")) {
		name, want, _ := strings.Cut(strings.TrimSuffix(row, "\n"), "\t")
		file := folder + "/" + name + ".hatchet"
		if _, err := os.Stat(file); err != nil {
			file = folder + "/" + name + ".chrome_trace"
		}
		p, err := formats.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		in := Input{Profile: p, Modules: &kernels.Modules{Profile: file, Env: func(string) (string, bool) { return "", false }}}
		if filepath.Ext(file) == ".hatchet" {
			in.Trace = trace
		}
		doc := explained(t, in)
		verdict := "right"
		if want == "" {
			healthy++
			if all := alarms(doc); len(all) > 0 {
				alarmed++
				verdict = "alarm"
			}
		} else {
			known++
			if len(doc.Findings) > 0 && slices.Contains(strings.Split(want, "|"), doc.Findings[0].Class) {
				right++
			} else {
				verdict = "wrong"
			}
			if len(doc.Findings) > 0 {
				if l := doc.Findings[0].Line; l != nil && path.Base(l.File) == "kernels.py" {
					lines++
					if strings.Contains(source[l.Number-1], "# fault") {
						rightLines++
					} else {
						verdict += ", another line"
					}
				}
			}
		}
		fmt.Fprintf(&answers, "%s (%s): %s\n", name, strings.ReplaceAll(want, "|", " or "), verdict)
		for i := range doc.Findings[:min(2, len(doc.Findings))] {
			f := &doc.Findings[i]
			fmt.Fprintf(&answers, "  %s, confidence %s, saves at most %.0f%% of %.0f%%\n", cause(f), f.Confidence, 100*float64(f.Saves)/f.whole, 100*f.Share)
		}
	}
	fmt.Fprintf(&answers, "\n%d of %d causes right, %d of %d lines; %d of %d healthy programs with an alarm\n", right, known, rightLines, lines, alarmed, healthy)
	testkit.Golden(t, "testdata/h200/answers.txt", answers.String())
	if known < 40 || 10*right < 9*known || 10*rightLines < 9*lines || lines < 15 || healthy < 20 || 20*alarmed > healthy {
		t.Errorf("%d of %d causes, %d of %d lines; %d alarms of %d", right, known, rightLines, lines, alarmed, healthy)
	}
}
