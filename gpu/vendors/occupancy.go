package vendors

import "github.com/goproton/goproton/gpu"

// WarpSize is the number of threads in a warp, the same on every NVIDIA GPU.
const WarpSize = 32

// launchNeeds is what one launch needs.
type launchNeeds struct {
	SM        int // compute capability: 90 for 9.0
	Threads   int // per block
	Registers int // per thread; 0 if it is not known
	Shared    int // bytes per block, static and dynamic
}

// multiprocessor holds the resources of one multiprocessor, from the table "technical specifications" of the CUDA C++
// programming guide. All of those listed have 65,536 registers.
type multiprocessor struct {
	warps, blocks int
	shared        int // bytes
	reserved      int // bytes of shared memory that the system takes for each block
}

const (
	registers    = 65536
	parts        = 4   // schedulers; each owns a quarter of the registers
	registerUnit = 256 // a warp gets registers in multiples of this
	kib          = 1024
)

var multiprocessors = map[int]multiprocessor{
	70:  {64, 32, 96 * kib, 0},
	72:  {64, 32, 96 * kib, 0},
	75:  {32, 16, 64 * kib, 0},
	80:  {64, 32, 164 * kib, kib},
	86:  {48, 16, 100 * kib, kib},
	87:  {48, 16, 164 * kib, kib},
	89:  {48, 24, 100 * kib, kib},
	90:  {64, 32, 228 * kib, kib},
	100: {64, 32, 228 * kib, kib},
	103: {64, 32, 228 * kib, kib},
	120: {48, 24, 100 * kib, kib},
	121: {48, 24, 100 * kib, kib},
}

// occupancyOf returns a kernel's largest possible occupancy: it assumes that all of the cache that can be shared memory is used as
// such. ok is false for GPUs that the table does not list, and for kernels whose threads or registers are not known.
func occupancyOf(k launchNeeds) (o gpu.Occupancy, ok bool) {
	m, known := multiprocessors[k.SM]
	const most = 1 << 24 // of a file that is wrong: more than any launch can ask for
	if !known || k.Threads <= 0 || k.Registers <= 0 || max(k.Threads, k.Registers, k.Shared) > most {
		return gpu.Occupancy{}, false
	}
	warps := roundUp(k.Threads, WarpSize) / WarpSize
	shared := roundUp(k.Shared+m.reserved, sharedUnit(k.SM))
	perWarp := roundUp(k.Registers*WarpSize, registerUnit)
	rooms := []gpu.Room{
		{Resource: "registers", Blocks: registers / parts / perWarp * parts / warps},
		{Resource: "warps", Blocks: m.warps / warps},
		{Resource: "blocks", Blocks: m.blocks},
	}
	if k.Shared > 0 {
		rooms = append(rooms, gpu.Room{Resource: "shared memory", Blocks: m.shared / shared})
	}
	return gpu.Fitting(rooms, warps, m.warps), true
}

// sharedUnit is the granularity, in bytes, in which a block gets shared memory.
func sharedUnit(sm int) int {
	if sm >= 80 {
		return 128
	}
	return 256
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// Occupancy returns the largest possible occupancy of a kernel by what a launch asks for: registers of a thread, threads and bytes of shared
// memory of a block. ok is false for GPUs of which the limits are not known.
func Occupancy(deviceType, arch string, registers, threads, shared int) (o gpu.Occupancy, ok bool) {
	v := ByDevice(deviceType)
	if v.Code == nil || v.Code.Occupancy == nil {
		return o, false
	}
	return v.Code.Occupancy(archOnly{arch: arch}, &gpu.Function{Registers: registers}, threads, shared)
}

// archOnly is a module of which the architecture is known.
type archOnly struct {
	gpu.Module
	arch string
}

func (m archOnly) Arch() string { return m.arch }
