package cupti

import (
	"slices"
	"testing"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/profile"
)

// TestFiguresOfLines: what the figures of the set lines are computed from is counted, and profiles distinguish it from reasons of samples.
func TestFiguresOfLines(t *testing.T) {
	counted := lineMetrics()
	figures := 0
	for i := range counters.Figures {
		f := &counters.Figures[i]
		if !f.ByLine() {
			continue
		}
		figures++
		for _, metric := range f.Forms[0].Metrics() {
			if !slices.Contains(counted, metric) {
				t.Errorf("%s is computed from %s, which is not counted", f.Name, metric)
			}
		}
	}
	if figures == 0 {
		t.Error("no figure is of lines")
	}
	for _, metric := range counted {
		if !profile.IsCount(metric) {
			t.Errorf("%s counts as a reason", metric)
		}
	}
}
