package source

import (
	"fmt"
	"path"
)

// fewest is the smallest number of samples that advice is based on. With 100 samples a share of one fifth has an error of
// less than a tenth of all samples.
const fewest = 100

// Advice is a sentence on where a kernel's time goes, from the stall reasons of its samples; "" if they suggest nothing. It is
// only a hint: a stall reason says what one warp waited for, not whether other warps issued instructions meanwhile.
func (s *Samples) Advice(k *Kernel) string {
	if k.Samples == 0 { // the kernel is shown for its lines or its IR
		return ""
	}
	if k.Samples < fewest {
		few := fmt.Sprintf("%d samples are", k.Samples)
		if k.Samples == 1 {
			few = "1 sample is"
		}
		return few + " too few to say where the time goes; run longer, or sample more often (interval=)"
	}
	went := float64(s.Of(k.Counts, selected)) / float64(k.Samples)
	ready := float64(s.Of(k.Counts, "not_selected")) / float64(k.Samples)
	stalls := s.Stalls(k.Counts)
	if len(stalls) == 0 || stalls[0].Name == "unknown" {
		return ""
	}
	if went+ready >= 0.5 {
		return fmt.Sprintf("in %s of the samples the warp was ready or at work (selected, not_selected): the kernel is limited by how many instructions it issues; fewer instructions make it faster, more warps do not",
			percent(went+ready))
	}
	top := stalls[0]
	if top.Name == "not_selected" { // it is not a stall that a programmer can remove
		if len(stalls) == 1 {
			return ""
		}
		top = stalls[1]
	}
	r, _ := About(top.Name)
	where := ""
	if l := s.most(k, top.Name); l != nil {
		where = fmt.Sprintf(", most at %s:%d", path.Base(l.File), l.Number)
	}
	return fmt.Sprintf("in %s of the samples the warp %s (%s%s); often: %s", percent(float64(top.Samples)/float64(k.Samples)), r.Means, top.Name, where, r.Hint)
}

// most is the line of the function with the most samples of a stall reason; nil without any.
func (s *Samples) most(k *Kernel, reason string) *Line {
	var most *Line
	var samples uint64
	for _, l := range k.Lines {
		if n := s.Of(l.Counts, reason); n > samples {
			most, samples = l, n
		}
	}
	return most
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }
