package interpreter

import (
	"reflect"
	"slices"
	"strings"

	"github.com/goproton/goproton/triton/mlir"
	"github.com/goproton/goproton/triton/ttir"
)

// Observer hears what a launch does, in the goroutine of the launch, one program instance after another: interpreter/debug has one. Begin
// and End may end the launch with an error; the others do it with a panic of an error. Operations of a region that combines elements are
// not reported, nor are those of functions that it calls.
type Observer interface {
	Begin(i *Instance) error
	Before(p *Point)                  // an operation, and those without meaning for values too
	Enter(p *Point, f *ttir.Function) // the function that the operation calls begins
	Leave(p *Point)                   // it has ended, and the results of the operation are set
	Found(f *Finding)                 // and the instance goes on
	End(f *Finding) error             // f is why the instance was ended, and nil if it came to its end
}

// Point is an operation of a kernel.
type Point struct {
	Function *ttir.Function
	Op       *ttir.Op
	Frames   []mlir.Frame // in the source, the innermost first
	Operands []Value
	Results  []Value  // set by the operation
	Begins   []Bound  // arguments of the block of which it is the first operation
	Within   *ttir.Op // whose region begins with it
}

// Bound is a value with its name in the source.
type Bound struct {
	Name  string
	Value Value
}

// Instance is a program instance while it runs.
type Instance struct {
	m       *machine
	Program [3]int32
	Grid    [3]int32
	Kernel  *ttir.Function
}

// Memory returns the bytes at an address, nil if they are not all in one buffer.
func (i *Instance) Memory(address int64, size int) []byte {
	if size < 0 {
		return nil
	}
	return i.m.memory.bytes(address, size)
}

// Load reads elements of a type, as Value.Elements returns them. Without them it is the index of the first address that is in no buffer.
func (i *Instance) Load(t *ttir.Type, addresses []int64) (elements any, bad int) {
	if k := classOf(t); k != noClass && k != windows {
		return classes[k].read(i.m.memory, t, addresses)
	}
	return nil, 0
}

func (typedOf[T]) read(m *memory, t *ttir.Type, addresses []int64) (elements any, bad int) {
	list, k := make([]T, len(addresses)), codecOf[T](t)
	for n, a := range addresses {
		raw := m.bytes(a, k.size)
		if raw == nil {
			return nil, n
		}
		k.get(list[n:n+1], raw)
	}
	return shownAs(list), -1
}

// Buffer returns the buffer that an address belongs to, and the offset in it, which may be outside; nil if it belongs to none.
func (i *Instance) Buffer(address int64) (*Buffer, int64) { return i.m.memory.find(address) }

// Value is a value of a kernel where its elements are kept: the next operation that sets it changes them.
type Value struct{ s *slot }

// Known says whether there is a value; others have no type.
func (v Value) Known() bool { return v.s != nil && v.s.t != nil && v.s.data != nil }

// Type of the value.
func (v Value) Type() *ttir.Type { return v.s.t }

// Elements returns all elements in row-major order: []int64 of integers, of i1 and of addresses, []float64 of floating-point numbers, and
// nil of descriptors and block pointers.
func (v Value) Elements() any {
	if k := classOf(v.s.t); k != windows {
		return classes[k].all(v.s)
	}
	return nil
}

func (typedOf[T]) all(s *slot) any {
	data := dataOf[T](s)
	if s.t.Kind != ttir.TensorType {
		return shownAs(data[:1])
	}
	list := make([]T, 0, s.t.Elements())
	ttir.Each(dims(s.t), func(at []int) { list = append(list, data[storedAt(s, at)]) })
	return shownAs(list)
}

// shownAs are elements as those who look at a launch get them.
func shownAs[T element](list []T) any {
	switch any(list).(type) {
	case []float32, []float64:
		return converted[float64](list)
	}
	return converted[int64](list)
}

func converted[R int64 | float64, T element](list []T) []R {
	to := make([]R, len(list))
	for i, x := range list {
		to[i] = R(x)
	}
	return to
}

// Window is a descriptor or a block pointer: an address, and in elements its shape, its strides, and where a block pointer stands.
func (v Value) Window() (base int64, shape, strides, offsets []int64, ok bool) {
	data, ok := v.s.data.([]window)
	if !ok {
		return 0, nil, nil, nil, false
	}
	return data[0].base, data[0].shape, data[0].strides, data[0].offsets, true
}

// Copy returns the value as it is now. It uses the elements of an earlier copy, if they have the right number.
func (v Value) Copy(earlier Value) Value {
	if !v.Known() {
		return v
	}
	to := earlier.s
	if to == nil || to.t != v.s.t || !slices.Equal(to.shape, v.s.shape) {
		to = &slot{t: v.s.t, shape: v.s.shape, data: makeData(classOf(v.s.t), v.s.len())}
		to.root = to
	}
	reflect.Copy(reflect.ValueOf(to.data), reflect.ValueOf(v.s.data)) // of one class: lists of one type
	return Value{to}
}

