package conformance

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/when"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler"
)

// hipRow is one story.
type hipRow struct{ name, environment, program, want string }

// hipStories are programs for the fake HIP, each in a process of its own because the fake tracing library keeps its state, as the real
// one does. The environment makes the libraries misbehave (replay/fakehip/roctracer.c). What a story prints is the outline of the
// profile, what was lost, and the problems.
var hipStories = []hipRow{
	{"a kernel by its host function", "", `
load
start
enter train
host _Z3addPf
finish`, `
train > _Z3addPf: count 1
`},
	{"every launch of a kernel", "", `
load
start memcpy
ways
finish`, `
hipLaunchKernel > host_kernel: count 1
hipExtLaunchKernel > host_kernel: count 1
hipLaunchCooperativeKernel > host_kernel: count 1
hipModuleLaunchKernel > add: count 1
hipExtModuleLaunchKernel > add: count 1
hipHccModuleLaunchKernel > add: count 1
hipModuleLaunchCooperativeKernel > add: count 1
hipLaunchByPtr > host_kernel: count 1
hipExtLaunchMultiKernelMultiDevice > host_kernel: count 2
hipLaunchCooperativeKernelMultiDevice > host_kernel: count 2
hipModuleLaunchCooperativeKernelMultiDevice > add: count 2
hipGraphLaunch > <captured_at> > capture > add: count 1
`},
	{launchesOfHIP7, "", `
load
start
ways7
finish`, `
hipLaunchKernelExC > host_kernel: count 1
hipDrvLaunchKernelEx > add: count 1
`},
	{"a stream, a module and a device that are gone when the session ends", "", `
load
start
enter train
launch add
second mul
exit
reset
launch add
finish`, `
train > add: count 1
train > mul: count 1
add: count 1
`},
	{"ids beyond 32 bits", "PROTON_STUB_SCRIPT=ids from 8589934590", `
load
start
enter train
launch add
launch mul
again add mul
exit
replay
finish`, `
train > add: count 1
train > mul: count 1
<captured_at> > train > add: count 1
<captured_at> > train > mul: count 1
`},
	{"records in reverse", "PROTON_STUB_SCRIPT=reversed", `
load
start
enter train
launch add
enter inner
launch mul
exit
exit
launch add
finish`, `
train > add: count 1
train > inner > mul: count 1
add: count 1
`},
	{"records without an id", "PROTON_STUB_SCRIPT=uncorrelated mul", `
load
start
enter train
launch add
launch mul
finish`, `
train > add: count 1
<unattributed> > mul: count 1
lost: {Records:0 Buffers:0 Unattributed:1 Untimed:0 Late:0}
`},
	{"records that end before they start", "PROTON_STUB_SCRIPT=backwards mul", `
load
start
launch add
launch mul
finish`, `
add: count 1
mul: count 1
lost: {Records:0 Buffers:0 Unattributed:0 Untimed:1 Late:0}
`},
	{"two devices", "PROTON_STUB_DEVICES=2", `
load
start
launch add
device 1
launch mul
wait
finish`, `
add: count 1
mul: count 1
devices: 0 gfx942 304 CUs AMD Instinct MI300X
devices: 1 gfx942 304 CUs AMD Instinct MI300X
`},
	{"one call launches on two devices", "PROTON_STUB_DEVICES=2", `
load
start
enter train
two add
exit
launch mul
finish`, `
train > add: count 2
mul: count 1
devices: 0 gfx942 304 CUs AMD Instinct MI300X
devices: 1 gfx942 304 CUs AMD Instinct MI300X
`},
	{"kernels of one name in graphs of several scopes", "PROTON_STUB_SCRIPT=reversed", `
load
start
enter a
again add add
exit
replay
enter b
again add mul add
exit
replay
enter c
replay
finish`, `
<captured_at> > a > add: count 2
<captured_at> > b > add: count 2
<captured_at> > b > mul: count 1
c > <captured_at> > b > add: count 2
c > <captured_at> > b > mul: count 1
`},
	{"kernels of one name are captured in several scopes of one graph", "", `
load
start
capture
enter a
launch add
exit
enter b
launch add
launch add
exit
instantiate
enter now
replay
replay
finish`, `
now > <captured_at> > a > add: count 2
now > <captured_at> > b > add: count 4
`},
	{"copies in a graph belong to its launch", "", `
load
start memcpy
capture
enter a
launch add
copy 96
exit
instantiate
enter now
replay
replay
finish`, `
now > <captured_at> > a > add: count 2
now > <memcpy HtoD>: bytes 192
now > <memcpy HtoD>: count 2
`},
	{"kernels of parallel branches are found by name, and equal names by order", "PROTON_STUB_SCRIPT=reversed", `
load
start
enter a
branches add mul add add mul
exit
enter b
replay
replay
finish`, `
b > <captured_at> > a > mul: count 4
b > <captured_at> > a > add: count 6
`},
	{"a graph that is destroyed before its records come", "", `
load
start
enter a
branches add mul
exit
replay
destroy
again add mul
replay
finish`, `
<captured_at> > a > add: count 1
<captured_at> > a > mul: count 1
<captured_at> > add: count 1
<captured_at> > mul: count 1
`},
	{"a graph that was captured while no session listened", "", `
load
start
again add mul
deactivate
again mul mul mul
activate
enter now
replay
finish`, `
now > mul: count 3
`},
	{"a timeline has the streams of calls, because records have none", "", `
load
trace memcpy,sync
launch add
second mul
copy 96
host div
again add
replay
wait
finish`, `
GPU 0 Stream 1: add
GPU 0 Stream 2: mul
GPU 0 Stream 1: <memcpy HtoD>
GPU 0 Stream 1: div
GPU 0 Stream 1: add
calls: hipModuleLaunchKernel hipModuleLaunchKernel hipMemcpyAsync hipLaunchKernel hipModuleLaunchKernel hipGraphLaunch hipDeviceSynchronize
`},
	{"ranges are scopes", "", ranges, rangesOutline},
	{"ranges of a libroctx64 that is loaded after the session began", "", `
load
start
roctx
launch add
deactivate
activate
push train
launch mul
pop
finish`, `
add: count 1
train > mul: count 1
`},
	{"ranges while no session listens", "", `
load
roctx
push before
start
push in
launch add
deactivate
pop
push paused
activate
launch mul
finish`, `
in > add: count 1
in > mul: count 1
`},
	{"a gate of ranges", "", `
load
roctx
gated wanted
push outer
launch add
push wanted
launch mul
push inner
launch add
pop
pop
launch div
push wanted
launch div
pop
pop
finish`, `
outer > wanted > mul: count 1
outer > wanted > inner > add: count 1
outer > wanted > div: count 1
`},
	{"hipProfilerStart and hipProfilerStop are the gate", "", `
load
gated cudaProfilerApi
enter in
launch add
call hipProfilerStart
launch mul
launch mul
call hipProfilerStop
launch div
exit
finish`, `
in > mul: count 2
`},
	{"ranges that are not wanted", "TRITON_ENABLE_NVTX=0", ranges, `
add: count 2
mul: count 1
div: count 1
`},
	{"a program that the profiled one starts does not load the library", "", `
load
start
launch add
flush
run
finish`, `
add: count 1
`},
	{"eight threads", "", `
load
start
enter all
threads 8 5000 add
finish`, `
all > add: count 40000
`},
}

