// Package interpreter runs Triton's kernels without a GPU: a function of TTIR over a grid, on buffers of bytes.
//
//	p, err := interpreter.Load(ttir.Parse(text))
//	result, err := p.Launch("add_kernel", [3]int32{10, 1, 1}, []interpreter.Argument{interpreter.Pointer(x, 0), interpreter.Int(5000)}, interpreter.Options{})
//
// Values have the bits that Triton's types have: results of f16, bf16 and f8 are rounded once per operation, to the nearest, ties to even;
// f8 saturates as on NVIDIA's GPUs; sums of a reduction are a balanced tree over neighbours; a dot product is summed along K in f32, and f32
// inputs lose 13 bits where the kernel allows TF32. What a GPU approximates (exp, sin) is computed in f64 and rounded.
//
// An access outside of its buffer ends the launch with a Finding that names the line, the program instance, the lane and the element;
// so does an assertion that does not hold, and what Options.Checks asks for; with Options.KeepGoing findings are collected. Undefined values are 0: an element that a mask leaves out, ub.poison, a division by zero.
//
// An operation that is not supported ends the launch when it is reached, with a Finding that names it. Instances run one after another
// or in parallel, each to its end; one that waits for another one needs the co-operative order.
package interpreter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	flags "sync/atomic"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

// Program is a module that can be launched.
type Program struct {
	module *ttir.Module
	mu     sync.Mutex
	idle   map[compiled][]*machine // kernels that no launch uses
}

// compiled is a kernel as it was compiled.
type compiled struct {
	name string
	with features
}

// features are what a kernel is compiled with in addition to what it computes.
type features struct {
	touched  bool // see Options.Touched
	observed bool // see Options.Observer
	checks   check.Set
}

// Load checks a module.
func Load(m *ttir.Module) (*Program, error) {
	for _, a := range m.Attributes {
		if strings.HasPrefix(a.Name, "ttg.") || strings.HasPrefix(a.Name, "triton_gpu.") {
			return nil, fmt.Errorf("the kernel cannot be run: its text has %s, so it is TTGIR or Gluon's, with the layouts of a GPU; the interpreter runs TTIR, which Triton's cache keeps in the file NAME.ttir", a.Name)
		}
	}
	if bad := append(m.Problems[:len(m.Problems):len(m.Problems)], m.Verify()...); len(bad) > 0 {
		return nil, fmt.Errorf("the kernel cannot be run: line %d of its TTIR: %s", bad[0].Line, bad[0].Text)
	}
	if len(m.Functions) == 0 {
		return nil, errors.New("the kernel cannot be run: its TTIR has no function")
	}
	return &Program{module: m, idle: map[compiled][]*machine{}}, nil
}

// Argument is an argument of a kernel.
type Argument struct {
	buffer         *Buffer
	offset         int64
	number         any // int64 or float64
	shape, strides []int64
	nan            bool
}

// Pointer is an address: so many bytes behind the beginning of a buffer. Without a buffer it is the null pointer.
func Pointer(b *Buffer, offset int64) Argument { return Argument{buffer: b, offset: offset} }

// Int is an integer or, as its bits, an address.
func Int(v int64) Argument { return Argument{number: v} }

// Float is a floating-point number.
func Float(v float64) Argument { return Argument{number: v} }

// Descriptor is a tensor in memory that a kernel takes windows of. Strides are in elements; elements outside of it are NaN or 0.
func Descriptor(b *Buffer, offset int64, shape, strides []int64, nan bool) Argument {
	return Argument{buffer: b, offset: offset, shape: shape, strides: strides, nan: nan}
}

// Order is the order of program instances.
type Order uint8

const (
	Serial Order = iota // x is the fastest
	Reverse
	Shuffled
	Cooperative // instances that wait for others let them run
)

// Options of a launch. The zero value runs all instances one after another.
type Options struct {
	Order    Order
	Seed     uint64
	Workers  int        // instances that run at the same time; 0 is 1
	Programs [][3]int32 // only these instances
	Touched  bool       // count the bytes of buffers that are loaded and stored, each once
	MaxSteps int64      // operations that each worker may execute, of 1024 elements at most; 0 for any number
	Output   io.Writer  // for what the kernel prints; nil for nothing
	Context  context.Context
	Others   []*Buffer                     // that addresses in memory may point into, and no argument does
	Begun    interface{ Add(int64) int64 } // counts the instances that have begun; nil for nothing

	Checks    check.Set // what is checked in addition to accesses, assertions and assumptions
	KeepGoing bool      // findings are collected in the result; without it the first one ends the launch and is its error

	Print    func(p *Printed) // instead of Output, for what Python's print prints in a kernel
	Observer Observer         // hears of each operation; instances run one after another
}

// Result is what a launch did.
type Result struct {
	Programs int64
	SameWork bool         // all program instances have executed each operation equally often
	Lines    []LineCounts // in the order of the source
	Touched  []Touched    // with Options.Touched, of buffers that were used
	Findings []*Finding   // with Options.KeepGoing: the first of each kind in each line
	More     int64        // findings that were not kept
	Warning  string       // what was not checked, and why
}

const maxPrograms = 1 << 40

