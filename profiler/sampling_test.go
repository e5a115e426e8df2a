package profiler

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/gpu/cubin"
	"github.com/goproton/goproton/gpu/record"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/profiler/aggregate"
)

// fakeSampler is a fakeSource that also samples what a test says. A function's handle is its index in the symbol table.
type fakeSampler struct {
	*fakeSource
	samples   []record.Sample
	functions map[uint64]record.Function
	images    map[uint64][]byte
	facts     record.SamplingFacts
	asked     record.SamplingRequest
}

func (f *fakeSampler) Samples(to func(*record.Sample)) {
	f.mu.Lock()
	samples := f.samples
	f.samples = nil
	f.mu.Unlock()
	for i := range samples {
		to(&samples[i])
	}
}
func (f *fakeSampler) Function(handle uint64) (record.Function, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, ok := f.functions[handle]
	return known, ok
}
func (f *fakeSampler) Loaded(handle uint64, name string, image []byte) {
	f.function(handle, record.HashImage(image), name)
	f.image(record.HashImage(image), image)
}
func (f *fakeSampler) Image(module uint64) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.images[module]
}
func (f *fakeSampler) ImageSuffix() string { return "cubin" }
func (f *fakeSampler) Module(module uint64) gpu.Module {
	if image := f.Image(module); image != nil {
		return cubin.NewModule(image)
	}
	return nil
}
func (f *fakeSampler) SamplingFacts() record.SamplingFacts { return f.facts }

// image adds a module.
func (f *fakeSampler) image(module uint64, image []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.images[module] = image
}

// sample adds samples of an instruction: n that went on, and stalled that waited for memory, a third of them for nothing.
func (f *fakeSampler) sample(of record.Function, offset uint64, n, stalled uint32) {
	f.sampleOf(0, of, offset, n, stalled)
}

// sampleOf adds serialized samples, which name their launch.
func (f *fakeSampler) sampleOf(corr uint64, of record.Function, offset uint64, n, stalled uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.samples = append(f.samples, record.Sample{Correlation: corr, Module: of.Module, Index: of.Index, Function: of.Name, Offset: offset,
		Stalls: []record.Stall{{Reason: 1, Samples: uint64(n)}, {Reason: 0, Samples: uint64(stalled), NotIssued: stalled / 3}}})
}

func samplingStage(t *testing.T) (*Manager, *fakeSampler) {
	t.Helper()
	m, source := stage(t)
	f := &fakeSampler{fakeSource: source, functions: map[uint64]record.Function{}, images: map[uint64][]byte{},
		facts: record.SamplingFacts{Mode: record.Continuous, Period: 65536, Reasons: []string{"long_scoreboard", "selected"}}}
	register("fake", func(o SourceOptions) Source { f.asked = o.Sampling; return f })
	return m, f
}

func (f *fakeSampler) function(handle, module uint64, name string) record.Function {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.functions[handle] = record.Function{Module: module, Index: uint32(handle), Name: name}
	return f.functions[handle]
}

// launch launches a kernel within a scope.
func (f *fakeSampler) launch(scope string, corr uint64, handle uint64, nanos uint64) {
	s := hotpathtest.Enter(scope)
	hotpathtest.Launch(corr, handle)
	hotpathtest.Leave(s)
	f.kernel(corr, f.functions[handle].Name, nanos)
}

func startSampling(t *testing.T, m *Manager, name, options string) int {
	t.Helper()
	return start(t, m, name, StartOptions{Mode: "pcsampling" + options})
}

