package viewer

import (
	"math"
	"strings"
	"testing"
)

// The only kernel of a scope has the scope's rate; with two kernels, or other work below the scope, it is not known whose it is.
func TestKernelsOfScopes(t *testing.T) {
	for _, c := range []struct{ name, tree, kernel, of string }{
		{"its only kernel", "s flops16=4e8\n  k time=1000", "k", "s"},
		{"far below", "s flops16=4e8\n  a\n    b\n      k time=1000", "k", "s"},
		{"two kernels", "s flops16=4e8\n  k time=1000\n  l time=1", "k", ""},
		{"work of its own", "s flops16=4e8\n  k time=1000 bytes=3", "k", ""},
		{"an inner scope has more", "o flops16=4e8\n  s flops16=1e8\n    k time=1000", "k", "s"},
		{"next to other work", "o flops16=4e8\n  s\n    k time=1000\n  l flops16=1", "k", ""},
		{"a scope that is timed", "s flops16=4e8 time=5\n  k time=1000", "k", ""},
	} {
		p := tree(c.tree)
		before := map[string]float64{}
		table, err := NewTable(p, Options{Metrics: []string{"flop/s", "flops16"}, BaseUnits: true})
		if err != nil {
			t.Fatal(err)
		}
		for r := range table.All() {
			before[r.Name] = r.Values[1]
			if r.Name != c.kernel {
				continue
			}
			rate := r.Values[0]
			if r.WorkOf != c.of || math.IsNaN(rate) != (c.of == "") || c.of == "s" && strings.HasPrefix(c.tree, "s") && math.Abs(rate-4e8/1e-6) > 1 {
				t.Errorf("%s: the kernel has %g flop/s, of %q", c.name, rate, r.WorkOf)
			}
		}
		if first := p.Root.Children[0]; before[first.Name] != before["ROOT"] {
			t.Errorf("%s: the sum of %s is %g, of ROOT %g", c.name, first.Name, before[first.Name], before["ROOT"])
		}
		// The same in the flat view, and nothing is marked where only times are shown.
		flat, _ := NewTable(p, Options{Metrics: []string{"flop/s"}, Group: ByName, BaseUnits: true})
		times, _ := NewTable(p, Options{Metrics: []string{"time"}})
		for r := range flat.All() {
			if r.Name == c.kernel && r.WorkOf != c.of {
				t.Errorf("%s: in the flat view the work is of %q", c.name, r.WorkOf)
			}
		}
		for r := range times.All() {
			if r.WorkOf != "" {
				t.Errorf("%s: %s is marked where no work is shown", c.name, r.Name)
			}
		}
	}
	if p := tree("s bytes=4e8\n  k time=1000"); p != nil { // a copy has a place of its own
		p.Root.Children[0].Children[0].Name = "<memcpy HtoD>"
		table, _ := NewTable(p, Options{Metrics: []string{"byte/s"}, BaseUnits: true})
		for r := range table.All() {
			if r.WorkOf != "" {
				t.Errorf("%s has the bytes of %s", r.Name, r.WorkOf)
			}
		}
	}
}
