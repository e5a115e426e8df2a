package chrometrace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

// TestTraceProcessor has the program behind ui.perfetto.dev read our files.
func TestTraceProcessor(t *testing.T) {
	expect := profiletest.Expect{Root: "../..", Prefix: "args.", Process: "Trace", Counted: " " + lanes.Counted, Category: func(s *profile.Slice) string {
		if s.Kind == profile.ScopeSlice && len(s.Metrics) > 0 {
			return lanes.ScopeWithMetrics
		}
		return lanes.Categories[s.Kind]
	}}
	t.Run("sample", func(t *testing.T) {
		named := expect
		named.Process = "train.py"
		named.Compare(t, []byte(written(t, profiletest.SampleTimeline())), profiletest.SampleTimeline())
	})
	t.Run("several processes", func(t *testing.T) {
		named, p := expect, profiletest.SampleTimeline()
		named.Process = "train.py"
		p.Timeline.Lanes[3].Process = "rank 1"
		p.Timeline.Lanes = append(p.Timeline.Lanes, profile.Lane{ID: 6, Process: "rank 1", Name: "CPU Thread 0", Thread: 4711})
		p.Timeline.Slices = append(p.Timeline.Slices, profile.Slice{Lane: 6, Kind: profile.LaunchSlice, Name: "cuMemcpyAsync", Start: profiletest.Start, Duration: 90})
		for i, process := range []string{"rank 1", "rank 1", "rank 2", "rank 2", "rank 2"} { // at once, so that each needs a thread of its own
			p.Timeline.Lanes = append(p.Timeline.Lanes, profile.Lane{ID: 7 + i, Process: process, Name: fmt.Sprint("CPU Thread ", i)})
			p.Timeline.Slices = append(p.Timeline.Slices, profile.Slice{Lane: 7 + i, Name: fmt.Sprint("scope ", i), Start: profiletest.Start + int64(i), Duration: 50})
		}
		p.Timeline.Flows = append(p.Timeline.Flows, profile.Flow{ID: 9, From: 6, To: 4, Start: profiletest.Start, End: profiletest.Start + 31_000})
		named.Compare(t, []byte(written(t, p)), p)
	})
	t.Run("counters", func(t *testing.T) {
		named, p := expect, profiletest.WithCounters(profiletest.SampleTimeline())
		named.Process = "train.py"
		named.Compare(t, []byte(written(t, p)), p)
	})
	t.Run("upstream", func(t *testing.T) {
		p := readFile(t, upstream+"/triton-3.9.0/tracehook.chrome_trace")
		expect.Compare(t, []byte(written(t, p)), p)
	})
	t.Run("random", func(t *testing.T) {
		p := profiletest.Many(rand.New(rand.NewPCG(7, 7)))
		expect.Compare(t, []byte(written(t, p)), p)
	})
	t.Run("streamed", func(t *testing.T) {
		p := profiletest.Many(rand.New(rand.NewPCG(7, 8)))
		var out bytes.Buffer
		w := NewWriter(&out, p.Timeline.First(), nil)
		for i := range p.Timeline.Lanes {
			p.Timeline.Lanes[i].Kind = profile.StreamLane
			w.Lane(p.Timeline.Lanes[i])
		}
		for i := range p.Timeline.Slices {
			w.Slice(&p.Timeline.Slices[i])
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		expect.Compare(t, out.Bytes(), p)
		if back, want := read(t, out.String()).Timeline, profiletest.Renumber(p.Timeline); !reflect.DeepEqual(back.Slices, want.Slices) || len(back.Lanes) != len(want.Lanes) {
			t.Errorf("came back as\n%+v\nwant\n%+v", back, want)
		}
	})
}

// Perfetto leaves out what overlaps on a thread, as kernels of one stream do: nothing of any timeline is left out of our files, in
// which several threads stand for such a stream. Those threads are one lane when we read the file back.
func TestOverlapsInTraceProcessor(t *testing.T) {
	files := []string{"testdata/overlap.json"}
	if testkit.All() {
		files, _ = filepath.Glob(upstream + "/*/*.chrome_trace")
		files = append(files, "testdata/overlap.json", upstream+"/torch-2.11.kineto.json")
	}
	for _, file := range files {
		p := readFile(t, file)
		text := written(t, p)
		answers := profiletest.Query(t, "../..", []byte(text), `select coalesce(name, ''), count(1), sum(dur) from slice group by name`,
			`select name, value from stats where value > 0 and severity != 'info'`)
		got := map[string][2]float64{}
		for _, row := range answers[0].Rows {
			name, _ := row[0].(string)
			got[name] = [2]float64{row[1].(float64), row[2].(float64)}
		}
		want := map[string][2]float64{}
		for _, s := range p.Timeline.Slices {
			want[s.Name] = [2]float64{want[s.Name][0] + 1, want[s.Name][1] + float64(s.Duration)}
		}
		if !maps.Equal(got, want) || len(answers[1].Rows) > 0 {
			t.Errorf("%s: trace_processor has %v, want %v; errors %v", file, got, want, answers[1].Rows)
		}
		back, renumbered := read(t, text).Timeline, profiletest.Renumber(p.Timeline)
		if !reflect.DeepEqual(back.Slices, renumbered.Slices) || !reflect.DeepEqual(back.Lanes, renumbered.Lanes) || len(back.Flows) != len(renumbered.Flows) {
			t.Errorf("%s came back as\n%+v\nwant\n%+v", file, back, p.Timeline)
		}
	}
}

// Perfetto refuses a document without its end, and so do Chrome and every JSON library; a sealed file has one after every
// write. This is why.
func TestTraceProcessorRefusesHalfADocument(t *testing.T) {
	text := written(t, profiletest.SampleTimeline())
	half := text[:len(text)*2/3]
	if loaded, _ := profiletest.TryQuery(t, "../..", []byte(half)); loaded == "" {
		t.Error("trace_processor takes half a document now: sealing may be unnecessary")
	}
	if json.Valid([]byte(half)) {
		t.Error("half a document is JSON")
	}
}
