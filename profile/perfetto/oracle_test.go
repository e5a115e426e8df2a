package perfetto

import (
	"math/rand/v2"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

// TestTraceProcessor has the program behind ui.perfetto.dev read our files.
func TestTraceProcessor(t *testing.T) {
	expect := profiletest.Expect{Root: "../..", Prefix: "debug.", Process: "Trace", Category: func(s *profile.Slice) string { return lanes.Categories[s.Kind] }}
	t.Run("sample", func(t *testing.T) {
		named := expect
		named.Process = "train.py"
		named.Compare(t, written(t, profiletest.SampleTimeline()), profiletest.SampleTimeline())
	})
	t.Run("two processes", func(t *testing.T) {
		named, p := expect, profiletest.SampleTimeline()
		named.Process = "train.py"
		p.Timeline.Lanes[3].Process = "rank 1"
		p.Timeline.Lanes = append(p.Timeline.Lanes, profile.Lane{ID: 6, Process: "rank 1", Name: "CPU Thread 0", Thread: 4711})
		p.Timeline.Slices = append(p.Timeline.Slices, profile.Slice{Lane: 6, Kind: profile.LaunchSlice, Name: "cuMemcpyAsync", Start: profiletest.Start, Duration: 90})
		p.Timeline.Flows = append(p.Timeline.Flows, profile.Flow{ID: 9, From: 6, To: 4, Start: profiletest.Start, End: profiletest.Start + 31_000})
		named.Compare(t, written(t, p), p)
	})
	t.Run("counters", func(t *testing.T) {
		named, p := expect, profiletest.WithCounters(profiletest.SampleTimeline())
		named.Process = "train.py"
		named.Compare(t, written(t, p), p)
	})
	t.Run("upstream", func(t *testing.T) {
		p := readChrome(t, "../../testdata/upstream/triton-3.9.0/tracehook.chrome_trace")
		expect.Compare(t, written(t, p), p)
	})
	t.Run("random", func(t *testing.T) {
		p := profiletest.Many(rand.New(rand.NewPCG(7, 7)))
		expect.Compare(t, written(t, p), p)
	})
}
