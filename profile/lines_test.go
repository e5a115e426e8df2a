package profile

import (
	"fmt"
	"strings"
	"testing"
)

// Lines come in the order of the source, behind the scopes that a launch hook's op may have below it; the samples lie at
// the innermost line, and those without a place on the kernel.
func TestAddLines(t *testing.T) {
	frame := func(line int, name string) SourceFrame { return SourceFrame{File: "k.py", Line: line, Func: name} }
	k := &Node{Name: "k", Children: []*Node{{Name: "scope"}}}
	p := &Profile{Root: &Node{Name: "ROOT", Children: []*Node{k}}, Kinds: Kinds{}, Sampling: &Sampling{
		Reasons: []string{"wait", "selected"},
		Functions: []SampledFunction{{Places: []Place{
			{Offset: 0, Frames: []SourceFrame{frame(20, "k")}},
			{Offset: 16, Frames: []SourceFrame{frame(3, "f"), frame(9, "k")}},
			{Offset: 32, Frames: []SourceFrame{frame(9, "k")}},
			{Offset: 48, Frames: []SourceFrame{frame(3, "f"), frame(20, "k")}},
		}}, {}},
	}}
	for i, f := range []FunctionSamples{{Function: 0}, {Function: 1}} {
		for offset := range uint64(5) {
			f.PCs = append(f.PCs, PCSamples{Offset: 16 * offset, Stalls: []Stall{{Reason: 0, Samples: 1 + offset}, {Reason: 1, Samples: uint64(10 * i)}}})
		}
		k.Samples = append(k.Samples, f)
	}
	p.AddLines()
	var b strings.Builder
	p.Root.Walk(func(n *Node, depth int) bool {
		fmt.Fprintf(&b, "%*s%s", 2*depth, "", n.Name)
		for _, m := range n.Metrics {
			fmt.Fprintf(&b, " %s=%d", m.Name, m.Value.Int())
		}
		b.WriteByte('\n')
		return true
	})
	const want = `ROOT
  k num_samples=70 num_stalled_samples=20 stalled_wait=20 stalled_selected=50
    scope
    k.py:9@k num_samples=3 num_stalled_samples=3 stalled_wait=3
      k.py:3@f num_samples=2 num_stalled_samples=2 stalled_wait=2
    k.py:20@k num_samples=1 num_stalled_samples=1 stalled_wait=1
      k.py:3@f num_samples=4 num_stalled_samples=4 stalled_wait=4
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	if p.Kinds["num_samples"] != Inclusive || p.Kinds["stalled_selected"] != Inclusive {
		t.Errorf("kinds %v", p.Kinds)
	}
}

// What instructions counted is not a sample: it lies under the counter's name, and a profile with nothing else has no samples.
func TestAddCountedLines(t *testing.T) {
	const executed = "smsp__sass_inst_executed"
	for _, reasons := range [][]string{{executed}, {executed, "wait"}} {
		k := &Node{Name: "k", Samples: []FunctionSamples{{PCs: []PCSamples{{Offset: 0, Stalls: []Stall{{Reason: 0, Samples: 7}}}, {Offset: 16}}}}}
		p := &Profile{Root: &Node{Name: "ROOT", Children: []*Node{k}}, Kinds: Kinds{}, Sampling: &Sampling{Reasons: reasons, Functions: []SampledFunction{
			{Places: []Place{{Offset: 0, Frames: []SourceFrame{{File: "k.py", Line: 20, Func: "k"}}}}}}}}
		want := "[{smsp__sass_inst_executed 7}] []"
		if len(reasons) > 1 {
			k.Samples[0].PCs[0].Stalls = append(k.Samples[0].PCs[0].Stalls, Stall{Reason: 1, Samples: 3})
			want = "[{num_samples 3} {num_stalled_samples 3} {smsp__sass_inst_executed 7} {stalled_wait 3}] []"
		}
		p.AddLines()
		got := ""
		for _, m := range k.Children[0].Metrics {
			got += fmt.Sprintf(" {%s %d}", m.Name, m.Value.Int())
		}
		if got = "[" + strings.TrimSpace(got) + "] " + fmt.Sprint(k.Metrics); got != want {
			t.Errorf("%q: got %s, want %s", reasons, got, want)
		}
		if _, sampled := p.Kinds[SamplesMetric]; sampled != (len(reasons) > 1) || p.Kinds[executed] != Inclusive {
			t.Errorf("%q: kinds %v", reasons, p.Kinds)
		}
	}
}

// Zeros stand at kernels only, and not above or below samples.
func TestAddZeros(t *testing.T) {
	ran := []Metric{{Name: DeviceIDMetric, Value: StringValue("0")}}
	hit := Metric{Name: SamplesMetric, Value: IntValue(3)}
	tree := func() *Node {
		return &Node{Name: "ROOT", Children: []*Node{
			{Name: "scope", Children: []*Node{{Name: "short", Metrics: ran}, {Name: "<memcpy HtoD>", Metrics: ran}}},
			{Name: "hit", Metrics: append(ran[:1:1], hit)},
			{Name: "lines", Metrics: ran, Children: []*Node{{Name: "k.py:3", Metrics: []Metric{hit}}}},
			{Name: "<captured_at>", Children: []*Node{{Name: "graph's", Metrics: ran}}},
		}}
	}
	for captured, want := range map[bool]string{true: "short graph's", false: "short"} {
		p := &Profile{Root: tree(), Kinds: Kinds{}, Sampling: &Sampling{}}
		p.AddZeros(captured)
		var zeros []string
		p.Root.Walk(func(n *Node, _ int) bool {
			if v, found := n.Metric(SamplesMetric); found && v.Int() == 0 {
				zeros = append(zeros, n.Name)
			}
			return true
		})
		if got := strings.Join(zeros, " "); got != want || p.Kinds[SamplesMetric] != Inclusive {
			t.Errorf("captured %v: zeros at %s, want %s; kinds %v", captured, got, want, p.Kinds)
		}
	}
	unsampled := &Profile{Root: tree(), Kinds: Kinds{}}
	if unsampled.AddZeros(true); len(unsampled.Kinds) > 0 {
		t.Error("a profile without sampling got zeros")
	}
}

// TestLinesWithoutReasons: samples whose sampler does not see why a warp waits count as samples, and neither as stalled nor as going on.
func TestLinesWithoutReasons(t *testing.T) {
	k := &Node{Name: "k", Samples: []FunctionSamples{{PCs: []PCSamples{{Stalls: []Stall{{Reason: 1, Samples: 7}, {Reason: 0, Samples: 2}}}}}}}
	p := &Profile{Root: &Node{Name: "ROOT", Children: []*Node{k}}, Kinds: map[string]Kind{},
		Sampling: &Sampling{Reasons: []string{"wait", NoReason}, Functions: []SampledFunction{{}}}}
	p.AddLines()
	for name, want := range map[string]int64{"num_samples": 9, "num_stalled_samples": 2, "stalled_wait": 2} {
		if v, ok := k.Metric(name); !ok || v.Int() != want {
			t.Errorf("%s is %v, want %d", name, v, want)
		}
	}
	if _, has := k.Metric(StalledMetricPrefix); has || len(p.Kinds) != 3 {
		t.Errorf("a metric for no reason, or kinds %v", p.Kinds)
	}
}
