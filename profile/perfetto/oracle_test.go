package perfetto

import (
	"math/rand/v2"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/tracetest"
)

// TestTraceProcessor has the program behind ui.perfetto.dev read our files.
func TestTraceProcessor(t *testing.T) {
	expect := tracetest.Expect{Root: "../..", Prefix: "debug.", Process: "Trace", Category: func(s *profile.Slice) string { return categories[s.Kind] }}
	t.Run("sample", func(t *testing.T) {
		named := expect
		named.Process = "train.py"
		named.Compare(t, written(t, tracetest.Sample()), tracetest.Sample())
	})
	t.Run("upstream", func(t *testing.T) {
		p := readChrome(t, "../../testdata/upstream/triton-3.9.0/tracehook.chrome_trace")
		expect.Compare(t, written(t, p), p)
	})
	t.Run("random", func(t *testing.T) {
		p := tracetest.Many(rand.New(rand.NewPCG(7, 7)))
		expect.Compare(t, written(t, p), p)
	})
}
