package work

import (
	"math"

	"github.com/goproton/goproton/triton/ttir"
)

// bytesOf all elements of a type, in memory; false if the size is not known.
func bytesOf(t *ttir.Type) (int64, bool) {
	if t == nil {
		return 0, false
	}
	element := t
	if t.Kind == ttir.TensorType || t.Kind == ttir.DescriptorType {
		element = t.Element
	}
	bits := int64(element.Bits)
	if element.Kind == ttir.OpaqueType || bits == 0 {
		return 0, false
	}
	if bits == 1 { // a byte
		bits = 8
	}
	return (times(t.Elements(), bits) + 7) / 8, true
}

// pointed is the bytes of what a pointer, or all pointers of a tensor, point to.
func pointed(t *ttir.Type) (int64, bool) {
	if t == nil || t.Pointee() == nil {
		return 0, false
	}
	n, ok := bytesOf(t.Pointee())
	return times(t.Elements(), n), ok
}

// times and plus stay at the largest number where they would overflow.
func times(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	if a < 0 || b < 0 || a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (w *Work) Add(o Work) {
	w.Loaded, w.Stored = plus(w.Loaded, o.Loaded), plus(w.Stored, o.Stored)
	w.Dots, w.Flops = plus(w.Dots, o.Dots), plus(w.Flops, o.Flops)
	w.Guessed = w.Guessed || o.Guessed
}

// none says whether nothing is done.
func (w Work) none() bool { return w == Work{Guessed: w.Guessed} }

// Bytes is all that is moved.
func (w Work) Bytes() int64 { return plus(w.Loaded, w.Stored) }

// Times is work that is done n times.
func (w Work) Times(n int64) Work {
	return Work{times(w.Loaded, n), times(w.Stored, n), times(w.Dots, n), times(w.Flops, n), w.Guessed}
}

// most is the larger of each.
func (w Work) most(o Work) Work {
	return Work{max(w.Loaded, o.Loaded), max(w.Stored, o.Stored), max(w.Dots, o.Dots), max(w.Flops, o.Flops), w.Guessed || o.Guessed}
}

// measure sets the cost of one execution of an operation, by its types.
func (op *operation) measure(f *ttir.Function) {
	access := func(t *ttir.Type, size func(*ttir.Type) (int64, bool)) int64 {
		n, ok := size(t)
		if op.unsized = ""; !ok && t != nil {
			op.unsized = t.Text
		}
		return n
	}
	switch op.Name {
	case "tt.load", "tt.atomic_load", "tt.atomic_poll":
		op.cost.Loaded = access(f.Type(op.Operand(0)), pointed)
	case "tt.store", "tt.atomic_store":
		op.cost.Stored = access(f.Type(op.Operand(0)), pointed)
	case "tt.descriptor_load", "tt.descriptor_gather", "tt.experimental_descriptor_load":
		op.cost.Loaded = access(op.result(f), bytesOf)
	case "tt.descriptor_store", "tt.descriptor_reduce", "tt.experimental_descriptor_store":
		op.cost.Stored = access(f.Type(op.Operand(1)), bytesOf)
		if op.Name == "tt.descriptor_reduce" {
			op.cost.Loaded = op.cost.Stored
		}
	case "tt.descriptor_scatter":
		op.cost.Stored = access(f.Type(op.Operand(3)), bytesOf)
	case "tt.atomic_rmw", "tt.atomic_cas":
		op.cost.Loaded = access(op.result(f), bytesOf)
		op.cost.Stored = op.cost.Loaded
	case "tt.dot", "tt.dot_scaled", "tt.sparse_dot", "triton_gpu.sparse_dot", "ttg.sparse_dot":
		op.cost.Dots = op.dotWork(f)
	case "tt.reduce", "tt.scan", "tt.map_elementwise":
		op.times = op.combinations(f)
	case "arith.constant":
		a := op.Attribute("value")
		if op.constant = a != nil && (a.Kind == ttir.Integer || a.Kind == ttir.Bool); op.constant {
			op.number = a.Int
		}
	default:
		if t := op.result(f); t != nil && t.Scalar().Kind == ttir.FloatType {
			op.cost.Flops = times(ttir.FloatOperations(op.Name), t.Elements())
		}
	}
}

// result is the type of the last result; nil if there is none.
func (op *operation) result(f *ttir.Function) *ttir.Type {
	if n := len(op.Results); n > 0 {
		return f.Type(op.Results[n-1])
	}
	return nil
}

// combinations is how often the region of an operation on elements runs: as often as there are elements to combine, or to map.
func (op *operation) combinations(f *ttir.Function) int64 {
	in := f.Type(op.Operand(0))
	if in == nil || len(op.Results) == 0 {
		return 0
	}
	n := in.Elements()
	switch out := f.Type(op.Results[0]); {
	case op.Name == "tt.reduce" && out != nil:
		n -= out.Elements()
	case op.Name == "tt.scan": // the first of each line is there
		if a := op.Attribute("axis"); a != nil && a.Int >= 0 && a.Int < int64(len(in.Shape)) && in.Shape[a.Int] > 0 {
			n -= n / in.Shape[a.Int]
		}
	case op.Name == "tt.map_elementwise":
		if a := op.Attribute("pack"); a != nil && a.Int > 0 {
			n /= a.Int
		}
	}
	return max(n, 0)
}
