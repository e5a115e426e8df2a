package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/term"
)

// rule says what holds where some numbers are as they are. The numbers of its conditions are the evidence of what it finds.
type rule struct {
	Name, Class string
	Of          string   // kind of subject
	Group       string   // of rules with the same group, the first that holds for a subject is the cause
	Fallback    bool     // only if no other rule explains the subject for sure, or, with samples, at all
	Stalls      []string // stall reasons whose samples, together, are at least the share Least; the line is the one with most of them
	Least       float64
	When        string // conditions, separated by "; ": NAME >= VALUE, NAME < VALUE, with " or unknown" where it may be
	Shows       string // names of further evidence, where it is known
	Saves       string // what is saved at most: "stalls", "roofline", a number of ns, or a share of the subject's time
	Part        string // the number that is the part of the stalls with this cause, where it is known
	Sure        Confidence
	AtRoof      bool // the same is seen in kernels at their roof: without the roof this is a hint
	Says, Try   string
	Next        string // {profile}, {kernel}, {line} and {trace} are replaced
}

// Kinds of subjects.
const (
	kernelKind  = "kernel"
	programKind = "program"
	ranksKind   = "ranks"
	idleKind    = "idle:" // and what kept the GPU idle
)

// own is that the program's author can change a kernel; big that it has much of the time.
const (
	big     = "gpu_time_share >= 0.05"
	own     = big + "; library_kernel < 1 or unknown"
	slow    = own + "; roof_share < 0.6 or unknown"
	enough  = "samples >= 100"
	sampled = slow + "; " + enough

	seeLines   = "proton viewer --source={kernel} {profile}"
	sampleIt   = "proton run --mode pcsampling PROGRAM"
	seeIdle    = "proton viewer --idle {profile}"
	traceIt    = "proton run --mode pcsampling --trace DIR PROGRAM"
	seeTrace   = "proton viewer --source={kernel} --trace {trace} {profile}"
	seeBuckets = "proton merge --timeline --json {profile}"
)

