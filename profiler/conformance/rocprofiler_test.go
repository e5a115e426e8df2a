package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler"
)

// script is a program for the fake HIP under the fake librocprofiler-sdk, in a process of its own: a process registers with the
// library once.
type script struct {
	name     string
	version  string // of the library, PROTON_STUB_SDK; "" is 1.2.1, and 0.6.0 is another file
	orders   string // PROTON_STUB_SCRIPT
	results  string // PROTON_STUB_RESULTS
	devices  string // PROTON_STUB_DEVICES
	env      []string
	options  profiler.StartOptions
	program  func(s *stage, gpu FakeHIP) // nil: usual
	want     string                      // the outline of the profile
	problem  string                      // what a session says
	lost     uint64                      // records that the library lost
	devicesN string                      // the devices in the profile
	check    func(s *stage, p *profile.Profile)
	crash    bool // the program ends inside of it, with status 0
}

// usual starts a session, launches kernels in several ways, copies, and ends it.
func usual(s *stage, gpu FakeHIP) {
	s.start()
	scope("train", func() {
		gpu.Launch("add")
		gpu.Launch("mul")
		gpu.Copy(4096)
	})
	gpu.Launch("add")
}

const usualOutline = `
train > add: count 1
train > mul: count 1
train > <memcpy HtoD>: bytes 4096
train > <memcpy HtoD>: count 1
add: count 1
`

var copies = profiler.StartOptions{Activities: "memcpy"}

func everyWay(s *stage, gpu FakeHIP) {
	s.start()
	add := gpu.Make("hipModuleGetFunction", module(gpu), gpu.Text("add"))
	gpu.Call("stub_register_host_function", 77, gpu.Text("host_kernel"))
	scope("null stream", func() { gpu.Call("hipModuleLaunchKernel", add, 1, 1, 1, 1, 1, 1) })
	scope("host function", func() { gpu.Call("hipLaunchKernel", 77, 1|1<<32, 1, 1|1<<32, 1) })
	scope("stream of the thread", func() { gpu.Call("hipLaunchKernel_spt", 77, 1|1<<32, 1, 1|1<<32, 1) })
	scope("fill", func() { gpu.Call("hipMemsetAsync", 1, 0, 64) })
	gpu.Call("roctxRangePushA", gpu.Text("range"))
	gpu.Launch("mul")
	gpu.Call("roctxRangePop")
	scope("wait", func() { gpu.Call("hipDeviceSynchronize") })
	again := gpu.Graph("add", "mul", "add")
	scope("replay", func() { again() })
}

const everyOutline = `
null stream > add: count 1
host function > host_kernel: count 1
stream of the thread > host_kernel: count 1
fill > __amd_rocclr_fillBufferAligned: count 1
range > mul: count 1
wait > <sync context>: sync_count 1
replay > <captured_at> > add: count 2
replay > <captured_at> > mul: count 1
`

func module(gpu FakeHIP) uint64 { return gpu.Make("hipModuleLoadData", gpu.Text("another image")) }

var everything = profiler.StartOptions{Activities: "memcpy,sync"}

