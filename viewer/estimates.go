package viewer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// noteEstimates says which of the shown numbers are estimates, made from the shapes of operators.
func (b *builder) noteEstimates() {
	bytes, flops := false, false
	for _, c := range b.sums.columns {
		name, _, _ := strings.Cut(c.Name, "/")
		ofRoof := slices.Contains([]string{"util", "bound", "intensity", "attainable", "roof_time"}, name)
		bytes = bytes || ofRoof || strings.Contains(name, "byte")
		flops = flops || ofRoof || strings.Contains(name, "flop")
	}
	if slices.ContainsFunc(b.sums.columns, func(c column) bool { return c.Label == timeError }) {
		b.note("times are estimates: time_error, or ±, is the standard error, of a frame above several kernels the most that it can be")
	}
	if part := b.part(profile.OperatorPrefix+profile.BytesMetric, profile.BytesMetric); bytes && part > 0 {
		b.note(fmt.Sprintf("%s of the bytes are estimates from the shapes of operators: each tensor counts once, whatever the caches do", figures.Share(part)))
	}
	if part := b.part(profile.EstimatedPrefix+"flops", "flops"); flops && part > 0 {
		b.note(fmt.Sprintf("%s of the flops are estimates: attention counts all pairs of positions, also those that a mask skips, and its backward pass computes the scores again", figures.Share(part)))
	}
}

// part is the share that metrics whose names begin with one word have of those that begin with another.
func (b *builder) part(some, all string) float64 {
	if !slices.ContainsFunc(b.recorded, func(r recorded) bool { return strings.HasPrefix(r.name, some) }) {
		return 0
	}
	var sums [2]float64
	for i := range b.frames {
		f := &b.frames[i]
		for _, m := range f.done().Metrics {
			v, _ := m.Value.Float()
			switch {
			case f.did != nil && math.IsNaN(f.did.Number(m.Name)): // hardware counters measured it
			case strings.HasPrefix(m.Name, some):
				sums[0] += v
			case strings.HasPrefix(m.Name, all):
				sums[1] += v
			}
		}
	}
	if sums[1] == 0 {
		return 0
	}
	return min(sums[0]/sums[1], 1)
}
