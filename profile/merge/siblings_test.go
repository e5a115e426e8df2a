package merge

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/goproton/goproton/profile"
)

// siblings is a tree of n frames of one name. Each differs from the others in what own gives it.
func siblings(n int, own func(i int, c *profile.Node)) *profile.Profile {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{"device_id": profile.Property, "device_type": profile.Property}}
	for i := range n {
		c := &profile.Node{Name: "k"}
		own(i, c)
		p.Root.Children = append(p.Root.Children, c)
	}
	return p
}

// TestSiblingsJoinLinearly merges 40,000 siblings of one name, each with something of its own that has to be found among
// what the others have. Searching for it one by one took up to a minute for each of these profiles, and adding up sorted lists
// one by one copied 25 GB.
func TestSiblingsJoinLinearly(t *testing.T) {
	const n = 40_000
	sampled := siblings(n, func(i int, c *profile.Node) {
		c.Samples = []profile.FunctionSamples{{Function: n - 1 - i, PCs: []profile.PCSamples{{Stalls: []profile.Stall{{Samples: 1}}}}}}
	})
	sampled.Sampling = &profile.Sampling{Mode: "continuous", Reasons: []string{"r"}, Functions: make([]profile.SampledFunction, n)}
	for i := range n {
		sampled.Sampling.Functions[i].Name = fmt.Sprint("f", i)
	}
	launched := siblings(n, func(i int, c *profile.Node) {
		c.Launches = []profile.LaunchTimes{{Kind: n - 1 - i, Durations: profile.Durations{Count: 1}}}
	})
	for i := range n {
		launched.Launches = append(launched.Launches, profile.LaunchKind{ID: fmt.Sprint(i)})
	}
	for _, test := range []struct {
		name string
		p    *profile.Profile
		has  func(c *profile.Node) int
	}{
		{"metrics", siblings(n, func(i int, c *profile.Node) { c.Set(fmt.Sprint("m", i), profile.IntValue(1)) }), func(c *profile.Node) int { return len(c.Metrics) }},
		{"samples", sampled, func(c *profile.Node) int { return len(c.Samples) }},
		{"launches", launched, func(c *profile.Node) int { return len(c.Launches) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			m := New(Options{})
			if err := m.Add(test.p, Source{File: "a"}); err != nil {
				t.Fatal(err)
			}
			p := m.Profile()
			runtime.ReadMemStats(&after)
			if len(p.Root.Children) != 1 || test.has(p.Root.Children[0]) != n {
				t.Errorf("%d frames, the first has %d of %d", len(p.Root.Children), test.has(p.Root.Children[0]), n)
			}
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 512 {
				t.Errorf("merging allocated %d MB", mb)
			}
		})
	}
	t.Run("devices", func(t *testing.T) {
		m := New(Options{})
		p := siblings(n, func(i int, c *profile.Node) {
			c.Set("device_id", profile.StringValue(fmt.Sprint(i)))
			c.Set("device_type", profile.StringValue("CUDA"))
		})
		if err := m.Add(p, Source{File: "a"}); err != nil {
			t.Fatal(err)
		}
		if p = m.Profile(); len(p.Devices) != n+1 { // and the set of all
			t.Errorf("%d devices, want %d", len(p.Devices), n+1)
		}
	})
}
