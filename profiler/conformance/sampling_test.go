package conformance

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler"
)

var sampled = profiler.StartOptions{Mode: "pcsampling"}

// Samples that the fake GPU takes of a real code object, whose function "inlined" begins at 0x1600.
const someSamples = "; samples inlined 0x1600:0:2 0x1608:3:5 0x1608:6:1 0x1608:12:1"

const notSampled = "\ntrain > inlined: count 1\n"

// samplingScripts are programs for the fake librocprofiler-sdk that sample, or that are refused it.
var samplingScripts = []script{
	{name: "stochastic samples", orders: "sampling host_trap stochastic" + someSamples, options: sampled, program: inlinedOnce, want: `
train > inlined: count 1
train > inlined: selected 2, amd_waitcnt 5, not_selected 1, amd_other_wait 1
continuous, period 131072, 9 samples
`},
	{name: "samples by the host trap", orders: "sampling host_trap; samples inlined 0x1600:0:200 0x1608:3:50", options: sampled, program: inlinedOnce, check: showsNoReasons, want: `
train > inlined: count 1
train > inlined:  250
continuous, period 0, 250 samples
`},
	{name: "an interval for a GPU with limits", orders: "sampling stochastic", options: mode("interval=1000"), program: inlinedOnce, want: `
train > inlined: count 1
continuous, period 65536, 0 samples
`},
	{name: "an interval between powers of two", orders: "sampling stochastic", options: mode("interval=300000"), program: inlinedOnce, want: `
train > inlined: count 1
continuous, period 262144, 0 samples
`},
	{name: "samples before their kernel's record", orders: "sampling stochastic; eager; slow 30" + someSamples, options: sampled, program: inlinedOnce, want: `
train > inlined: count 1
train > inlined: selected 2, amd_waitcnt 5, not_selected 1, amd_other_wait 1
continuous, period 131072, 9 samples
`},
	{name: "samples know their launch", orders: "sampling stochastic; samples inlined 0x1600:0:2", options: sampled, program: inlinedTwice, want: `
forward > inlined: count 2
backward > inlined: count 1
forward > inlined: selected 4
backward > inlined: selected 2
continuous, period 131072, 6 samples
`},
	{name: "samples of kernels of a graph", orders: "sampling stochastic; samples inlined 0x1600:0:2 softmax 0x1600:0:3", options: sampled, program: func(s *stage, gpu FakeHIP) {
		s.start()
		f := loaded(s, gpu, "inlined.gfx942.hsaco", "inlined")
		g := loaded(s, gpu, "softmax.gfx90a.hsaco", "softmax")
		stream := gpu.Make("hipStreamCreate")
		gpu.Call("hipStreamBeginCapture", stream, 0)
		scope("captured", func() {
			gpu.Call("hipModuleLaunchKernel", f, 1, 1, 1, 1, 1, 1, 0, stream)
			gpu.Call("hipModuleLaunchKernel", g, 1, 1, 1, 1, 1, 1, 0, stream)
		})
		graph := gpu.Second("hipStreamEndCapture", stream)
		exec := gpu.Make("hipGraphInstantiate", graph)
		scope("replay", func() { gpu.Call("hipGraphLaunch", exec, stream) })
	}, want: `
replay > <captured_at> > captured > inlined: count 1
replay > <captured_at> > captured > softmax: count 1
replay > <captured_at> > captured > inlined: selected 2
replay > <captured_at> > captured > softmax: selected 3
continuous, period 131072, 5 samples
`},
	{name: "samples of kernels that match", orders: "sampling stochastic" + someSamples, options: mode("kernels=nothing"), program: inlinedOnce,
		problem: "kernels= matches no sampled kernel: 9 samples taken are of others", want: notSampled + "continuous, period 131072, 0 samples\n"},
	{name: "samples in unknown code", orders: "sampling stochastic; samples inlined 0x1600:code:3 0x1600:error:2 0x10:1:1", options: sampled, program: inlinedOnce,
		problem: "4 samples fell in code whose loading was not seen", want: notSampled + "continuous, period 131072, 0 samples\n"},
	{name: "samples without a place", orders: "sampling stochastic; samples inlined 0x1600:error:2", options: sampled, program: inlinedOnce,
		problem: "2 samples have no place", want: notSampled + "continuous, period 131072, 0 samples\n"},
	{name: "two GPUs, sampled", orders: "sampling stochastic; samples inlined 0x1600:0:2", devices: "2", options: sampled, program: func(s *stage, gpu FakeHIP) {
		s.start()
		f := loaded(s, gpu, "inlined.gfx942.hsaco", "inlined")
		scope("train", func() {
			launchOf(gpu, f)
			gpu.Call("hipSetDevice", 1)
			launchOf(gpu, f)
		})
	}, want: "\ntrain > inlined: count 2\ntrain > inlined: selected 4\ncontinuous, period 131072, 4 samples\n"},
	{name: "two GPUs, of which one is sampled", orders: "sampling stochastic; unsampled 1; samples inlined 0x1600:0:2", devices: "2", options: sampled, program: func(s *stage, gpu FakeHIP) {
		s.m.Start(s.options)
		f := loaded(s, gpu, "inlined.gfx942.hsaco", "inlined")
		scope("train", func() {
			launchOf(gpu, f)
			gpu.Call("hipSetDevice", 1)
			launchOf(gpu, f)
		})
	}, problem: "only 1 of 2 GPUs are sampled: the others do not offer it, or another process samples them",
		want: "\ntrain > inlined: count 2\ntrain > inlined: selected 2\ncontinuous, period 131072, 2 samples\n"},
	{name: "another interval in a second session", orders: "sampling stochastic; samples inlined 0x1600:0:2", options: mode("interval=300000"), program: func(s *stage, gpu FakeHIP) {
		inlinedOnce(s, gpu)
		s.m.Finalize(nil, "")
		s.options.Mode = "pcsampling:interval=70000"
		inlinedOnce(s, gpu)
	}, problem: "method and interval are those of the first session of this process, because rocprofiler-sdk takes them once",
		want: "\ntrain > inlined: count 1\ntrain > inlined: selected 2\ncontinuous, period 262144, 2 samples\n"},
	{name: "samples with more members than known", orders: "sampling host_trap stochastic; long" + someSamples, options: sampled, program: inlinedOnce, want: `
train > inlined: count 1
train > inlined: selected 2, amd_waitcnt 5, not_selected 1, amd_other_wait 1
continuous, period 131072, 9 samples
`},
	{name: "samples of an unknown kind, and of an unknown size", orders: "sampling stochastic; samples inlined 0x1600:0:2 0x1600:strange:3 0x1600:short:4", options: sampled, program: inlinedOnce,
		problem: "7 samples have no place", want: "\ntrain > inlined: count 1\ntrain > inlined: selected 2\ncontinuous, period 131072, 2 samples\n"},
	{name: "samples of a kernel without a record", orders: "sampling stochastic; lost inlined; samples inlined 0x1600:0:2", options: sampled, lost: 1, program: inlinedOnce,
		problem: "2 samples name a launch that has no record", want: "<unattributed> > inlined: selected 2\ncontinuous, period 131072, 2 samples\n"},
	{name: "samples that cease to come", orders: "sampling stochastic; lasting 2000", options: sampled, program: inlinedOnce,
		problem: "samples stopped: kernels ran for 2.0 s without one", want: notSampled + "continuous, period 131072, 0 samples\n"},
	{name: "long kernels with samples", orders: "sampling stochastic; lasting 2000; samples inlined 0x1600:0:2", options: sampled, program: inlinedOnce, want: `
train > inlined: count 1
train > inlined: selected 2
continuous, period 131072, 2 samples
`},
	{name: "a GPU that cannot sample", options: sampled, program: inlinedOnce, problem: "no GPU offers it; Instinct GPUs from the MI200 on do", want: notSampled},
	{name: "a GPU without that method", orders: "sampling host_trap", options: mode("method=stochastic"), program: inlinedOnce, problem: "no GPU offers this method", want: notSampled},
	{name: "a library before 0.7", version: "600", options: sampled, program: inlinedOnce, problem: "have a form that is not known; use ROCm 7.0", want: notSampled},
	{name: "sampling that the user forbids", orders: "sampling stochastic", env: []string{"ROCPROFILER_PC_SAMPLING_BETA_ENABLED=0"}, options: sampled, program: inlinedOnce,
		problem: `has it only with ROCPROFILER_PC_SAMPLING_BETA_ENABLED=1, which is "0" now`, want: notSampled},
	{name: "a GPU that another process samples", orders: "sampling stochastic", results: "rocprofiler_configure_pc_sampling_service=1", options: sampled, program: inlinedOnce,
		problem: "rocprofiler_configure_pc_sampling_service: rocprofiler-sdk 1.2.1", want: notSampled},
	{name: "GPUs that do not say how they sample", results: "rocprofiler_query_pc_sampling_agent_configurations=1", options: sampled, program: inlinedOnce,
		problem: "rocprofiler_query_pc_sampling_agent_configurations: rocprofiler-sdk 1.2.1", want: notSampled},
	{name: "sampling in a second session", orders: "sampling stochastic" + someSamples, program: func(s *stage, gpu FakeHIP) {
		usual(s, gpu)
		s.m.Finalize(nil, "")
		s.options.Mode = "pcsampling"
		s.m.Start(s.options)
		scope("train", func() { launchOf(gpu, loaded(s, gpu, "inlined.gfx942.hsaco", "inlined")) })
	}, problem: "the first session of this process did not ask for it", want: notSampled},
	{name: "two sessions with samples", orders: "sampling stochastic; samples inlined 0x1600:0:2", options: sampled, program: func(s *stage, gpu FakeHIP) {
		inlinedOnce(s, gpu)
		s.m.Finalize(nil, "")
		f := loaded(s, gpu, "inlined.gfx942.hsaco", "inlined")
		launchOf(gpu, f) // not sampled
		s.start()
		scope("train", func() { launchOf(gpu, f) })
	}, want: "\ntrain > inlined: count 1\ntrain > inlined: selected 2\ncontinuous, period 131072, 2 samples\n"},
}

