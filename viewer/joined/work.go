package joined

import (
	"cmp"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer/specs"
)

// Work is what one launch moves and computes, and what of the GPU's roof its average time reached.
type Work struct {
	Bytes, Flops float64 // per launch; 0 if that is not known
	BytesFrom    string  // "profile": the kernel's own metrics; "code": counted in its TTIR; "arguments": each tensor once
	FlopsFrom    string
	Type         string // of the operands that most Flops are of, see specs.DTypes; "" if that is not known
	Passes       int    // multiplications of that type for one of Flops: 3 where tf32x3 stands for f32; 0 is 1
	operations   []operations
	Notes        []string // what could not be counted in the code

	Rates

	on    *profile.Device // where the launches ran; nil: on none that the profile describes
	mixed bool            // on several with other peaks
}

// operations are those of Flops on one type of operands.
type operations struct {
	count  float64
	dtype  string // see specs.DTypes; "" if that is not known
	passes int
}

// worker finds out what launches do.
type worker struct {
	profile *profile.Profile
	unknown error // why there is no roof for some device
}

// measured takes over what the kernel's hook said of a node's launches, if they are all of one kind.
func (w *worker) measured(g *Group, n *profile.Node, l *profile.LaunchTimes) {
	w.ran(g, w.deviceOf(n, l))
	if len(n.Launches) != 1 || l.Count == 0 || amount(n, countMetric) != l.Count {
		return
	}
	per := float64(l.Count)
	if bytes := amount(n, "bytes"); bytes > 0 {
		g.Work.Bytes, g.Work.BytesFrom = float64(bytes)/per, "profile"
	}
	var all []operations
	for i := range n.Metrics {
		if dtype, counts := specs.OfMetric(n.Metrics[i].Name); counts && dtype != "" {
			all = append(all, operations{count: float64(amount(n, n.Metrics[i].Name)) / per, dtype: dtype, passes: 1})
		}
	}
	all = slices.DeleteFunc(all, func(o operations) bool { return o.count == 0 })
	if flops := float64(amount(n, "flops")); len(all) == 0 && flops > 0 {
		all = []operations{{count: flops / per, passes: 1}} // of the type that the trace names
	}
	if len(all) > 0 {
		g.Work.computes("profile", all...)
	}
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

// staticWork is what the trace says of a launch.
func staticWork(c *tritonparse.Compilation, l *tritonparse.LaunchRecord) (w Work) {
	if c == nil {
		return w
	}
	counted := c.Work(l)
	if counted.Bytes > 0 {
		w.Bytes, w.BytesFrom = float64(counted.Bytes), "code"
		if counted.Bytes == counted.Arguments {
			w.BytesFrom = "arguments"
		}
	}
	if c.Texts["ttir"] != "" {
		w.Type, w.Passes = operands(counted.Dot)
	}
	if counted.Flops > 0 {
		w.computes("code", operations{float64(counted.Flops), w.Type, w.Passes})
	}
	w.Notes = slices.DeleteFunc(slices.Clone(counted.Notes), func(note string) bool { return note == tritonparse.NoteMasked })
	return w
}

// complete takes over what nobody measured. A hook says how wide operands are, the code which they are.
func (w *Work) complete(counted Work) {
	if w.BytesFrom == "" {
		w.Bytes, w.BytesFrom = counted.Bytes, counted.BytesFrom
	}
	if w.FlopsFrom == "" {
		w.Flops, w.FlopsFrom, w.Type, w.Passes, w.operations = counted.Flops, counted.FlopsFrom, counted.Type, counted.Passes, counted.operations
	}
	for i := range w.operations {
		if o := &w.operations[i]; o.dtype == "" || specs.Bits(o.dtype) == specs.Bits(counted.Type) {
			o.dtype, o.passes = counted.Type, counted.Passes
		}
	}
	if w.FlopsFrom != "" {
		w.computes(w.FlopsFrom, w.operations...)
	}
	if w.BytesFrom == "code" || w.FlopsFrom == "code" {
		w.Notes = counted.Notes
	}
}

// operands is the type of specs.DTypes that a kernel computes in, and how many multiplications of it make one of the code's.
func operands(dot tritonparse.Dot) (dtype string, passes int) {
	switch {
	case dot.Type == "f16":
		return "fp16", 1
	case dot.Type == "bf16":
		return "bf16", 1
	case dot.Type == "f32":
		return precision(dot.Precision)
	case dot.Type == "f64":
		return "fp64", 1
	case dot.Type == "i8":
		return "int8", 1
	case strings.HasPrefix(dot.Type, "f8"), strings.HasPrefix(dot.Type, "f6"): // both at the rate of eight bits
		return "fp8", 1
	case strings.HasPrefix(dot.Type, "f4"):
		return "fp4", 1
	}
	return "fp32", 1 // no multiplication of matrices: the vector units
}

// precision is what tl.dot's input_precision makes of operands of f32. ieee is the only one that no tensor core does.
func precision(name string) (dtype string, passes int) {
	switch name {
	case "tf32":
		return "tf32", 1
	case "tf32x3":
		return "tf32", 3
	case "bf16x3":
		return "bf16", 3
	case "bf16x6":
		return "bf16", 6
	}
	return "fp32", 1
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
		w.unknown = cmp.Or(w.unknown, noDevice(work.mixed))
		return
	}
	roof := w.roof(work, work.on)
	if least := roof.Least(); least > 0 {
		work.Roof, work.Bound = least/seconds, specs.Bound(roof.Parts())
	}
}

// roof is what a launch's work needs on a device.
func (w *worker) roof(work *Work, d *profile.Device) (roof specs.Roof) {
	if work.Bytes > 0 {
		peak, err := specs.Bandwidth(*d)
		w.unknown = cmp.Or(w.unknown, err)
		roof.Move(work.Bytes, peak)
	}
	for _, o := range work.operations {
		if o.dtype == "" {
			continue // as for the memory alone: nobody says of what
		}
		peak, err := specs.Peak(*d, o.dtype)
		w.unknown = cmp.Or(w.unknown, err)
		roof.Compute(o.count*float64(max(o.passes, 1)), peak)
	}
	return roof
}
