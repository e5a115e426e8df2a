package control

import (
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/profiler"
)

// budgetStatus says what became of a budget; nil without one.
func budgetStatus(b *profiler.Spending) *runinfo.Budget {
	if b == nil {
		return nil
	}
	wall := float64(max(b.Wall, 1))
	return &runinfo.Budget{
		Share: b.Budget, Achieved: b.Share(), Nanos: int64(b.Wall),
		Callbacks: b.Callbacks / wall, Hooks: b.Hooks / wall, Paths: b.Paths / wall, Switching: b.Switching / wall, Sampling: b.Sampling / wall,
		Compared: b.Compared, SetupNanos: int64(b.Waited), Drainer: float64(b.Drainer) / wall, Sampler: float64(b.Sampler) / wall,
		PathsTaken: int64(b.PathsTaken), PathsLeft: int64(b.PathsLeft), SampledShare: float64(b.Sampled) / wall,
		KernelsOn: int64(b.KernelsSampled), KernelsOff: int64(b.KernelsOther), Summary: b.String(),
	}
}
