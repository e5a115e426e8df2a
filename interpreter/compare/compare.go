// Package compare runs a launch twice and says where the values differ: of two texts of a kernel, the first line and variable; of one text with
// and without rounding, how far off each line is.
//
//	d, err := compare.Texts(a, b, compare.Options{})
//	lines, err := compare.Precision(a, wide, compare.Options{})
package compare

import (
	"errors"
	"fmt"
	"math"

	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/triton/mlir"
	"github.com/goproton/goproton/triton/ttir"
)

// Side is a launch: a program and arguments with buffers of its own, which the comparison changes.
type Side struct {
	Program   *interpreter.Program
	Kernel    string
	Arguments []interpreter.Argument
}

// Options of a comparison.
type Options struct {
	Grid               [3]int32
	Programs           [][3]int32 // only these instances; nil for all
	Absolute, Relative float64    // how far numbers may be apart
}

// maxKept bounds the bytes of the values of one program instance.
const maxKept = 1 << 29

// event is a value that was set, or what was stored.
type event struct {
	function  *ttir.Function
	op        *ttir.Op
	frames    []mlir.Frame
	name      string // the variable; "" of a value without one
	value     ttir.Value
	values    any // []int64 or []float64
	addresses []int64
	begins    bool // an argument of a block: set elsewhere
}

// count is how many elements the value has, and whether they are floating-point numbers.
func (e *event) count() (n int, isFloat bool) {
	switch v := e.values.(type) {
	case []int64:
		return len(v), false
	case []float64:
		return len(v), true
	}
	return 0, false
}

func (e *event) size() int {
	n, _ := e.count()
	return 8*(len(e.addresses)+n) + 64
}

// recorder hears of an instance's operations, and passes their values on.
type recorder struct {
	program  *interpreter.Program
	previous *interpreter.Point
	event    func(e *event) // its lists are new
}

func (r *recorder) Begin(*interpreter.Instance) error {
	r.previous = nil
	return nil
}

func (r *recorder) Before(p *interpreter.Point) {
	r.flush()
	if len(p.Begins) > 0 {
		at := *p
		if p.Within != nil {
			at.Op, at.Frames = p.Within, r.program.Frames(p.Within)
		}
		for i, v := range blockOf(p).Arguments {
			if i < len(p.Begins) {
				r.set(&at, p.Begins[i].Name, v, p.Begins[i].Value, true)
			}
		}
	}
	switch p.Op.Name {
	case "tt.store", "tt.descriptor_store", "tt.atomic_rmw", "tt.descriptor_reduce":
		r.stored(p)
	}
	if len(p.Op.Regions) == 0 || quiet[p.Op.Name] {
		r.previous = p
	}
}

// quiet are operations of whose regions nothing is heard.
var quiet = map[string]bool{"tt.reduce": true, "tt.scan": true, "tt.map_elementwise": true}

// blockOf is the block whose first operation a point is.
func blockOf(p *interpreter.Point) *ttir.Block {
	regions := []ttir.Region{p.Function.Body}
	if p.Within != nil {
		regions = p.Within.Regions
	}
	for i := range regions {
		for k := range regions[i].Blocks {
			if b := &regions[i].Blocks[k]; len(b.Ops) > 0 && &b.Ops[0] == p.Op {
				return b
			}
		}
	}
	return &ttir.Block{}
}

// flush passes on the results of the operation before.
func (r *recorder) flush() {
	p := r.previous
	if r.previous = nil; p == nil {
		return
	}
	for i, v := range p.Results {
		r.set(p, r.program.Variable(p.Op.Location), p.Op.Results[i], v, false)
	}
}

func (r *recorder) set(p *interpreter.Point, name string, number ttir.Value, v interpreter.Value, begins bool) {
	if !v.Known() || v.Type().Scalar().Kind == ttir.PointerType {
		return
	}
	if elements := v.Elements(); elements != nil {
		r.event(&event{function: p.Function, op: p.Op, frames: p.Frames, name: name, value: number, values: elements, begins: begins})
	}
}