func TestSamplesOfOneCallPathAreExact(t *testing.T) {
	m, f := samplingStage(t)
	id := startSampling(t, m, "p", "")
	gemm, other := f.function(3, 7, "gemm"), f.function(4, 7, "other")
	f.launch("forward", 1, 3, 100)
	f.launch("forward", 2, 3, 50)
	f.launch("backward", 3, 4, 10)
	f.sample(gemm, 16, 1, 3)
	f.sample(gemm, 16, 1, 0)
	f.sample(gemm, 32, 0, 2)
	f.sample(other, 0, 0, 1)
	f.facts.Dropped, f.facts.NonUser = 5, 6
	same(t, m.outline(t, id, 0), `ROOT
  forward
    gemm count=2 time (ns)=150 num_samples=7 num_stalled_samples=5 stalled_long_scoreboard=5 stalled_selected=2
  backward
    other count=1 time (ns)=10 num_samples=1 num_stalled_samples=1 stalled_long_scoreboard=1
`)
	p, err := m.Profile(id, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := p.Sampling
	if s.Mode != "continuous" || s.Period != 65536 || s.Total != 8 || s.Dropped != 5 || s.NonUser != 6 || s.Apportioned != 0 {
		t.Errorf("%+v", s)
	}
	if got := m.Status().Sampling; got.Samples != 8 || got.Apportioned != 0 || got.Unlaunched != 0 {
		t.Errorf("%+v", got)
	}
	pcs := p.Root.Child("forward").Child("gemm").Samples[0]
	if f := s.Functions[pcs.Function]; f.Name != "gemm" || f.Module != "0000000000000007" || f.Index != 3 {
		t.Errorf("%+v", f)
	}
	if want := []profile.Stall{{Reason: 0, Samples: 3, NotIssued: 1}, {Reason: 1, Samples: 2}}; len(pcs.PCs) != 2 || pcs.PCs[0].Offset != 16 || !slices.Equal(pcs.PCs[0].Stalls, want) {
		t.Errorf("%+v", pcs)
	}
}

func TestSamplesOfSeveralCallPathsAreSharedByKernelTime(t *testing.T) {
	m, f := samplingStage(t)
	id := startSampling(t, m, "p", "")
	gemm := f.function(3, 7, "gemm")
	f.launch("long", 1, 3, 900)
	f.launch("short", 2, 3, 100)
	for offset := range uint64(100) { // single samples: the short launches must get theirs too
		f.sample(gemm, 16*offset, 0, 1)
	}
	same(t, m.outline(t, id, 0), `ROOT
  long
    gemm count=1 time (ns)=900 num_samples=90 num_stalled_samples=90 stalled_long_scoreboard=90
  short
    gemm count=1 time (ns)=100 num_samples=10 num_stalled_samples=10 stalled_long_scoreboard=10
`)
	p, _ := m.Profile(id, 0)
	if p.Sampling.Apportioned != 100 || m.Status().Sampling.Apportioned != 100 {
		t.Errorf("%d apportioned in the profile, %d in the status, want 100", p.Sampling.Apportioned, m.Status().Sampling.Apportioned)
	}
}

// Samples come late: those of a period belong to its phases by kernel time, and a flush ends the period.
func TestPhasesShareThePeriodsSamples(t *testing.T) {
	m, f := samplingStage(t)
	id := startSampling(t, m, "p", "")
	gemm := f.function(3, 7, "gemm")
	f.launch("s", 1, 3, 300)
	m.AdvancePhase(id)
	f.launch("s", 2, 3, 100)
	f.sample(gemm, 0, 0, 8)
	m.Flush()
	m.AdvancePhase(id)
	f.launch("s", 3, 3, 1000)
	f.sample(gemm, 0, 0, 5)
	m.Flush()
	for phase, want := range []string{
		"count=1 time (ns)=300 num_samples=6 num_stalled_samples=6 stalled_long_scoreboard=6",
		"count=1 time (ns)=100 num_samples=2 num_stalled_samples=2 stalled_long_scoreboard=2",
		"count=1 time (ns)=1000 num_samples=5 num_stalled_samples=5 stalled_long_scoreboard=5",
	} {
		same(t, m.outline(t, id, phase), "ROOT\n  s\n    gemm "+want+"\n")
	}
}

func TestSamplesOfWhatWasNeverLaunched(t *testing.T) {
	m, f := samplingStage(t)
	id := startSampling(t, m, "p", "")
	f.function(3, 7, "gemm")
	f.launch("s", 1, 3, 300)
	f.sample(record.Function{Module: 9, Index: 1, Name: "unknown"}, 0, 2, 0)
	same(t, m.outline(t, id, 0), `ROOT
  s
    gemm count=1 time (ns)=300
  <unattributed>
    unknown num_samples=2 num_stalled_samples=0 stalled_selected=2
`)
	if got := m.Status().Sampling.Unlaunched; got != 2 {
		t.Errorf("%d samples of functions that were never launched, want 2", got)
	}
}

// launchGraph captures a launch of function 7, of an op if it has a name, and one of function 8; a graph of both is launched.
func launchGraph(op string) {
	hotpathtest.Capture(+1)
	if op != "" {
		hotpathtest.Op(op, 7)
	}
	hotpathtest.Launch(1, 7)
	hotpathtest.NodeCreated(5, 50)
	hotpathtest.Launched()
	hotpathtest.Launch(2, 8)
	hotpathtest.NodeCreated(5, 51)
	hotpathtest.Launched()
	hotpathtest.Capture(-1)
	hotpathtest.NodeCloned(6, 60, 50)
	hotpathtest.NodeCloned(6, 61, 51)
	hotpathtest.GraphLaunch(10)
}

// A launch hook's name replaces the kernel's, and a graph replays what was captured: samples go where times go.
func TestSamplesFollowOpsAndGraphs(t *testing.T) {
	m, f := samplingStage(t)
	id := startSampling(t, m, "p", "")
	add, mul := f.function(7, 1, "add_kernel"), f.function(8, 1, "mul")
	launchGraph("add_4096")
	f.ends(
		record.Activity{Correlation: 10, Name: "add_kernel", Start: 1, End: 3, GraphID: 6, GraphNode: 60},
		record.Activity{Correlation: 10, Name: "mul", Start: 1, End: 2, GraphID: 6, GraphNode: 61},
		record.Activity{Correlation: 10, Name: "added by hand", Start: 1, End: 2, GraphID: 6, GraphNode: 99})
	f.sample(add, 0, 0, 4)
	f.sample(mul, 0, 0, 5)
	f.sample(record.Function{Module: 3, Index: 1, Name: "added by hand"}, 0, 0, 6)
	same(t, m.outline(t, id, 0), `ROOT
  <captured_at>
    add_4096 count=1 time (ns)=2 num_samples=4 num_stalled_samples=4 stalled_long_scoreboard=4
    mul count=1 time (ns)=1 num_samples=5 num_stalled_samples=5 stalled_long_scoreboard=5
  added by hand count=1 time (ns)=1 num_samples=6 num_stalled_samples=6 stalled_long_scoreboard=6
`)
}

// Every session has all samples of what was launched while it was active, by its own kind of call path.
func TestSessionsShareASampler(t *testing.T) {
	m, f := samplingStage(t)
	a := startSampling(t, m, "a", "")
	b := start(t, m, "b", StartOptions{Mode: "pcsampling", Context: "python"})
	gemm := f.function(3, 7, "gemm")
	hotpathtest.Python("main.py:1@main", "model.py:2@forward")
	f.launch("x", 1, 3, 100)
	f.launch("y", 2, 3, 100)
	hotpathtest.Python()
	m.Deactivate(&b, false)
	f.launch("x", 3, 3, 200)
	f.sample(gemm, 0, 0, 40)
	same(t, m.outline(t, a, 0), `ROOT
  x
    gemm count=2 time (ns)=300 num_samples=30 num_stalled_samples=30 stalled_long_scoreboard=30
  y
    gemm count=1 time (ns)=100 num_samples=10 num_stalled_samples=10 stalled_long_scoreboard=10
`)
	same(t, m.outline(t, b, 0), `ROOT
  main.py:1@main
    model.py:2@forward
      gemm count=2 time (ns)=200 num_samples=20 num_stalled_samples=20 stalled_long_scoreboard=20
`)
	if _, err := m.Start(StartOptions{Name: "c", Backend: "fake"}); err == nil {
		t.Error("a session of another mode was added")
	}
}

func TestClearingForgetsSamplesOfThePast(t *testing.T) {
	m, f := samplingStage(t)
	id := startSampling(t, m, "p", "")
	gemm := f.function(3, 7, "gemm")
	f.launch("s", 1, 3, 100)
	f.sample(gemm, 0, 0, 4)
	m.Flush()
	m.ClearPhase(id, 0, false)
	f.launch("s", 2, 3, 100)
	f.sample(gemm, 0, 0, 1)
	same(t, m.outline(t, id, 0), "ROOT\n  s\n    gemm count=1 time (ns)=100 num_samples=1 num_stalled_samples=1 stalled_long_scoreboard=1\n")
}

// Samples may name their launch: no sharing, whichever of the two records comes first. CUPTI's do where kernels are serialized, another
// vendor's where kernels run as they would.
func TestSamplesOfLaunchesAreExact(t *testing.T) {
	for _, mode := range []record.SamplingMode{record.Serialized, record.Continuous} {
		t.Run(mode.String(), func(t *testing.T) { samplesOfLaunches(t, mode) })
	}
}

func samplesOfLaunches(t *testing.T, mode record.SamplingMode) {
	m, f := samplingStage(t)
	f.facts.Mode = mode
	options := ":collection=serialized"
	if mode == record.Continuous {
		options = ""
		Register(Backend{New: func(o SourceOptions) Source { f.asked = o.Sampling; return f }, Backend: vendors.Backend{Names: []string{"fake"},
			Modes: map[string]func(string) (record.SamplingRequest, error){"pcsampling": func(string) (record.SamplingRequest, error) {
				return record.SamplingRequest{Mode: record.Continuous, OfLaunches: true}, nil
			}}}})
	}
	id := startSampling(t, m, "p", options)
	if f.asked.Mode != mode {
		t.Fatalf("asked the source for %v", f.asked.Mode)
	}
	gemm := f.function(3, 7, "gemm")
	of := func(corr uint64, n uint32) {
		f.sampleOf(corr, gemm, 16, 0, n)
	}
	f.launch("a", 1, 3, 100)
	f.launch("b", 2, 3, 100)
	of(1, 9) // before its kernel
	m.Collect()
	of(2, 4) // after
	m.Collect()
	want := `ROOT
  a
    gemm count=1 time (ns)=100 num_samples=9 num_stalled_samples=9 stalled_long_scoreboard=9
  b
    gemm count=1 time (ns)=100 num_samples=4 num_stalled_samples=4 stalled_long_scoreboard=4
`
	same(t, m.outline(t, id, 0), want)
	if got := m.Status().Sampling; got.Apportioned != 0 || got.Samples != 13 {
		t.Errorf("%+v", got)
	}
}

// The lines are those of a real binary: samples in an inlined helper stand below the kernel's line that called it.
func TestLinesOfARealBinary(t *testing.T) {
	image, err := os.ReadFile("../gpu/cubin/testdata/inlined.sm90.cubin")
	if err != nil {
		t.Fatal(err)
	}
	file, err := cubin.Read(image)
	if err != nil {
		t.Fatal(err)
	}
	m, f := samplingStage(t)
	id := startSampling(t, m, "p", "")
	hash := record.HashImage(image)
	f.image(hash, image)
	f.image(5, []byte("no cubin"))
	kernel := &file.Functions[0]
	for i := range file.Functions {
		if file.Functions[i].Entry {
			kernel = &file.Functions[i]
		}
	}
	sampled, broken := f.function(uint64(kernel.Index), hash, kernel.Name), f.function(1000, 5, "broken")
	f.launch("s", 1, uint64(sampled.Index), 10)
	f.launch("s", 2, uint64(broken.Index), 10)
	f.sample(broken, 0, 0, 2)
	n := uint32(0)
	for offset := uint64(0); offset < kernel.Size; offset += cubin.InstructionSize {
		f.sample(sampled, offset, 0, 1)
		n++
	}
	got := m.outline(t, id, 0)
	testkit.Golden(t, "testdata/lines.txt", got)
	name := m.Name(id)
	files, err := m.Finalize(&id, "")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	kept, err := os.ReadFile(name + ".cubins/" + aggregate.ModuleName(hash) + ".cubin")
	if err != nil || !bytes.Equal(kept, image) {
		t.Errorf("the sampled module was not kept: %v", err)
	}
	p, err := formats.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		v, _ := n.Metric(profile.SamplesMetric)
		sum += v.Int()
		return true
	})
	if sum != int64(n)+2 {
		t.Errorf("%d samples in the file, want %d", sum, n+2)
	}
}

