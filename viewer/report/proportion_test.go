package report

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestManyMetrics makes pages of a profile that has a metric for each of its 5,000 frames. What that takes is in proportion to
// the file, not to the product of both; the metrics that matter most are there, and the page says that others are not.
func TestManyMetrics(t *testing.T) {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{"time (ns)": profile.Inclusive}}
	for i := range 5000 {
		c := &profile.Node{Name: fmt.Sprint("k", i)}
		c.Set(fmt.Sprint("m", i), profile.IntValue(1))
		c.Set("time (ns)", profile.IntValue(1))
		p.Kinds[fmt.Sprint("m", i)] = profile.Inclusive
		p.Root.Children = append(p.Root.Children, c)
	}
	for name, sources := range map[string][]Source{"one": {{"a", p}}, "two": {{"a", p}, {"b", p}}} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b, err := build(sources, Options{})
			if err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			mb := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("%d MB", mb)
			if mb > 1000 {
				t.Errorf("the page took %d MB", mb)
			}
			if said := strings.Join(b.Notes, "\n"); !strings.Contains(said, "of 5") || !strings.Contains(said, "too large for") {
				t.Errorf("the page does not say that metrics are missing: %q", said)
			}
		})
	}
}
