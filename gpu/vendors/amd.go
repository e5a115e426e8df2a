package vendors

import (
	"github.com/goproton/goproton/gpu/hsaco"
	"github.com/goproton/goproton/gpu/record"
)

// AMD's backends are package roctracer's: the first collects through librocprofiler-sdk, the second through libroctracer64.
var AMD = &Vendor{
	Name: "AMD", Package: "roctracer", API: "HIP", DeviceType: "HIP",
	Backends: []Backend{
		{Names: []string{"rocprofiler"}, Class: "RocprofilerProfiler",
			Modes: map[string]func(string) (record.SamplingRequest, error){"pcsampling": parseAMDSampling, "counters": parseAMDCounters}},
		{Names: []string{"roctracer"}, Class: "RoctracerProfiler"},
	},
	Driver:  []string{"dev/kfd"},
	Library: "libamdhip64.so",
	Preload: "libproton-preload.so",
	Target:  "hip", // warps have 64 threads on Instinct GPUs and 32 on Radeons
	Code:    &hsaco.Format,
	Stalls:  &amdStalls,
}

// amdStalls are the reasons of stochastic sampling, under the names that upstream's profiler gives them: four are NVIDIA's. docs/sampling.md
// has them as a table.
var amdStalls = Stalls{Issued: "selected", Ready: "not_selected", Reasons: []Stall{
	{"amd_alu_dependency", "waits for the result of an arithmetic instruction",
		"dependent arithmetic in a row: more independent work per thread, or more warps, fills these cycles"},
	{"amd_arbiter_win_ex_stall", "was chosen, but the unit that executes its instruction was busy",
		"the unit is the limit: matrix units at work are good; otherwise fewer or wider instructions of the line's kind are what is left"},
	{"amd_internal_instruction", "executes an instruction that the hardware handles by itself, such as a wait or a change of its priority",
		"rare; much of it means that the code has more such instructions than work"},
	{"amd_other_wait", "waits for a reason that has no name of its own", "rare; there is nothing known to do about it"},
	{"amd_waitcnt", "waits at s_waitcnt for its memory accesses, to global memory, to shared memory (LDS) or of scalars",
		"loads arrive too late: prefetch (more pipeline stages), have more warps resident, coalesce accesses, keep reused data in shared memory"},
	{"barrier", "waits at a barrier for the other warps of its block",
		"warps arrive at different times: look for work that only some warps do before it, and for more blocks per compute unit to fill the gap"},
	{"no_instructions", "waits for its next instruction to be fetched",
		"the code does not fit the instruction cache or jumps much, or the kernel is short: less unrolling and fewer specialised copies help"},
	{"not_selected", "could go on, but another warp was chosen",
		"there is more parallelism than the scheduler can issue: no loss by itself; larger tiles with fewer warps may do as well"},
	{"selected", "went on: it issued its instruction", "this is progress, no stall"},
	{"sleeping", "sleeps", "the program spins with s_sleep, or waits for a lock or for another block"},
}}