var scripts = []script{
	{name: "0.6", version: "600", options: copies, want: usualOutline},
	{name: "0.5", version: "500", options: copies, want: usualOutline},
	{name: "0.4", version: "400", options: copies, want: usualOutline},
	{name: "0.7", version: "700", options: copies, want: usualOutline},
	{name: "1.0", version: "10000", options: copies, want: usualOutline},
	{name: "1.2", options: copies, want: usualOutline},
	{name: "1.3", version: "10300", options: copies, want: usualOutline},
	{name: "every way, 0.6", version: "600", options: everything, program: everyWay, want: everyOutline},
	{name: "every way, 1.2", options: everything, program: everyWay, want: everyOutline},
	{name: "records in another order", orders: "reversed", options: copies, want: usualOutline},
	{name: "ids of more than 32 bits", orders: "ids from 1099511627776", options: copies, want: usualOutline},
	{name: "records without an id", orders: "uncorrelated mul", want: `
train > add: count 1
add: count 1
<unattributed> > mul: count 1
`},
	{name: "records that end before they begin", orders: "backwards add mul", options: copies, want: usualOutline},
	{name: "lost records", orders: "lost mul", lost: 2, program: func(s *stage, gpu FakeHIP) {
		usual(s, gpu)
		s.m.Flush()
		gpu.Launch("mul") // the library's number of lost records grows from 1 to 2
		s.m.Flush()
	}, want: `
train > add: count 1
add: count 1
<unattributed>: dropped_activities 2
<unattributed>: lost_records 0
`},
	{name: "records that never come", orders: "gone mul", program: func(s *stage, gpu FakeHIP) {
		s.start()
		gpu.Launch("add")
		gpu.Launch("mul")
		flush := func() uint64 { // how often the library is asked for records
			before := gpu.Flushes()
			s.m.Flush()
			return gpu.Flushes() - before
		}
		first := flush()
		gpu.Launch("mul")
		if second := flush(); second == 0 || first < 5*second {
			s.Errorf("records that never come were asked for %d times, and the second time %d times", first, second)
		}
	}, want: "\nadd: count 1\n"},
	{name: "longer records", orders: "long", options: copies, want: usualOutline},
	{name: "shorter records", orders: "short mul", lost: 1, want: `
train > add: count 1
add: count 1
<unattributed>: dropped_activities 1
<unattributed>: lost_records 0
`},
	{name: "records of an unknown kind", orders: "strange", lost: 1, program: func(s *stage, gpu FakeHIP) { s.start(); s.Launch("add"); s.m.Collect() }},
	{name: "a late symbol", orders: "late mul", options: copies, program: func(s *stage, gpu FakeHIP) {
		usual(s, gpu)
		s.m.Collect()
	}, want: usualOutline},
	{name: "a symbol that never comes", orders: "nameless mul", want: `
train > add: count 1
train > <unknown kernel>: count 1
add: count 1
`},
	{name: "late records", orders: "slow 30", options: copies, want: usualOutline},
	{name: "a busy buffer", orders: "busy 5", options: copies, want: usualOutline},
	{name: "packets from another thread", orders: "indirect", options: copies, want: `
train > add: count 1
train > mul: count 1
add: count 1
<unattributed> > <memcpy HtoD>: bytes 4096
<unattributed> > <memcpy HtoD>: count 1
`},
	{name: "copies by kernels", orders: "blit", options: copies, want: `
train > add: count 1
train > mul: count 1
train > __amd_rocclr_copyBuffer: count 1
add: count 1
`},
	{name: "copies by kernels, not asked for", orders: "blit", want: `
train > add: count 1
train > mul: count 1
train > __amd_rocclr_copyBuffer: count 1
add: count 1
`},
	{name: "unloaded code", program: func(s *stage, gpu FakeHIP) {
		s.start()
		for _, kernel := range []string{"first", "second", "third"} { // the allocator gives their functions one address
			m := module(gpu)
			f := gpu.Make("hipModuleGetFunction", m, gpu.Text(kernel))
			gpu.Call("hipModuleLaunchKernel", f, 1, 1, 1, 1, 1, 1)
			gpu.Call("hipModuleUnload", m)
		}
	}, want: "\nfirst: count 1\nsecond: count 1\nthird: count 1\n"},
	{name: "two GPUs", devices: "2", program: twoGPUs, want: "\nadd: count 2\n", devicesN: "0 1"},
	{name: "GPUs in another order", devices: "3", env: []string{"ROCR_VISIBLE_DEVICES=2,0"}, program: firstOf(2), want: "\nadd: count 1\n", devicesN: "0"},
	{name: "GPUs in another order, for HIP", devices: "3", env: []string{"ROCR_VISIBLE_DEVICES=2,0,1", "HIP_VISIBLE_DEVICES=2"}, program: firstOf(1), want: "\nadd: count 1\n", devicesN: "0"},
	{name: "GPUs by their ids", devices: "3", env: []string{"ROCR_VISIBLE_DEVICES=GPU-abc3,GPU-abc2"}, program: firstOf(1), want: "\nadd: count 1\n", devicesN: "1"},
	{name: "capture on one thread, launch on another", program: func(s *stage, gpu FakeHIP) {
		s.start()
		var again func()
		onThread(func() { scope("capture", func() { again = gpu.Graph("add", "mul") }) })
		scope("replay", func() { again() })
	}, want: "\nreplay > <captured_at> > capture > add: count 1\nreplay > <captured_at> > capture > mul: count 1\n"},
	{name: "eight threads", program: func(s *stage, gpu FakeHIP) { // more records than a buffer of the library holds
		s.start()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { onThread(func() { scope("work", func() { launchMany(gpu, "add", 10000) }) }) })
		}
		all.Wait()
	}, want: "\nwork > add: count 80000\n"},
	{name: "records after the end", orders: "slow 30", program: func(s *stage, gpu FakeHIP) {
		s.start()
		gpu.Launch("before")
		s.m.Finalize(nil, "")
		gpu.Launch("unheard")
		s.start()
		gpu.Launch("after")
	}, want: "\nafter: count 1\n"},
	{name: "no GPU", devices: "0", problem: "finds no GPU; check that /dev/kfd exists"},
	{name: "a session after HIP has started", problem: "error 16 (locked): HIP has started already", program: func(s *stage, gpu FakeHIP) {
		gpu.Load(os.Getenv("TRITON_ROCPROFILER_SDK_LIB_PATH") + "/librocprofiler-sdk.so.1")
		gpu.Launch("before")
		s.m.Start(s.options)
		gpu.Launch("after")
	}},
	{name: "a library that is loaded after HIP has started", problem: "error 16 (locked): HIP has started already", program: func(s *stage, gpu FakeHIP) {
		openKFD(s)
		s.m.Start(s.options)
		gpu.Launch("after")
	}},
	{name: "1.3.2 after HIP has started", version: "10302", problem: "kernels on the streams of that time are missing", program: func(s *stage, gpu FakeHIP) {
		openKFD(s)
		gpu.Launch("before")
		s.m.Start(s.options)
		gpu.Launch("after")
	}, want: "\nafter: count 1\n"},
	{name: "a version to come", version: "20000", problem: "is newer than this program knows; update GoProton", program: refused},
	{name: "a version too old", version: "300", problem: "is older than 0.4", program: refused},
	{name: "no external ids", orders: "unheard", problem: "configure_external_correlation_id_request_service", program: refused},
	{name: "another copy of the library", program: func(s *stage, gpu FakeHIP) {
		text, err := os.ReadFile(filepath.Join(os.Getenv("TRITON_ROCPROFILER_SDK_LIB_PATH"), "librocprofiler-sdk.so.1"))
		copied := filepath.Join(s.TempDir(), "librocprofiler-sdk.so.1")
		if err != nil || os.WriteFile(copied, text, 0o755) != nil || !gpu.Load(copied) {
			s.Fatal("the library is not copied and loaded")
		}
		usual(s, gpu)
		maps, _ := os.ReadFile("/proc/self/maps")
		if strings.Contains(string(maps), os.Getenv("TRITON_ROCPROFILER_SDK_LIB_PATH")+"/librocprofiler-sdk.so.1") {
			s.Error("a second copy of the library was loaded")
		}
	}, want: "\ntrain > add: count 1\ntrain > mul: count 1\nadd: count 1\n"},
	{name: "the end of a process with a session", crash: true, program: func(s *stage, gpu FakeHIP) {
		usual(s, gpu)
		gpu.Call("exit", 0)
	}},
}

