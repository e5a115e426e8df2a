package counters

// each is a form that all chips have.
func each(above, below []Term) []Form { return []Form{{Above: above, Below: below}} }

// one is a metric, or several that are added up.
func one(metrics ...string) []Term {
	var terms []Term
	for _, m := range metrics {
		terms = append(terms, Term{m, 1})
	}
	return terms
}

// times is a multiple of a metric.
func times(factor float64, metric string) []Term { return []Term{{metric, factor}} }

// ofPeak is the share that a counter has of the most that its units can count in the cycles of a kind: active, in which a
// multiprocessor has a warp, or elapsed. The most per cycle differs between chips, and only the vendor's library knows it.
func ofPeak(counter, cycles string) []Form {
	return each(one(counter+".sum"), one(counter+".sum.peak_sustained_"+cycles))
}

// stalled is the share of the time of resident warps in which they wait for one thing.
func stalled(reason string) []Form {
	return each(one("smsp__warps_issue_stalled_"+reason+".sum"), one("smsp__warps_active.sum"))
}

// vector are the flops of the vector units for operands of a type, by the letter in the names of its instructions, each of which works on
// so many values.
func vector(letter string, values float64) []Form {
	of := func(op string) string { return "smsp__sass_thread_inst_executed_op_" + letter + op + "_pred_on.sum" }
	return each([]Term{{of("add"), values}, {of("mul"), values}, {of("fma"), 2 * values}}, nil)
}

// tensor are the operations of tensor cores for operands of some types.
func tensor(operands ...string) []Term {
	var terms []Term
	for _, o := range operands {
		terms = append(terms, Term{"sm__ops_path_tensor_src_" + o + ".sum", 1})
	}
	return terms
}

// dram is a sum of counters of the GPU's own memory.
func dram(metrics ...string) []Form { return []Form{{Except: withoutDRAM, Above: one(metrics...)}} }

// Chips of a kind.
var (
	withoutDRAM = []string{"GA10B", "GB10B"}          // their memory is the CPU's
	firstCores  = []string{"GV", "TU"}                // tensor cores that take FP16 and integers
	noCores     = []string{"TU116", "TU117"}          // no tensor cores
	turing      = []string{"TU102", "TU104", "TU106"} // Turing with tensor cores
)