// rules in the order in which they are tried: within a group, what is measured stands before what it is often the sign of.
var rules = []rule{
	{Name: "few_blocks", Class: "occupancy", Of: kernelKind, Group: "memory latency",
		When: own + "; filled_multiprocessors_share < 0.8", Shows: "blocks multiprocessors", Saves: "idle_multiprocessors_share", Sure: High,
		Says: "the grid has fewer blocks than the GPU has multiprocessors, so that some have nothing to do", Try: "smaller tiles, or split the reduction over more blocks (split-K)", Next: seeLines},
	{Name: "register_spills", Class: "spill", Of: kernelKind, Group: "memory latency",
		When: own + "; local_memory_instruction_share >= 0.01", Shows: "local_memory_bytes_per_thread registers_per_thread stall_lg_throttle_share stall_long_scoreboard_share",
		Stalls: []string{"long_scoreboard", "lg_throttle"}, Saves: "stalls", Sure: High,
		Says: "registers are spilled: values go to local memory and back", Try: "smaller tiles, more warps per block, or fewer values that live across the loop", Next: seeLines},
	{Name: "last_wave", Class: "occupancy", Of: kernelKind,
		When: slow + "; last_wave_idle_share >= 0.15", Shows: "waves blocks multiprocessors occupancy_share", Saves: "last_wave_idle_share", Sure: Medium,
		Says: "the last wave of blocks fills only a part of the GPU", Try: "tiles that divide the work into whole waves, or a persistent kernel with a block per multiprocessor", Next: seeLines},
	{Name: "full_precision_matmul", Class: "compute", Of: kernelKind, Group: "compute",
		When: big + "; fp32_multiplication >= 1", Shows: "roof_share", Saves: "tf32_saves_share", Sure: High,
		Says: "matrices are multiplied in fp32, without tensor cores", Try: "tf32: torch.set_float32_matmul_precision('high'), or input_precision='tf32' of tl.dot, if the precision suffices; or bf16", Next: "proton viewer -m time,flop32/s,count --top 10 {profile}"},
	{Name: "one_stage", Class: "data movement", Of: kernelKind, Group: "memory latency", Stalls: []string{"long_scoreboard"}, Least: 0.25,
		When: sampled + "; pipeline_stages < 2", Shows: "warps_per_block", Saves: "stalls", Sure: High, AtRoof: true,
		Says: "warps wait for loads that are not pipelined: num_stages is 1", Try: "num_stages=2 to 4, as far as shared memory suffices", Next: seeLines},
	{Name: "low_occupancy", Class: "occupancy", Of: kernelKind, Group: "memory latency", Stalls: []string{"long_scoreboard", "wait", "short_scoreboard"}, Least: 0.4,
		When: sampled + "; occupancy_share < 0.3; stall_gmma_share < 0.2; stall_barrier_share < 0.2", Shows: "registers_per_thread shared_memory_bytes_per_block blocks_per_multiprocessor", Saves: "stalls", Sure: Medium, AtRoof: true,
		Says: "few warps are resident, too few to cover what each waits for; the limit is {limit}", Try: "smaller tiles or fewer values at once, so that more blocks fit", Next: seeLines},
	{Name: "few_resident_warps", Class: "occupancy", Of: kernelKind, Group: "memory latency",
		When: slow + "; achieved_occupancy_share < 0.25; issue_active_share < 0.3; tensor_pipe_share < 0.4 or unknown", Shows: "occupancy_share registers_per_thread stall_memory_share", Saves: "roofline", Sure: Medium,
		Says: "few warps are resident, and in most cycles none of them can go on", Try: "smaller tiles or fewer values at once, so that more blocks fit; more independent work in each thread", Next: sampleIt},
	{Name: "missing_warps", Class: "occupancy", Of: kernelKind,
		When: slow + "; achieved_of_possible_share < 0.5; waves >= 1", Shows: "achieved_occupancy_share occupancy_share blocks", Saves: "missing_warps_share", Sure: Medium,
		Says: "far fewer warps are resident than fit: some blocks take much longer than others, or end before the next begin", Try: "equal work for all blocks, longer blocks, or a persistent kernel", Next: sampleIt},
	{Name: "uncoalesced_loads", Class: "data movement", Of: kernelKind, Group: "load queue", Stalls: []string{"lg_throttle", "long_scoreboard"},
		When: own + "; load_efficiency_share < 0.3; sectors_per_load >= 4; l1_hit_share < 0.5 or unknown", Shows: "dram_bytes_per_launch l2_hit_share", Saves: "unused_load_bytes_share", Sure: High,
		Says: "loads are not coalesced: most bytes of the sectors that they fetch are not used", Try: "neighbouring threads on neighbouring addresses (order of the axes, layout of the tensor), or loads through shared memory", Next: seeLines},
	{Name: "scattered_loads", Class: "data movement", Of: kernelKind, Group: "load queue", Stalls: []string{"lg_throttle", "long_scoreboard"}, // what set=agent knows of loads
		When: own + "; load_efficiency_share < 0.3; load_sectors_per_instruction >= 0.5; l1_hit_share < 0.5 or unknown", Shows: "dram_bytes_per_launch l2_hit_share", Saves: "unused_load_bytes_share", Sure: Medium,
		Says: "most bytes of the sectors that loads fetch are not used, and sectors are many for the instructions: loads are not coalesced", Try: "neighbouring threads on neighbouring addresses (order of the axes, layout of the tensor), or loads through shared memory", Next: seeLines},
	{Name: "uncoalesced_stores", Class: "data movement", Of: kernelKind, Stalls: []string{"lg_throttle", "drain"},
		When: own + "; store_efficiency_share < 0.3; sectors_per_store >= 4", Shows: "dram_bytes_per_launch", Saves: "unused_store_bytes_share", Sure: High,
		Says: "stores are not coalesced: most bytes of the sectors that they write to are not written", Try: "neighbouring threads on neighbouring addresses (order of the axes, layout of the tensor), or stores through shared memory", Next: seeLines},
	{Name: "beyond_caches", Class: "data movement", Of: kernelKind,
		When: own + "; dram_bytes_over_declared >= 1.5; memory_bound >= 1; load_efficiency_share >= 0.3 or unknown", Shows: "dram_bytes_per_launch l2_hit_share", Saves: "bytes_beyond_declared_share", Sure: High,
		Says: "the GPU's memory moves more bytes than the kernel's operands have: what the caches could not hold moves again", Try: "an order of blocks that reuses data while it is in the L2 cache (grouped tiles), smaller working sets, fusion", Next: seeLines},
	{Name: "load_queue", Class: "data movement", Of: kernelKind, Group: "load queue", Stalls: []string{"lg_throttle", "tex_throttle"}, Least: 0.15,
		When: sampled, Shows: "stall_long_scoreboard_share", Saves: "stalls", Sure: High, AtRoof: true,
		Says: "memory instructions come too densely for their queue, as uncoalesced and narrow accesses do", Try: "neighbouring threads on neighbouring addresses, wider loads, or loads through shared memory (order of the axes, tl.max_contiguous)", Next: seeLines},
	{Name: "load_latency", Class: "data movement", Of: kernelKind, Group: "memory latency", Stalls: []string{"long_scoreboard"}, Least: 0.25,
		When: sampled + "; stall_gmma_share < 0.2", Shows: "pipeline_stages warps_per_block occupancy_share", Saves: "stalls", Sure: High, AtRoof: true,
		Says: "warps wait for data from global memory", Try: "load earlier (num_stages), coalesced accesses, more warps, reuse through shared memory", Next: seeLines},
	{Name: "waitcnt", Class: "data movement", Of: kernelKind, Group: "memory latency", Stalls: []string{"amd_waitcnt"}, Least: 0.25,
		When: sampled, Saves: "stalls", Sure: High, AtRoof: true,
		Says: "waves wait for data from memory", Try: "load earlier (num_stages), coalesced accesses, more waves, reuse through LDS", Next: seeLines},
	{Name: "bank_conflicts", Class: "layout", Of: kernelKind, Group: "shared memory", Stalls: []string{"short_scoreboard", "mio_throttle"},
		When: slow + "; conflict_time_share >= 0.1", Shows: "conflict_share bank_conflicts_per_launch", Saves: "conflict_time_share", Sure: High,
		Says: "accesses to shared memory are done again for conflicts between its banks", Try: "a padded or swizzled layout, other tile shapes, wider accesses", Next: seeLines},
	{Name: "memory_queue", Class: "data movement", Of: kernelKind, Group: "shared memory", Stalls: []string{"mio_throttle", "lg_throttle"}, Least: 0.2,
		When: sampled + "; global_memory_queue_share >= 0.5", Saves: "stalls", Sure: High, AtRoof: true,
		Says: "accesses to global memory keep the queue of memory instructions full, as uncoalesced and narrow ones do", Try: "neighbouring threads on neighbouring addresses, wider accesses, or through shared memory (order of the axes, tl.max_contiguous)", Next: seeLines},
	{Name: "special_functions", Class: "compute", Of: kernelKind, Group: "shared memory", Stalls: []string{"mio_throttle", "short_scoreboard"}, Least: 0.25,
		When: sampled + "; special_functions_share >= 0.3", Saves: "stalls", Part: "special_functions_share", Sure: High,
		Says: "special functions (exponentials, roots, divisions) keep their unit busy", Try: "fewer of them: exp2 in place of exp, a factor taken out of the loop, approximations", Next: seeLines},
	{Name: "shared_memory", Class: "layout", Of: kernelKind, Group: "shared memory", Stalls: []string{"mio_throttle", "short_scoreboard"}, Least: 0.25,
		When: sampled + "; special_functions_share < 0.3 or unknown", Shows: "shared_memory_share", Saves: "stalls", Part: "shared_memory_share", Sure: High,
		Says: "warps wait for shared memory: conflicts of banks, or layouts that are converted through it", Try: "wider accesses, a padded or swizzled layout, operands in the layout of the multiplication, fewer reductions across warps", Next: seeLines},
	{Name: "barriers", Class: "synchronisation", Of: kernelKind, Group: "barrier", Stalls: []string{"barrier", "membar", "warpgroup_arrive", "sleeping"}, Least: 0.2,
		When: sampled, Shows: "stall_barrier_share warps_per_block", Saves: "stalls", Sure: Medium, AtRoof: true,
		Says: "warps wait for other warps: at barriers, fences or for a lock", Try: "even work between warps, fewer barriers, more blocks per multiprocessor to fill the gaps", Next: "proton run --inside={kernel} PROGRAM"},
	{Name: "divergent_branches", Class: "compute", Of: kernelKind, Stalls: []string{"branch_resolving"},
		When: slow + "; branch_uniformity_share < 0.8", Saves: "roofline", Sure: Medium,
		Says: "threads of a warp take different branches, one after the other", Try: "tl.where for short branches; data sorted so that neighbours do the same", Next: seeLines},
	{Name: "stores_at_end", Class: "data movement", Of: kernelKind, Stalls: []string{"drain"}, Least: 0.2,
		When: sampled, Saves: "stalls", Sure: Medium, AtRoof: true,
		Says: "warps have ended and wait for their stores", Try: "coalesced and fewer stores; more work per block", Next: seeLines},
	{Name: "instruction_cache", Class: "compute", Of: kernelKind, Stalls: []string{"no_instructions", "branch_resolving", "imc_miss"}, Least: 0.25,
		When: sampled, Shows: "code_instructions stall_no_instructions_share", Saves: "stalls", Sure: Medium,
		Says: "warps wait for instructions or constants: the code is long or branches much, or the kernel is very short", Try: "less unrolling (tl.range in place of tl.static_range), fewer branches, larger kernels", Next: seeLines},
	{Name: "busy_unit", Class: "compute", Of: kernelKind, Stalls: []string{"math_pipe_throttle", "dispatch_stall"}, Least: 0.25,
		When: sampled, Saves: "roofline", Sure: Medium, AtRoof: true,
		Says: "an arithmetic unit is busy, or its registers conflict", Try: "tensor cores or smaller types, fewer conversions, other shapes of the tile", Next: seeLines},
	{Name: "dependent_arithmetic", Class: "compute", Of: kernelKind, Stalls: []string{"wait", "amd_alu_dependency"}, Least: 0.35,
		When: sampled, Shows: "warps_per_block", Saves: "stalls", Sure: Medium,
		Says: "instructions wait for the result of the one before them", Try: "independent work in each thread (several elements at once), or more warps", Next: seeLines},
	{Name: "instruction_count", Class: "compute", Of: kernelKind,
		When: sampled + "; issue_share >= 0.5", Saves: "roofline", Sure: Medium, AtRoof: true,
		Says: "the kernel is limited by how many instructions it issues", Try: "fewer instructions: address arithmetic out of the loop, masks only at the edge, packed types", Next: "proton viewer --sass={kernel} {profile}"},
	{Name: "tensor_cores_wait", Class: "compute", Of: kernelKind, Fallback: true,
		When: slow + "; tensor_flops_share >= 0.9; tensor_pipe_share < 0.5; memory_bound < 1", Shows: "achieved_occupancy_share issue_active_share", Saves: "roofline", Sure: Medium,
		Says: "tensor cores have nothing to do in most cycles", Try: "larger tiles, more stages, warp specialisation; samples name the line that they wait for", Next: sampleIt},
	{Name: "far_from_memory_roof", Class: "data movement", Of: kernelKind, Fallback: true,
		When: own + "; roof_share < 0.5; memory_bound >= 1", Shows: "mean_time_ns", Saves: "roofline", Sure: Medium,
		Says: "the kernel moves its bytes slower than the memory could", Try: "record samples: they name the line and the reason", Next: sampleIt},
	{Name: "far_from_compute_roof", Class: "compute", Of: kernelKind, Fallback: true,
		When: own + "; roof_share < 0.5; memory_bound < 1", Shows: "mean_time_ns", Saves: "roofline", Sure: Medium,
		Says: "the kernel computes slower than the GPU could", Try: "record samples: they name the line and the reason", Next: sampleIt},

	{Name: "exposed_communication", Class: "communication", Of: ranksKind, Group: "communication",
		When: "communication_waiting_share >= 0.05", Shows: "communication_exposed_share ranks last_rank_share", Saves: "communication_waiting_share", Sure: High,
		Says: "ranks wait in collectives for the one that arrives last: {last}", Try: "find what that rank does before the collective, and divide the work evenly", Next: seeBuckets},
	{Name: "visible_communication", Class: "communication", Of: ranksKind, Group: "communication",
		When: "communication_exposed_share >= 0.1", Shows: "communication_share ranks", Saves: "communication_exposed_share", Sure: High,
		Says: "collectives run while no other kernel does", Try: "start them earlier, in buckets that overlap with the backward pass; fewer bytes (bf16)", Next: seeBuckets},
	{Name: "collectives", Class: "communication", Of: programKind,
		When: "collectives_time_share >= 0.2; ranks < 1 or unknown", Saves: "collectives_time_share", Sure: Medium,
		Says: "much of the GPU's time is in collectives; a timeline shows how much of it other kernels hide", Try: "timelines of all ranks: they say who waits for whom", Next: "proton run --data timeline --name rank PROGRAM"},

	{Name: "once", Class: "host", Of: idleKind + "once",
		When: "idle_share >= 0.1", Shows: "gaps longest_gap_ns", Saves: "idle_ns", Sure: Medium,
		Says: "the GPU waits once for long: kernels are compiled, code is loaded, or a first input is prepared", Try: "leave the first steps out of the measurement (proton run --delay), and keep what is compiled", Next: seeIdle},
	{Name: "small_launches", Class: "launch", Of: idleKind + "code", Group: "idle",
		When: "idle_share >= 0.1; gaps_per_launch >= 0.3; mean_gap_ns < 300000; began_in_waits_share < 0.6", Shows: "mean_kernel_time_ns", Saves: "idle_ns", Sure: High,
		Says: "the GPU waits between launches: the program launches more slowly than the kernels run", Try: "graphs of launches or torch.compile, fewer and larger kernels, less Python between launches", Next: seeIdle},
	{Name: "host_code", Class: "host", Of: idleKind + "code", Group: "idle",
		When: "idle_share >= 0.1; began_in_waits_share < 0.6", Shows: "gaps longest_gap_ns", Saves: "idle_ns", Sure: High,
		Says: "the GPU has nothing to do while the program runs code of its own", Try: "prepare the next step meanwhile: data loaders, pinned memory, launches ahead", Next: seeIdle},
	{Name: "slow_launches", Class: "launch", Of: idleKind + "launch", When: "idle_share >= 0.1; began_in_waits_share < 0.6", Shows: "gaps mean_gap_ns longest_gap_ns", Saves: "idle_ns", Sure: High,
		Says: "the GPU waits for calls that launch work", Try: "graphs of launches, fewer and larger kernels; a long first call compiles or loads code: leave it out of the measurement", Next: seeIdle},
	{Name: "synchronising", Class: "synchronisation", Of: idleKind + "wait", When: "idle_share >= 0.05", Shows: "began_in_waits_share gaps longest_gap_ns", Saves: "idle_ns", Sure: High,
		Says: "the program waits for the GPU, which then has nothing queued", Try: "read values later or less often (.item(), .cpu(), print of a tensor, synchronize())", Next: seeIdle},
	{Name: "blocking_copies", Class: "data movement", Of: idleKind + "copy", When: "idle_share >= 0.05", Shows: "gaps longest_gap_ns", Saves: "idle_ns", Sure: High,
		Says: "the GPU waits for calls that copy", Try: "pinned memory and non_blocking=True, on a stream of their own", Next: seeIdle},
	{Name: "launch_latency", Class: "launch", Of: idleKind + "queued", Group: "idle", When: "idle_share >= 0.1; mean_gap_ns < 100000", Shows: "gaps longest_gap_ns", Saves: "idle_ns", Sure: Medium,
		Says: "launched work begins late: the latency of launches, or waits between streams", Try: "graphs of launches or larger kernels; events between streams only where needed", Next: seeIdle},
	{Name: "waiting_work", Class: "synchronisation", Of: idleKind + "queued", Group: "idle", When: "idle_share >= 0.1; mean_gap_ns >= 100000", Shows: "gaps longest_gap_ns", Saves: "idle_ns", Sure: Low,
		Says: "launched work waits long: for another stream or process, or for code that is loaded", Try: "see what the longest gap waited for", Next: seeIdle},
	{Name: "idle_unknown", Class: "host", Of: idleKind + "unknown", When: "idle_share >= 0.1", Shows: "gaps longest_gap_ns", Saves: "idle_ns", Sure: Low,
		Says: "the GPU has nothing to do; the launches of the work after the gaps are not in the timeline", Try: "a timeline with launches: it says what the program did meanwhile", Next: "proton run --data timeline PROGRAM"},
	{Name: "idle_before", Class: "host", Of: idleKind + "before", When: "idle_share >= 0.1", Shows: "gaps", Saves: "idle_ns", Sure: Low,
		Says: "the GPU has nothing to do, longest before work of this call path", Try: "a timeline: it says what the program did meanwhile", Next: "proton run --data timeline PROGRAM"},

	{Name: "link_copies", Class: "data movement", Of: programKind, When: "link_copies_time_share >= 0.1", Shows: "link_copies pageable_copies", Saves: "link_copies_time_share", Sure: Medium,
		Says: "copies between host and GPU take much of its time", Try: "copy once and keep data on the GPU; pinned memory, overlapped with kernels", Next: "proton viewer -m time,count,byte/s -i '(?i)memcpy' {profile}"},
	{Name: "elementwise_kernels", Class: "data movement", Of: programKind, When: "elementwise_time_share >= 0.25; elementwise_kernels >= 2", Saves: "elementwise_time_share", Sure: Medium,
		Says: "much time is in PyTorch's kernels for single elementwise operations, each of which reads and writes its tensors", Try: "torch.compile, or one kernel for several operations", Next: "proton viewer --view flat -m time,count -i elementwise {profile}"},
	{Name: "autotuning", Class: "host", Of: programKind, When: "autotune_time_share >= 0.1", Saves: "autotune_time_share", Sure: High,
		Says: "the autotuner's benchmarks take much of the GPU's time", Try: "keep its choices on disk (cache_results=True of triton.autotune), try fewer, or leave the first call out of the measurement", Next: "proton viewer -e '<autotune>' {profile}"},
	{Name: "short_kernels", Class: "launch", Of: programKind, When: "short_kernels_time_share >= 0.3; kernel_launches >= 100; idle_share < 0 or unknown", Shows: "mean_kernel_time_ns", Saves: "short_kernels_time_share", Sure: Medium,
		Says: "kernels are so short that launching them takes about as long as running them", Try: "fuse them, or launch them as a graph", Next: "proton run --idle PROGRAM"},
}