func mode(options string) profiler.StartOptions {
	return profiler.StartOptions{Mode: "pcsampling:" + options}
}

const objects = "../../gpu/hsaco/testdata/"

// loaded loads a code object into the fake HIP and returns one of its kernels.
func loaded(s *stage, gpu FakeHIP, file, kernel string) uint64 {
	s.Helper()
	image, err := os.ReadFile(objects + file)
	if err != nil {
		s.Fatal(err)
	}
	return gpu.Make("hipModuleGetFunction", gpu.Make("hipModuleLoadData", gpu.Text(string(image))), gpu.Text(kernel))
}

func launchOf(gpu FakeHIP, function uint64) {
	gpu.Call("hipModuleLaunchKernel", function, 1, 1, 1, 1, 1, 1)
}

func inlinedOnce(s *stage, gpu FakeHIP) {
	s.m.Start(s.options)
	scope("train", func() { launchOf(gpu, loaded(s, gpu, "inlined.gfx942.hsaco", "inlined")) })
}

func inlinedTwice(s *stage, gpu FakeHIP) {
	s.start()
	f := loaded(s, gpu, "inlined.gfx942.hsaco", "inlined")
	scope("forward", func() { launchOf(gpu, f); launchOf(gpu, f) })
	scope("backward", func() { launchOf(gpu, f) })
}

