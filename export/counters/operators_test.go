package counters

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// program is a tree of scopes, some with flops of their own, with operators of PyTorch and their kernels.
type program struct {
	r    *rand.Rand
	root *profile.Node
}

func (g *program) profile() *profile.Profile {
	return &profile.Profile{Root: g.root, Kinds: profile.Kinds{"flops16": profile.Inclusive, "operator_flops16": profile.Inclusive, profile.CountMetric: profile.Inclusive}}
}

func add(n *profile.Node, metric string, by int64) {
	have, _ := n.Metric(metric)
	n.Set(metric, profile.IntValue(have.Int()+by))
}

func child(n *profile.Node, name string) *profile.Node {
	c := n.Child(name)
	if c == nil {
		c = &profile.Node{Name: name}
		n.Children = append(n.Children, c)
	}
	return c
}

// step runs an operator, within another one or not, in a scope, or a kernel of the program. Every third scope has flops from its first time on.
func (g *program) step() {
	i := g.r.IntN(6)
	scope := child(g.root, fmt.Sprint("scope", i))
	if i%3 == 0 {
		add(scope, "flops16", 7)
	}
	at := scope
	for range 1 + g.r.IntN(2) {
		at = child(at, fmt.Sprint("aten::op", g.r.IntN(3)))
		flops := g.r.Int64N(1000)
		add(at, "flops16", flops)
		add(at, "operator_flops16", flops)
	}
	if g.r.IntN(5) > 0 { // else its kernel arrives in a later window, if at all
		add(child(at, fmt.Sprint("kernel", g.r.IntN(2))), profile.CountMetric, 1)
	}
	if g.r.IntN(4) == 0 {
		k := child(scope, "own kernel")
		add(k, profile.CountMetric, 1)
		add(k, "flops16", 3)
	}
}

// inclusive adds up a metric below each frame other than kernels: which kernel has the flops of an operator depends on the window.
func inclusive(into map[string]int64, n *profile.Node, prefix string, names ...string) (sum int64) {
	prefix += "/" + n.Name
	for _, name := range names {
		v, _ := n.Metric(name)
		sum += v.Int()
	}
	for _, c := range n.Children {
		sum += inclusive(into, c, prefix, names...)
	}
	if _, kernel := n.Metric(profile.CountMetric); !kernel && strings.Count(prefix, "aten") < 2 { // an operator's may be at a kernel of the operator in it
		into[prefix] += sum
	}
	return sum
}

// Operators count once in all windows together, whichever kernels they run in which of them.
func TestWorkOfOperatorsInWindows(t *testing.T) {
	moved := 0
	for seed := range uint64(100) {
		g := &program{rand.New(rand.NewPCG(seed, 3)), &profile.Node{Name: "ROOT"}}
		var taken Taken
		got, want := map[string]int64{}, map[string]int64{}
		for range 1 + g.r.IntN(30) {
			for range g.r.IntN(5) {
				g.step()
			}
			w := taken.Take(g.profile())
			if w == nil {
				continue
			}
			inclusive(got, w.Root, "", FlopsMetric)
			w.Root.Walk(func(n *profile.Node, _ int) bool {
				if _, flops := n.Metric(FlopsMetric); flops && len(n.Name) == len("kernel0") && n.Name[:6] == "kernel" {
					moved++
				}
				for _, m := range n.Metrics {
					if _, known := w.Kinds[m.Name]; !known {
						t.Fatalf("a window has %s", m.Name)
					}
				}
				return true
			})
		}
		p := g.profile()
		p.CountOperatorsOnce()
		inclusive(want, p.Root, "", "flops16")
		for path, v := range want {
			if got[path] != v {
				t.Fatalf("seed %d: %s has %d flops in the windows, %d in the profile", seed, path, got[path], v)
			}
		}
	}
	if moved == 0 {
		t.Error("no kernel has the flops of its operator")
	}
}

// An operator that ran one kernel for hours, and then another one.
func TestSecondKernelOfAnOperator(t *testing.T) {
	g := &program{root: &profile.Node{Name: "ROOT"}}
	op := child(g.root, "aten::mm")
	var taken Taken
	run := func(kernel string, times int64) int64 {
		add(op, "flops16", 100*times)
		add(op, "operator_flops16", 100*times)
		add(child(op, kernel), profile.CountMetric, times)
		w := taken.Take(g.profile())
		if w.Root.Children[0].Children[0].Name != kernel {
			t.Fatalf("the window has %v", w.Root.Children[0].Children)
		}
		flops, _ := w.Root.Children[0].Children[0].Metric(FlopsMetric)
		return flops.Int()
	}
	if first, second := run("gemm_a", 50), run("gemm_b", 1); first != 5000 || second != 100 {
		t.Errorf("the kernels of the two windows have %d and %d flops, want 5000 and 100", first, second)
	}
}