func twoGPUs(s *stage, gpu FakeHIP) {
	s.start()
	f := gpu.Make("hipModuleGetFunction", module(gpu), gpu.Text("add"))
	for device := range uint64(2) {
		gpu.Call("hipSetDevice", device)
		gpu.Call("hipModuleLaunchKernel", f, 1, 1, 1, 1, 1, 1)
	}
}

// firstOf launches on one GPU, by its place among all: the fake HIP hides none.
func firstOf(device uint64) func(s *stage, gpu FakeHIP) {
	return func(s *stage, gpu FakeHIP) {
		s.start()
		gpu.Call("hipSetDevice", device)
		gpu.Call("hipModuleLaunchKernel", gpu.Make("hipModuleGetFunction", module(gpu), gpu.Text("add")), 1, 1, 1, 1, 1, 1)
	}
}

// refused begins a session that a library refuses: the program runs on.
func refused(s *stage, gpu FakeHIP) {
	s.m.Start(s.options)
	scope("train", func() { gpu.Launch("add") })
}

// openKFD opens a file that stands for the interface of the kernel's driver, which HSA opens when it starts.
func openKFD(s *stage) {
	folder := filepath.Join(s.TempDir(), "dev")
	os.Mkdir(folder, 0o755)
	f, err := os.Create(filepath.Join(folder, "kfd"))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { f.Close() })
}

// onThread calls f on a thread of its own.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(done)
		f()
	}()
	<-done
}

func launchMany(gpu FakeHIP, kernel string, n int) {
	for range n {
		gpu.Launch(kernel)
	}
}

const scriptVariable = "GOPROTON_TEST_SCRIPT"

// stubFolder has the fake libraries.
func stubFolder(t *testing.T, folder string) string {
	path, err := filepath.Abs(filepath.Join("../../build/stub", folder))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("needs build/stub/%s: run make build", folder)
	}
	return path
}