// sharedModule holds the kernels one, two and pointers, and functions that they call: one calls middle, which calls leaf,
// which two calls as well.
func sharedModule(t *testing.T, f *fakeSampler) (function func(handle uint64, name string) record.Function) {
	t.Helper()
	image, err := os.ReadFile("../gpu/cubin/testdata/shared.sm90.cubin")
	if err != nil {
		t.Fatal(err)
	}
	hash := record.HashImage(image)
	f.image(hash, image)
	return func(handle uint64, name string) record.Function { return f.function(handle, hash, name) }
}

// Samples of functions that kernels call belong to the launches of those kernels: exactly if one kernel was launched from
// one place, else by kernel time.
func TestSamplesOfCalledFunctions(t *testing.T) {
	m, f := samplingStage(t)
	function := sharedModule(t, f)
	id := startSampling(t, m, "p", "")
	one, middle, leaf := function(1, "one"), function(2, "_Z6middlef"), function(3, "_Z4leaff")
	two, chosen := function(4, "two"), function(5, "_Z6chosenf")
	f.launch("forward", 1, 1, 300)
	f.launch("backward", 2, 4, 100)
	f.sample(one, 1<<20, 1, 0)
	f.sample(two, 1<<20, 1, 0)
	f.sample(middle, 1<<20, 0, 5)
	f.sample(leaf, 1<<20, 0, 8)
	f.sample(chosen, 1<<20, 0, 3) // its kernel was not launched
	f.sample(record.Function{Module: 99, Index: 3, Name: "_Z4leaff"}, 0, 0, 2)
	want := `ROOT
  forward
    one count=1 time (ns)=300 num_samples=1 num_stalled_samples=0 stalled_selected=1
      _Z4leaff num_samples=6 num_stalled_samples=6 stalled_long_scoreboard=6
      _Z6middlef num_samples=5 num_stalled_samples=5 stalled_long_scoreboard=5
  backward
    two count=1 time (ns)=100 num_samples=1 num_stalled_samples=0 stalled_selected=1
      _Z4leaff num_samples=2 num_stalled_samples=2 stalled_long_scoreboard=2
  <unattributed>
    _Z4leaff num_samples=2 num_stalled_samples=2 stalled_long_scoreboard=2
    _Z6chosenf num_samples=3 num_stalled_samples=3 stalled_long_scoreboard=3
`
	m.Collect()
	p, err := m.Profile(id, 0) // while the period goes on
	if err != nil {
		t.Fatal(err)
	}
	same(t, outline(p), want)
	same(t, m.outline(t, id, 0), want)
	if p, err = m.Profile(id, 0); err != nil || p.Sampling.Total != 20 || p.Sampling.Apportioned != 8 {
		t.Errorf("%v: %+v", err, p.Sampling)
	}
	if got := m.Status().Sampling; got.Samples != 20 || got.Apportioned != 8 || got.Unlaunched != 5 {
		t.Errorf("%+v", got)
	}
	f.sample(middle, 1<<20, 0, 1) // late: its kernel's launches were in the period before
	m.Flush()
	if got := m.Status().Sampling; got.Apportioned != 8 || got.Unlaunched != 5 {
		t.Errorf("late samples: %+v", got)
	}
}

