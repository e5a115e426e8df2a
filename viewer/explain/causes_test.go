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

// score counts what explain says of an exam.
type score struct{ known, right, lines, rightLines, healthy, alarmed int }

func (s *score) String() string {
	return fmt.Sprintf("%d of %d causes right, %d of %d lines; %d of %d healthy programs with an alarm", s.right, s.known, s.rightLines, s.lines, s.alarmed, s.healthy)
}

// TestKnownCauses are exams: programs that testdata/h200/record.py ran on an H200, whose slowness has a cause that is known from their text, and healthy
// ones. Of the first, nine in ten of the first findings have the right class, and nine in ten of those with a line of ours name one that is marked as
// the fault; of the healthy ones, one in twenty has a finding that is more than a hint. The golden has all answers.
func TestKnownCauses(t *testing.T) {
	var answers strings.Builder
	var all score
	for _, exam := range []string{"first", "second", "third"} {
		s := score{}
		s.exam(t, exam, &answers)
		fmt.Fprintf(&answers, "\n%s exam: %s\n\n", exam, &s)
		all = score{all.known + s.known, all.right + s.right, all.lines + s.lines, all.rightLines + s.rightLines, all.healthy + s.healthy, all.alarmed + s.alarmed}
	}
	testkit.Golden(t, "testdata/h200/answers.txt", answers.String())
	if all.known < 40 || 10*all.right < 9*all.known || 10*all.rightLines < 9*all.lines || all.lines < 15 || all.healthy < 20 || 20*all.alarmed > all.healthy {
		t.Error(&all)
	}
}

// exam has the programs of a recording explained.
func (s *score) exam(t *testing.T, exam string, answers *strings.Builder) {
	folder := untar(t, "testdata/h200/"+exam+".tar.zst")
	trace, err := tritonparse.Open(folder+"/traces", tritonparse.OpenOptions{Kinds: true})
	if err != nil {
		t.Fatal(err)
	}
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
		fmt.Fprintf(answers, "%s (%s): %s\n", name, strings.ReplaceAll(want, "|", " or "), s.verdict(t, doc, want))
		for i := range doc.Findings[:min(2, len(doc.Findings))] {
			f := &doc.Findings[i]
			fmt.Fprintf(answers, "  %s, confidence %s, saves at most %.0f%% of %.0f%%\n", cause(f), f.Confidence, 100*float64(f.Saves)/f.whole, 100*f.Share)
		}
	}
}

// verdict counts one answer, and says what it is.
func (s *score) verdict(t *testing.T, doc *Document, want string) string {
	if want == "" {
		s.healthy++
		if len(alarms(doc)) > 0 {
			s.alarmed++
			return "alarm"
		}
		return "right"
	}
	s.known++
	said := "wrong"
	if len(doc.Findings) == 0 {
		return said
	}
	first := &doc.Findings[0]
	if slices.Contains(strings.Split(want, "|"), first.Class) {
		s.right++
		said = "right"
	}
	if first.Line == nil {
		return said
	}
	text := "testdata/h200/" + path.Base(first.Line.File)
	if _, err := os.Stat(text); err != nil {
		return said // of a library, or compiled from a text of its own
	}
	s.lines++
	if !strings.Contains(strings.Split(testkit.Read(t, text), "\n")[first.Line.Number-1], "# fault") {
		return said + ", another line"
	}
	s.rightLines++
	return said
}
