package counters

import (
	"math"
	"slices"

	"github.com/goproton/goproton/profile"
)

// NoTimes is why a profile of counts by source line has no times; "" for all others, and where a profile with times was added to it.
func NoTimes(p *profile.Profile) string {
	if p == nil || p.Sampling == nil || p.Sampling.Mode != profile.CountedByLine {
		return ""
	}
	timed := false
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		timed = timed || !math.IsNaN(n.Number(profile.TimeMetric))
		return !timed
	})
	if timed {
		return ""
	}
	return "the profile counts what instructions did and has no times: proton viewer --source shows the counts, proton merge adds them to a run with times"
}

// Stands is how many launches each measured launch of a frame stands for; NaN where none was measured, or where a file says more of them
// than there were, or that a counter was below 0.
func Stands(n *profile.Node) float64 {
	measured, all := n.Number(Launches), n.Number(profile.CountMetric)
	switch {
	case !(measured > 0), Impossible(n):
		return math.NaN()
	case !(all > 0):
		return 1
	}
	return all / measured
}

// Impossible reports whether a frame has counters that no GPU counts: more launches were measured than there were, or a counter is below 0.
func Impossible(n *profile.Node) bool {
	measured, all := n.Number(Launches), n.Number(profile.CountMetric)
	if all > 0 && measured > all || measured < 0 || math.IsInf(measured, 0) {
		return true
	}
	return measured > 0 && slices.ContainsFunc(n.Metrics, func(m profile.Metric) bool {
		v, ok := m.Value.Float()
		return ok && (v < 0 || math.IsInf(v, 0)) && IsMetric(m.Name)
	})
}

// Total is a metric of all launches of a frame: the sum over the measured ones, times the launches that each stands for. NaN where it was
// not measured.
func Total(n *profile.Node, metric string) float64 { return n.Number(metric) * Stands(n) }

// At are what stands above and below the fraction line for all launches of a frame; NaN where it was not measured.
func (f *Figure) At(n *profile.Node) (above, below float64) {
	each := Stands(n)
	if f.ByLine() {
		each = 1
	}
	if math.IsNaN(each) {
		return each, each
	}
	above, below, ok := f.Parts(func(metric string) (float64, bool) { v := n.Number(metric); return v * each, !math.IsNaN(v) })
	if !ok {
		return math.NaN(), math.NaN()
	}
	return above, below
}

// WorkOf are the bytes that all launches of a frame moved to and from the GPU's memory, NaN if they were not measured, and their flops by
// type of operands, nil if they were not.
func WorkOf(n *profile.Node) (bytes float64, flops map[string]float64) {
	bytes, _ = dramBytes.At(n)
	for _, f := range always {
		if above, _ := f.At(n); math.IsNaN(above) {
			return bytes, nil
		}
	}
	flops = map[string]float64{}
	for _, f := range flopFigures {
		if above, _ := f.At(n); above > 0 {
			flops[f.DType] += above
		}
	}
	return bytes, flops
}

// flopFigures are the figures of flops. Flops are measured where those of vector units and of tensor cores on FP16 are: every set that has
// some has all that the chip counts.
var (
	dramBytes   = Find("dram_bytes")
	flopFigures = find(flopsNames)
	always      = find([]string{"fp32_flops", "fp16_flops", "fp64_flops", "tensor_fp16_flops"})
)

func find(names []string) (all []*Figure) {
	for _, name := range names {
		all = append(all, Find(name))
	}
	return all
}