// Figures are all figures.
var Figures = []Figure{
	{Name: "dram_read", About: "bytes read from the GPU's memory", Unit: Bytes, Same: []string{"dram__bytes_read.sum"},
		Forms: dram("dram__bytes_read.sum")},
	{Name: "dram_write", About: "bytes written to the GPU's memory", Unit: Bytes, Same: []string{"dram__bytes_write.sum"},
		Forms: dram("dram__bytes_write.sum")},
	{Name: "dram_bytes", About: "bytes read from the GPU's memory and written there", Unit: Bytes, Same: []string{"dram__bytes.sum"},
		Forms: dram("dram__bytes_read.sum", "dram__bytes_write.sum")},
	{Name: "l2_bytes", About: "bytes that the L2 cache was asked for, also by its other half", Unit: Bytes, Same: []string{"lts__t_bytes.sum"},
		Forms: each(one("lts__t_bytes.sum"), nil)},
	{Name: "l2_hit", About: "share of the sectors asked of the L2 cache that were there", Unit: Share, Same: []string{"lts__t_sector_hit_rate.pct"},
		Forms: each(one("lts__t_sectors_lookup_hit.sum"), one("lts__t_sectors.sum"))},
	{Name: "l1_bytes", About: "bytes that the L1 caches were asked for", Unit: Bytes, Same: []string{"l1tex__t_bytes.sum"},
		Forms: each(one("l1tex__t_bytes.sum"), nil)},
	{Name: "l1_hit", About: "share of the sectors asked of the L1 caches that were there", Unit: Share, Same: []string{"l1tex__t_sector_hit_rate.pct"},
		Forms: each(one("l1tex__t_sectors_lookup_hit.sum"), one("l1tex__t_sectors.sum"))},
	{Name: "sectors_per_load", About: "sectors of 32 bytes for each load of a warp from global memory", Unit: Ratio,
		Same:  []string{"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"},
		Forms: each(one("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), one("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"))},
	{Name: "sectors_per_store", About: "sectors of 32 bytes for each store of a warp to global memory", Unit: Ratio,
		Same:  []string{"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"},
		Forms: each(one("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"), one("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"))},
	{Name: "load_efficiency", About: "share of the bytes of loaded sectors that threads asked for", Unit: Share,
		Same:  []string{"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"},
		Forms: each(one("smsp__sass_data_bytes_mem_global_op_ld.sum"), times(sector, "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum"))},
	{Name: "store_efficiency", About: "share of the bytes of stored sectors that threads wrote", Unit: Share,
		Same:  []string{"smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"},
		Forms: each(one("smsp__sass_data_bytes_mem_global_op_st.sum"), times(sector, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"))},
	{Name: "bank_conflicts", About: "passes over shared memory that conflicts between its banks added", Unit: Count,
		Same: []string{"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"}, Forms: each(one("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"), nil)},
	{Name: "conflict_share", About: "share of the passes over shared memory that conflicts between its banks added", Unit: Share,
		Forms: each(one("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"), one("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"))},
	{Name: "tensor_pipe", About: "share of the kernel's cycles in which tensor cores worked", Unit: Share,
		Same: []string{"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"}, Forms: ofPeak("sm__pipe_tensor_cycles_active", "elapsed")},
	{Name: "fma_pipe", About: "share of the kernel's cycles in which the FP32 units worked", Unit: Share,
		Same: []string{"sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed"}, Forms: ofPeak("sm__pipe_fma_cycles_active", "elapsed")},
	{Name: "tensor_issue", About: "share of the most instructions that tensor cores can begin in active cycles", Unit: Share,
		Same: []string{"sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active"}, Forms: ofPeak("sm__inst_executed_pipe_tensor", "active")},
	{Name: "issue_active", About: "share of active cycles in which a scheduler issued an instruction", Unit: Share,
		Same: []string{"smsp__issue_active.avg.pct_of_peak_sustained_active"}, Forms: each(one("smsp__issue_active.sum"), one("smsp__cycles_active.sum"))},
	{Name: "achieved_occupancy", About: "resident warps in active cycles, as a share of the most", Unit: Share,
		Same: []string{"sm__warps_active.avg.pct_of_peak_sustained_active"}, Forms: ofPeak("sm__warps_active", "active")},
	{Name: "active_cycles", About: "cycles with a resident warp, over all multiprocessors", Unit: Count,
		Same: []string{"sm__cycles_active.sum"}, Forms: each(one("sm__cycles_active.sum"), nil)},
	{Name: "instructions", About: "instructions that warps executed", Unit: Count,
		Same: []string{"sm__inst_executed.sum"}, Forms: each(one("sm__inst_executed.sum"), nil)},
	{Name: "branch_uniformity", About: "share of branches in which all threads of a warp went the same way", Unit: Share,
		Same:  []string{"smsp__sass_average_branch_targets_threads_uniform.pct"},
		Forms: each(one("smsp__sass_branch_targets_threads_uniform.sum"), one("smsp__sass_branch_targets.sum"))},
	{Name: "stall_memory", About: "share of resident warps' time that waits for global or local memory", Unit: Share,
		Same: []string{"smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct"}, Forms: stalled("long_scoreboard")},
	{Name: "stall_shared", About: "share of resident warps' time that waits for shared memory or special functions", Unit: Share,
		Same: []string{"smsp__warp_issue_stalled_short_scoreboard_per_warp_active.pct"}, Forms: stalled("short_scoreboard")},
	{Name: "stall_barrier", About: "share of resident warps' time that waits at barriers", Unit: Share,
		Same: []string{"smsp__warp_issue_stalled_barrier_per_warp_active.pct"}, Forms: stalled("barrier")},
	{Name: "stall_branch", About: "share of resident warps' time that waits for branches", Unit: Share,
		Same: []string{"smsp__warp_issue_stalled_branch_resolving_per_warp_active.pct"}, Forms: stalled("branch_resolving")},
	{Name: "threads_per_instruction", About: "threads that execute an instruction, of the 32 of a warp", Unit: Ratio,
		Forms: each(one("smsp__sass_thread_inst_executed"), one("smsp__sass_inst_executed"))},
	{Name: "sectors_per_request", About: "sectors of 32 bytes for each access of a warp to global memory", Unit: Ratio,
		Forms: each(one("smsp__sass_sectors_mem_global"), one("smsp__sass_inst_executed_op_global"))},
	{Name: "sector_excess", About: "sectors of global memory for each that would do", Unit: Ratio,
		Forms: each(one("smsp__sass_sectors_mem_global"), one("smsp__sass_sectors_mem_global_ideal"))},
	{Name: "shared_excess", About: "passes over shared memory for each that would do", Unit: Ratio,
		Forms: each(one("smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared"), one("smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal"))},
	{Name: "fp32_flops", About: "flops of the vector units on FP32, FMA as two", Unit: Flops, DType: "fp32", Forms: vector("f", 1)},
	{Name: "fp16_flops", About: "flops of the vector units on pairs of FP16 or BF16, FMA as two", Unit: Flops, DType: "fp16", Forms: vector("h", 2)},
	{Name: "fp64_flops", About: "flops of the vector units on FP64, FMA as two", Unit: Flops, DType: "fp64-vector", Forms: vector("d", 1)},
	{Name: "tensor_fp16_flops", About: "flops of tensor cores on FP16", Unit: Flops, DType: "fp16", Forms: []Form{
		{Only: []string{"GH"}, Above: tensor("fp16")},
		{Only: turing, Above: tensor("fp16_dst_fp16", "fp16_bf16_tf32_dst_fp32")},
		{Except: noCores, Above: tensor("fp16_dst_fp16", "fp16_dst_fp32")}}},
	{Name: "tensor_bf16_flops", About: "flops of tensor cores on BF16", Unit: Flops, DType: "bf16", Forms: []Form{{Except: firstCores, Above: tensor("bf16_dst_fp32")}}},
	{Name: "tensor_tf32_flops", About: "flops of tensor cores on TF32", Unit: Flops, DType: "tf32", Forms: []Form{{Except: firstCores, Above: tensor("tf32_dst_fp32")}}},
	{Name: "tensor_fp8_flops", About: "flops of tensor cores on FP8; on GB100 also on FP6 and mixed FP4", Unit: Flops, DType: "fp8", Forms: []Form{
		{Only: []string{"GH", "AD"}, Above: tensor("fp8")},
		{Only: []string{"GB2"}, Above: tensor("fp8_dst_fp16", "fp8_dst_fp32")},
		{Except: append([]string{"GA"}, firstCores...), Above: tensor("fp4_fp6_fp8_dst_fp16", "fp4_fp6_fp8_dst_fp32")}}},
	{Name: "tensor_fp4_flops", About: "flops of tensor cores on FP4", Unit: Flops, DType: "fp4",
		Forms: []Form{{Except: append([]string{"GA", "AD", "GH"}, firstCores...), Above: tensor("fp4_dst_fp32")}}},
	{Name: "tensor_int8_flops", About: "operations of tensor cores on INT8", Unit: Flops, DType: "int8",
		Forms: []Form{{Except: append([]string{"GV"}, noCores...), Above: tensor("int8")}}},
	{Name: "tensor_fp64_flops", About: "flops of tensor cores on FP64", Unit: Flops, DType: "fp64", Forms: []Form{{Except: firstCores, Above: tensor("fp64")}}},
}

const sector = 32 // bytes: what caches read and write of a line

// sets are the named sets, by figures and by vendor's metrics that no figure stands for.
var sets = map[string][]string{
	"roofline": append([]string{"dram_read", "dram_write"}, flopsNames...),
	"memory": {"dram_read", "dram_write", "l2_bytes", "l2_hit", "l1_bytes", "l1_hit", "sectors_per_load", "sectors_per_store",
		"load_efficiency", "store_efficiency", "conflict_share"},
	LinesSet:  {"threads_per_instruction", "sectors_per_request", "sector_excess", "shared_excess"},
	"compute": append([]string{"tensor_pipe", "fma_pipe", "issue_active", "achieved_occupancy", "instructions", "branch_uniformity"}, flopsNames...),
	// What agents that write kernels read from Nsight Compute, without what the binary says.
	"agent": {"sm__cycles_active.avg", "achieved_occupancy", "instructions", "tensor_issue", "tensor_pipe", "dram_read", "dram_write",
		"dram__throughput.avg.pct_of_peak_sustained_elapsed", "dram__bytes.sum.per_second", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
		"l1_hit", "l1tex__throughput.avg.pct_of_peak_sustained_active", "l2_hit", "lts__throughput.avg.pct_of_peak_sustained_active",
		"load_efficiency", "branch_uniformity", "stall_memory", "stall_shared", "stall_barrier", "stall_branch",
		"sm__throughput.avg.pct_of_peak_sustained_elapsed", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
}

// flopsNames are the figures of flops.
var flopsNames = func() (names []string) {
	for i := range Figures {
		if Figures[i].Unit == Flops {
			names = append(names, Figures[i].Name)
		}
	}
	return names
}()
