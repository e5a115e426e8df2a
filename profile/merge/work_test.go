package merge

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

func nodeOf(name string, children []*profile.Node, metrics ...any) *profile.Node {
	n := &profile.Node{Name: name, Children: children}
	for i := 0; i < len(metrics); i += 2 {
		n.Set(metrics[i].(string), profile.IntValue(int64(metrics[i+1].(int))))
	}
	return n
}

// TestAddWork: each launch of a kernel gets the work of a launch that was counted, its lines together; what has work keeps it.
func TestAddWork(t *testing.T) {
	counts := &profile.Profile{Kinds: profile.Kinds{"bytes": profile.Inclusive, "flops16": profile.Inclusive}, Root: nodeOf("", []*profile.Node{
		nodeOf("one", []*profile.Node{nodeOf("a", []*profile.Node{
			nodeOf("a.py:1", []*profile.Node{nodeOf("b.py:2", nil, "bytes", 30, "flops16", 7)}, "bytes", 10, "loads", 3),
		}, "count", 2, WorksMetric, 1)}),
		nodeOf("a", []*profile.Node{nodeOf("a.py:1", nil, "bytes", 40, "flops16", 8)}, "count", 1, WorksMetric, 2),
		nodeOf("given", []*profile.Node{nodeOf("a.py:1", nil, "bytes", 1)}, "count", 1),
		nodeOf("scoped", []*profile.Node{nodeOf("a.py:1", nil, "bytes", 1)}, "count", 1),
		nodeOf("gone", []*profile.Node{nodeOf("a.py:1", nil, "bytes", 1)}, "count", 1),
	}, "count", 0, "bytes", 0)}
	p := &profile.Profile{Kinds: profile.Kinds{}, Root: nodeOf("", []*profile.Node{
		nodeOf("train", []*profile.Node{
			nodeOf("a", nil, "count", 30, "time (ns)", 9), nodeOf("given", nil, "count", 2, "bytes", 5), nodeOf("aten", nil, "count", 1), nodeOf("<memset>", nil, "count", 1),
		}),
		nodeOf("a", nil, "count", 3),
		nodeOf("scope", []*profile.Node{nodeOf("scoped", nil, "count", 4)}, "flops", 6),
	})}
	notes, err := AddWork(p, counts)
	if err != nil {
		t.Fatal(err)
	}
	value := func(n *profile.Node, metric string) int64 {
		v, has := n.Metric(metric)
		if !has {
			return -1
		}
		return v.Int()
	}
	train, alone, scoped := p.Root.Children[0].Children, p.Root.Children[1], p.Root.Children[2].Children[0]
	for _, c := range []struct {
		n             *profile.Node
		bytes, flops  int64
		whatItShowsIn string
	}{{train[0], 800, 150, "80 bytes and 15 flops of 3 launches, for 30"}, {train[1], 5, -1, "given"}, {train[2], -1, -1, "not counted"}, {train[3], -1, -1, "a fill"}, {alone, 80, 15, "3 launches"}, {scoped, -1, -1, "in a scope with flops"}} {
		if b, f := value(c.n, "bytes"), value(c.n, "flops16"); b != c.bytes || f != c.flops {
			t.Errorf("%s, %s: %d bytes, %d flops", c.n.Name, c.whatItShowsIn, b, f)
		}
	}
	if p.Kinds["bytes"] != profile.Inclusive || p.Kinds["flops16"] != profile.Inclusive {
		t.Errorf("%v", p.Kinds)
	}
	want := []string{"flops and bytes of 1 kernel are from the counts: a", "of 2 kernels flops or bytes are the profile's own: given, scoped", "of 1 kernel of the profile there are no counts: aten",
		"counts of 1 kernel have no kernel in the profile: gone", "the counted launches of 1 kernel differ in their work, and each launch gets their average: a"}
	if strings.Join(notes, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", strings.Join(notes, "\n"))
	}
}

// TestAddWorkOfOthers: profiles that do not belong together are refused.
func TestAddWorkOfOthers(t *testing.T) {
	counts := &profile.Profile{Root: nodeOf("", []*profile.Node{nodeOf("a", []*profile.Node{nodeOf("a.py:1", nil, "bytes", 1)}, "count", 1)})}
	p := &profile.Profile{Kinds: profile.Kinds{}, Root: nodeOf("", []*profile.Node{nodeOf("b", nil, "count", 1, "time (ns)", 2)})}
	if _, err := AddWork(p, counts); err == nil || !strings.Contains(err.Error(), "no kernel of the profile has the name of one that was counted: a") {
		t.Error(err)
	}
	if _, err := AddWork(counts, p); err == nil || !strings.Contains(err.Error(), "has no kernel with flops or bytes") {
		t.Error(err)
	}
}