func (s *script) environ(t *testing.T) []string {
	folder := "hip"
	if len(s.version) == 3 && s.version < "700" {
		folder = "hip-6.4"
	}
	env := append(os.Environ(), scriptVariable+"="+s.name, "TRITON_ROCPROFILER_SDK_LIB_PATH="+stubFolder(t, folder))
	for name, value := range map[string]string{"SDK": s.version, "SCRIPT": s.orders, "RESULTS": s.results, "DEVICES": s.devices} {
		if value != "" {
			env = append(env, "PROTON_STUB_"+name+"="+value)
		}
	}
	return append(env, s.env...)
}

// TestRocprofiler runs each script in a process of its own, which is this test again.
func TestRocprofiler(t *testing.T) {
	if name := os.Getenv(scriptVariable); name != "" {
		for _, s := range allScripts() {
			if s.name == name {
				s.run(t)
			}
		}
		return
	}
	for _, s := range allScripts() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(viewer); s.check != nil && err != nil {
				t.Skip("needs build/proton: run make build")
			}
			self := exec.Command(os.Args[0], "-test.run=^TestRocprofiler$", "-test.timeout=60s")
			self.Env = s.environ(t)
			out, err := self.CombinedOutput()
			if err != nil || s.crash == strings.Contains(string(out), "PASS") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func (c *script) run(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	gpu, err := OpenFakeHIP(stubFolder(t, "hip") + "/libamdhip64.so.6")
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{T: t, GPU: gpu, m: profiler.NewManager(), options: c.options}
	s.options.Name, s.options.Backend, s.options.NoStats = filepath.Join(t.TempDir(), "p"), "rocprofiler", true
	defer s.m.Finalize(nil, "")
	program := c.program
	if program == nil && c.problem != "" {
		program = refused
	} else if program == nil {
		program = usual
	}
	program(s, gpu)
	s.m.Flush()
	problem := c.problem
	if problem == "" && c.lost > 0 {
		problem = "the profile lacks " + figures.Count(s.m.Status().Loss.Buffers, "record") + " of GPU work" // c.lost at least, see below
	}
	if said := strings.Join(s.m.Problems(), "\n"); problem == "" && said != "" || !strings.Contains(said, problem) {
		t.Errorf("it says %q, want %q", said, problem)
	}
	if lost := s.m.Status().Loss.Buffers; c.lost > 0 && lost < c.lost {
		t.Errorf("%d records are lost, want %d", lost, c.lost)
	}
	p := s.finish()
	if got := sampleOutline(p); c.want != "" && s.options.Mode != "" && got != strings.TrimPrefix(c.want, "\n") {
		t.Errorf("got\n%swant%s", got, c.want)
	} else if c.want != "" && s.options.Mode == "" {
		s.expect(p, c.want)
	}
	if c.check != nil {
		c.check(s, p)
	}
	var devices []string
	for _, d := range p.Devices {
		devices = append(devices, d.ID)
	}
	if got := strings.Join(devices, " "); c.devicesN != "" && got != c.devicesN {
		t.Errorf("devices %q, want %q", got, c.devicesN)
	}
}

func allScripts() []script {
	return slices.Concat(scripts, samplingScripts, countingScripts, readingScripts, objectScripts(), failures())
}

// failures are scripts in which one function of the library fails, each in turn: the session says so, and the program runs on.
func failures() (all []script) {
	fails := func(function, problem string, program func(*stage, FakeHIP)) {
		all = append(all, script{name: function + " fails", results: "rocprofiler_" + function + "=1", problem: problem, program: program})
	}
	for _, function := range []string{
		"force_configure", "create_context", "start_context", "create_buffer", "create_callback_thread", "assign_callback_thread", "configure_callback_tracing_service",
		"configure_buffer_tracing_service", "configure_external_correlation_id_request_service", "query_callback_tracing_kind_operation_name", "query_available_agents",
	} {
		fails(function, "rocprofiler_"+function, refused)
	}
	fails("get_version", "is older than 0.4", refused)
	fails("*", "rocprofiler-sdk", refused)
	return append(all, script{name: "flush_buffer fails", results: "rocprofiler_flush_buffer=1", lost: 1, want: "<unattributed>: dropped_activities 1\n<unattributed>: lost_records 0\n",
		program: func(s *stage, gpu FakeHIP) { s.start(); gpu.Launch("add") }})
}
