package kernels

import (
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/interpreter/fromtrace"
	"github.com/goproton/goproton/tritonparse"
)

// mostRun bounds how many kinds of launches are run to count them.
const mostRun = 64

// runWork counts what a launch does by running it. It is false if the launch cannot be run.
func runWork(t *tritonparse.Trace, l *tritonparse.LaunchRecord, counted *tritonparse.Work) (w Work, ok bool) {
	r, err := fromtrace.Count(t, l)
	if err != nil {
		return w, false
	}
	w.take(r.Result, r.By)
	if counted.Arguments >= 0 && w.Bytes > float64(counted.Arguments) {
		w.Bytes, w.BytesFrom = float64(counted.Arguments), "arguments"
	}
	w.Notes = []string{r.Note}
	return w, true
}

// take sets the work of a launch to so many times what was run.
func (w *Work) take(r *interpreter.Result, by float64) {
	dots, others := map[string]int64{}, map[string]int64{}
	for i := range r.Lines {
		of := &r.Lines[i]
		w.Bytes += by * float64(of.Loads.ActiveBytes+of.Stores.ActiveBytes+2*of.Atomics.ActiveBytes)
		for name, n := range of.DotFlops {
			dots[name] += n
		}
		for name, n := range of.Flops {
			others[name] += n
		}
	}
	var all []operations
	if len(dots) == 0 {
		dots = others
	}
	for name, n := range dots {
		dtype, passes := peaks.Counted(name)
		if n > 0 {
			all = append(all, operations{by * float64(n), dtype, passes})
		}
	}
	slices.SortFunc(all, func(a, b operations) int { return strings.Compare(a.dtype, b.dtype) })
	w.BytesFrom = "run"
	if w.Type, w.Passes = peaks.Multiplied("", ""); len(all) > 0 {
		w.computes("run", all...)
	}
}
