package perfetto

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

func contents(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// dump prints a tree for comparisons.
func dump(root *profile.Node) string {
	var b strings.Builder
	root.Walk(func(n *profile.Node, depth int) bool {
		fmt.Fprintf(&b, "%s%s", strings.Repeat("  ", depth), n.Name)
		for _, m := range n.Metrics {
			f, _ := m.Value.Float()
			fmt.Fprintf(&b, " %s=%v%s%v%v", m.Name, f, m.Value.Str(), m.Value.Ints(), m.Value.Floats())
		}
		b.WriteByte('\n')
		return true
	})
	return b.String()
}

func TestSumsAreRefused(t *testing.T) {
	if err := Write(io.Discard, &profile.Profile{Root: &profile.Node{}}); !errors.Is(err, profile.ErrNoTimeline) {
		t.Errorf("a profile of sums was written: %v", err)
	}
}

// Slices that overlap by the thousand keep their beginnings and names; only the ends of the last are cut.
func TestTooManyOverlaps(t *testing.T) {
	timeline := &profile.Timeline{Lanes: []profile.Lane{{ID: 1, Name: "made up"}}}
	const n = mostTracks + 5
	for i := range int64(n) {
		timeline.Slices = append(timeline.Slices, profile.Slice{Lane: 1, Name: fmt.Sprint(i), Start: 1000 + i, Duration: 10_000})
	}
	got := read(t, written(t, &profile.Profile{Timeline: timeline})).Timeline
	if len(got.Slices) != n || len(got.Lanes) != 1 {
		t.Fatalf("%d slices on %d lanes, want %d on 1", len(got.Slices), len(got.Lanes), n)
	}
	for _, s := range got.Slices {
		i := s.Start - 1000
		end := min(s.Start+10_000, 1000+mostTracks-1+10_000)
		if s.Name != fmt.Sprint(i) || s.Start+s.Duration != end {
			t.Errorf("slice %d is %q to %d, want it to end at %d", i, s.Name, s.Start+s.Duration, end)
		}
	}
}
