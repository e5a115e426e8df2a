package vendors

// Stalls are the stall reasons of a vendor's GPUs.
type Stalls struct {
	Issued  string // the reason in samples whose warp issued its instruction
	Ready   string // the reason in samples whose warp could have issued it, but another warp was chosen
	Reasons []Stall
	Exact   string // the option of the mode with which every sample names its launch; "" for none
}

// Stall explains a stall reason: why a sampled warp did not issue its instruction.
type Stall struct {
	Name  string // as in the profile: "long_scoreboard"
	Means string // ends a sentence that begins with "the warp"
	Hint  string // the usual cause, and what to look at
}

// nvidiaStalls are the stall reasons of NVIDIA's GPUs in alphabetical order. docs/sampling.md has them as a table.
var nvidiaStalls = Stalls{Issued: "selected", Ready: "not_selected", Exact: "collection=serialized", Reasons: []Stall{
	{"barrier", "waits at a barrier for the other warps of its block",
		"warps arrive at different times: look for work that only some warps do before it, and for more blocks per multiprocessor to fill the gap"},
	{"branch_resolving", "waits for the target of a branch",
		"many short branches or a tight loop: unrolling and predication leave fewer of them"},
	{"dispatch_stall", "was held back by the dispatcher, which had a conflict or lacked a resource",
		"conflicts of register banks, or bursts of one kind of instruction; much of it was also seen at plain arithmetic next to multiplications of warpgroups (wgmma), which occupy the registers"},
	{"drain", "has ended, and waits for its stores to be written",
		"much is stored at the very end of the kernel: coalesced stores, and fewer of them, finish sooner"},
	{"gmma", "waits for a matrix multiplication of its warpgroup (wgmma)",
		"the tensor cores are at work, which is good; if they are not busy, keep more multiplications in flight and wait for older ones only"},
	{"imc_miss", "waits for a constant that is not in the cache for immediate constants",
		"constants and kernel parameters are read with an index, or for the first time; short kernels pay for it most"},
	{"lg_throttle", "waits for a place in the queue of instructions on local and global memory",
		"memory instructions come too densely: use wider loads and stores, and look for register spills, which are local memory"},
	{"long_scoreboard", "waits for data from global or local memory, or from texture units",
		"loads arrive too late: prefetch (more pipeline stages), have more warps resident, coalesce accesses, keep reused data in shared memory"},
	{"math_pipe_throttle", "waits for an arithmetic unit that is busy",
		"the unit is the limit, so the kernel computes at full speed there: fewer or cheaper instructions (tensor cores, smaller types) are what is left"},
	{"membar", "waits for a memory fence",
		"fences wait for all earlier accesses: use fewer of them, or of a narrower scope"},
	{"mio_throttle", "waits for a place in the queue of instructions on shared memory, special functions and dynamic branches",
		"too many of those in a row: use wider accesses to shared memory, fewer shuffles, fewer exponentials and the like"},
	{"misc", "waits for a reason that has no name of its own", "rare; there is nothing known to do about it"},
	{"no_instructions", "waits for its next instruction to be fetched",
		"the code does not fit the instruction cache or jumps much, or the kernel is short: less unrolling and fewer specialised copies help"},
	{"not_selected", "could go on, but another warp was chosen",
		"there is more parallelism than the scheduler can issue: no loss by itself; larger tiles with fewer warps may do as well"},
	{"selected", "went on: it issued its instruction", "this is progress, no stall"},
	{"short_scoreboard", "waits for shared memory, a special function or a dynamic branch",
		"look for conflicts of shared memory banks, layouts that are converted through shared memory, and exponentials, roots and divisions"},
	{"sleeping", "sleeps, or all its threads are blocked or have yielded",
		"the program spins with nanosleep or waits for a lock or for another block"},
	{"tex_throttle", "waits for a place in the queue of the texture units",
		"too many texture or surface instructions in a row: fetch more with each, or load through global memory"},
	{"wait", "waits a fixed number of cycles for its previous instruction",
		"dependent arithmetic in a row: more independent work per thread, or more warps, fills these cycles"},
	{"warpgroup_arrive", "waits for the other warps of its warpgroup, or for their multiplication (wgmma) to be ordered or done",
		"multiplications are issued one at a time: let several be in flight, and separate warps that load from warps that multiply"},
}}

// Explain returns the explanation of a reason, and whether it is known.
func (s *Stalls) Explain(name string) (Stall, bool) {
	for _, r := range s.Reasons {
		if r.Name == name {
			return r, true
		}
	}
	return Stall{Name: name, Means: "waits for a reason that this program does not know", Hint: "see the vendor's list of warp stall reasons"}, false
}