// roctracerStories are those of roctracer alone: of its own errors and records. rocprofiler-sdk counts lost records, and has no records
// of fills. Its own stories are in rocprofiler_test.go.
var roctracerStories = []hipRow{
	{"HIP is loaded after the session began", "", `
start
load
launch add
finish`, `
problem: the program has not loaded libamdhip64, which roctracer looks for only once; load HIP (import torch) before the session starts
`},
	{"roctracer was used before HIP was loaded", "", `
roctracer
load
start
launch add
finish`, `
problem: another profiler used roctracer before the program loaded libamdhip64, so that roctracer does not report its calls; load HIP (import torch) first
`},
	{"another tool has a pool", "", `
load
pool
start
launch add
finish`, `
problem: open a pool of records: roctracer error -5 (a pool exists): another profiler (torch.profiler, rocprof) uses roctracer in this process, and roctracer serves one at a time; stop it, or run without it
`},
	{"every call of the library fails", "PROTON_STUB_RESULTS=roctracer_*=-1", launchOnce, `
problem: set properties of HIP's calls: roctracer error -1 (generic error): the driver may not work here; check rocminfo, and see ` + "`proton doctor`" + `
`},
	{"the library knows no launches", "PROTON_STUB_RESULTS=roctracer_op_code=-3", launchOnce, `
problem: find hipModuleLaunchKernel and hipLaunchKernel: roctracer error -8 (unimplemented function): STUB/libroctracer64.so.4 (version 4.1) may be of another ROCm than the program's libamdhip64; set TRITON_ROCTRACER_LIB_PATH to the folder of the right one
`},
	{"properties are refused", "PROTON_STUB_RESULTS=roctracer_set_properties=-1", launchOnce, `
problem: set properties of HIP's calls: roctracer error -1 (generic error): the driver may not work here; check rocminfo, and see ` + "`proton doctor`" + `
`},
	{"a pool is refused", "PROTON_STUB_RESULTS=roctracer_open_pool=-1", launchOnce, `
problem: open a pool of records: roctracer error -1 (generic error): the driver may not work here; check rocminfo, and see ` + "`proton doctor`" + `
`},
	{"callbacks are refused", "PROTON_STUB_RESULTS=roctracer_enable_op_callback=-1", launchOnce, `
problem: hipStreamBeginCapture: roctracer error -1 (generic error): the driver may not work here; check rocminfo, and see ` + "`proton doctor`" + `
`},
	{"records are not delivered", "PROTON_STUB_RESULTS=roctracer_flush_activity=-1", launchOnce, `
<unattributed>: dropped_activities 1
<unattributed>: lost_records 0
lost: {Records:0 Buffers:1 Unattributed:0 Untimed:0 Late:0}
`},
	{"callbacks stay on", "PROTON_STUB_RESULTS=roctracer_disable_op_callback=-1", launchOnce, `
add: count 1
`},
	{"records stay on", "PROTON_STUB_RESULTS=roctracer_disable_op_activity=-1", launchOnce, `
add: count 1
`},
	{"the pool stays open", "PROTON_STUB_RESULTS=roctracer_close_pool=-1", launchOnce, `
add: count 1
`},
	{"a kernel that is queued when the session starts", "PROTON_STUB_SCRIPT=held", `
load
launch before
start
launch add
finish`, `
add: count 1
`},
	{"a version to come", "PROTON_STUB_ROCTRACER=5", launchOnce, `
problem: STUB/libroctracer64.so.4 is roctracer 5.1, and GoProton knows version 4; install roctracer of the ROCm that the program uses, or set TRITON_ROCTRACER_LIB_PATH to its folder
`},
	{"records are refused", "PROTON_STUB_RESULTS=roctracer_enable_op_activity=-4", launchOnce, `
problem: enable records: roctracer error -4 (no pool of records): another profiler has closed it; stop that one (torch.profiler, rocprof), or run without it
`},
	{"waits, copies and fills that were asked for", "PROTON_STUB_COPY_PARTS=3", `
load
start memcpy,memset,sync
enter load
copy 96
fill 64
exit
enter finish
wait
wait
finish`, `
load > <memcpy HtoD>: bytes 96
load > <memcpy HtoD>: count 3
load > <memset>: bytes 64
load > <memset>: count 1
finish > <sync context>: sync_count 2
`},
	{"waits, copies and fills that were not asked for", "", `
load
start
copy 96
fill 64
wait
launch add
finish`, `
add: count 1
`},
	{"records that never come", "PROTON_STUB_SCRIPT=lost mul", `
load
start
launch add
launch mul
again mul add
replay
replay
finish`, `
add: count 1
<captured_at> > add: count 2
`},
	{"records of an unknown operation", "PROTON_STUB_SCRIPT=unknown mul", launchTwo, oneLost},
	{"a buffer that ends in the middle of a record", "PROTON_STUB_SCRIPT=torn", launchTwo, oneLost},
	{"the end waits for each device that one call launched on", "PROTON_STUB_DEVICES=2, PROTON_STUB_SCRIPT=held", `
load
start
two add
finish`, `
add: count 2
devices: 0 gfx942 304 CUs AMD Instinct MI300X
devices: 1 gfx942 304 CUs AMD Instinct MI300X
`},
	{"the end waits for each device that was the current one", "PROTON_STUB_DEVICES=2, PROTON_STUB_SCRIPT=held", `
load
start
device 1
launch mul
device 0
finish`, `
mul: count 1
`},
}

