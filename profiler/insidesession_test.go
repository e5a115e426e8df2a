package profiler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/hotpath/scratch"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

var looping = &inside.Kernel{
	Name: "loop", Triton: "3.6.0", Arch: "90", Warps: 1, BufferSize: 32, SlotSize: hotpathtest.SlotSize(1, 32),
	Scopes: []inside.Scope{{ID: 0, Name: "all", Parent: -1, File: "loop.py", Line: 3}, {ID: 1, Name: "load", Parent: 0, File: "loop.py", Line: 5}},
}

// looped is what a launch of two blocks leaves; the ring holds four of six entries.
func looped(op uint64) *inside.Launch {
	block := hotpathtest.InsideBlock{SM: 7, Init: 5000, PreFinal: 5400, PostFinal: 5500, Warps: map[int][]hotpathtest.InsideRecord{0: {
		hotpathtest.InsideIn(0, 10), hotpathtest.InsideIn(1, 20), hotpathtest.InsideOut(1, 120), hotpathtest.InsideIn(1, 200), hotpathtest.InsideOut(1, 260), hotpathtest.InsideOut(0, 700),
	}}}
	return &inside.Launch{Kernel: looping, Grid: [3]uint32{2, 1, 1}, Correlation: op, Buffer: hotpathtest.InsideBuffer(looping, 0, []hotpathtest.InsideBlock{block, block})}
}

// insideSession runs two launches in a scope and returns the file of the session, and what was said.
func insideSession(t *testing.T, o StartOptions) (file string, problems []string) {
	t.Helper()
	m, f := stage(t)
	o.Source.Replay = "a.capture"
	start(t, m, "p", o)
	init := hotpathtest.Enter("init")
	hotpathtest.Launch(3, 9)
	hotpathtest.Leave(init)
	step := hotpathtest.Enter("step")
	hotpathtest.Launch(1, 9)
	hotpathtest.Launch(2, 9)
	hotpathtest.Leave(step)
	f.kernel(3, "fill", 300)
	m.ReplayInside(looped(1))
	f.kernel(1, "loop", 700)
	m.ReplayInside(looped(2))
	f.kernel(2, "loop", 700)
	files, err := m.Finalize(nil, "")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	return files[0], m.Problems()
}

func TestSessionWithScopesInsideKernels(t *testing.T) {
	file, _ := insideSession(t, StartOptions{})
	p, err := formats.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	k := p.Root.Child("step").Child("loop")
	if v, _ := k.Metric(profile.CountMetric); v.Int() != 2 || k.Inside.Kernel.Launches != 2 {
		t.Fatalf("%d kernels, %+v", v.Int(), k.Inside.Kernel)
	}
	// The starts of all and of the first load were overwritten: what is left is the second load.
	load := k.Child("all").Child("load")
	if v, _ := load.Metric(profile.CyclesMetric); v.Int() != 4*60 || load.Inside.Scope.Count() != 4 || k.Child("all").Inside != nil {
		t.Errorf("load %+v", load.Inside.Scope)
	}
	if l := k.Inside.Kernel.Losses; l.Overwritten != 8 || l.FullRings != 4 || l.Need != 64 {
		t.Errorf("losses %+v", l)
	}
}

// The mode is that of the sessions that record scopes inside kernels, while there are some. A session that goes on after them has none.
func TestModeOfScopesInsideKernelsEndsWithTheirSessions(t *testing.T) {
	m, _ := stage(t)
	if err := hotpath.Init(); err != nil {
		t.Fatal(err)
	}
	scratch.Init(hotpath.API())
	start(t, m, "always on", StartOptions{})
	begin := func(name, mode string) (int, error) {
		return m.Start(StartOptions{Name: filepath.Join(t.TempDir(), name), Backend: InsideBackend, Mode: mode})
	}
	keeps := func() (is bool) {
		m.drainer.do(func(d *drainer) { is = d.keepsCallPaths() })
		return is
	}
	one, err := begin("one", "default")
	if err != nil || !keeps() {
		t.Fatal(err)
	}
	two, err := begin("two", "default")
	if err != nil {
		t.Fatal(err)
	}
	for n, id := range []int{one, two} {
		if _, err := begin("other", "mma"); err == nil {
			t.Error("two modes at the same time")
		}
		if _, err := m.Finalize(&id, ""); err != nil || keeps() != (n == 0) {
			t.Errorf("call paths are kept after session %d: %v, %v", n, keeps(), err)
		}
	}
	if _, err := begin("other", "mma"); err != nil || !keeps() {
		t.Errorf("another mode after all sessions of the first: %v", err)
	}
}

func TestUpstreamsTreeOfScopesInsideKernels(t *testing.T) {
	for form, want := range map[string]string{"": "step init", "triton": "step"} {
		file, _ := insideSession(t, StartOptions{TraceForm: form})
		p, err := formats.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := childNames(p.Root); got != want {
			t.Errorf("form %q: %s below the root, want %s", form, got, want)
		}
		if k := p.Root.Child("step").Child("loop"); k == nil || k.Inside.Kernel.Launches != 2 || k.Child("all") == nil {
			t.Errorf("form %q: %+v", form, k)
		}
	}
}

func childNames(n *profile.Node) string {
	names := make([]string, len(n.Children))
	for i, c := range n.Children {
		names[i] = c.Name
	}
	return strings.Join(names, " ")
}

func TestUpstreamsTraceOfScopesInsideKernels(t *testing.T) {
	file, _ := insideSession(t, StartOptions{Data: "trace", TraceForm: "triton"})
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	one := `{"args":{"Finalization Time (ns)":100,"Frequency (MHz)":1000.0,"call_stack":["ROOT","step","loop","all"]},"cat":"loop","cname":"cq_build_passed",` +
		`"dur":0.06,"name":"load","ph":"X","pid":"loop Core7 CTA0","tid":"warp 0 (line 0)","ts":0.0}`
	two := strings.Replace(one, "CTA0", "CTA1", 1)
	if want := `{"displayTimeUnit":"ns","traceEvents":[` + strings.Join([]string{one, two, one, two}, ",") + "]}\n"; string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestTraceOfScopesInsideKernels(t *testing.T) {
	file, problems := insideSession(t, StartOptions{Data: "trace"})
	p, err := formats.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, l := range p.Timeline.Lanes {
		if l.Kind == profile.WarpLane {
			text += l.Name + "\n"
		}
	}
	for _, s := range p.Timeline.Slices {
		if s.Kind == profile.InsideSlice {
			text += strings.Join(s.Path, ">") + " " + s.Name + "\n"
		}
	}
	if want := "loop: first block, warp 0\nloop: longest block, warp 0\n"; !strings.HasPrefix(text, want) || strings.Count(text, "ROOT>step>loop>all>load load\n") != 4 {
		t.Errorf("got\n%s%q", text, problems)
	}
	if n := p.Root.Child("step").Child("loop").Children; n != nil { // only some blocks are shown, so nothing is summed
		t.Errorf("the tree of the timeline has %v", n[0].Name)
	}
}
