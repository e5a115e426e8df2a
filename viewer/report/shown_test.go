package report

import (
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/merge"
)

// TestShownMetricComesFirst: of what other programs record, a page begins with the metric that their file shows, also if several files are added up.
func TestShownMetricComesFirst(t *testing.T) {
	node := &profile.Node{Name: "main"}
	for _, m := range []string{"samples", "alloc (bytes)", "cpu (ns)"} {
		node.Set(m, profile.IntValue(3))
	}
	kinds := profile.Kinds{"samples": profile.Inclusive, "alloc (bytes)": profile.Inclusive, "cpu (ns)": profile.Inclusive}
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{node}}, Kinds: kinds}
	for _, shown := range []string{"cpu (ns)", "alloc (bytes)"} {
		p.Shown = shown
		m := merge.New(merge.Options{})
		for _, file := range []string{"a", "b"} {
			if err := m.Add(p, merge.Source{File: file}); err != nil {
				t.Fatal(err)
			}
		}
		for name, q := range map[string]*profile.Profile{"one": p, "two": m.Profile()} {
			if first := wanted(q)[0].Name; first+" (ns)" != shown && first+" (bytes)" != shown {
				t.Errorf("of %s file the first metric is %q, want %q", name, first, shown)
			}
		}
	}
}