// launchTwo launches two kernels, of which the second is lost in oneLost.
const launchTwo = `
load
start
launch add
launch mul
finish`

const oneLost = `
add: count 1
<unattributed>: dropped_activities 1
<unattributed>: lost_records 0
lost: {Records:0 Buffers:1 Unattributed:0 Untimed:0 Late:0}
`

const launchOnce = `
load
start
launch add
finish`

// ranges is a program with ranges of roctx; the last pop has no push.
const ranges = `
load
roctx
start
push train
launch add
push inner
launch mul
pop
launch add
pop
pop
launch div
finish`

const rangesOutline = `
train > add: count 2
train > inner > mul: count 1
div: count 1
`

func TestHIPStories(t *testing.T) {
	stub, _ := filepath.Abs("../../build/stub/hip")
	if _, err := os.Stat(stub + "/libroctracer64.so.4"); err != nil {
		t.Skip("needs build/stub/hip: run make build")
	}
	for backend, stories := range map[string][]hipRow{"roctracer": slices.Concat(hipStories, roctracerStories), "rocprofiler": hipStories} {
		for _, story := range stories {
			t.Run(story.name+", "+backend, func(t *testing.T) {
				runHIPStory(t, backend, stub, story.environment, story.program, story.want)
			})
		}
	}
}