// A serialized sample names its launch, also in a function that the kernel calls.
func TestSerializedSamplesOfCalledFunctions(t *testing.T) {
	m, f := samplingStage(t)
	f.facts.Mode = record.Serialized
	function := sharedModule(t, f)
	id := startSampling(t, m, "p", ":collection=serialized")
	function(1, "one")
	function(4, "two")
	leaf := function(3, "_Z4leaff")
	f.launch("a", 1, 1, 100)
	f.launch("b", 2, 4, 100)
	f.launch("c", 3, 4, 100)
	for corr, n := range map[uint64]uint32{1: 9, 3: 4} {
		f.sampleOf(corr, leaf, 1<<20, 0, n)
	}
	same(t, m.outline(t, id, 0), `ROOT
  a
    one count=1 time (ns)=100
      _Z4leaff num_samples=9 num_stalled_samples=9 stalled_long_scoreboard=9
  b
    two count=1 time (ns)=100
  c
    two count=1 time (ns)=100
      _Z4leaff num_samples=4 num_stalled_samples=4 stalled_long_scoreboard=4
`)
	if got := m.Status().Sampling; got.Apportioned != 0 || got.Unlaunched != 0 {
		t.Errorf("%+v", got)
	}
}

// Kernels of a graph share a correlation id, so that it names no launch: samples go by function.
func TestSerializedSamplesOfGraphsGoByFunction(t *testing.T) {
	m, f := samplingStage(t)
	f.facts.Mode = record.Serialized
	id := startSampling(t, m, "p", ":collection=serialized")
	add, mul := f.function(7, 1, "add"), f.function(8, 1, "mul")
	launchGraph("")
	f.ends(
		record.Activity{Correlation: 10, Name: "add", Start: 1, End: 3, GraphID: 6, GraphNode: 60},
		record.Activity{Correlation: 10, Name: "mul", Start: 1, End: 2, GraphID: 6, GraphNode: 61})
	m.Collect()
	for of, n := range map[record.Function]uint32{add: 4, mul: 5} {
		f.sampleOf(10, of, 0, 0, n)
	}
	same(t, m.outline(t, id, 0), `ROOT
  <captured_at>
    add count=1 time (ns)=2 num_samples=4 num_stalled_samples=4 stalled_long_scoreboard=4
    mul count=1 time (ns)=1 num_samples=5 num_stalled_samples=5 stalled_long_scoreboard=5
`)
}

