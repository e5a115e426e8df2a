package kernels

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
)

// Work is what one launch moves and computes, and which rates its average time makes of that.
type Work struct {
	Bytes, Flops float64 // per launch; 0 if that is not known
	BytesFrom    string  // "counters": measured by the GPU; "profile": metrics that the program reported; "code": counted in the TTIR; "run": by running it; "arguments": each tensor once
	FlopsFrom    string
	Type         string // type of most operands, see profile.OperandTypes; "" if that is not known
	Passes       int    // multiplications of that type per flop: 3 for tf32x3, which computes f32; 0 means 1
	operations   []operations
	Notes        []string // what could not be counted in the code

	Rates

	on    *profile.Device // device that the launches ran on; nil if the profile does not describe it
	mixed bool            // they ran on several, with different peaks
}

// operations are the flops on one type of operands.
type operations struct {
	count  float64
	dtype  string // see profile.OperandTypes; "" if that is not known
	passes int
}

// worker computes the work of launches.
type worker struct {
	profile *profile.Profile
	unknown error // why there is no roof for some device
}

// measured takes bytes and flops from a node's metrics, if its launches are all of one kind.
func (w *worker) measured(g *Group, n *profile.Node, l *profile.LaunchTimes) {
	w.ran(g, w.deviceOf(n, l))
	if len(n.Launches) != 1 || l.Count == 0 || tritonparse.Amount(n, profile.CountMetric) != l.Count {
		return
	}
	per := float64(l.Count)
	defer w.counted(g, n, per)
	if bytes := tritonparse.Amount(n, "bytes"); bytes > 0 {
		g.Work.Bytes, g.Work.BytesFrom = float64(bytes)/per, "profile"
	}
	var all []operations
	for i := range n.Metrics {
		if dtype, counts := profile.Flops(n.Metrics[i].Name); counts && dtype != "" {
			all = append(all, operations{count: float64(tritonparse.Amount(n, n.Metrics[i].Name)) / per, dtype: dtype, passes: 1})
		}
	}
	all = slices.DeleteFunc(all, func(o operations) bool { return o.count == 0 })
	if flops := float64(tritonparse.Amount(n, "flops")); len(all) == 0 && flops > 0 {
		all = []operations{{count: flops / per, passes: 1}} // their type is that in the trace
	}
	if len(all) > 0 {
		g.Work.computes("profile", all...)
	}
}

// counted takes what hardware counters measured before what the program said.
func (w *worker) counted(g *Group, n *profile.Node, launches float64) {
	bytes, flops := counters.WorkOf(n)
	if bytes > 0 {
		g.Work.Bytes, g.Work.BytesFrom = bytes/launches, byCounters
	}
	var all []operations
	for _, dtype := range slices.Sorted(maps.Keys(flops)) {
		all = append(all, operations{count: flops[dtype] / launches, dtype: dtype, passes: 1})
	}
	if flops != nil {
		g.Work.computes(byCounters, all...)
	}
}

// byCounters is that hardware counters measured bytes or flops.
const byCounters = "counters"

// Estimated says whether bytes or flops are those of the code, of a run in the interpreter or of the arguments.
func (w *Work) Estimated() bool {
	estimated := func(from string) bool { return from != "profile" && from != byCounters }
	return w.BytesPerSecond > 0 && estimated(w.BytesFrom) || w.FlopsPerSecond > 0 && estimated(w.FlopsFrom)
}

// computes sets the operations of a launch.
func (w *Work) computes(from string, all ...operations) {
	w.operations, w.FlopsFrom, w.Flops = all, from, 0
	most := 0.0
	for _, o := range all {
		if w.Flops += o.count; o.count > most {
			most, w.Type, w.Passes = o.count, o.dtype, o.passes
		}
	}
}

// tracedWork is the work of a launch as far as the trace shows it.
func (j *joiner) tracedWork(c *tritonparse.Compilation, l *tritonparse.LaunchRecord) (w Work) {
	if c == nil {
		return w
	}
	counted := c.Work(l)
	if counted.Depends && j.ran < mostRun {
		j.ran++
		if ran, ok := runWork(j.options.Trace, l, &counted); ok {
			return ran
		}
	}
	if counted.Bytes > 0 {
		w.Bytes, w.BytesFrom = float64(counted.Bytes), "code"
		if counted.Bytes == counted.Arguments {
			w.BytesFrom = "arguments"
		}
	}
	if c.Texts["ttir"] != "" {
		w.Type, w.Passes = peaks.Multiplied(counted.Dot.Type, counted.Dot.Precision)
	}
	if counted.Flops > 0 {
		w.computes("code", operations{float64(counted.Flops), w.Type, w.Passes})
	}
	w.Notes = slices.DeleteFunc(slices.Clone(counted.Notes), func(note string) bool { return note == tritonparse.NoteMasked })
	return w
}

// complete sets what was not measured to what the code shows. Metrics have the width of operands, the code has their type.
func (w *Work) complete(counted Work) {
	if w.BytesFrom == "" {
		w.Bytes, w.BytesFrom = counted.Bytes, counted.BytesFrom
	}
	if w.FlopsFrom == "" {
		w.Flops, w.FlopsFrom, w.Type, w.Passes, w.operations = counted.Flops, counted.FlopsFrom, counted.Type, counted.Passes, counted.operations
	}
	for i := range w.operations {
		if w.FlopsFrom == byCounters {
			break // by the units that did them
		}
		if o := &w.operations[i]; o.dtype == "" || profile.OperandBits(o.dtype) == profile.OperandBits(counted.Type) {
			o.dtype, o.passes = counted.Type, counted.Passes
		}
	}
	if w.FlopsFrom != "" {
		w.computes(w.FlopsFrom, w.operations...)
	}
	if own := []string{"code", "run"}; slices.Contains(own, w.BytesFrom) || slices.Contains(own, w.FlopsFrom) {
		w.Notes = counted.Notes
	}
}

// finish computes rates and the share of the roof.
func (w *worker) finish(g *Group) {
	seconds := g.Times.Average() / 1e9
	if seconds <= 0 {
		return
	}
	work := &g.Work
	work.BytesPerSecond, work.FlopsPerSecond = work.Bytes/seconds, work.Flops/seconds
	if work.BytesPerSecond == 0 && work.FlopsPerSecond == 0 {
		return
	}
	if work.on == nil || work.mixed {
		why := errors.New("the profile does not describe the GPU that they ran on")
		if work.mixed {
			why = errors.New("launches of the same arguments ran on GPUs of different kinds")
		}
		w.unknown = cmp.Or(w.unknown, why)
		return
	}
	roof := w.roof(work, work.on)
	if least := roof.Least(); least > 0 {
		work.Roof, work.Bound = least/seconds, peaks.Bound(roof.Parts())
	}
}

// roof is the time that a launch's work needs on a device.
func (w *worker) roof(work *Work, d *profile.Device) (roof peaks.Roof) {
	if work.Bytes > 0 {
		peak, err := peaks.Bandwidth(*d)
		w.unknown = cmp.Or(w.unknown, err)
		roof.Move(work.Bytes, peak)
	}
	for _, o := range work.operations {
		if o.dtype == "" {
			continue // without a type there is no peak
		}
		peak, err := peaks.Peak(*d, o.dtype)
		w.unknown = cmp.Or(w.unknown, err)
		roof.Compute(o.count*float64(max(o.passes, 1)), peak)
	}
	return roof
}
