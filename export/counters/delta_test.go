package counters

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// paths adds up the values of all profiles by call path and metric.
func paths(into map[string]uint64, n *profile.Node, prefix string) {
	prefix += "/" + n.Name
	for _, m := range metrics {
		if v, has := n.Metric(m); has {
			into[prefix+" "+m] += uint64(v.Int())
		}
	}
	for _, c := range n.Children {
		paths(into, c, prefix)
	}
}

// grow adds random work somewhere below a node, as a run does between two windows.
func grow(r *rand.Rand, n *profile.Node, depth int, want map[string]uint64, prefix string) {
	prefix += "/" + n.Name
	add := func(metric string, by int64) {
		have, _ := n.Metric(metric)
		n.Set(metric, profile.IntValue(have.Int()+by))
		want[prefix+" "+metric] += uint64(by)
	}
	if r.IntN(3) == 0 {
		add(profile.TimeMetric, r.Int64N(1e6)+1)
		add(profile.CountMetric, 1)
	}
	if r.IntN(5) == 0 {
		have, _ := n.Metric("flops16")
		f, _ := have.Float()
		by := float64(r.Int64N(1 << 20))
		n.Set("flops16", profile.FloatValue(f+by))
		want[prefix+" "+FlopsMetric] += uint64(by)
	}
	if r.IntN(4) == 0 {
		n.Samples = append(n.Samples, profile.FunctionSamples{PCs: []profile.PCSamples{{Stalls: []profile.Stall{{Samples: 3}}}}})
		want[prefix+" "+profile.SamplesMetric] += 3
	}
	if depth == 0 {
		return
	}
	for range r.IntN(3) {
		name := fmt.Sprint("frame", r.IntN(40))
		c := n.Child(name)
		if c == nil {
			c = &profile.Node{Name: name}
			n.Children = append(n.Children, c)
		}
		grow(r, c, depth-1, want, prefix)
	}
}

// The sum of all windows is the profile, at each call path, whatever a window has.
func TestWindowsAddUp(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}}
		var taken Taken
		want, got := map[string]uint64{}, map[string]uint64{}
		for range 40 {
			if r.IntN(4) > 0 {
				grow(r, p.Root, 6, want, "")
			}
			if w := taken.Take(p); w != nil {
				paths(got, w.Root, "")
			}
		}
		for path, v := range want {
			if v != got[path] {
				t.Fatalf("seed %d: %s is %d in the windows, %d in the profile", seed, path, got[path], v)
			}
			delete(got, path)
		}
		for path, v := range got {
			if v != 0 {
				t.Fatalf("seed %d: the windows have %d at %s, the profile has nothing there", seed, v, path)
			}
		}
	}
}

func TestNothingNew(t *testing.T) {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: "scope", Metrics: []profile.Metric{{Name: "loss", Value: profile.FloatValue(1)}}}}}}
	var taken Taken
	if w := taken.Take(p); w != nil {
		t.Errorf("a profile without work has a window %v", w.Root.Children)
	}
	p.Root.Children[0].Set(profile.CountMetric, profile.IntValue(2))
	if w := taken.Take(p); w == nil || len(w.Root.Children[0].Metrics) != 1 {
		t.Error("the window lacks two launches, or has more")
	}
	if w := taken.Take(p); w != nil {
		t.Error("the same launches are in two windows")
	}
}

// A path that runs on several GPUs is one sibling for each, of which the first has what is below, whichever GPU comes first.
func TestSeveralDevices(t *testing.T) {
	on := func(device string, nanos int64) *profile.Node {
		n := &profile.Node{Name: "op"}
		if device != "" {
			n.Set(profile.DeviceIDMetric, profile.StringValue(device))
			n.Set(profile.TimeMetric, profile.IntValue(nanos))
		}
		return n
	}
	first := func(n *profile.Node, flops int64) *profile.Node {
		n.Set("flops", profile.IntValue(flops))
		n.Children = []*profile.Node{{Name: "k", Metrics: []profile.Metric{{Name: profile.CountMetric, Value: profile.IntValue(flops)}}}}
		return n
	}
	var taken Taken
	got := map[string]uint64{}
	for _, children := range [][]*profile.Node{
		{first(on("", 0), 1)}, // launched, and not finished anywhere
		{first(on("1", 10), 2)},
		{first(on("1", 20), 3), on("0", 5)},
		{first(on("1", 20), 3), on("0", 7), on("2", 1)},
	} {
		w := taken.Take(&profile.Profile{Root: &profile.Node{Name: "ROOT", Children: children}})
		for _, n := range w.Root.Children {
			v, _ := n.Metric(profile.DeviceIDMetric)
			device := &profile.Node{Name: "device " + v.Str(), Children: []*profile.Node{n}}
			paths(got, device, "")
		}
	}
	want := map[string]uint64{"/device 1/op time (ns)": 20, "/device 0/op time (ns)": 7, "/device 2/op time (ns)": 1}
	for path, v := range want {
		if got[path] != v {
			t.Errorf("%s: %d, want %d", path, got[path], v)
		}
	}
	flops, launches := uint64(0), uint64(0)
	for path, v := range got {
		switch {
		case strings.HasSuffix(path, " flops"):
			flops += v
		case strings.HasSuffix(path, "/k count"):
			launches += v
		}
	}
	if flops != 3 || launches != 3 {
		t.Errorf("%d flops and %d launches, want 3 of each: %v", flops, launches, got)
	}
}

