package interpreter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/mlir"
	"github.com/goproton/goproton/triton/ttir"
)

// step executes one operation.
type step func()

// block is a list of operations. Its end returns the block of the same region that follows; a negative number leaves the region.
type block struct {
	steps     []step
	end       func() int
	cost      int64 // operations
	turns     int64 // how often it ran
	first     *ttir.Op
	costs     []cost
	arguments []*slot
	values    []ttir.Value // the arguments' numbers
}

// machine is a compiled kernel with the values of one program instance.
type machine struct {
	module    *ttir.Module
	kernel    *ttir.Function
	with      features
	main      *function
	functions map[*ttir.Function]*function
	shapes    map[*ttir.Op][]int // of operations whose elements a finding may name
	blocks    []*block
	sites     []*site
	lines     [][]mlir.Frame // of the source, in order

	launch *launch
	memory *memory
	at     [3]int32 // the program instance
	steps  int64
	limit  int64
	check  int64

	scanAt, scanBefore  int       // the elements that a scan combines: see fold.go
	hushed              int       // depth of calls that no observer hears of
	bytes               int       // of the values
	instances, progress int64     // that it has run, and how often one of them changed memory by an atomic operation
	done                int64     // instances of this launch that have ended
	first               []int64   // turns of each block in the first of them
	differ              bool      // turns of another one are not those of the first
	resume              chan bool // in the co-operative order, has it go on, or end
	waits               waiting
	origins             []origin       // of marks, by their numbers
	divided             map[bit]int    // the last lane that was divided by zero, by the mark
	as                  check.Instance // this program instance, for the search for races
	shadowed            bool           // it has locked the launch's Shadow
}

// function is a compiled function.
type function struct {
	arguments, results []*slot
	body               []*block
}

// Finding is what a kernel did that it must not.
type Finding = check.Finding

// finding is of the operation, as this instance executes it. Its lane is an element of the operation's tensor.
func (m *machine) finding(op *ttir.Op, kind, text string, lane int) *Finding {
	return &Finding{Kind: kind, Text: text, Kernel: m.kernel.Name, Place: m.place(op, m.at, lane)}
}

// place is an operation as an instance executed it.
func (m *machine) place(op *ttir.Op, at [3]int32, lane int) check.Place {
	p := check.Place{Program: at, Lane: lane}
	if op != nil {
		p.Op, p.Line, p.Frames = op.Name, int(op.Line), m.module.Frames(op)
		if shape := m.shapes[op]; len(shape) > 1 && lane >= 0 {
			p.Index = indexOf(shape, lane)
		}
	}
	return p
}

// indexOf is where an element is, whose number in row-major order is known.
func indexOf(shape []int, element int) []int {
	list := make([]int, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		list[i] = element % max(shape[i], 1)
		element /= max(shape[i], 1)
	}
	return list
}

// report ends the instance, unless the launch goes on after findings.
func (m *machine) report(f *Finding) {
	if !m.launch.o.KeepGoing {
		panic(f)
	}
	if o := m.launch.o.Observer; o != nil {
		o.Found(f)
	}
	m.launch.findings.Add(f)
}

func (m *machine) run(blocks []*block) {
	for i := 0; i >= 0; {
		b := blocks[i]
		if m.steps += b.cost; m.steps >= m.check {
			m.pause(b.first)
		}
		b.turns++
		for _, s := range b.steps {
			s()
		}
		if b.end == nil {
			return
		}
		i = b.end()
	}
}

const betweenChecks = 1 << 14

// pause looks whether the launch has to end.
func (m *machine) pause(at *ttir.Op) {
	if m.limit > 0 && m.steps > m.limit {
		panic(m.finding(at, check.Steps, fmt.Sprintf("%d operations were executed, and no more are allowed", m.limit), 0))
	}
	if c := m.launch.o.Context; c != nil && c.Err() != nil {
		panic(fmt.Errorf("the launch of %s was ended: %w", m.kernel.Name, context.Cause(c)))
	}
	if m.launch.failed.Load() {
		panic(errAbandoned)
	}
	m.check = m.steps + betweenChecks
	if m.limit > 0 {
		m.check = min(m.check, m.limit+1)
	}
}

// work runs instances until there are none.
func (m *machine) work() {
	m.guard(func() {
		for {
			at, ok := m.launch.take()
			if !ok {
				return
			}
			m.at = at
			m.instance()
		}
	})
}

// instance runs one.
func (m *machine) instance() {
	m.instances++
	m.begin()
	m.run(m.main.body)
	m.end()
	m.same()
}

