package viewer_test

import (
	"slices"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
)

// TestMetricsAreListedAsTheFileHasThem: the first appearance from the root down counts, whatever order deeper frames have, and also for
// metrics that only one frame has.
func TestMetricsAreListedAsTheFileHasThem(t *testing.T) {
	node := func(name string, metrics ...string) *profile.Node {
		n := &profile.Node{Name: name}
		for i, m := range metrics {
			n.Set(m, profile.IntValue(int64(i+1)))
		}
		return n
	}
	root := node("ROOT", "zebra", "apple")
	first := node("first", "apple", "zebra", "mango")
	first.Children = []*profile.Node{node("below", "lemon", "apple")}
	root.Children = []*profile.Node{first, node("second", "berry", "lemon", "mango", "zebra")}
	p := &profile.Profile{Root: root, Kinds: profile.Kinds{"zebra": profile.Inclusive, "apple": profile.Inclusive}}

	for _, shown := range []string{"", "lemon", "gone"} {
		p.Shown = shown
		tree, err := viewer.NewTable(p, viewer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"": "zebra", "gone": "zebra", "lemon": "lemon"}[shown]; tree.Columns[0].Label != want {
			t.Errorf("with %q, the first column is %q, want %q", shown, tree.Columns[0].Label, want)
		}
	}

	var listed []string
	for _, m := range viewer.Metrics(p) {
		if !m.Derived {
			listed = append(listed, m.Name)
		}
	}
	want := []string{"zebra", "apple", "mango", "lemon", "berry"}
	if !slices.Equal(listed, want) {
		t.Errorf("listed %q, want %q", listed, want)
	}
}
