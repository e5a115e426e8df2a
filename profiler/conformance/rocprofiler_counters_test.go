package conformance

import (
	"math"
	"strings"
	"time"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profiler"
)

// The fake library's counters have two units, each of which counts 1000 times the length of the kernel's name and the length of its own.
func unitOf(kernel, counter string) float64 { return float64(1000*len(kernel) + len(counter)) }

func bothUnits(kernel, counter string) float64 { return 2 * unitOf(kernel, counter) }

func launchesOf(kernel string, n int) func(s *stage, gpu FakeHIP) {
	return func(s *stage, gpu FakeHIP) {
		if _, err := s.m.Start(s.options); err != nil { // a problem of counters is one of the scripts'
			s.Fatal(err)
		}
		scope("train", func() {
			for range n {
				gpu.Launch(kernel)
			}
		})
		gpu.Copy(4096)
	}
}

// measuredAs has a kernel below train looked at, and what the profile says of the counters.
func measuredAs(kernel, said string, want map[string]float64) func(s *stage, p *profile.Profile) {
	return func(s *stage, p *profile.Profile) {
		node := p.Root.Child("train").Child(kernel)
		for name, want := range want {
			var got float64
			if figure := counters.Find(name); figure != nil {
				above, below := figure.At(node)
				got = above / below
			} else if v, ok := node.Metric(name); ok {
				got, _ = v.Float()
			}
			if math.Abs(got-want) > 1e-9*math.Abs(want) {
				s.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		if text := p.Info[profile.InfoCounters]; !strings.HasPrefix(text, said) {
			s.Errorf("the profile says %q, want %q", text, said)
		}
	}
}

func counting(options string) profiler.StartOptions {
	return profiler.StartOptions{Mode: "counters:" + options}
}

func readBytes(kernel string) float64 {
	return 64*bothUnits(kernel, "TCC_EA0_RDREQ") - 32*bothUnits(kernel, "TCC_EA0_RDREQ_32B") + 64*bothUnits(kernel, "TCC_BUBBLE")
}

var countingScripts = []script{
	{name: "launches are counted", options: counting("set=dram_read:first=2"), program: launchesOf("add", 5),
		check: measuredAs("add", "set dram_read, 4 metrics in 1 pass: 2 launches of 1 kernel measured", map[string]float64{
			profile.CountMetric: 5, counters.Launches: 2, counters.Time: 2000, profile.TimeMetric: 5000,
			"TCC_EA0_RDREQ": 2 * bothUnits("add", "TCC_EA0_RDREQ"), "dram_read": 5 * readBytes("add")})},
	{name: "launches count what the hardware counts at once", options: counting("set=roofline"), program: launchesOf("mul_kernel", 8),
		check: measuredAs("mul_kernel", "set roofline, 21 metrics in 2 passes: 1 launch of 1 kernel measured", map[string]float64{
			profile.CountMetric: 8, counters.Launches: 1, "dram_read": 8 * readBytes("mul_kernel"), "tensor_fp16_flops": 8 * 512 * bothUnits("mul_kernel", "SQ_INSTS_VALU_MFMA_MOPS_F16"),
			"fp16_flops": 8 * 64 * (bothUnits("mul_kernel", "SQ_INSTS_VALU_ADD_F16") + bothUnits("mul_kernel", "SQ_INSTS_VALU_MUL_F16") + 2*bothUnits("mul_kernel", "SQ_INSTS_VALU_FMA_F16"))})},
	{name: "a kernel with too few launches is left out", options: counting("set=roofline"), program: launchesOf("add", 1),
		check: measuredAs("add", "set roofline, no launch was measured; left out: 1 launch, the set takes 2 launches of a kernel at a call path: add", map[string]float64{profile.CountMetric: 1, counters.Launches: 0})},
	{name: "shares of the elapsed cycles", options: counting("set=tensor_pipe+achieved_occupancy"), program: launchesOf("add", 1),
		check: measuredAs("add", "set tensor_pipe+achieved_occupancy, 5 metrics in 1 pass", map[string]float64{
			"tensor_pipe":        bothUnits("add", "SQ_VALU_MFMA_BUSY_CYCLES") / (1216 * unitOf("add", "GRBM_GUI_ACTIVE")), // the largest of both units
			"achieved_occupancy": bothUnits("add", "SQ_WAVE_CYCLES") / (32 * bothUnits("add", "SQ_BUSY_CU_CYCLES"))})},
	{name: "only kernels that are named are counted", options: counting("set=SQ_INSTS_VALU+SQ_INSTS_LDS:kernels=mul*"), program: func(s *stage, gpu FakeHIP) {
		s.start()
		scope("train", func() { gpu.Launch("add"); gpu.Launch("mul") })
	}, check: measuredAs("mul", "set SQ_INSTS_VALU+SQ_INSTS_LDS, 3 metrics in 1 pass: 1 launch of 1 kernel measured", map[string]float64{
		"SQ_INSTS_VALU": bothUnits("mul", "SQ_INSTS_VALU"), "SQ_INSTS_LDS": bothUnits("mul", "SQ_INSTS_LDS")})},
	{name: "kernels that do not run", options: counting("set=instructions:kernels=adx"), program: launchesOf("add", 3),
		check: measuredAs("add", "set instructions, no launch was measured; kernels=adx matches none of those that ran: add; did you mean add?", map[string]float64{profile.CountMetric: 3})},
	{name: "most launches of the run are counted", options: counting("set=instructions:first=9:most=3"), program: launchesOf("add", 9),
		check: measuredAs("add", "set instructions, 2 metrics in 1 pass: 3 launches", map[string]float64{counters.Launches: 3, "instructions": 9 * bothUnits("add", "SQ_INSTS")})},
	{name: "a counter that the GPU lacks", orders: "lacking SQ_INSTS", options: counting("set=SQ_INSTS+SQ_INSTS_VALU"), program: launchesOf("add", 1),
		problem: "counters: this library knows no SQ_INSTS of a gfx942, and counts the others; did you mean", check: measuredAs("add", "set SQ_INSTS+SQ_INSTS_VALU, 2 metrics in 1 pass: 1 launch",
			map[string]float64{"SQ_INSTS_VALU": bothUnits("add", "SQ_INSTS_VALU")})},
	{name: "values that never come", orders: "uncounted add", options: counting("set=instructions"), program: launchesOf("add", 2),
		problem: "reported no values of 1 launch", check: measuredAs("add", "set instructions, no launch was measured", map[string]float64{profile.CountMetric: 2, profile.TimeMetric: 2000})},
	{name: "packets that another thread writes are not counted", orders: "indirect", options: counting("set=instructions"), program: launchesOf("add", 2),
		check: measuredAs("add", "set instructions, no launch was measured", map[string]float64{profile.CountMetric: 2})},
	{name: "a library without counters", version: "600", options: counting("set=instructions"), program: launchesOf("add", 2),
		problem: "cannot count, which ROCm 7.0 and newer can; kernels are timed without", check: measuredAs("add", "set instructions, no launch was measured", map[string]float64{profile.CountMetric: 2})},
	{name: "counting is refused", results: "rocprofiler_configure_callback_dispatch_counting_service=40", options: counting("set=instructions"), program: launchesOf("add", 2),
		problem: "rocprofiler_configure_callback_dispatch_counting_service: rocprofiler-sdk 1.2.1", check: measuredAs("add", "", map[string]float64{profile.CountMetric: 2})},
	{name: "sessions one after the other", options: counting("set=instructions"), program: func(s *stage, gpu FakeHIP) {
		for _, name := range []string{"SQ_INSTS", "", "SQ_INSTS_VALU"} {
			if s.options.Mode = ""; name != "" {
				s.options.Mode = "counters:set=" + name
			}
			launchesOf("add", 3)(s, gpu)
			if name == "SQ_INSTS_VALU" {
				return
			}
			node := s.finish().Root.Child("train").Child("add")
			_, counted := node.Metric(counters.Launches)
			if v, has := node.Metric("SQ_INSTS"); counted != (name != "") || has != counted {
				s.Errorf("set %q: measured %v, SQ_INSTS %v", name, counted, v)
			}
		}
	}, check: measuredAs("add", "set SQ_INSTS_VALU, 2 metrics in 1 pass: 1 launch of 1 kernel measured", map[string]float64{
		profile.CountMetric: 3, counters.Launches: 1, "SQ_INSTS_VALU": bothUnits("add", "SQ_INSTS_VALU")})},
	{name: "counters are not listed", results: "rocprofiler_iterate_agent_supported_counters=1", options: counting("set=instructions"), program: launchesOf("add", 2),
		problem: "lists no counters of a gfx942; kernels are timed without", check: measuredAs("add", "set instructions, no launch was measured", map[string]float64{profile.CountMetric: 2})},
	{name: "no counter is accepted", results: "rocprofiler_create_counter_config=1", options: counting("set=instructions"), program: launchesOf("add", 2),
		problem: "does not count SQ_INSTS on a gfx942, and counts the others", check: measuredAs("add", "set instructions, no launch was measured", map[string]float64{profile.CountMetric: 2})},
	{name: "counters are for another chip", options: counting("set=sm__inst_executed.sum"), program: launchesOf("add", 1),
		problem: "the GPU's chip gfx942 has no counter sm__inst_executed.sum: leave it out; kernels are timed without", check: measuredAs("add", "", map[string]float64{profile.CountMetric: 1})},
	{name: "kernels of graphs are not counted", options: counting("set=instructions"), program: func(s *stage, gpu FakeHIP) {
		s.start()
		replay := s.Graph("add")
		scope("train", func() { replay(); gpu.Launch("mul") })
	}, check: measuredAs("mul", "set instructions, 2 metrics in 1 pass: 1 launch of 1 kernel measured; left out: 1 launch, in a graph: add", map[string]float64{counters.Launches: 1})},
}

// whole sums a metric over all frames.
func whole(n *profile.Node, metric string) (sum float64) {
	if v, ok := n.Metric(metric); ok {
		sum, _ = v.Float()
	}
	for _, c := range n.Children {
		sum += whole(c, metric)
	}
	return sum
}

const readFor = 400 * time.Millisecond

// readWhile launches kernels for readFor.
func readWhile(s *stage, gpu FakeHIP) {
	if _, err := s.m.Start(s.options); err != nil {
		s.Fatal(err)
	}
	for ends := time.Now().Add(readFor); time.Now().Before(ends); time.Sleep(time.Millisecond) {
		scope("twice", func() { gpu.Launch("a"); gpu.Launch("a") })
		scope("once", func() { gpu.Launch("b") })
	}
}

// joules are what the fake GPU took in the time of the program, up to what starting and ending take.
func joules(s *stage, p *profile.Profile) {
	const watts = 500
	if got, least := whole(p.Root, "energy (J)"), watts*(readFor.Seconds()-0.15); got < least || got > watts*(readFor.Seconds()+1) {
		s.Errorf("%g J, want %g or somewhat more", got, least)
	}
	a, b := whole(p.Root.Child("twice"), "energy (J)"), whole(p.Root.Child("once"), "energy (J)")
	if math.Abs(a/b-2) > 0.1 {
		s.Errorf("the kernels of twice the time have %g times the energy", a/b)
	}
}

var readingScripts = []script{
	{name: "the energy of a GPU", options: profiler.StartOptions{Energy: true}, program: readWhile, check: joules},
	{name: "counters over time", options: profiler.StartOptions{Energy: true, PM: "1ms"}, program: readWhile,
		problem: `"memory written (B/s)" over time is not read: the GPU does not count it together with the others`, check: func(s *stage, p *profile.Profile) {
			joules(s, p)
			// Each unit counts as many as its counter's name is long, in each ns.
			perNano := func(counter string) float64 { return 2 * float64(len(counter)) }
			cycles := float64(1216 * len("GRBM_COUNT"))
			active, matrix := 16*perNano("SQ_BUSY_CU_CYCLES")/cycles, perNano("SQ_VALU_MFMA_BUSY_CYCLES")/cycles
			read := 64*perNano("TCC_EA0_RDREQ") - 32*perNano("TCC_EA0_RDREQ_32B") + 64*perNano("TCC_BUBBLE")
			nanos := whole(p.Root, "gpu_active_time (ns)") / active
			if within := time.Duration(nanos); within < readFor-150*time.Millisecond || within > readFor+time.Second {
				s.Errorf("read for %v, want %v", within, readFor)
			}
			for metric, want := range map[string]float64{"tensor_active_time (ns)": matrix * nanos, "dram_read_bytes": read * nanos, "dram_written_bytes": 0} {
				if got := whole(p.Root, metric); math.Abs(got-want) > 1e-3*want {
					s.Errorf("%s is %g, want %g", metric, got, want)
				}
			}
		}},
	{name: "a GPU without a counter of energy", options: profiler.StartOptions{Energy: true}, env: []string{"PROTON_STUB_NO_ENERGY=1"}, program: readWhile,
		problem: "the energy of GPU 0 is not read: AMD SMI answers 2"},
	{name: "a GPU that AMD SMI does not know", options: profiler.StartOptions{Energy: true}, env: []string{"PROTON_STUB_NO_GPU=1"}, program: readWhile,
		problem: "the energy of GPU 0 is not read: AMD SMI does not know it"},
	{name: "counters over time are refused", results: "rocprofiler_sample_device_counting_service=40", options: profiler.StartOptions{PM: "1ms"}, program: readWhile,
		problem: "counters over time are not read: rocprofiler_sample_device_counting_service: rocprofiler-sdk 1.2.1"},
	{name: "counters over time of an old library", version: "600", options: profiler.StartOptions{PM: "1ms"}, program: readWhile,
		problem: "counters over time are not read: rocprofiler-sdk 0.6.0"},
}
