package kernels

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/interpreter/fromtrace"
	"github.com/goproton/goproton/triton/ttir"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/reproduce"
)

// Bounds of what is run to count it.
const (
	mostRun      = 64      // kinds of launches
	mostPrograms = 64      // program instances of each, at even distances
	mostSteps    = 1 << 18 // operations of these
	mostTensors  = 1 << 30 // bytes
)

// depends says whether what a launch does depends on what is not known without running it: a loop or branch on values, or masks that leave out
// some of what its tensors have.
func depends(counted *tritonparse.Work) bool {
	if counted.FromCode < 0 || counted.Arguments > mostTensors {
		return false
	}
	if slices.Contains(counted.Notes, tritonparse.NoteMasked) && (counted.Arguments < 0 || counted.FromCode < counted.Arguments) {
		return true
	}
	return slices.ContainsFunc(counted.Notes, func(note string) bool {
		return note != tritonparse.NoteMasked && !strings.HasPrefix(note, "programs differ")
	})
}

// runWork counts what a launch does by running program instances of it, with recorded contents of tensors, or made-up ones. It is false if the
// launch cannot be run.
func runWork(t *tritonparse.Trace, l *tritonparse.LaunchRecord, counted *tritonparse.Work) (w Work, ok bool) {
	in, err := reproduce.ReadInputs(t, l, reproduce.Options{})
	if err != nil {
		return w, false
	}
	p, err := interpreter.Load(ttir.Parse(in.TTIR))
	if err != nil {
		return w, false
	}
	all := int64(in.Grid[0]) * int64(in.Grid[1]) * int64(in.Grid[2])
	n := min(all, mostPrograms)
	o := interpreter.Options{MaxSteps: mostSteps}
	for i := range n {
		at := i * all / n
		o.Programs = append(o.Programs, [3]int32{int32(at % int64(in.Grid[0])), int32(at / int64(in.Grid[0]) % int64(in.Grid[1])), int32(at / int64(in.Grid[0]) / int64(in.Grid[1]))})
	}
	r, err := p.Launch(in.Kernel, in.Grid, fromtrace.Arguments(in), o)
	if err != nil {
		return w, false
	}
	w.take(r, float64(all)/float64(n))
	if counted.Arguments >= 0 && w.Bytes > float64(counted.Arguments) {
		w.Bytes, w.BytesFrom = float64(counted.Arguments), "arguments"
	}
	note := fmt.Sprintf("counted by running %d of %d program instances", n, all)
	if slices.ContainsFunc(in.Tensors, func(made reproduce.Rebuilt) bool { return made.From != "recorded" }) {
		note += " on made-up values"
	}
	w.Notes = []string{note}
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
