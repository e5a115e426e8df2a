package conformance

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	_ "github.com/goproton/goproton/cupti"
	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/gpu/vendors"
	"github.com/goproton/goproton/hotpath"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/profiler"
	_ "github.com/goproton/goproton/roctracer"
)

// backend is one implementation of the seam, and the GPU that its tests program.
type backend struct {
	name     string
	open     func(t *testing.T) GPU
	device   string
	counters string // what a session says that asks for hardware counters; "": it measures them
	sampling string // what a session says that asks for samples, in its error or its problems
	graphs   string // what it says that asks for whole graphs; the program has used its GPU already
	noGraphs bool   // the room does not report graphs: their kernels are unattributed
}

var implementations = []backend{
	{name: "cupti", open: fakeCUDA, device: "CUDA", sampling: "sample instructions", graphs: "graphs are timed node by node"},
	{name: "rocprofiler", open: fakeHIP, device: "HIP", counters: "the first session of this process did not ask for counters", sampling: "sample instructions",
		graphs: `backend "rocprofiler" cannot time a graph as a whole`}, // before roctracer: HIP has not started
	{name: "roctracer", open: fakeHIP, device: "HIP", counters: noCounters, sampling: "cannot sample instructions",
		graphs: `backend "roctracer" cannot time a graph as a whole`},
	{name: "synthetic", open: synthetic, device: "SYNTHETIC", counters: noCounters, sampling: "this backend cannot sample instructions",
		graphs: `backend "synthetic" cannot time a graph as a whole`},
	{name: "graphless", open: synthetic, device: "SYNTHETIC", counters: noCounters, sampling: "this backend cannot sample instructions",
		graphs: `backend "graphless" cannot time a graph as a whole`, noGraphs: true},
}

const noCounters = "cannot measure hardware counters, as cupti does"

func synthetic(*testing.T) GPU {
	for _, name := range []string{"synthetic", "graphless"} {
		profiler.Register(profiler.Backend{
			Backend: vendors.Backend{Names: []string{name}, Class: "SyntheticProfiler"}, DeviceType: "SYNTHETIC",
			New: func(profiler.SourceOptions) profiler.Source { return &Source{NoGraphs: name == "graphless"} },
		})
	}
	return Synthetic{}
}

var opened GPU // the fake driver, of which a process has one

func fakeCUDA(t *testing.T) GPU {
	if opened != nil {
		return opened
	}
	stub, err := filepath.Abs("../../build/stub")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stub + "/libcuda.so.1"); err != nil {
		t.Skip("needs build/stub: run make build")
	}
	os.Setenv("PROTON_CUPTI_PATH", stub+"/libcupti.so")
	os.Setenv("PROTON_STUB_RESULTS", "PCSamplingEnable=27") // as a GPU that cannot sample
	gpu, err := OpenFakeCUDA(stub + "/libcuda.so.1")
	if err != nil {
		t.Fatal(err)
	}
	opened = gpu
	return gpu
}

var openedHIP GPU // the fake HIP, of which a process has one

