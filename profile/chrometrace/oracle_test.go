package chrometrace

import (
	"encoding/json"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
	"github.com/goproton/goproton/profile/internal/tracetest"
)

// TestTraceProcessor has the program behind ui.perfetto.dev read our files.
func TestTraceProcessor(t *testing.T) {
	expect := tracetest.Expect{Root: "../..", Prefix: "args.", Process: "Trace", Counted: " " + lanes.Counted, Category: func(s *profile.Slice) string {
		if s.Kind == profile.ScopeSlice && len(s.Metrics) > 0 {
			return lanes.ScopeWithMetrics
		}
		return lanes.Categories[s.Kind]
	}}
	t.Run("sample", func(t *testing.T) {
		named := expect
		named.Process = "train.py"
		named.Compare(t, []byte(written(t, tracetest.Sample())), tracetest.Sample())
	})
	t.Run("two processes", func(t *testing.T) {
		named, p := expect, tracetest.Sample()
		named.Process = "train.py"
		p.Timeline.Lanes[3].Process = "rank 1"
		p.Timeline.Lanes = append(p.Timeline.Lanes, profile.Lane{ID: 6, Process: "rank 1", Name: "CPU Thread 0", Thread: 4711})
		p.Timeline.Slices = append(p.Timeline.Slices, profile.Slice{Lane: 6, Kind: profile.LaunchSlice, Name: "cuMemcpyAsync", Start: tracetest.Start, Duration: 90})
		p.Timeline.Flows = append(p.Timeline.Flows, profile.Flow{ID: 9, From: 6, To: 4, Start: tracetest.Start, End: tracetest.Start + 31_000})
		named.Compare(t, []byte(written(t, p)), p)
	})
	t.Run("counters", func(t *testing.T) {
		named, p := expect, tracetest.WithCounters(tracetest.Sample())
		named.Process = "train.py"
		named.Compare(t, []byte(written(t, p)), p)
	})
	t.Run("upstream", func(t *testing.T) {
		p := readFile(t, upstream+"/triton-3.9.0/tracehook.chrome_trace")
		expect.Compare(t, []byte(written(t, p)), p)
	})
}

// Perfetto refuses a document without its end, and so do Chrome and every JSON library; a sealed file has one after every
// write. This is why.
func TestTraceProcessorRefusesHalfADocument(t *testing.T) {
	text := written(t, tracetest.Sample())
	half := text[:len(text)*2/3]
	if loaded, _ := tracetest.TryQuery(t, "../..", []byte(half)); loaded == "" {
		t.Error("trace_processor takes half a document now: sealing may be unnecessary")
	}
	if json.Valid([]byte(half)) {
		t.Error("half a document is JSON")
	}
}