// condition is one of a rule.
type condition struct {
	number    string
	least     bool // at least the value; otherwise less than it
	value     float64
	orUnknown bool
}

func parseConditions(text string) (all []condition, err error) {
	for part := range strings.SplitSeq(text, "; ") {
		words := strings.Fields(part)
		c := condition{orUnknown: strings.HasSuffix(part, " or unknown")}
		if len(words) != 3 && !(len(words) == 5 && c.orUnknown) || words[1] != ">=" && words[1] != "<" {
			return nil, fmt.Errorf("condition %q: want NAME >= VALUE or NAME < VALUE", part)
		}
		c.number, c.least = words[0], words[1] == ">="
		if c.value, err = strconv.ParseFloat(words[2], 64); err != nil {
			return nil, fmt.Errorf("condition %q: %w", part, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// conditions of a rule. A test parses those of all rules.
func (r *rule) conditions() []condition {
	all, err := parseConditions(r.When)
	if err != nil {
		panic(err)
	}
	return all
}

func (c *condition) holds(on *subject) bool {
	v := on.number(c.number)
	if math.IsNaN(v) {
		return c.orUnknown
	}
	return v >= c.value == c.least
}

func (r *rule) holds(on *subject) bool {
	if r.Least > 0 && !(on.stalled(r.Stalls) >= r.Least) {
		return false
	}
	return !slices.ContainsFunc(r.conditions(), func(c condition) bool {
		return !c.holds(on) && !(on.asked && c.number == "gpu_time_share")
	})
}

// stalled is the share of the samples with one of the reasons.
func (s *subject) stalled(reasons []string) (sum float64) {
	for _, reason := range reasons {
		sum += s.number(stallName(reason))
	}
	return sum
}

func stallName(reason string) string { return "stall_" + reason + "_share" }

func isStall(name string) bool {
	return strings.HasPrefix(name, "stall_") && strings.HasSuffix(name, "_share")
}

// finding is what the rule says about a subject for which it holds.
func (r *rule) finding(s *survey, on *subject) Finding {
	f := Finding{
		Rule: r.Name, Class: r.Class, Kernel: on.kernel, Path: on.path, Try: r.Try, Confidence: r.sure(on),
		Time: int64(math.Round(on.time)), Share: rounded(on.time / on.of), whole: on.of,
	}
	if on.line != nil {
		f.Line = on.line(r.Stalls)
	}
	saves, from := r.saves(on)
	f.Saves, f.SavesFrom = int64(math.Round(saves)), from
	if on.asked {
		f.whole = on.time
	}
	if on.kind == programKind {
		f.Time, f.Share = f.Saves, rounded(saves/on.of)
	}
	f.Evidence = r.evidence(on)
	f.Says, f.Next = on.replace(r.Says), s.command(r, on, f.Line)
	return f
}

// sure is the confidence of the rule, less what is not known: numbers of its conditions, or enough samples.
func (r *rule) sure(on *subject) Confidence {
	sure := r.Sure
	for _, c := range r.conditions() {
		if c.orUnknown && math.IsNaN(on.number(c.number)) {
			sure--
			if c.number == "roof_share" && r.AtRoof {
				sure = Low
			}
		}
	}
	if on.number("samples") < fewSamples {
		sure--
	}
	return max(sure, Low)
}

// fewSamples have a share of one fifth that is wrong by a tenth of itself.
const fewSamples = 500

// saves is what is saved at most, and what that was computed from. The roofline is a limit of all of them.
func (r *rule) saves(on *subject) (ns float64, from string) {
	atRoof := on.time
	if roof := on.number("roof_share"); !math.IsNaN(roof) {
		atRoof = on.time * math.Max(0, 1-roof)
	}
	switch from = r.Saves; from {
	case "stalls":
		for _, reason := range r.Stalls {
			ns += on.time * on.lost[reason]
		}
		if part := on.number(r.Part); !math.IsNaN(part) {
			ns *= part
		}
		if ns > atRoof {
			ns, from = atRoof, "roofline"
		}
	case "roofline":
		ns = atRoof
	default:
		if ns = on.number(from); strings.HasSuffix(from, "_share") {
			whole := on.of
			if on.kind == kernelKind {
				whole = on.time
			}
			ns = min(ns*whole, whole) // another type of operands has another roof
		}
	}
	if math.IsNaN(ns) {
		return 0, from
	}
	return math.Min(ns, on.of), from
}

// evidence are the numbers of the conditions and the further ones.
func (r *rule) evidence(on *subject) (all []Evidence) {
	add := func(name string) {
		v := on.number(name)
		if !math.IsNaN(v) && !slices.ContainsFunc(all, func(e Evidence) bool { return e.Metric == name }) {
			all = append(all, Evidence{name, rounded(v)})
		}
	}
	conditions := slices.DeleteFunc(r.conditions(), func(c condition) bool {
		return c.number == "gpu_time_share" || c.number == "samples" || c.orUnknown && c.number != "roof_share" || isStall(c.number) && !c.least
	})
	for _, c := range conditions { // what the rule is about
		if c.number != "roof_share" {
			add(c.number)
		}
	}
	for _, reason := range r.Stalls {
		if on.number(stallName(reason)) >= 0.01 {
			add(stallName(reason))
		}
	}
	for _, c := range conditions {
		add(c.number)
	}
	for name := range strings.FieldsSeq(r.Shows) {
		add(name)
	}
	add("samples")
	return all
}

// replace puts the words of a subject into a text.
func (s *subject) replace(text string) string {
	for key, word := range s.words {
		text = strings.ReplaceAll(text, "{"+key+"}", word)
	}
	return text
}

// command is the next one to run.
func (s *survey) command(r *rule, on *subject, line *Line) string {
	text := r.Next
	if text == seeLines && s.TraceName != "" {
		text = seeTrace
	}
	if text == seeLines && line == nil {
		text = sampleIt
	}
	return strings.NewReplacer("{kernel}", term.ShellWord(cmp.Or(on.pattern, "*")), "{profile}", term.ShellWord(s.File), "{trace}", term.ShellWord(s.TraceName)).Replace(text)
}