// showsNoReasons checks that the viewer shows lines with samples and no stalls.
func showsNoReasons(s *stage, _ *profile.Profile) {
	out, err := exec.Command(viewer, "viewer", "--source", "--json", s.options.Name+".hatchet").Output()
	if text := string(out); err != nil || !strings.Contains(text, `"reasons": {}`) || !strings.Contains(text, `"stalled": 0`) || !strings.Contains(text, `"samples": 250`) {
		s.Errorf("proton viewer --source --json: %v\n%s", err, text)
	}
	out, err = exec.Command(viewer, "viewer", "--source", s.options.Name+".hatchet").Output()
	if text := string(out); err != nil || strings.Contains(text, "hint") || strings.Contains(text, "stalls:") {
		s.Errorf("proton viewer --source: %v\n%s", err, text)
	}
}

// sampleOutline has the launches and samples of each call path, and what is known of all samples.
func sampleOutline(p *profile.Profile) string {
	var launches, samples strings.Builder
	for line := range strings.Lines(outline(p)) {
		if strings.Contains(line, ": count ") {
			launches.WriteString(line)
		}
	}
	var walk func(n *profile.Node, path string)
	walk = func(n *profile.Node, path string) {
		counts := make([]uint64, math.MaxUint8)
		for _, f := range n.Samples {
			for _, pc := range f.PCs {
				for _, stall := range pc.Stalls {
					counts[stall.Reason] += stall.Samples
				}
			}
		}
		var reasons []string
		for i, count := range counts {
			if count > 0 {
				reasons = append(reasons, fmt.Sprintf("%s %d", p.Sampling.Reasons[i], count))
			}
		}
		if len(reasons) > 0 {
			fmt.Fprintf(&samples, "%s: %s\n", path, strings.Join(reasons, ", "))
		}
		for _, c := range n.Children {
			walk(c, strings.TrimPrefix(path+" > "+c.Name, " > "))
		}
	}
	walk(p.Root, "")
	if s := p.Sampling; s != nil && s.Period+s.Total > 0 {
		fmt.Fprintf(&samples, "%s, period %d, %d samples\n", s.Mode, s.Period, s.Total)
	}
	return launches.String() + samples.String()
}
