package counters

import (
	"slices"
	"strings"
)

// AMD's counters have names as SQ_INSTS_VALU, and each value here is the sum over all units that have one. perUnit is added to the name of a counter of
// the GPU's clock: it then is the largest of its values, once for each SIMD of the GPU. The facts are those of rocprofiler-sdk's and
// rocprofiler-compute's definitions of 2025; none of it has been compared on a GPU.
const perUnit = ".simds"

const (
	lanes    = 64  // of a wave: an instruction counts as if all of them took part
	mops     = 512 // operations of a matrix unit are counted by the 512
	cuWaves  = 32  // that a compute unit can hold
	cuQuads  = 16  // cycles of its four SIMDs in the four cycles that SQ_BUSY_CU_CYCLES counts by
	mi200    = "gfx90a"
	mi300    = "gfx942"
	mi350    = "gfx950"
	amdChips = "gfx"
)

// AMDChips are the GPUs whose counters figures are computed from.
var AMDChips = []string{mi200, mi300, mi350}

// onAMD are forms of figures on AMD's GPUs.
var onAMD = map[string][]Form{
	"dram_read":  fabric(readsOfMI200, reads),
	"dram_write": fabric(writesOfMI200, writes),
	"dram_bytes": fabric(slices.Concat(readsOfMI200, writesOfMI200), slices.Concat(reads, writes)),
	"l2_hit":     amd(one("TCC_HIT"), one("TCC_HIT", "TCC_MISS")),
	"l1_hit": amd([]Term{{"TCP_TOTAL_CACHE_ACCESSES", 1}, {"TCP_TCC_READ_REQ", -1}, {"TCP_TCC_WRITE_REQ", -1}, {"TCP_TCC_ATOMIC_WITH_RET_REQ", -1},
		{"TCP_TCC_ATOMIC_WITHOUT_RET_REQ", -1}}, one("TCP_TOTAL_CACHE_ACCESSES")),
	"bank_conflicts":     amd(one("SQ_LDS_BANK_CONFLICT"), nil),
	"conflict_share":     amd(one("SQ_LDS_BANK_CONFLICT"), one("SQ_LDS_IDX_ACTIVE")),
	"tensor_pipe":        amd(one("SQ_VALU_MFMA_BUSY_CYCLES"), one("GRBM_GUI_ACTIVE"+perUnit)),
	"achieved_occupancy": amd(one("SQ_WAVE_CYCLES"), times(cuWaves, "SQ_BUSY_CU_CYCLES")),
	"active_cycles":      amd(times(cuQuads/4, "SQ_BUSY_CU_CYCLES"), nil),
	"instructions":       amd(one("SQ_INSTS"), nil),
	"fp32_flops":         amd(append(valu("F32"), Term{"SQ_INSTS_VALU_MFMA_MOPS_F32", mops}), nil),
	"fp16_flops":         amd(valu("F16"), nil),
	"fp64_flops":         amd(valu("F64"), nil),
	"tensor_fp16_flops":  matrix("F16"),
	"tensor_bf16_flops":  matrix("BF16"),
	"tensor_tf32_flops":  matrix("XF32", mi350),
	"tensor_fp8_flops":   matrix("F8", mi300, mi350),
	"tensor_fp4_flops":   matrix("F6F4", mi350),
	"tensor_int8_flops":  matrix("I8"),
	"tensor_fp64_flops":  matrix("F64"),
}

// amd is a form that AMD's GPUs have.
func amd(above, below []Term) []Form { return []Form{{Only: AMDChips, Above: above, Below: below}} }

// fabric is what the L2 cache asks of memory: of MI200, and of what came after it.
func fabric(before, after []Term) []Form {
	return []Form{{Only: []string{mi200}, Above: before}, {Only: []string{mi300, mi350}, Above: after}}
}

// The bytes of these requests: one has as many as most have, and those of another size correct that.
var (
	readsOfMI200  = []Term{{"TCC_EA_RDREQ", 64}, {"TCC_EA_RDREQ_32B", -32}}
	writesOfMI200 = []Term{{"TCC_EA_WRREQ", 32}, {"TCC_EA_WRREQ_64B", 32}}
	reads         = []Term{{"TCC_EA0_RDREQ", 64}, {"TCC_EA0_RDREQ_32B", -32}, {"TCC_BUBBLE", 64}}
	writes        = []Term{{"TCC_EA0_WRREQ", 32}, {"TCC_EA0_WRREQ_64B", 32}}
)

// valu are the flops of the vector units on a type.
func valu(operand string) []Term {
	const of = "SQ_INSTS_VALU_"
	return []Term{{of + "ADD_" + operand, lanes}, {of + "MUL_" + operand, lanes}, {of + "FMA_" + operand, 2 * lanes}}
}

// matrix are the operations of matrix units on a type, on the GPUs that have it.
func matrix(operand string, only ...string) []Form {
	if only == nil {
		only = AMDChips
	}
	return []Form{{Only: only, Above: times(mops, "SQ_INSTS_VALU_MFMA_MOPS_"+operand)}}
}

// blocks are the parts of AMD's GPUs that have counters.
var blocks = []string{"CPC", "CPF", "GL1A", "GL1C", "GL2A", "GL2C", "GRBM", "SPI", "SQ", "SQC", "TA", "TCA", "TCC", "TCP", "TD"}

// isAMDs reports whether a name is that of one of AMD's counters.
func isAMDs(name string) bool {
	block, rest, _ := strings.Cut(strings.TrimSuffix(name, perUnit), "_")
	return slices.Contains(blocks, block) && rest != "" && !strings.ContainsFunc(strings.TrimSuffix(rest, "_sum"), func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z')
	})
}

// Counter is the counter of AMD's that a metric is of, and whether it is counted once for each SIMD.
func Counter(metric string) (name string, simds bool) { return strings.CutSuffix(metric, perUnit) }

func init() {
	for i := range Figures {
		Figures[i].Forms = slices.Concat(Figures[i].Forms, onAMD[Figures[i].Name])
	}
}