// Launch runs a kernel; "" is the module's own. The error is a *Finding if the kernel ran and did what it must not.
func (p *Program) Launch(kernel string, grid [3]int32, arguments []Argument, o Options) (*Result, error) {
	f := p.module.Kernel()
	if kernel != "" {
		f = p.module.Function(kernel)
	}
	if f == nil {
		return nil, fmt.Errorf("the kernel %s is not in the module", kernel)
	}
	all := int64(1)
	for _, n := range grid {
		if n < 1 || all > maxPrograms/int64(n) {
			return nil, fmt.Errorf("a grid of %d × %d × %d cannot be launched", grid[0], grid[1], grid[2])
		}
		all *= int64(n)
	}
	if o.Programs != nil {
		all = int64(len(o.Programs))
		for _, at := range o.Programs {
			for axis, n := range grid {
				if at[axis] < 0 || at[axis] >= n {
					return nil, fmt.Errorf("the program instance %v is not in the grid %v", at, grid)
				}
			}
		}
	}
	l := &launch{grid: grid, o: o, all: all, memory: &memory{}}
	for _, b := range o.Others {
		l.memory.place(b)
	}
	if o.Checks&check.Races != 0 {
		if int64(grid[0])*int64(grid[1])*int64(grid[2]) > math.MaxUint32 {
			return nil, fmt.Errorf("races are found in grids of at most %d program instances, and this one has more: leave the check out", uint32(math.MaxUint32))
		}
		l.shadow = &check.Shadow{}
		defer l.shadow.Close()
	}
	if o.Order == Shuffled {
		l.shuffle()
	}
	workers := int(min(int64(max(o.Workers, 1)), all))
	if o.Observer != nil || o.Order == Cooperative {
		workers = 1
	}
	if o.Observer != nil && o.Order == Cooperative {
		return nil, errors.New("program instances cannot be observed in the co-operative order: several of them have begun at the same time")
	}
	var machines []*machine
	as := compiled{f.Name, features{touched: o.Touched, observed: o.Observer != nil, checks: o.Checks}}
	defer func() { p.giveBack(as, machines) }()
	more := func() (*machine, error) {
		m, err := p.machine(f, as)
		if err != nil {
			return nil, err
		}
		machines = append(machines, m)
		return m, m.prepare(l, arguments)
	}
	for range workers {
		if _, err := more(); err != nil {
			return nil, err
		}
	}
	l.workers, l.first = workers, machines[0]
	if o.Checks&check.Hints != 0 {
		if f := machines[0].hintedArguments(); f != nil && !o.KeepGoing {
			return nil, f
		} else if f != nil {
			l.findings.Add(f)
		}
	}
	if o.Order == Cooperative {
		if err := l.cooperate(machines[0], more); err != nil {
			return nil, err
		}
	} else if err := l.run(machines); err != nil {
		return nil, err
	}
	r := resultOf(l.memory, all, machines)
	r.Findings, r.More = l.findings.All()
	if l.shadow != nil && l.shadow.Full {
		r.Warning = fmt.Sprintf("the check for races needs more than %d GB of memory, and not all accesses were checked: sample program instances, or use smaller tensors", check.MaxShadow>>30)
	}
	return r, nil
}

func (p *Program) machine(f *ttir.Function, as compiled) (*machine, error) {
	p.mu.Lock()
	list := p.idle[as]
	if n := len(list); n > 0 {
		p.idle[as] = list[:n-1]
		p.mu.Unlock()
		return list[n-1], nil
	}
	p.mu.Unlock()
	return compile(p.module, f, as.with)
}

// maxIdle bounds how many machines of a kernel are kept: the co-operative order may need one for each instance.
const maxIdle = 64

func (p *Program) giveBack(as compiled, list []*machine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range list {
		m.launch = nil
		if len(p.idle[as]) < maxIdle {
			p.idle[as] = append(p.idle[as], m)
		}
	}
}

// launch is one call of a kernel.
type launch struct {
	grid   [3]int32
	o      Options
	all    int64
	memory *memory
	order  []int64 // of shuffled instances

	workers  int
	first    *machine
	stopped  chan bool  // in the co-operative order, by the machine that ran: whether it waits, or its instance has ended
	failed   flags.Bool // err is set: other instances end, which may wait for the one that failed
	findings check.List
	shadow   *check.Shadow // of the search for races

	mu   sync.Mutex
	next int64
	err  error
}

// maxShuffled bounds how many instances are shuffled; more are run in blocks of so many.
const maxShuffled = 1 << 22

func (l *launch) shuffle() {
	r := rand.New(rand.NewPCG(l.o.Seed, 1))
	l.order = make([]int64, min(l.all, maxShuffled))
	for i, k := range r.Perm(len(l.order)) {
		l.order[i] = int64(k)
	}
}

// take returns the next instance, and false if there is none.
func (l *launch) take() (at [3]int32, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next >= l.all || l.err != nil {
		return at, false
	}
	n := l.next
	l.next++
	if l.o.Begun != nil {
		l.o.Begun.Add(1)
	}
	switch l.o.Order {
	case Reverse:
		n = l.all - 1 - n
	case Shuffled:
		k := int64(len(l.order))
		if moved := n - n%k + l.order[n%k]; moved < l.all && n-n%k+k <= l.all {
			n = moved
		}
	}
	if l.o.Programs != nil {
		return l.o.Programs[n], true
	}
	return l.programOf(n), true
}

// programOf is the instance with a number.
func (l *launch) programOf(n int64) [3]int32 {
	x, y := int64(l.grid[0]), int64(l.grid[1])
	return [3]int32{int32(n % x), int32(n / x % y), int32(n / x / y)}
}

// numberOf is programOf the other way round.
func (l *launch) numberOf(at [3]int32) int64 {
	return (int64(at[2])*int64(l.grid[1])+int64(at[1]))*int64(l.grid[0]) + int64(at[0])
}

func (l *launch) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
	l.failed.Store(true)
}

func (l *launch) run(machines []*machine) error {
	var group sync.WaitGroup
	for _, m := range machines[1:] {
		group.Go(func() { m.work() })
	}
	machines[0].work()
	group.Wait()
	return l.err
}
