package hsaco

import (
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu"
)

// computeUnit is what runs workgroups: a compute unit, or for kernels of the workgroup processor mode of gfx10 and newer the pair of
// them that shares its local data. The limits are those that LLVM's AMDGPU backend computes with, and with which the tests compare.
type computeUnit struct {
	simds     int // in the unit
	waves     int // that a SIMD holds
	registers int // vector registers of a SIMD, for each thread of a wave
	unit      int // a wave gets vector registers in multiples of this
	shared    int // bytes of local data
	sharedBy  int // a workgroup gets them in multiples of this
	workgroup int // workgroups of more than one wave, of which each takes a barrier; one wave needs none
}

// Architectures of gfx11 and gfx12 with half as many vector registers again as others.
var largeRegisterFiles = []string{"gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201", "gfx12-generic"}

const kib = 1024

// unitOf describes the unit that kernels run on; ok is false for architectures whose limits are not known.
func unitOf(arch string, k kernel) (u computeUnit, ok bool) {
	is := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(arch, n) })
	}
	u = computeUnit{simds: 4, waves: 16, registers: 512, unit: 8, shared: 64 * kib, sharedBy: 512, workgroup: 16}
	switch {
	case is("gfx950"):
		u.waves, u.shared, u.sharedBy = 8, 160*kib, 1280
		return u, true
	case is("gfx90a", "gfx94", "gfx9-4"):
		u.waves = 8
		return u, true
	case is("gfx9"):
		u.waves, u.registers, u.unit = 10, 256, 4
		return u, true
	case is("gfx101", "gfx10-1"):
		u.waves, u.unit = 20, 4
	case slices.Contains(largeRegisterFiles, arch):
		u.registers, u.unit = 768, 12
	case is("gfx125") || !is("gfx103", "gfx10-3", "gfx11", "gfx12"):
		return u, false
	}
	if k.threads == 32 {
		u.registers, u.unit = 2*u.registers, 2*u.unit
	}
	if k.pair {
		u.shared, u.workgroup = 2*u.shared, 2*u.workgroup
	} else {
		u.simds = 2
	}
	return u, true
}

// wavesOf a SIMD that have their registers at a time. Only up to gfx9 do scalar registers limit them.
func (u computeUnit) wavesOf(k kernel, arch string) (vector, scalar int) {
	vector = u.registers / roundUp(max(int(k.vector), 1), u.unit)
	scalar = u.waves
	if strings.HasPrefix(arch, "gfx9") {
		switch {
		case k.scalar > 100:
			scalar = 7
		case k.scalar > 88:
			scalar = 8
		case k.scalar > 80:
			scalar = 9
		}
	}
	return vector, scalar
}

// occupancy is described with gpu.Format. Blocks are workgroups and warps are waves.
func occupancy(m gpu.Module, f *gpu.Function, threads, shared int) (o gpu.Occupancy, ok bool) {
	of, _ := m.(*module)
	if of == nil {
		return o, false
	}
	k := of.kernels[f.Name]
	u, known := unitOf(of.arch, k)
	if !known || threads <= 0 || k.threads == 0 || k.vector == 0 {
		return o, false
	}
	waves := roundUp(threads, int(k.threads)) / int(k.threads)
	vector, scalar := u.wavesOf(k, of.arch)
	rooms := []gpu.Room{
		{Resource: "registers", Blocks: vector * u.simds / waves},
		{Resource: "shared memory", Blocks: u.shared / roundUp(max(shared, 1), u.sharedBy)},
		{Resource: "warps", Blocks: u.waves * u.simds / waves},
	}
	if scalar < u.waves {
		rooms = append(rooms, gpu.Room{Resource: "scalar registers", Blocks: scalar * u.simds / waves})
	}
	if waves > 1 {
		rooms = append(rooms, gpu.Room{Resource: "blocks", Blocks: u.workgroup})
	}
	return gpu.Fitting(rooms, waves, u.waves*u.simds), true
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