func runHIPStory(t *testing.T, backend, stub, environment, program, want string) {
	runHIPStoryBy(t, nil, backend, stub, environment, program, want)
}

// runHIPStoryBy runs a story by a command in front of it.
func runHIPStoryBy(t *testing.T, by []string, backend, stub, environment, program, want string) {
	root := t.TempDir()
	os.MkdirAll(root+"/dev", 0o755)
	os.WriteFile(root+"/dev/kfd", nil, 0o644)
	for n, properties := range []string{"simd_count 0\n", "simd_count 0\n", "simd_count 1216\nlocation_id 49152\ndomain 0\n", "simd_count 1216\nlocation_id 49408\n"} {
		folder := fmt.Sprintf("%s/sys/class/kfd/kfd/topology/nodes/%d", root, n)
		os.MkdirAll(folder, 0o755)
		os.WriteFile(folder+"/properties", []byte(properties), 0o644)
	}
	command := append(slices.Clone(by), os.Args[0], "-test.run=^TestHIPStory$")
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "GOPROTON_HIP_STORY="+program, "PROTON_ROOT="+root, "STUB="+stub, "STORY_BACKEND="+backend, "TRITON_ROCPROFILER_SDK_LIB_PATH="+stub)
	cmd.Env = append(cmd.Env, strings.Split(environment, ", ")...)
	out, err := cmd.CombinedOutput()
	_, got, _ := strings.Cut(string(out), "STORY\n")
	got, _, ended := strings.Cut(got, "END\n")
	got = strings.ReplaceAll(got, stub, "STUB")
	if want := strings.TrimPrefix(want, "\n"); err != nil || !ended || got != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, out, want)
	}
}

// TestHIPStory is the process of a story.
func TestHIPStory(t *testing.T) {
	program := os.Getenv("GOPROTON_HIP_STORY")
	if program == "" {
		t.Skip("TestHIPStories runs it")
	}
	runtime.LockOSThread()
	h := &hipStory{stage: &stage{T: t, m: profiler.NewManager()}, stub: os.Getenv("STUB"), backend: os.Getenv("STORY_BACKEND")}
	for line := range strings.Lines(strings.TrimSpace(program) + "\n") {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		h.do(verb, strings.Fields(rest))
	}
}