// A function of a module that was never seen has no name for it in the profile.
func TestSamplesOfAnUnknownModule(t *testing.T) {
	m, f := samplingStage(t)
	id := startSampling(t, m, "p", "")
	f.function(3, 7, "gemm")
	f.launch("s", 1, 3, 100)
	f.sample(record.Function{Name: "gemm"}, 16, 0, 3)
	m.Flush()
	p, err := m.Profile(id, 0)
	if err != nil || len(p.Sampling.Functions) != 1 || p.Sampling.Functions[0].Module != "" {
		t.Errorf("%v: %+v", err, p.Sampling)
	}
}

func TestCubinsCanBeLeftOut(t *testing.T) {
	m, f := samplingStage(t)
	id := startSampling(t, m, "p", ":cubins=drop")
	f.image(7, []byte("image"))
	f.sample(f.function(3, 7, "gemm"), 0, 1, 0)
	f.launch("s", 1, 3, 100)
	name := m.Name(id)
	if _, err := m.Finalize(&id, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name + ".cubins"); err == nil {
		t.Error("modules were kept")
	}
}

func TestSamplingRefusals(t *testing.T) {
	m, _ := samplingStage(t)
	Register(Backend{Backend: vendors.Backend{Names: []string{"timer"}, Class: "Timer"}, New: func(SourceOptions) Source { return &fakeSource{} }})
	for _, c := range []struct{ mode, data, backend, want string }{
		{":interval=3", "", "fake", "[PROTON] CuptiProfiler: interval=3: want a number of cycles from 32 to 2147483648"},
		{":speed=3", "", "fake", "[PROTON] CuptiProfiler: unsupported option key: speed; interval, collection, buffer, scratch, cubins, sources and kernels are known"},
		{":collection=often", "", "fake", "[PROTON] CuptiProfiler: unsupported collection: often; continuous and serialized are known"},
		{":kernels=a:b(", "", "fake", "[PROTON] CuptiProfiler: kernels=a:b(: read the pattern \"a:b(\": error parsing regexp: missing closing ): `a:b(`; write names with *, ? and [seq], with commas between several"},
		{":buffer=12", "", "fake", "[PROTON] CuptiProfiler: buffer=12: it must be from 1M to 64G"},
		{"", "trace", "fake", `[PROTON] mode="pcsampling" adds up what it measures: use data="tree", or leave mode out for a timeline`},
		{"", "", "timer", `[PROTON] mode="pcsampling": this backend cannot sample instructions; leave mode out to time kernels`},
	} {
		_, err := m.Start(StartOptions{Name: "x", Mode: "pcsampling" + c.mode, Data: c.data, Backend: c.backend})
		if err == nil || err.Error() != c.want {
			t.Errorf("%+v: got %v", c, err)
		}
	}
	if got := m.Status().Sampling; got != (runinfo.Sampling{}) {
		t.Errorf("a status of sampling without any: %+v", got)
	}
}

// A backend may have the mode while the source that it makes has no sampler, as on a GPU of an older kind.
func TestSamplingWithoutSampler(t *testing.T) {
	m, f := stage(t)
	id := start(t, m, "p", StartOptions{Mode: "pcsampling"})
	hotpathtest.Launch(1, 1)
	f.kernel(1, "k", 5)
	same(t, m.outline(t, id, 0), "ROOT\n  k count=1 time (ns)=5\n")
	const want = `instructions are not sampled: the source of backend "fake" has no sampler; kernels are timed`
	if got := m.Problems(); !slices.Equal(got, []string{want}) {
		t.Errorf("problems: %q, want %q", got, want)
	}
}
