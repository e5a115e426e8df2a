package count

import (
	"math"
	"strconv"
	"strings"
)

// bitsOf is the size of an element type in bits, and whether it is a floating-point type; 0 for what has no size.
func bitsOf(element string) (bits int64, float bool) {
	switch {
	case element == "bf16":
		return 16, true
	case strings.HasPrefix(element, "f8"):
		return 8, true
	case strings.HasPrefix(element, "f4"):
		return 4, true
	case strings.HasPrefix(element, "f6"):
		return 6, true
	case strings.HasPrefix(element, "tf32"):
		return 32, true
	case strings.HasPrefix(element, "!tt.ptr"):
		return 64, false
	}
	for prefix, isFloat := range map[string]bool{"f": true, "i": false, "si": false, "ui": false} {
		if rest, ok := strings.CutPrefix(element, prefix); ok {
			if n, err := strconv.ParseInt(rest, 10, 16); err == nil && n > 0 {
				return n, isFloat
			}
		}
	}
	return 0, false
}

// shaped is a type: dimensions and what the elements are.
type shaped struct {
	dims    []int64
	element string
}

// readType reads tensor<4x8xf32>, tensor<4x!tt.ptr<f32>>, !tt.tensordesc<4x8xf16>, !tt.ptr<tensor<4xf32>>, !tt.ptr<f32>, f32;
// an encoding behind a comma is left out.
func readType(text string) shaped {
	text = strings.TrimSpace(text)
	for _, wrapper := range []string{"tensor<", "!tt.tensordesc<"} {
		inside, ok := strings.CutPrefix(text, wrapper)
		if !ok {
			continue
		}
		inside = strings.TrimSuffix(inside, ">")
		if strings.HasPrefix(inside, "tensor<") {
			return readType(inside)
		}
		var t shaped
		for {
			digits, rest, found := strings.Cut(inside, "x")
			n, err := strconv.ParseInt(digits, 10, 64)
			if !found || err != nil {
				break
			}
			t.dims = append(t.dims, n)
			inside = rest
		}
		t.element, _, _ = strings.Cut(inside, ",")
		return t
	}
	return shaped{element: text}
}

// pointee is what a pointer, or a tensor of pointers, points to.
func (t shaped) pointee() shaped {
	inside, ok := strings.CutPrefix(t.element, "!tt.ptr<")
	if !ok {
		return t
	}
	inside = strings.TrimSuffix(inside, ">")
	if strings.HasPrefix(inside, "tensor<") { // a block pointer
		return readType(inside)
	}
	if element, space, ok := strings.Cut(inside, ","); ok && strings.TrimSpace(space) != "" {
		inside = element
	}
	t.element = inside
	return t
}

func (t shaped) elements() int64 {
	n := int64(1)
	for _, d := range t.dims {
		n = times(n, d)
	}
	return n
}

// bytes of all elements; false if the element type is not known.
func (t shaped) bytes() (int64, bool) {
	bits, _ := bitsOf(t.element)
	if bits == 0 {
		return 0, false
	}
	if t.element == "i1" { // a byte in memory
		bits = 8
	}
	return (times(t.elements(), bits) + 7) / 8, true
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
}

// Bytes is all that is moved.
func (w Work) Bytes() int64 { return plus(w.Loaded, w.Stored) }

// Times is work that is done n times.
func (w Work) Times(n int64) Work {
	return Work{times(w.Loaded, n), times(w.Stored, n), times(w.Dots, n), times(w.Flops, n)}
}

// most is the larger of each.
func (w Work) most(o Work) Work {
	return Work{max(w.Loaded, o.Loaded), max(w.Stored, o.Stored), max(w.Dots, o.Dots), max(w.Flops, o.Flops)}
}