type hipStory struct {
	*stage
	gpu             FakeHIP
	stub, backend   string
	scopes          []func()
	replay, destroy func()
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func (h *hipStory) do(verb string, words []string) {
	switch verb {
	case "load":
		if _, err := OpenFakeHIP(h.stub + "/libamdhip64.so.6"); err != nil {
			h.Fatal(err)
		}
		if h.backend == "roctracer" { // rocprofiler-sdk has to be there before HIP starts
			h.gpu.Start()
		}
	case "roctracer", "pool":
		if err := AnotherTool(h.stub+"/libroctracer64.so.4", verb == "pool"); err != nil {
			h.Fatal(err)
		}
	case "roctx":
		if err := OpenROCTX(cmp.Or(os.Getenv("ROCTX"), h.stub+"/libroctx64.so.4")); err != nil {
			h.Fatal(err)
		}
	case "push":
		h.gpu.Push(words[0])
	case "pop":
		h.gpu.Pop()
	case "start":
		h.options = profiler.StartOptions{Name: filepath.Join(h.TempDir(), "p"), Backend: h.backend, NoStats: true, Activities: strings.Join(words, "")}
		if _, err := h.m.Start(h.options); err != nil {
			h.Fatal(err)
		}
	case "gated":
		h.options = profiler.StartOptions{Name: filepath.Join(h.TempDir(), "p"), Backend: h.backend, NoStats: true, When: &when.Conditions{Gate: words[0]}}
		if _, err := h.m.Start(h.options); err != nil {
			h.Fatal(err)
		}
	case "call":
		h.gpu.Call(words[0])
	case "trace":
		h.options = profiler.StartOptions{Name: filepath.Join(h.TempDir(), "p"), Backend: h.backend, Data: "trace", Activities: strings.Join(words, "")}
		if _, err := h.m.Start(h.options); err != nil {
			h.Fatal(err)
		}
	case "second":
		h.gpu.LaunchSecond(words[0])
	case "deactivate":
		h.m.Deactivate(nil, true)
	case "activate":
		h.m.Activate(nil)
	case "enter":
		h.scopes = append(h.scopes, profiler.Scope(words[0]))
	case "exit":
		h.exit()
	case "launch":
		h.gpu.Launch(words[0])
	case "two":
		h.gpu.LaunchOnTwo(words[0])
	case "host":
		h.gpu.LaunchHost(words[0])
	case "copy":
		h.gpu.Copy(number(words[0]))
	case "fill":
		h.gpu.Fill(number(words[0]))
	case "wait":
		h.gpu.Wait()
	case "flush":
		h.m.Flush()
	case "ways":
		h.ways()
	case "ways7":
		h.ways7()
	case "reset":
		h.gpu.Reset()
	case "run":
		if status := h.gpu.Run(cmp.Or(os.Getenv("RUN"), `test "$ROCPROFILER_REGISTER_FORCE_LOAD" != 1`)); status != 0 {
			h.Errorf("the program that it starts ends with wait status %#x", status)
		}
	case "device":
		h.gpu.SetDevice(number(words[0]))
	case "again":
		h.replay = h.gpu.Graph(words...)
	case "branches":
		h.replay, h.destroy = h.gpu.Branches(words...)
	case "capture":
		h.gpu.Capture()
	case "instantiate":
		h.replay = h.gpu.Instantiate()
	case "replay":
		h.replay()
	case "destroy":
		h.destroy()
	case "threads":
		h.gpu.LaunchInThreads(words[2], number(words[0]), number(words[1]))
	case "finish":
		h.report()
	default:
		h.Fatalf("no verb %q", verb)
	}
}

// launchesOfHIP7 are of HIP 7.1, which an older roctracer does not know.
const launchesOfHIP7 = "launches that HIP 7.1 has"

// words is memory of so many 64-bit words, of which some are set.
func (h *hipStory) words(n int, set map[int]uint64) uint64 {
	b := make([]byte, 8*n)
	for i, v := range set {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	return h.gpu.Text(string(b))
}

// ways launches a kernel in each way that HIP has, in a scope of the function's name.
func (h *hipStory) ways() {
	const host = 77
	g := h.gpu
	call := func(function string, arguments ...uint64) {
		scope(function, func() { g.Call(function, arguments...) })
	}
	add, stream := g.Make("hipModuleGetFunction", module(g), g.Text("add")), g.Make("hipStreamCreate")
	g.Call("stub_register_host_function", host, g.Text("host_kernel"))
	for _, function := range []string{"hipLaunchKernel", "hipExtLaunchKernel", "hipLaunchCooperativeKernel"} {
		call(function, host, 1|1<<32, 1, 64|1<<32, 1, 0, 0, stream)
	}
	for _, function := range []string{"hipModuleLaunchKernel", "hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel", "hipModuleLaunchCooperativeKernel"} {
		call(function, add, 1, 1, 1, 64, 1, 1, 0, stream)
	}
	call("hipLaunchByPtr", host)
	list := h.words(14, map[int]uint64{0: host, 6: stream, 7: host, 13: stream}) // two of hipLaunchParams
	call("hipExtLaunchMultiKernelMultiDevice", list, 2)
	call("hipLaunchCooperativeKernelMultiDevice", list, 2)
	call("hipModuleLaunchCooperativeKernelMultiDevice", h.words(14, map[int]uint64{0: add, 5: stream, 7: add, 12: stream}), 2)
	var again func()
	scope("capture", func() { again = g.Graph("add") })
	scope("hipGraphLaunch", again)
}

func (h *hipStory) ways7() {
	g := h.gpu
	add := g.Make("hipModuleGetFunction", module(g), g.Text("add"))
	g.Call("stub_register_host_function", 77, g.Text("host_kernel"))
	config := h.words(7, map[int]uint64{4: g.Make("hipStreamCreate")})
	scope("hipLaunchKernelExC", func() { g.Call("hipLaunchKernelExC", config, 77) })
	scope("hipDrvLaunchKernelEx", func() { g.Call("hipDrvLaunchKernelEx", config, add) })
}

func (h *hipStory) exit() {
	last := len(h.scopes) - 1
	h.scopes[last]()
	h.scopes = h.scopes[:last]
}

func (h *hipStory) report() {
	for len(h.scopes) > 0 {
		h.exit()
	}
	h.m.Flush()
	status := h.m.Status()
	p := h.finish()
	fmt.Print("STORY\n")
	if p.Timeline != nil {
		printTimeline(p.Timeline)
	} else {
		fmt.Print(outline(p))
	}
	if len(p.Devices) > 1 {
		for _, d := range p.Devices {
			fmt.Printf("devices: %s %s %d CUs %s\n", d.ID, d.Arch, d.NumSMs, d.Name)
		}
	}
	if status.Loss != (profiler.Loss{}) {
		fmt.Printf("lost: %+v\n", status.Loss)
	}
	for _, problem := range status.Problems {
		fmt.Printf("problem: %s\n", problem)
	}
	fmt.Print("END\n")
}

// printTimeline prints what lies on the lanes of GPUs, and the calls, in the order of their start.
func printTimeline(timeline *profile.Timeline) {
	lanes := map[int]string{}
	for _, lane := range timeline.Lanes {
		lanes[lane.ID] = lane.Name
	}
	slices.SortFunc(timeline.Slices, func(a, b profile.Slice) int { return cmp.Compare(a.Start, b.Start) })
	calls, began := "calls:", timeline.Slices[0].Start
	for _, slice := range timeline.Slices {
		switch {
		case slice.Start > began+int64(time.Minute):
			fmt.Printf("%s is on another clock\n", slice.Name)
		case slice.Kind == profile.LaunchSlice || slice.Kind == profile.SyncSlice:
			calls += " " + slice.Name
		case strings.HasPrefix(lanes[slice.Lane], "GPU"):
			fmt.Printf("%s: %s\n", lanes[slice.Lane], slice.Name)
		}
	}
	fmt.Println(calls)
}
