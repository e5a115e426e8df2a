package kernels

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/profile"
)

// TestTraceOfAnotherRun: a profile that is joined with a trace of another run, or of a part of its run, has a note that says so.
func TestTraceOfAnotherRun(t *testing.T) {
	const name = "dedicated_log_triton_trace_dev_rank_none_pid_%_host_h200_.bin.ndjson"
	p, own := recordedRun(t)
	packed, err := os.ReadFile(own.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	var compilations, first []byte
	text, err := inflate.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	records, err := io.ReadAll(text)
	if err != nil {
		t.Fatal(err)
	}
	for rec := range bytes.Lines(records) {
		if bytes.Contains(rec, []byte(`"event_type":"compilation"`)) || bytes.Contains(rec, []byte(`"event_type": "compilation"`)) {
			compilations = append(compilations, rec...)
			if first == nil {
				first = bytes.Clone(compilations)
			}
		}
	}
	for _, c := range []struct {
		pid  string
		text []byte
		want []string
	}{
		{"463", packed, nil},
		{"999", packed, []string{"the profile is of process 463, the trace of process 999: they are of different runs of the same kernels"}},
		{"463", compilations, []string{"the trace has no launches, so there are numbers instead of arguments; record with --trace DIR:launches=all"}},
		{"463", first, []string{"2 of the profile's 3 specialisations are not in the trace: was it recorded in the same run?"}},
		{"463", append(bytes.Clone(compilations), "{\n"...), []string{
			"1 damaged record of the trace was left out; proton trace validate names it",
			"the trace has no launches, so there are numbers instead of arguments; record with --trace DIR:launches=all"}},
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, strings.Replace(name, "%", c.pid, 1)), c.text, 0o666); err != nil {
			t.Fatal(err)
		}
		expect(t, TraceNotes(open(t, folder), p), c.want)
	}
	expect(t, TraceNotes(open(t, "../../testdata/traces/vector_add/goproton"), p), []string{
		"the trace has none of the profile's specialisations: it is of another run; record both in one: proton run --trace DIR --mode pcsampling PROGRAM"})
	expect(t, TraceNotes(own, nil), nil)
	expect(t, TraceNotes(own, &profile.Profile{}), nil)
}

func expect(t *testing.T, got, want []string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