// Samples are apportioned anew when kernel times change: a value may shrink. No window has a negative number.
func TestValueThatShrinks(t *testing.T) {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}}
	var taken Taken
	var sum int64
	for _, v := range []int64{10, 7, 9, 12} {
		p.Root.Set(profile.CountMetric, profile.IntValue(v))
		if w := taken.Take(p); w != nil {
			fresh, _ := w.Root.Metric(profile.CountMetric)
			if fresh.Int() <= 0 {
				t.Errorf("a window has %d launches", fresh.Int())
			}
			sum += fresh.Int()
		}
	}
	if sum != 12 {
		t.Errorf("the windows have %d launches, want 12", sum)
	}
}

// Of each type that a metric may name, flops are taken; flops alone are the total, and what comes from operators is a part that does not count
// where the program gives flops itself.
func TestFlopsOfAllTypes(t *testing.T) {
	typed := &profile.Node{Name: "typed"}
	var want int64
	for i, dtype := range profile.OperandTypes {
		typed.Set("flops_"+dtype, profile.FloatValue(float64(int64(1)<<i)))
		want += 1 << i
	}
	for _, bits := range profile.OperandWidths {
		typed.Set(fmt.Sprint("flops", bits), profile.IntValue(int64(bits)<<20))
		want += int64(bits) << 20
	}
	for _, other := range []string{"operator_flops16", "estimated_flops16", "flops_fp12", "flops12", "flops_"} {
		typed.Set(other, profile.IntValue(1))
	}
	want-- // flops16 are the program's but for one of an operator, which does not count there
	both := &profile.Node{Name: "both"}
	both.Set("flops_bf16", profile.IntValue(3))
	both.Set("flops", profile.IntValue(7))
	var taken Taken
	w := taken.Take(&profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{typed, both}}})
	for name, want := range map[string]int64{"typed": want, "both": 7} {
		if v, _ := w.Root.Child(name).Metric(FlopsMetric); v.Int() != want {
			t.Errorf("%s: %d flops, want %d", name, v.Int(), want)
		}
	}
}

// 10^15 flops a second exceed 63 bits after 2.6 hours: a window is exact all the same.
func TestFlopsOfDays(t *testing.T) {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}}
	var taken Taken
	const window = 1 << 56 // 72 PFLOP; multiples of it are exact in a float
	for i := 1; i <= 2000; i++ {
		p.Root.Set("flops8", profile.FloatValue(float64(i)*window))
		w := taken.Take(p)
		if w == nil {
			t.Fatalf("window %d has no flops", i)
		}
		if v, _ := w.Root.Metric(FlopsMetric); v.Int() != window {
			t.Fatalf("window %d has %d flops, want %d", i, v.Int(), int64(window))
		}
	}
}

func TestWhole(t *testing.T) {
	for _, c := range []struct {
		v    profile.Value
		want uint64
	}{
		{profile.FloatValue(2.5), 3}, {profile.FloatValue(math.NaN()), 0}, {profile.FloatValue(math.Inf(1)), 0}, {profile.FloatValue(-3), ^uint64(2)},
		{profile.FloatValue(1 << 64), 0}, {profile.FloatValue(1<<64 + 4096), 4096}, {profile.StringValue("7"), 0}, {profile.IntValue(-1), ^uint64(0)},
	} {
		if got := whole(c.v); got != c.want {
			t.Errorf("%v counts as %d, want %d", c.v, got, c.want)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	root := &profile.Node{Name: "ROOT"}
	for i := range 100 {
		scope := &profile.Node{Name: fmt.Sprint("scope", i)}
		for j := range 100 {
			scope.Children = append(scope.Children, &profile.Node{Name: fmt.Sprint("kernel", j), Metrics: []profile.Metric{
				{Name: profile.CountMetric, Value: profile.IntValue(1)}, {Name: profile.TimeMetric, Value: profile.IntValue(1000)}}})
		}
		root.Children = append(root.Children, scope)
	}
	p := &profile.Profile{Root: root}
	var taken Taken
	for b.Loop() {
		taken.Take(p)
	}
}
