package chrometrace

import (
	"encoding/json"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/tracetest"
)

// TestTraceProcessor has the program behind ui.perfetto.dev read our files.
func TestTraceProcessor(t *testing.T) {
	expect := tracetest.Expect{Root: "../..", Prefix: "args.", Process: "Trace", Category: func(s *profile.Slice) string {
		if s.Kind == profile.ScopeSlice && len(s.Metrics) > 0 {
			return scopeWithMetrics
		}
		return categories[s.Kind]
	}}
	t.Run("sample", func(t *testing.T) {
		named := expect
		named.Process = "train.py"
		named.Compare(t, []byte(written(t, tracetest.Sample())), tracetest.Sample())
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
