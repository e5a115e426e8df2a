package kernels

import (
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestTreesWithoutSamplesAreNotCopied: a report of 20,000 frames took a sixth longer for the copy.
func TestTreesWithoutSamplesAreNotCopied(t *testing.T) {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}}
	for range 1000 {
		p.Root.Children = append(p.Root.Children, &profile.Node{Name: "a.py:1@f", Metrics: []profile.Metric{{Name: "time (ns)", Value: profile.IntValue(1)}}})
	}
	if allocated := testing.AllocsPerRun(10, func() { fromTree(p) }); allocated > 100 {
		t.Errorf("%v allocations for 1000 frames without samples", allocated)
	}
}
