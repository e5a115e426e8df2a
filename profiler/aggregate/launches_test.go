package aggregate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler/callpath"
)

// launches prints the tagged launches of a frozen tree, a line each.
func launches(p *profile.Profile) string {
	var b strings.Builder
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for _, l := range n.Launches {
			k := p.Launches[l.Kind]
			fmt.Fprintf(&b, "%s: %q of %q on %d: %d in %d ns, %d..%d", n.Name, k.ID, k.Kernel, l.Device, l.Count, l.Nanos, l.Least, l.Most)
			if l.Times != nil {
				fmt.Fprintf(&b, ", %d timed", l.Times.Count)
			}
			b.WriteByte('\n')
		}
		return true
	})
	return b.String()
}

// kind registers one and returns its tag.
func kind(t *testing.T, id string) uint16 {
	t.Helper()
	return uint16(RegisterLaunchKind(profile.LaunchKind{ID: id, Kernel: "matmul", Hash: "ab", Function: 1}))
}

func tagged(set uint32, corr uint64, tag uint16) *callpath.Attribution {
	at := launched(set, corr)
	at.Tag = tag
	return at
}

func TestLaunchesOfAKindAddUp(t *testing.T) {
	a, tree, set := stage(t)
	small, large := kind(t, "small"), kind(t, "large")
	a.Add(kernel("matmul", 0, 9), tagged(set, 1, large))
	a.Add(kernel("matmul", 0, 3), tagged(set, 2, small))
	a.Add(kernel("matmul", 0, 4), tagged(set, 3, small))
	a.Add(kernel("matmul", 0, 0), tagged(set, 4, small)) // counted, but not timed
	a.Add(kernel("matmul", 1, 8), tagged(set, 5, small))
	a.Add(kernel("matmul", 0, 100), launched(set, 6)) // its hook did not run
	a.Add(kernel("add", 0, 1), tagged(set, 7, hotpath.Others))
	a.Add(&record.Activity{Kind: record.Memcpy, Name: "copy", Start: 1, End: 9}, tagged(set, 8, small))
	p, _ := (&Aggregator{}).Freeze(tree, "CUDA")
	want := `matmul: "small" of "matmul" on 0: 3 in 7 ns, 3..4
matmul: "small" of "matmul" on 1: 1 in 8 ns, 8..8
matmul: "large" of "matmul" on 0: 1 in 9 ns, 9..9
add: "" of "" on 0: 1 in 1 ns, 1..1
`
	if got := launches(p); got != want {
		t.Errorf("--- got\n%s--- want\n%s", got, want)
	}
	frozen(t, tree, "ROOT(matmul{count=6 device_id=0 time (ns)=124} add{count=1 device_id=0 time (ns)=1})")
}

// Replays count under the kind of the launch that was captured; a graph that is timed as one is of no kind.
func TestReplaysAreOfTheCapturedKind(t *testing.T) {
	a, _, _ := stage(t)
	tree := a.Sets.NewTree(TreeOptions{Times: true})
	set := a.Sets.Launch([]*Tree{tree})
	at := tagged(set, 1, kind(t, "captured"))
	at.Graph, at.Captured = true, &callpath.Captured{Place: callpath.Place{Set: set}, Tag: at.Tag}
	for range 3 {
		a.Add(kernel("matmul", 0, 5), at)
	}
	whole := launched(set, 2)
	whole.Graph = true
	a.Add(&record.Activity{Kind: record.Graph, Start: 1, End: 100}, whole)
	p, _ := (&Aggregator{}).Freeze(tree, "CUDA")
	if got, want := launches(p), "matmul: \"captured\" of \"matmul\" on 0: 3 in 15 ns, 5..5, 3 timed\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// While instructions are sampled, launches of several kinds are still one launcher: what it runs is one function.
func TestKindsDoNotApportionSamples(t *testing.T) {
	a, tree, set := stage(t)
	a.Sampling = NewSampling(false)
	for i, id := range []string{"x", "y", "z"} {
		at := tagged(set, uint64(i+1), kind(t, id))
		at.Function = a.Sampling.Number(record.Function{Module: 5, Name: "matmul"})
		a.Add(kernel("matmul", 0, 5), at)
	}
	a.AddSample(&record.Sample{Module: 5, Function: "matmul", Stalls: []record.Stall{{Samples: 7}}}, set, nil)
	a.Apportion()
	p, _ := a.Freeze(tree, "CUDA")
	if p.Sampling.Apportioned != 0 || a.Sampling.Apportioned != 0 {
		t.Errorf("%d of 7 samples were apportioned, of a function with one place", p.Sampling.Apportioned)
	}
	if n := strings.Count(launches(p), "\n"); n != 3 {
		t.Errorf("%d kinds of launches, want 3", n)
	}
}

// A timeline says of each kernel of which kind its launch was, as a tree sums them up by it: replays are of the captured
// launch's, and a tag that was never registered has none.
func TestTimelineNamesKinds(t *testing.T) {
	if err := hotpath.Init(); err != nil {
		t.Fatal(err)
	}
	var out profile.Timeline
	sets := NewSets()
	agg := New(sets)
	set := sets.Launch([]*Tree{sets.NewTree(TreeOptions{Timeline: NewTimeline(&out, func(uint32) (string, bool) { return "launch", false })})})
	small, large := kind(t, "small"), kind(t, "large")
	replay := launched(set, 5)
	replay.Graph, replay.Captured, replay.Tag = true, &callpath.Captured{Tag: large}, large
	for i, at := range []*callpath.Attribution{tagged(set, 1, large), tagged(set, 2, small), tagged(set, 3, large), launched(set, 4), replay, tagged(set, 6, hotpath.Others)} {
		k := kernel("matmul", 0, 9)
		k.Start, k.End = k.Start+uint64(100*i), k.End+uint64(100*i)
		agg.Add(k, at)
	}
	var got []string
	for _, s := range out.Slices {
		if s.Kind == profile.ScopeSlice {
			continue
		}
		text := s.Name
		if s.Launch != nil {
			text += " " + s.Launch.ID + " " + s.Launch.Hash
		}
		got = append(got, text)
	}
	want := "matmul large ab, matmul small ab, matmul large ab, matmul, matmul large ab, matmul"
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("%s, want %s", text, want)
	}
	if len(out.Slices) > 2 && out.Slices[0].Launch != out.Slices[2].Launch {
		t.Error("a kind is kept more than once")
	}
}
