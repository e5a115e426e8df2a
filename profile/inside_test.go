package profile_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

// instrumented returns what is inside of the nodes of a random profile. Sketches are left out where sums of floats matter.
func instrumented(seed uint64) (list []*profile.Inside) {
	p := profiletest.Random(seed)
	profiletest.Instrument(p, seed)
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		if n.Inside != nil {
			list = append(list, n.Inside)
		}
		return true
	})
	return list
}

func TestMergeInsideAssociates(t *testing.T) {
	for seed := range uint64(40) {
		all := instrumented(seed)
		for i := 0; i+2 < len(all); i += 3 {
			merge := func(list ...*profile.Inside) (sum *profile.Inside) {
				for _, each := range list {
					sum = profile.MergeInside(sum, each)
				}
				return sum
			}
			a, b, c := all[i], all[i+1], all[i+2]
			one, two, three := merge(a, b, c), merge(merge(a), merge(b, c)), merge(c, a, b)
			if !near(one, two) || !near(one, three) {
				t.Fatalf("seed %d: the order of merging matters:\n%+v %+v\n%+v %+v", seed, one.Kernel, one.Scope, two.Kernel, two.Scope)
			}
			if err := one.Check(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
}

// Merging changes neither side that it does not return.
func TestMergeInsideCopies(t *testing.T) {
	all, again := instrumented(3), instrumented(3)
	sum := profile.MergeInside(nil, all[0])
	for _, each := range all {
		sum = profile.MergeInside(sum, each)
	}
	if !reflect.DeepEqual(all, again) {
		t.Error("a value that was added has changed")
	}
}

// near compares with sums of floats as they come out in another order.
func near(a, b *profile.Inside) bool {
	sketches := func(i *profile.Inside) (list []*profile.Sketch) {
		if i.Kernel != nil {
			list = append(list, i.Kernel.Times)
		}
		if i.Scope != nil {
			list = append(list, i.Scope.Each, i.Scope.Sums)
		}
		return list
	}
	a, b = profile.MergeInside(nil, a), profile.MergeInside(nil, b)
	x, y := sketches(a), sketches(b)
	for i := range min(len(x), len(y)) {
		if x[i] == nil || y[i] == nil {
			continue
		}
		if math.Abs(x[i].Mean-y[i].Mean) > 1e-9*x[i].Mean || math.Abs(x[i].M2-y[i].M2) > 1e-9*x[i].M2 {
			return false
		}
		x[i].Mean, x[i].M2, y[i].Mean, y[i].M2 = 0, 0, 0, 0
	}
	return reflect.DeepEqual(a, b)
}

func TestRateOfAKernel(t *testing.T) {
	k := profile.InsideKernel{WarpNanos: 2000, Cycles: 3960}
	if got := k.Rate(); got != 1.98 {
		t.Errorf("rate %v", got)
	}
	if got := (&profile.InsideKernel{}).Rate(); got != 0 {
		t.Errorf("rate of nothing %v", got)
	}
}

func TestOnlyInside(t *testing.T) {
	kernel := func(name string, inside *profile.Inside, children ...*profile.Node) *profile.Node {
		n := &profile.Node{Name: name, Inside: inside, Children: children, Times: &profile.Sketch{}}
		for _, metric := range []string{profile.TimeMetric, profile.CountMetric, profile.DeviceIDMetric, profile.DeviceTypeMetric} {
			n.Set(metric, profile.IntValue(1))
		}
		return n
	}
	scope := func(name string, children ...*profile.Node) *profile.Node {
		return &profile.Node{Name: name, Children: children}
	}
	loss := scope("loss")
	loss.Set("loss", profile.FloatValue(0.5))
	described := kernel("described", nil)
	described.Set("flops", profile.IntValue(8))
	p := &profile.Profile{Root: scope("ROOT",
		scope("init", kernel("fill", nil), scope("deeper", kernel("fill", nil))), scope("nothing"), loss,
		scope("step", kernel("fill", nil), kernel("scoped", &profile.Inside{Kernel: &profile.InsideKernel{}}, scope("load")), described),
		kernel("lost", &profile.Inside{Kernel: &profile.InsideKernel{}}), kernel("fill", nil, kernel("child", nil)))}
	p.Root.Children[3].Children[1].Children[0].Set(profile.CyclesMetric, profile.IntValue(3))
	p.OnlyInside()
	text := ""
	p.Root.Walk(func(n *profile.Node, depth int) bool { text += strings.Repeat(" ", depth) + n.Name + "\n"; return true })
	if want := "ROOT\n loss\n step\n  scoped\n   load\n  described\n lost\n"; text != want {
		t.Errorf("got\n%s", text)
	}
}
