package counters

import (
	"math"
	"testing"
)

// TestFiguresOfMeasuredKernels: what an H200 counted for kernels whose work is known by arithmetic. The vector addition adds 2^24 floats, 16
// bytes a thread; the strided one loads every 33rd float and its index wraps; the softmax has 1823 rows of 781 columns, of which a
// warp of 4 loads 1024; the product is of two matrices of 2048 x 2048 halves.
func TestFiguresOfMeasuredKernels(t *testing.T) {
	const n = 1 << 24
	measured := map[string]map[string]float64{
		"add_kernel": {"dram__bytes_read.sum": 134224896, "dram__bytes_write.sum": 64471296, "l1tex__t_bytes.sum": 201326592, "sm__inst_executed.sum": 2686976,
			fp32("add"): n, fp32("mul"): 0, fp32("fma"): 0, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 4194304,
			"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 262144, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 2097152,
			"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": 131072},
		"strided_kernel": {"dram__bytes_read.sum": 905888768, "dram__bytes_write.sum": 83768064, "l1tex__t_bytes.sum": 603979776,
			"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 16777216, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 524288,
			"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 2097152, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": 131072},
		"matmul_kernel": {"dram__bytes_read.sum": 16788736, "l1tex__t_bytes.sum": 276824064, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 8388608,
			"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 524288, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 262144,
			"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": 16384},
	}
	for _, c := range []struct {
		kernel, figure string
		want, within   float64
	}{
		{"add_kernel", "dram_read", 2 * 4 * n, 0.001},
		{"add_kernel", "dram_bytes", 3 * 4 * n, 0.02}, // some of what is written stays in L2
		{"add_kernel", "l1_bytes", 3 * 4 * n, 0},
		{"add_kernel", "fp32_flops", n, 0},
		{"add_kernel", "sectors_per_load", 32 * 16 / sector, 0},
		{"add_kernel", "sectors_per_store", 32 * 16 / sector, 0},
		{"strided_kernel", "sectors_per_load", 32, 0}, // a sector for each thread
		{"strided_kernel", "dram_read", 905888768, 0},
		{"matmul_kernel", "dram_read", 2 * 2 * 2048 * 2048, 0.001},
		{"matmul_kernel", "sectors_per_load", 16, 0},
	} {
		above, below, ok := Find(c.figure).Parts(func(m string) (float64, bool) { v, has := measured[c.kernel][m]; return v, has })
		if got := above / below; !ok || math.Abs(got-c.want) > c.within*c.want {
			t.Errorf("%s of %s: %g, %v; want %g", c.figure, c.kernel, got, ok, c.want)
		}
	}
	if _, _, ok := Find("l2_hit").Parts(func(m string) (float64, bool) { return 1, m == "lts__t_sectors_lookup_hit.sum" }); ok {
		t.Error("a figure was computed from a part of its metrics")
	}
}

func fp32(op string) string { return "smsp__sass_thread_inst_executed_op_f" + op + "_pred_on.sum" }
