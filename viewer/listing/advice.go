package listing

import (
	"fmt"
	"path"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/viewer/kernels"
)

// fewest is the smallest number of samples that advice is based on. With 100 samples a share of one fifth has an error of
// less than a tenth of all samples.
const fewest = 100

// advice is a sentence on where a kernel's time goes, from the stall reasons of its samples; "" if they suggest nothing. It is
// only a hint: a stall reason says what one warp waited for, not whether other warps issued instructions meanwhile.
func advice(s *kernels.Samples, f *kernels.Function) string {
	if f.Samples == 0 { // the kernel is shown for its lines or its IR
		return ""
	}
	if f.Samples < fewest {
		return figures.Plural(f.Samples, "sample is", "samples are") + " too few to say where the time goes; run longer, or sample more often (interval=)"
	}
	went := float64(s.Of(f.Counts, s.Stalls.Issued)) / float64(f.Samples)
	ready := float64(s.Of(f.Counts, s.Stalls.Ready)) / float64(f.Samples)
	stalls := s.Waits(f.Counts)
	if len(stalls) == 0 || stalls[0].Name == "unknown" {
		return ""
	}
	if went+ready >= 0.5 {
		return fmt.Sprintf("in %s of the samples the warp was ready or at work (%s, %s): the kernel is limited by how many instructions it issues; fewer instructions make it faster, more warps do not",
			figures.Share(went+ready), s.Stalls.Issued, s.Stalls.Ready)
	}
	top := stalls[0]
	if top.Name == s.Stalls.Ready { // it is not a stall that a programmer can remove
		if len(stalls) == 1 {
			return ""
		}
		top = stalls[1]
	}
	r, _ := s.Stalls.Explain(top.Name)
	where := ""
	if l := mostOf(s, f, top.Name); l != nil {
		where = fmt.Sprintf(", most at %s:%d", path.Base(l.File), l.Number)
	}
	return fmt.Sprintf("in %s of the samples the warp %s (%s%s); often: %s", figures.Share(float64(top.Samples)/float64(f.Samples)), r.Means, top.Name, where, r.Hint)
}

// mostOf is the line of the function with the most samples of a stall reason; nil without any.
func mostOf(s *kernels.Samples, f *kernels.Function, reason string) *kernels.Line {
	var most *kernels.Line
	var samples uint64
	for _, l := range f.Lines {
		if n := s.Of(l.Counts, reason); n > samples {
			most, samples = l, n
		}
	}
	return most
}