// stored passes on what is written: the elements that a mask does not leave out.
func (r *recorder) stored(p *interpreter.Point) {
	const what = 1 // the operand that is written, of all operations of which Before tells
	pointers, mask := -1, -1
	for i, v := range p.Operands {
		if !v.Known() {
			return
		}
		switch t := v.Type(); {
		case t.Scalar().Kind == ttir.PointerType && t.Pointee().Kind != ttir.TensorType:
			pointers = i
		case i > 1 && t.Scalar().Kind == ttir.IntegerType && t.Scalar().Bits == 1 && p.Op.Name != "tt.descriptor_store":
			mask = i
		}
	}
	if what >= len(p.Operands) {
		return
	}
	e := &event{function: p.Function, op: p.Op, frames: p.Frames, name: "what is stored", value: p.Op.Operands[what], values: p.Operands[what].Elements()}
	if pointers >= 0 {
		e.addresses = p.Operands[pointers].Elements().([]int64)
	}
	var keep []int64
	if mask >= 0 {
		keep, _ = p.Operands[mask].Elements().([]int64)
	}
	switch v := e.values.(type) {
	case []int64:
		e.values, e.addresses = active(v, e.addresses, keep)
	case []float64:
		e.values, e.addresses = active(v, e.addresses, keep)
	default:
		return
	}
	r.event(e)
}

func active[T int64 | float64](values []T, addresses, mask []int64) ([]T, []int64) {
	if len(mask) != len(values) {
		return values, addresses
	}
	var v []T
	var a []int64
	for i, on := range mask {
		if on != 0 {
			if v = append(v, values[i]); i < len(addresses) {
				a = append(a, addresses[i])
			}
		}
	}
	return v, a
}

func (r *recorder) Enter(*interpreter.Point, *ttir.Function) {}
func (r *recorder) Leave(p *interpreter.Point)               { r.previous = p }
func (r *recorder) Found(*interpreter.Finding)               {}
func (r *recorder) End(f *interpreter.Finding) error {
	if f == nil {
		r.flush()
	}
	return nil
}

// run executes one instance. What it did that it must not is returned, too.
func (s *Side) run(grid, at [3]int32, event func(e *event)) (*interpreter.Finding, error) {
	o := interpreter.Options{Programs: [][3]int32{at}, Observer: &recorder{program: s.Program, event: event}}
	_, err := s.Program.Launch(s.Kernel, grid, s.Arguments, o)
	var f *interpreter.Finding
	if errors.As(err, &f) {
		return f, nil
	}
	return nil, err
}

// instances are those that are compared, in order.
func (o *Options) instances(yield func(at [3]int32) error) error {
	if o.Programs != nil {
		for _, at := range o.Programs {
			if err := yield(at); err != nil {
				return err
			}
		}
		return nil
	}
	for z := range o.Grid[2] {
		for y := range o.Grid[1] {
			for x := range o.Grid[0] {
				if err := yield([3]int32{x, y, z}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// keeper keeps the events of one instance.
type keeper struct {
	list  []*event
	bytes int
}

func (k *keeper) keep(e *event) {
	if k.bytes += e.size(); k.bytes > maxKept {
		panic(fmt.Errorf("the values of one program instance have more than %d bytes, and cannot be compared", maxKept))
	}
	k.list = append(k.list, e)
}

// worst is how far values are apart: the largest difference by the largest number, and where the first difference is that is not allowed.
func worst(a, b any, o *Options) (off float64, first int, count int) {
	first = -1
	differs := func(i int) {
		if count++; first < 0 {
			first = i
		}
	}
	longer, shorter := 0, 0
	switch x := a.(type) {
	case []int64:
		y, _ := b.([]int64)
		longer, shorter = max(len(x), len(y)), min(len(x), len(y))
		for i := range shorter {
			if x[i] != y[i] {
				differs(i)
			}
		}
	case []float64:
		y, _ := b.([]float64)
		longer, shorter = max(len(x), len(y)), min(len(x), len(y))
		var most, distance float64
		for i := range shorter {
			d := math.Abs(x[i] - y[i])
			if x[i] == y[i] || x[i] != x[i] && y[i] != y[i] {
				d = 0
			}
			if d != 0 && !(d <= o.Absolute+o.Relative*math.Abs(y[i])) {
				differs(i)
			}
			if !math.IsInf(y[i], 0) && d == d && !math.IsInf(d, 0) {
				most, distance = max(most, math.Abs(y[i])), max(distance, d)
			}
		}
		if most > 0 {
			off = distance / most
		}
	}
	if longer > shorter {
		first = max(first, shorter)
		count++
	}
	return off, first, count
}