func fakeHIP(t *testing.T) GPU {
	if openedHIP != nil {
		return openedHIP
	}
	stub, err := filepath.Abs(cmp.Or(os.Getenv("HIP_STUB"), "../../build/stub/hip"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stub + "/libamdhip64.so.6"); err != nil {
		t.Skip("needs build/stub/hip: run make build")
	}
	os.Setenv("TRITON_ROCPROFILER_SDK_LIB_PATH", stub)
	gpu, err := OpenFakeHIP(stub + "/libamdhip64.so.6")
	if err != nil {
		t.Fatal(err)
	}
	openedHIP = gpu
	return gpu
}

// stage is a session on a backend.
type stage struct {
	*testing.T
	GPU
	m       *profiler.Manager
	backend backend
	options profiler.StartOptions
}

// start begins the session.
func (s *stage) start() {
	s.Helper()
	if _, err := s.m.Start(s.options); err != nil {
		s.Fatal(err)
	}
	if problems := s.m.Problems(); len(problems) > 0 {
		s.Fatalf("problems: %q", problems)
	}
}

// finish ends the session and reads what it wrote.
func (s *stage) finish() *profile.Profile {
	s.Helper()
	files, err := s.m.Finalize(nil, "")
	if err != nil || len(files) != 1 {
		s.Fatalf("wrote %q, %v", files, err)
	}
	p, err := formats.ReadFile(files[0])
	if err != nil {
		s.Fatal(err)
	}
	return p
}

// outline has a line for each frame that something ran in, or that has a metric of the program's: its path and its metrics but times.
func outline(p *profile.Profile) string {
	var out strings.Builder
	var walk func(n *profile.Node, path string)
	walk = func(n *profile.Node, path string) {
		for _, m := range n.Metrics {
			if f, ok := m.Value.Float(); ok && path != "" && !strings.Contains(m.Name, "time") {
				fmt.Fprintf(&out, "%s: %s %v\n", strings.TrimPrefix(path, " > "), m.Name, f)
			}
		}
		for _, c := range n.Children {
			walk(c, path+" > "+c.Name)
		}
	}
	walk(p.Root, "")
	return out.String()
}

func (s *stage) expect(p *profile.Profile, want string) {
	s.Helper()
	if got := outline(p); got != strings.TrimPrefix(want, "\n") {
		s.Errorf("got\n%swant%s", got, want)
	}
}

// scope runs f in a scope of the calling thread.
func scope(name string, f func()) {
	end := profiler.Scope(name)
	defer end()
	f()
}

// behaviours are what every backend must do, the same for all.
var behaviours = []struct {
	name string
	do   func(s *stage)
}{
	{"a launch goes to its scope", func(s *stage) {
		s.start()
		scope("train", func() {
			s.Launch("add")
			scope("forward", func() { s.Launch("mul"); s.Launch("mul") })
		})
		s.Launch("add")
		p := s.finish()
		s.expect(p, `
train > add: count 1
train > forward > mul: count 2
add: count 1
`)
		if len(p.Devices) != 1 || p.Devices[0].Type != s.backend.device {
			s.Errorf("devices %+v, want one %s", p.Devices, s.backend.device)
		}
	}},
	{"a copy has its bytes", func(s *stage) {
		s.options.Activities = "memcpy"
		s.start()
		scope("load", func() { s.Copy(4096); s.Copy(96) })
		s.Launch("add")
		s.expect(s.finish(), `
load > <memcpy HtoD>: bytes 4192
load > <memcpy HtoD>: count 2
add: count 1
`)
	}},
	{"a graph's kernels are those of the capture", func(s *stage) {
		s.start()
		var again func()
		scope("capture", func() { again = s.Graph("add", "mul", "add") })
		scope("replay", func() { again(); again() })
		where := "replay > <captured_at> > capture"
		if s.backend.noGraphs {
			where = "<unattributed>"
		}
		s.expect(s.finish(), fmt.Sprintf("\n%[1]s > add: count 4\n%[1]s > mul: count 2\n", where))
	}},
	{"whole graphs that are refused are timed node by node", func(s *stage) {
		s.options.Source.WholeGraphs = true
		if _, err := s.m.Start(s.options); err != nil {
			s.Fatal(err)
		}
		again := s.Graph("add", "mul")
		again()
		if said := strings.Join(s.m.Problems(), "\n"); !strings.Contains(said, s.backend.graphs) {
			s.Errorf("it says %q, want %q", said, s.backend.graphs)
		}
		if text := outline(s.finish()); !strings.Contains(text, "add: count 1\n") || !strings.Contains(text, "mul: count 1\n") {
			s.Errorf("got\n%swant a count for each kernel", text)
		}
	}},
	{"metrics stand where they were added", func(s *stage) {
		s.start()
		scope("step", func() {
			s.Launch("add")
			if err := profiler.Add("tokens", int64(7)); err != nil {
				s.Error(err)
			}
			profiler.Add("tokens", int64(5))
		})
		s.expect(s.finish(), `
step: tokens 12
step > add: count 1
`)
	}},
	{"a trace shows launches, kernels and copies", func(s *stage) {
		s.options.Data = "trace"
		s.start()
		scope("train", func() { s.Launch("add"); s.Copy(4096) })
		p := s.finish()
		kinds := map[profile.SliceKind]int{}
		for _, slice := range p.Timeline.Slices {
			kinds[slice.Kind]++
		}
		if kinds[profile.KernelSlice] != 1 || kinds[profile.LaunchSlice] != 2 || kinds[profile.CopySlice] != 1 || kinds[profile.ScopeSlice] != 1 {
			s.Errorf("slices by kind %v, want a scope, two calls, a kernel and a copy", kinds)
		}
		if len(p.Timeline.Flows) != 2 {
			s.Errorf("%d arrows from calls to what they made, want 2", len(p.Timeline.Flows))
		}
	}},
	{"launches are measured, or a session says that they cannot be", func(s *stage) {
		s.options.Mode = "counters:set=dram_read:most=2"
		_, err := s.m.Start(s.options)
		if said := fmt.Sprint(err, s.m.Problems()); s.backend.counters != "" {
			if !strings.Contains(said, s.backend.counters) {
				s.Errorf("it says %q, want %q", said, s.backend.counters)
			}
			return
		}
		for range 5 {
			s.Launch("add")
		}
		p := s.finish()
		add := p.Root.Child("add")
		for name, want := range map[string]float64{profile.CountMetric: 5, counters.Launches: 2, counters.Time: 2000, profile.TimeMetric: 5000} {
			v, _ := add.Metric(name)
			if got, _ := v.Float(); got != want {
				s.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		if text := p.Info[profile.InfoCounters]; !strings.HasPrefix(text, "set dram_read, 2 metrics in 1 pass: 2 launches of 2 kernels measured") {
			s.Errorf("the profile says %q", text)
		}
	}},
	{"sampling that is refused says so", func(s *stage) {
		s.options.Mode = "pcsampling"
		_, err := s.m.Start(s.options)
		s.Launch("add")
		said := strings.Join(s.m.Problems(), "\n")
		if err != nil {
			said = err.Error()
		} else {
			s.expect(s.finish(), "\nadd: count 1\n") // the kernel is timed all the same
		}
		if !strings.Contains(said, s.backend.sampling) {
			s.Errorf("it says %q, want %q", said, s.backend.sampling)
		}
	}},
	{"a session that begins late has what comes after it", func(s *stage) {
		s.Launch("before")
		again := s.Graph("old")
		s.start()
		s.Launch("after")
		again()
		p := s.finish()
		if text := outline(p); strings.Contains(text, "before") || !strings.Contains(text, "after: count 1\n") || !strings.Contains(text, "old: count 1\n") {
			s.Errorf("got\n%swant the launch after the start, and the old graph's kernel somewhere", text)
		}
		s.Launch("no session")
	}},
	{"a deactivated session hears nothing", func(s *stage) {
		s.start()
		s.Launch("heard")
		s.m.Deactivate(nil, true)
		s.Launch("unheard")
		s.m.Activate(nil)
		s.Launch("heard")
		s.expect(s.finish(), "\nheard: count 2\n")
	}},
	{"a forked child is silent", func(s *stage) {
		s.start()
		s.Launch("parent")
		if status := s.Fork("child"); status != 0 {
			s.Errorf("the child ended with wait status %#x", status)
		}
		s.Launch("parent")
		s.expect(s.finish(), "\nparent: count 2\n")
	}},
}

func TestBackends(t *testing.T) {
	for _, b := range implementations {
		t.Run(b.name, func(t *testing.T) {
			gpu := b.open(t)
			for _, c := range behaviours {
				t.Run(c.name, func(t *testing.T) {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					s := &stage{T: t, GPU: gpu, m: profiler.NewManager(), backend: b}
					s.options = profiler.StartOptions{Name: filepath.Join(t.TempDir(), "p"), Backend: b.name, NoStats: true}
					defer s.m.Finalize(nil, "")
					c.do(s)
				})
			}
		})
	}
}

// While one backend collects, a session with the other is refused by name.
func TestOneBackendAtATime(t *testing.T) {
	synthetic(t)
	fakeCUDA(t)
	m := profiler.NewManager()
	defer m.Finalize(nil, "")
	name := filepath.Join(t.TempDir(), "p")
	if _, err := m.Start(profiler.StartOptions{Name: name, Backend: "synthetic"}); err != nil {
		t.Fatal(err)
	}
	_, err := m.Start(profiler.StartOptions{Name: name + "2", Backend: vendors.NVIDIA.Backends[0].Names[0]})
	if err == nil || !strings.Contains(err.Error(), `"cupti"`) || !strings.Contains(err.Error(), `"synthetic"`) {
		t.Errorf("a second session with another backend: %v", err)
	}
}

// Ids of the synthetic vendor do not fit 32 bits, and the hot path carries them whole.
func TestIDsHave64Bits(t *testing.T) {
	gpu := synthetic(t)
	m := profiler.NewManager()
	if _, err := m.Start(profiler.StartOptions{Name: filepath.Join(t.TempDir(), "p"), Backend: "synthetic"}); err != nil {
		t.Fatal(err)
	}
	defer m.Finalize(nil, "")
	gpu.Launch("add")
	m.Flush()
	if s := m.Status(); s.Kernels != 1 || s.Loss.Unattributed != 0 || hotpath.Lost() != 0 {
		t.Errorf("%+v, want one kernel that found its launch", s)
	}
}
