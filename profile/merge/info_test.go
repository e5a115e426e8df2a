package merge

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// What a fact says of a part of one profile's work is not said of the sum: that says of how many profiles it holds, however they are grouped.
func TestFactsOfAPart(t *testing.T) {
	merged := func(infos ...profile.Info) profile.Info {
		m := New(Options{})
		for _, info := range infos {
			if err := m.Add(&profile.Profile{Root: &profile.Node{Name: "ROOT"}, Info: info}, Source{}); err != nil {
				t.Fatal(err)
			}
		}
		return m.Profile().Info
	}
	const half = "the Python call paths of 50.0% of 500 launches were not taken, within a budget: these stand below (path not taken), and times and counts are complete"
	thinned := func(text string) profile.Info { return profile.Info{profile.InfoThinned: text} }
	a, b, c := thinned(half), thinned(half), thinned(strings.Replace(half, "50", "25", 1))
	whole := profile.Info{profile.InfoHost: "a"}

	if got := merged(a)[profile.InfoThinned]; got != half {
		t.Errorf("of one profile: %q", got)
	}
	want := "in 3 of 5 profiles, the Python call paths of some launches were not taken, within a budget: these stand below (path not taken), and times and counts are complete"
	for _, got := range []profile.Info{
		merged(a, b, c, whole, whole), merged(whole, merged(a, b), merged(c), whole), merged(merged(whole, merged(a, whole)), merged(b, c)),
	} {
		if got[profile.InfoThinned] != want || got[profile.InfoSampled] != "" {
			t.Errorf("%v", got)
		}
	}
	sampled := profile.Info{profile.InfoSampled: "instructions were sampled for 21% of the time and 20% of the kernels, within a budget; numbers of samples are not scaled"}
	want = "in 1 of 2 profiles, instructions were sampled for a part of the time, within a budget; numbers of samples are not scaled"
	if got := merged(sampled, whole)[profile.InfoSampled]; got != want {
		t.Errorf("%q", got)
	}
}
