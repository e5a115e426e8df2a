package tritonparse

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestEachMeasured has nodes with traced launches, with some from before the trace, and with the name of the kernel only.
func TestEachMeasured(t *testing.T) {
	node := func(name string, count, nanos int64, launches ...profile.LaunchTimes) *profile.Node {
		n := &profile.Node{Name: name, Launches: launches}
		n.Set("count", profile.IntValue(count))
		n.Set("time (ns)", profile.IntValue(nanos))
		return n
	}
	launch := func(kind int, count, nanos uint64) profile.LaunchTimes {
		return profile.LaunchTimes{Kind: kind, Durations: profile.Durations{Count: count, Nanos: nanos}}
	}
	p := &profile.Profile{
		Launches: []profile.LaunchKind{{ID: "one", Hash: "abc", Kernel: "matmul"}, {}},
		Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{
			node("matmul", 5, 50, launch(0, 2, 30), launch(1, 1, 5), launch(7, 1, 1), launch(-1, 1, 1)),
			node("add_<grid:4x1x1>", 3, 9), node("scope", 0, 0),
		}},
	}
	var got []string
	EachMeasured(p, profile.Filter{}, func(m Measured) {
		got = append(got, fmt.Sprintf("%s %q %q %d in %d, traced %t", m.Kernel, m.Hash, m.Kind, m.Count, m.Nanos, m.Launch != nil))
	})
	want := []string{
		`matmul "abc" "one" 2 in 30, traced true`, `matmul "" "" 1 in 5, traced true`, `matmul "" "" 2 in 15, traced false`, `add "" "" 3 in 9, traced false`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}