// floatOps is how many floating-point operations an operation does for each element of its result.
var floatOps = map[string]int64{
	"arith.addf": 1, "arith.subf": 1, "arith.mulf": 1, "arith.divf": 1, "arith.remf": 1, "arith.negf": 1,
	"arith.maximumf": 1, "arith.minimumf": 1, "arith.maxnumf": 1, "arith.minnumf": 1,
	"math.fma": 2, "math.exp": 1, "math.exp2": 1, "math.log": 1, "math.log2": 1, "math.sqrt": 1, "math.rsqrt": 1, "math.sin": 1, "math.cos": 1,
	"math.tanh": 1, "math.erf": 1, "math.absf": 1, "math.floor": 1, "math.ceil": 1, "tt.precise_sqrt": 1, "tt.precise_divf": 1, "tt.extern_elementwise": 1,
}

// measure sets the cost of one execution of an operation, by its types.
func (op *operation) measure(operands, types string) {
	access := func(text string) int64 {
		n, ok := readType(text).pointee().bytes()
		if !ok {
			op.unsized = strings.TrimSpace(text)
		}
		return n
	}
	last := resultType(types)
	switch op.name {
	case "tt.load":
		op.cost.Loaded = access(firstType(types))
	case "tt.store":
		op.cost.Stored = access(firstType(types))
	case "tt.descriptor_load", "tt.descriptor_gather", "tt.experimental_descriptor_load":
		op.cost.Loaded = access(last)
	case "tt.descriptor_store", "tt.descriptor_scatter", "tt.descriptor_reduce", "tt.experimental_descriptor_store":
		op.cost.Stored = access(lastType(types))
		if op.name == "tt.descriptor_reduce" {
			op.cost.Loaded = op.cost.Stored
		}
	case "tt.atomic_rmw", "tt.atomic_cas":
		op.cost.Loaded = access(last)
		op.cost.Stored = op.cost.Loaded
	case "tt.dot", "tt.dot_scaled", "tt.sparse_dot", "triton_gpu.sparse_dot", "ttg.sparse_dot":
		op.cost.Dots = dotWork(operands, types)
	default:
		if n := floatOps[op.name]; n > 0 {
			if t := readType(last); isFloat(t) {
				op.cost.Flops = times(n, t.elements())
			}
		}
	}
}

// resultType is the text behind the arrow, or all of it if there is no arrow.
func resultType(types string) string {
	if i := strings.LastIndex(types, "-> "); i >= 0 {
		return types[i+len("-> "):]
	}
	return types
}

func isFloat(t shaped) bool {
	_, float := bitsOf(t.element)
	return float
}

// firstType and lastType split a list of types at the commas that are in no brackets.
func firstType(types string) string { return splitTypes(types)[0] }

func lastType(types string) string {
	all := splitTypes(types)
	return all[len(all)-1]
}

func splitTypes(types string) []string {
	var all []string
	depth, from := 0, 0
	for i := 0; i < len(types); i++ {
		switch types[i] {
		case '<', '(', '[', '{':
			depth++
		case '>', ')', ']', '}':
			if i == 0 || types[i-1] != '-' {
				depth--
			}
		case ',':
			if depth == 0 {
				all = append(all, types[from:i])
				from = i + 1
			}
		}
	}
	return append(all, types[from:])
}

func isFold(name string) bool { return name == "tt.reduce" || name == "tt.scan" }

// foldWork is the work of a reduction or scan: that of its region, as often as there are elements to combine.
func foldWork(op *operation, types string) int64 {
	in, out, _ := strings.Cut(types, "-> ")
	n := readType(firstType(strings.TrimPrefix(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(in), ")")), "("))).elements()
	if op.name == "tt.reduce" {
		n -= readType(firstType(strings.Trim(out, "() "))).elements()
	}
	var each int64
	for _, r := range op.regions {
		for _, o := range r.ops {
			each = plus(each, o.cost.Flops)
		}
		r.ops = nil // counted
	}
	if n < 0 {
		return 0
	}
	return times(n, each)
}
