package merge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// A file holds profile.MaxMetrics metrics of a frame. With a column for each of very many ranks a frame has more, and the user
// must know.
func TestMoreColumnsThanAFileHolds(t *testing.T) {
	for _, ranks := range []int{profile.MaxMetrics - 1, profile.MaxMetrics} {
		var notes []string
		m := New(Options{Note: func(note string) { notes = append(notes, note) }})
		for rank := range ranks {
			p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{profile.TimeMetric: profile.Inclusive}}
			p.Root.Set(profile.TimeMetric, profile.IntValue(1))
			if err := m.Add(p, Source{Label: fmt.Sprintf("rank%d", rank)}); err != nil {
				t.Fatal(err)
			}
		}
		m.Profile()
		said := strings.Join(notes, "\n")
		if want := "has 4097 metrics, and files hold the first 4096 of a frame: keep columns of fewer metrics (--columns)"; strings.Contains(said, want) != (ranks == profile.MaxMetrics) {
			t.Errorf("%d ranks: %s", ranks, said)
		}
	}
}
