package profile_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/goproton/goproton/profile"
)

// scopes is a tree of random shape in which some frames have CPU time: at least that of the frames within.
func scopes(random *rand.Rand, depth int) (n *profile.Node, within int64) {
	n = &profile.Node{Name: fmt.Sprint(random.IntN(5))}
	for range random.IntN(4) * min(depth, 1) {
		c, below := scopes(random, depth-1)
		n.Children = append(n.Children, c)
		within += below
	}
	n.Set(profile.TimeMetric, profile.IntValue(7))
	if random.IntN(2) == 0 {
		within += random.Int64N(3) * 10
		n.Set(profile.CPUTimeMetric, profile.IntValue(within))
	}
	return n, within
}

// sum is the CPU time of all frames.
func sum(root *profile.Node) (all int64) {
	root.Walk(func(n *profile.Node, _ int) bool {
		v, _ := n.Metric(profile.CPUTimeMetric)
		all += v.Int()
		return true
	})
	return all
}

// Own times add up to the time of the outermost scopes, and what is within can be added again.
func TestOwnSpans(t *testing.T) {
	for seed := range uint64(200) {
		root, outermost := scopes(rand.New(rand.NewPCG(seed, 1)), 6)
		p := &profile.Profile{Root: root}
		before := fmt.Sprintf("%+v", names(p.Root))
		own, short := p.WithOwnSpans()
		if got := sum(own.Root); got != outermost || short != 0 {
			t.Fatalf("seed %d: own times add up to %d, want %d; %d frames are short", seed, got, outermost, short)
		}
		if after := fmt.Sprintf("%+v", names(p.Root)); after != before {
			t.Fatalf("seed %d: the profile was changed:\n%s\n%s", seed, before, after)
		}
		own.AddInnerSpans()
		if again := fmt.Sprintf("%+v", names(own.Root)); own != p && again != before {
			t.Fatalf("seed %d: with what is within again:\n%s\nwant\n%s", seed, again, before)
		}
	}
}

// names lists the frames with their times.
func names(root *profile.Node) (list []string) {
	root.Walk(func(n *profile.Node, depth int) bool {
		v, has := n.Metric(profile.CPUTimeMetric)
		list = append(list, fmt.Sprint(depth, n.Name, v.Int(), has))
		return true
	})
	return list
}

// A frame with less than those within, as a user's own file may have it, has nothing of its own.
func TestOwnSpansThatAreShort(t *testing.T) {
	inner := &profile.Node{Name: "inner"}
	inner.Set(profile.CPUTimeMetric, profile.FloatValue(30.5))
	inner.Set("cpu_time@rank1 (ns)", profile.IntValue(4))
	outer := &profile.Node{Name: "outer", Children: []*profile.Node{inner}}
	outer.Set(profile.CPUTimeMetric, profile.IntValue(20))
	outer.Set("cpu_time@rank1 (ns)", profile.IntValue(5))
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{outer}}}
	own, short := p.WithOwnSpans()
	first, _ := own.Root.Children[0].Metric(profile.CPUTimeMetric)
	ranked, _ := own.Root.Children[0].Metric("cpu_time@rank1 (ns)")
	if short != 1 || first.Int() != 0 || ranked.Int() != 1 {
		t.Errorf("%d are short, and the outer frame has %v and %v", short, first, ranked)
	}
}
