package merge

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

// launchSums adds up every launch of a tree by node and kind.
func launchSums(p *profile.Profile) map[string]profile.LaunchTimes {
	sums := map[string]profile.LaunchTimes{}
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for _, l := range n.Launches {
			key := fmt.Sprintf("%s %+v on %d", n.Name, p.Launches[l.Kind], l.Device)
			have := sums[key]
			l.Kind = 0
			have.Add(&l.Durations)
			have.Device = l.Device
			sums[key] = have
		}
		return true
	})
	return sums
}

// Kinds that agree add up, whatever the place that each file has them at, and in any order of the files.
func TestLaunchesAddUp(t *testing.T) {
	for seed := range uint64(40) {
		a, b, c := profiletest.Random(seed), profiletest.Random(seed), profiletest.Random(seed)
		profiletest.Launch(a, seed)
		profiletest.Launch(b, seed)
		profiletest.Launch(c, seed+1)
		slices.Reverse(b.Launches) // other places for the same
		want := launchSums(&profile.Profile{Root: &profile.Node{Children: []*profile.Node{}}})
		for _, p := range []*profile.Profile{a, b, c} {
			for key, l := range launchSums(p) {
				have := want[key]
				device := l.Device
				have.Add(&l.Durations)
				have.Device = device
				want[key] = have
			}
		}
		for _, order := range [][]*profile.Profile{{a, b, c}, {c, b, a}} {
			m := New(Options{})
			for i, p := range order {
				if err := m.Add(p, Source{File: fmt.Sprint(i)}); err != nil {
					t.Fatal(err)
				}
			}
			got := launchSums(m.Profile())
			if len(got) != len(want) {
				t.Fatalf("seed %d: %d sums, want %d", seed, len(got), len(want))
			}
			for key, w := range want {
				g := got[key]
				if g.Count != w.Count || g.Nanos != w.Nanos || g.Least != w.Least || g.Most != w.Most || count(g.Times) != count(w.Times) {
					t.Errorf("seed %d: %s: %+v, want %+v", seed, key, g, w)
				}
			}
		}
	}
}

func count(s *profile.Sketch) uint64 {
	if s == nil {
		return 0
	}
	return s.Count
}