// same notes whether this instance has executed each operation as often as the first one of the machine has.
func (m *machine) same() {
	if m.done++; m.done == 1 {
		m.first = m.first[:0]
		for _, b := range m.blocks {
			m.first = append(m.first, b.turns)
		}
	}
	for i, b := range m.blocks {
		m.differ = m.differ || b.turns != m.done*m.first[i]
	}
}

// guard ends the launch if something fails.
func (m *machine) guard(do func()) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // the program may unmap the memory of a buffer
	defer func() {
		r := recover()
		m.unshadow() // if an access failed
		switch r := r.(type) {
		case nil:
		case *Finding:
			m.launch.fail(m.ended(r))
		case error:
			if r == errAbandoned {
				return
			}
			m.launch.fail(m.unexpected(r))
		default:
			m.launch.fail(fmt.Errorf("%v", r))
		}
	}()
	do()
}

func (m *machine) unexpected(err error) error {
	var runtime interface{ RuntimeError() }
	var fault interface{ Addr() uintptr }
	if errors.As(err, &fault) {
		return fmt.Errorf("%s, program %v: the address %#x of a buffer is not readable or not writable: its memory was freed, or is protected", m.kernel.Name, m.at, fault.Addr())
	}
	if errors.As(err, &runtime) {
		return fmt.Errorf("the interpreter failed in %s, program %v: %w\n%s", m.kernel.Name, m.at, err, debug.Stack())
	}
	return err
}

// prepare sets the arguments of a launch.
func (m *machine) prepare(l *launch, list []Argument) error {
	m.launch, m.memory, m.steps, m.limit, m.check = l, l.memory, 0, l.o.MaxSteps, 0
	m.done, m.differ = 0, false
	for _, b := range m.blocks {
		b.turns = 0
	}
	for _, s := range m.sites {
		s.counts = accessCounts{}
		s.forget()
	}
	if len(list) != len(m.main.arguments) {
		return fmt.Errorf("%s has %d arguments, and %d are given", m.kernel.Name, len(m.main.arguments), len(list))
	}
	for i, s := range m.main.arguments {
		if err := m.set(s, &list[i]); err != nil {
			name := m.kernel.Values[m.kernel.Arguments[i].Value].Name
			return fmt.Errorf("the argument %s (%d) of %s: %w", name, i, m.kernel.Name, err)
		}
	}
	return nil
}

// set stores an argument in a value.
func (m *machine) set(s *slot, a *Argument) error {
	address := a.offset
	if a.buffer != nil {
		if int64(len(a.buffer.Data)) > middle/2 || a.offset < -middle/2 || a.offset > middle/2 {
			return fmt.Errorf("a buffer of %d bytes, or an offset of %d, is too large", len(a.buffer.Data), a.offset)
		}
		address += m.memory.place(a.buffer)
	}
	v, isInt := a.number.(int64)
	f, isFloat := a.number.(float64)
	if isPointer := s.t.Kind == ttir.PointerType; isPointer && !isInt && !isFloat {
		v, isInt = address, true
	}
	switch data := s.data.(type) {
	case []window:
		if a.shape == nil || len(a.shape) != len(s.t.Shape) || len(a.strides) != len(a.shape) {
			return fmt.Errorf("%s needs a descriptor of %d dimensions", s.t.Text, len(s.t.Shape))
		}
		data[0] = window{base: address, shape: a.shape, strides: a.strides, offsets: make([]int64, len(a.shape)), nan: a.nan}
		return nil
	case []float32:
		if isFloat {
			data[0] = float32(f)
			if n := narrows[s.t.Float]; n != nil {
				data[0] = n.nearest(oddly(f))
			}
			return nil
		}
	case []float64:
		if isFloat {
			data[0] = f
			return nil
		}
	case []bit:
		if isInt {
			data[0] = bit(v & 1)
			return nil
		}
	case []int64:
		if isInt {
			data[0] = v
			return nil
		}
	case []int32:
		return setInt(data, v, isInt, math.MinInt32, math.MaxUint32)
	case []int16:
		return setInt(data, v, isInt, math.MinInt16, math.MaxUint16)
	case []int8:
		return setInt(data, v, isInt, math.MinInt8, math.MaxUint8)
	}
	return fmt.Errorf("it is %s, and another kind of value is given", s.t.Text)
}

func setInt[T signed](data []T, v int64, isInt bool, low, high int64) error {
	if !isInt || v < low || v > high {
		return fmt.Errorf("it is an integer from %d to %d, and another value is given", low, high)
	}
	data[0] = T(v)
	return nil
}