// TestAddWorkByKind: where profile and counts know the kinds of launches, each has the work of its own; otherwise it is the average.
func TestAddWorkByKind(t *testing.T) {
	launches := func(n *profile.Node, counts ...int) *profile.Node {
		for kind, count := range counts {
			if count > 0 {
				n.Launches = append(n.Launches, profile.LaunchTimes{Kind: kind, Durations: profile.Durations{Count: uint64(count)}})
			}
		}
		return n
	}
	counts := &profile.Profile{Launches: []profile.LaunchKind{{ID: "small", Kernel: "a"}, {ID: "large", Kernel: "a"}}, Root: nodeOf("", []*profile.Node{nodeOf("a", []*profile.Node{
		launches(nodeOf("[1] n=1", []*profile.Node{nodeOf("a.py:1", nil, "bytes", 20)}, "count", 2), 2),
		launches(nodeOf("[9] n=9", []*profile.Node{nodeOf("a.py:1", nil, "bytes", 900)}, "count", 1), 0, 1),
	})})}
	p := &profile.Profile{Kinds: profile.Kinds{}, Launches: []profile.LaunchKind{{ID: "large"}, {ID: "small"}, {ID: "other"}}, Root: nodeOf("", []*profile.Node{
		nodeOf("x", []*profile.Node{launches(nodeOf("a", nil, "count", 5), 1, 4)}), nodeOf("y", []*profile.Node{launches(nodeOf("a", nil, "count", 3), 1, 1, 1)}),
	})}
	notes, err := AddWork(p, counts)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{900 + 4*10, 3 * 920 / 3} {
		if v, _ := p.Root.Children[i].Children[0].Metric("bytes"); v.Int() != want {
			t.Errorf("%d bytes, want %d", v.Int(), want)
		}
	}
	if text := strings.Join(notes, "\n"); !strings.Contains(text, "the counted launches of 1 kernel differ in their work, and each launch gets their average: a") {
		t.Error(text)
	}
}

// TestAddWorkByPath: launches below frames that counts have too get the work that was counted there; others the kernel's average.
func TestAddWorkByPath(t *testing.T) {
	line := func(bytes int) []*profile.Node { return []*profile.Node{nodeOf("a.py:1", nil, "bytes", bytes)} }
	counts := &profile.Profile{Root: nodeOf("", []*profile.Node{
		nodeOf("step", []*profile.Node{nodeOf("forward", []*profile.Node{nodeOf("a", line(600), "count", 2, WorksMetric, 1)}), nodeOf("backward", []*profile.Node{nodeOf("a", line(30), "count", 3, WorksMetric, 1)})}),
		nodeOf("a", line(5), "count", 1, WorksMetric, 1),
	})}
	p := &profile.Profile{Kinds: profile.Kinds{}, Root: nodeOf("", []*profile.Node{
		nodeOf("step", []*profile.Node{nodeOf("forward", []*profile.Node{nodeOf("a", nil, "count", 10)}), nodeOf("backward", []*profile.Node{nodeOf("a", nil, "count", 10)}), nodeOf("a", nil, "count", 6)}),
	})}
	notes, err := AddWork(p, counts)
	if err != nil {
		t.Fatal(err)
	}
	step := p.Root.Children[0]
	for i, c := range []struct {
		n    *profile.Node
		want int64
	}{{step.Children[0].Children[0], 3000}, {step.Children[1].Children[0], 100}, {step.Children[2], 635}} {
		if v, _ := c.n.Metric("bytes"); v.Int() != c.want {
			t.Errorf("%d: %d bytes, want %d", i, v.Int(), c.want)
		}
	}
	if text := strings.Join(notes, "\n"); !strings.Contains(text, "gets their average: a") {
		t.Error(text)
	}
	step.Children = step.Children[:2] // without a launch that is nowhere in the counts
	for _, n := range step.Children {
		n.Children[0].Metrics = n.Children[0].Metrics[:1]
	}
	if notes, err = AddWork(p, counts); err != nil || strings.Contains(strings.Join(notes, "\n"), "average") {
		t.Error(notes, err)
	}
}
