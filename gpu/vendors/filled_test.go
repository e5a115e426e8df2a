package vendors

import (
	"math/rand/v2"
	"testing"
)

// filled is how many blocks fit, found by putting one after another on a multiprocessor until something runs out. Each warp goes
// to the scheduler that has most registers left. The numbers are those of NVIDIA's occupancy rules: four schedulers of 16,384
// registers, which warps get by the 256; warps, blocks and shared memory of the whole multiprocessor.
func filled(k launchNeeds) int {
	type limits struct{ threads, blocks, sharedKiB, reservedKiB, sharedUnit int }
	gpu := map[int]limits{
		70: {2048, 32, 96, 0, 256}, 75: {1024, 16, 64, 0, 256}, 80: {2048, 32, 164, 1, 128}, 86: {1536, 16, 100, 1, 128},
		89: {1536, 24, 100, 1, 128}, 90: {2048, 32, 228, 1, 128}, 100: {2048, 32, 228, 1, 128},
	}[k.SM]
	free, shared, threads := [4]int{16384, 16384, 16384, 16384}, 1024*gpu.sharedKiB, 0
	for blocks := 0; ; blocks++ {
		needs := 0
		if k.Shared > 0 {
			for needs < k.Shared+1024*gpu.reservedKiB {
				needs += gpu.sharedUnit
			}
		}
		if shared -= needs; shared < 0 || blocks == gpu.blocks {
			return blocks
		}
		for thread := 0; thread < k.Threads; thread += 32 {
			if threads += 32; threads > gpu.threads {
				return blocks
			}
			most := 0
			for part := range free {
				if free[part] > free[most] {
					most = part
				}
			}
			for registers := 0; registers < 32*k.Registers; registers += 256 {
				free[most] -= 256
			}
			if free[most] < 0 {
				return blocks
			}
		}
	}
}

// TestOfFillsAMultiprocessor: random kernels, and those at the edges of each limit.
func TestOfFillsAMultiprocessor(t *testing.T) {
	random := rand.New(rand.NewPCG(12, 3))
	for _, sm := range []int{70, 75, 80, 86, 89, 90, 100} {
		for range 3000 {
			k := launchNeeds{SM: sm, Threads: 1 + random.IntN(1024), Registers: 1 + random.IntN(255)}
			if random.IntN(3) > 0 {
				k.Shared = random.IntN(1 << (8 + random.IntN(11)))
			}
			if random.IntN(2) > 0 { // as programs have them
				k.Threads = 32 << random.IntN(6)
				k.Registers = 8 * (1 + random.IntN(31))
				k.Shared = k.Shared / 1024 * 1024
			}
			check(t, k, filled(k))
		}
	}
}

func check(t *testing.T, k launchNeeds, want int) {
	t.Helper()
	o, ok := occupancyOf(k)
	if warps := (k.Threads + 31) / 32 * want; !ok || o.Blocks != want || o.Warps != warps {
		t.Errorf("%+v: %d blocks of %d warps in all, want %d of %d", k, o.Blocks, o.Warps, want, warps)
	}
}