// Buffers are those of a list of arguments, each once.
func Buffers(list []Argument) []*Buffer {
	var buffers []*Buffer
	for _, a := range list {
		if a.buffer != nil && !slices.Contains(buffers, a.buffer) {
			buffers = append(buffers, a.buffer)
		}
	}
	return buffers
}

// Points are the operations of a kernel and of the functions that it calls, in the order of the text and without their values; "" is the
// module's own kernel.
func (p *Program) Points(kernel string) []*Point {
	f := p.module.Kernel()
	if kernel != "" {
		f = p.module.Function(kernel)
	}
	var list []*Point
	seen := map[*ttir.Function]bool{}
	var add func(f *ttir.Function)
	add = func(f *ttir.Function) {
		if f == nil || seen[f] {
			return
		}
		seen[f] = true
		f.Walk(func(op *ttir.Op) {
			list = append(list, &Point{Function: f, Op: op, Frames: p.module.Frames(op)})
			if op.Name == "tt.call" {
				add(p.module.Function(op.Keyword("callee", "")))
			}
		})
	}
	add(f)
	return list
}

// FunctionFrame is where a function begins in the source.
func (p *Program) FunctionFrame(f *ttir.Function) (mlir.Frame, bool) {
	frames := p.module.File.Frames(f.Location)
	if len(frames) == 0 {
		return mlir.Frame{}, false
	}
	return frames[0], true
}

// Frames are the places in the source that an operation came from, the innermost first.
func (p *Program) Frames(op *ttir.Op) []mlir.Frame { return p.module.Frames(op) }

// Variable is the variable of the source that Triton says a value or an operation belongs to; "" if it says none.
func (p *Program) Variable(id mlir.LocationID) string { return p.module.File.Variable(id) }

// observed reports an operation to the observer before it is executed. The point's results are added when the operation is compiled.
func (c *compiler) observed(op *ttir.Op) *Point {
	p := &Point{Function: c.f, Op: op, Frames: c.m.module.Frames(op)}
	for _, v := range op.Operands {
		if v != ttir.NoValue {
			p.Operands = append(p.Operands, Value{c.slots[v]})
		}
	}
	if c.block.first == op {
		p.Within = c.within
		for i, s := range c.block.arguments {
			p.Begins = append(p.Begins, Bound{c.sourceName(c.block.values[i]), Value{s}})
		}
	}
	m := c.m
	c.block.steps = append(c.block.steps, func() {
		if m.hushed == 0 {
			m.launch.o.Observer.Before(p)
		}
	})
	return p
}

func (c *compiler) resultsOf(op *ttir.Op) []Value {
	list := make([]Value, len(op.Results))
	for i, v := range op.Results {
		list[i] = Value{c.slots[v]}
	}
	return list
}

// sourceName is the name that a value has in the source: an argument's location says it, and of values of loops Triton's name for them.
func (c *compiler) sourceName(v ttir.Value) string {
	info := c.f.Values[v]
	if name := c.m.module.File.Variable(info.Location); name != "" && c.within == nil {
		return name
	}
	name, number := info.Name, strings.LastIndexByte(info.Name, '_')
	if number > 0 && strings.Trim(name[number+1:], "0123456789") == "" {
		name = name[:number]
	}
	return name
}

// calling surrounds a function that an operation calls. What a region that combines elements calls is not reported.
func (c *compiler) calling(f *ttir.Function, body step) (enter, run, leave step) {
	if !c.m.with.observed {
		return nil, body, nil
	}
	m, p := c.m, c.point
	if p == nil {
		return nil, func() {
			m.hushed++
			body()
			m.hushed--
		}, nil
	}
	tell := func(o func()) step {
		return func() {
			if m.hushed == 0 {
				o()
			}
		}
	}
	return tell(func() { m.launch.o.Observer.Enter(p, f) }), body, tell(func() { m.launch.o.Observer.Leave(p) })
}

// begin and end tell the observer of an instance.
func (m *machine) begin() {
	if l := m.launch; l.shadow != nil {
		m.as.Begin(uint32(l.numberOf(m.at)))
	}
	if o := m.launch.o.Observer; o != nil {
		m.hushed = 0
		if err := o.Begin(&Instance{m: m, Program: m.at, Grid: m.launch.grid, Kernel: m.kernel}); err != nil {
			panic(err)
		}
	}
}

func (m *machine) end() {
	if o := m.launch.o.Observer; o != nil {
		if err := o.End(nil); err != nil {
			panic(err)
		}
	}
}

// ended is the error of a launch whose instance was ended by a finding.
func (m *machine) ended(f *Finding) error {
	if o := m.launch.o.Observer; o != nil {
		if err := o.End(f); err != nil {
			return err
		}
	}
	return f
}
