package kernels

import (
	"slices"
	"testing"
)

// TestCapturedLaunchesHaveNamesOfTheirOwn: frames of the tree are distinguished by them, so that two with one name are one.
func TestCapturedLaunchesHaveNamesOfTheirOwn(t *testing.T) {
	captured := func(id string, grid ...int) *Group {
		return &Group{ID: id, Grid: grid, Note: "the arguments are not known: a CUDA graph was being captured"}
	}
	eager := &Group{ID: "e", Grid: []int{4}, Arguments: []Setting{{Name: "n", Value: "4096"}}}
	for _, c := range []struct {
		groups []*Group
		want   []string
	}{
		{[]*Group{eager, captured("a", 4)}, []string{"n=4096", "captured in a graph"}},
		{[]*Group{captured("a", 4), eager, captured("b", 64, 2)}, []string{"captured in a graph, grid=4", "n=4096", "captured in a graph, grid=64×2"}},
		{[]*Group{captured("a", 4), captured("b", 4)}, []string{"captured in a graph, grid=4 #a", "captured in a graph, grid=4 #b"}},
	} {
		labelGroups(&Kernel{Specialisations: []*Specialisation{{Groups: c.groups}}})
		var got []string
		for _, g := range c.groups {
			got = append(got, g.Label)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// Launches that do not say their compilation have a name all the same.
func TestUnknownCompilation(t *testing.T) {
	k := &Kernel{Specialisations: []*Specialisation{{Hash: "0123456789", Constexprs: []Setting{{"B", "1"}}}, {Hash: ""}}}
	labelSpecialisations(k)
	if got := k.Specialisations[1].Label; got != "of an unknown compilation" {
		t.Errorf("it is called %q", got)
	}
}
