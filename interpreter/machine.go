package interpreter

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"

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
	blocks    []*block
	sites     []*site
	lines     [][]mlir.Frame // of the source, in order

	launch *launch
	memory *memory
	at     [3]int32 // the program instance
	steps  int64
	limit  int64
	check  int64

	scanAt, scanBefore int // the elements that a scan combines: see fold.go
	hushed             int // depth of calls that no observer hears of
}

// function is a compiled function.
type function struct {
	arguments, results []*slot
	body               []*block
}

// Finding is what a kernel did that it must not.
type Finding struct {
	Kind    string // out of bounds, assertion, assumption, steps, not supported
	Text    string // what happened
	Op      string
	Frames  []mlir.Frame // in the source, the innermost first
	Line    int          // of the TTIR
	Program [3]int32
	Lane    int // the element of the tensor, in row-major order; 0 of a scalar
	Buffer  string
	Kernel  string
}

func (f *Finding) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s by program (%d, %d, %d), lane %d, ", f.Kind, f.Text, f.Program[0], f.Program[1], f.Program[2], f.Lane)
	if len(f.Frames) > 0 {
		fmt.Fprintf(&b, "at %s:%d:%d ", f.Frames[0].File, f.Frames[0].Line, f.Frames[0].Column)
	} else {
		fmt.Fprintf(&b, "at line %d of the TTIR ", f.Line)
	}
	fmt.Fprintf(&b, "in %s (%s)", f.Kernel, f.Op)
	return b.String()
}

// finding ends the instance.
func (m *machine) finding(op *ttir.Op, kind, text string, lane int) *Finding {
	f := &Finding{Kind: kind, Text: text, Lane: lane, Program: m.at, Kernel: m.kernel.Name}
	if op != nil {
		f.Op, f.Line, f.Frames = op.Name, int(op.Line), m.module.Frames(op)
	}
	return f
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
		panic(m.finding(at, "steps", fmt.Sprintf("%d operations were executed, and no more are allowed", m.limit), 0))
	}
	if c := m.launch.o.Context; c != nil && c.Err() != nil {
		panic(fmt.Errorf("the launch of %s was ended: %w", m.kernel.Name, c.Err()))
	}
	m.check = m.steps + betweenChecks
	if m.limit > 0 {
		m.check = min(m.check, m.limit+1)
	}
}

// work runs instances until there are none.
func (m *machine) work() {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Finding:
			m.launch.fail(m.ended(r))
		case error:
			m.launch.fail(m.unexpected(r))
		default:
			m.launch.fail(fmt.Errorf("%v", r))
		}
	}()
	for {
		at, ok := m.launch.take()
		if !ok {
			return
		}
		m.at = at
		m.begin()
		m.run(m.main.body)
		m.end()
	}
}

func (m *machine) unexpected(err error) error {
	var runtime interface{ RuntimeError() }
	if errors.As(err, &runtime) {
		return fmt.Errorf("the interpreter failed in %s, program %v: %w\n%s", m.kernel.Name, m.at, err, debug.Stack())
	}
	return err
}

// prepare sets the arguments of a launch.
func (m *machine) prepare(l *launch, list []Argument) error {
	m.launch, m.memory, m.steps, m.limit, m.check = l, l.memory, 0, l.o.MaxSteps, 0
	for _, b := range m.blocks {
		b.turns = 0
	}
	for _, s := range m.sites {
		s.counts, s.touched = accessCounts{}, nil
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
