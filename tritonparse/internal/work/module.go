package work

import (
	"github.com/goproton/goproton/triton/ttir"
)

// Module is the functions of one text.
type Module struct {
	functions map[string]*function
	kernel    *function
	masked    bool // a load or store has a mask
	dot       Dot
}

// Parameter is a parameter of the compiled kernel: a constant argument has none, and a tensor descriptor several.
type Parameter struct {
	Name    string // in the text, without %
	Label   string // its name in the source; "" if the text does not say
	Integer bool
	value   ttir.Value
}

type function struct {
	*ttir.Function
	parameters []Parameter
	body       *block
}

// block is a region. Only operations that do work, or decide how often others run, are kept.
type block struct {
	arguments []ttir.Value
	ops       []*operation
	ends      []ttir.Value // the values that it yields
	jump      *ttir.Op     // to another block of the region; nil if it leaves the region
	parts     []*block     // of a region of several blocks, which has nothing else
}

// operation is an operation with what it costs.
type operation struct {
	*ttir.Op
	number   int64 // of a constant
	constant bool
	cost     Work   // of one execution
	times    int64  // how often its regions run in one execution; 0 is once
	unsized  string // the type of what is moved, if its size is not known
	regions  []*block
}

// carried are the operands that a loop passes to its first turn, and otherwise all.
func (op *operation) carried() []ttir.Value {
	if op.Name == "scf.for" && op.Known() {
		return op.Operands[3:]
	}
	return op.Operands
}

// Work is what is done: bytes of global memory, and operations on floating-point numbers.
type Work struct {
	Loaded, Stored int64
	Dots           int64 // by tt.dot: a multiplication and an addition are two
	Flops          int64 // by all else
	Guessed        bool  // a loop or branch depends on what is not known
}

// Parse reads a text of TTIR. It never fails: what it cannot read does no work.
func Parse(text string) *Module {
	tree := ttir.Parse(text)
	m := &Module{functions: map[string]*function{}}
	for _, f := range tree.Functions {
		to := &function{Function: f}
		for _, a := range f.Arguments {
			if a.Value == ttir.NoValue {
				continue
			}
			v := f.Values[a.Value]
			integer := v.Type != nil && v.Type.Kind == ttir.IntegerType && v.Type.Bits <= 64
			to.parameters = append(to.parameters, Parameter{v.Name, tree.File.Variable(v.Location), integer, a.Value})
		}
		to.body = m.region(f, &f.Body)
		m.functions[f.Name] = to
		if f == tree.Kernel() {
			m.kernel = to
		}
	}
	return m
}

func (m *Module) region(f *ttir.Function, r *ttir.Region) *block {
	if len(r.Blocks) == 1 {
		return m.block(f, &r.Blocks[0])
	}
	to := &block{}
	for i := range r.Blocks { // jumps of a text that has been read lead to one of them
		to.parts = append(to.parts, m.block(f, &r.Blocks[i]))
	}
	return to
}

func (m *Module) block(f *ttir.Function, b *ttir.Block) *block {
	to := &block{arguments: b.Arguments}
	for k := range b.Ops {
		op := &operation{Op: &b.Ops[k]}
		if len(op.Successors) > 0 {
			to.jump = op.Op
			continue
		}
		for n := range op.Regions {
			op.regions = append(op.regions, m.region(f, &op.Regions[n]))
		}
		op.measure(f)
		if m.dot == (Dot{}) {
			m.dot = op.dot(f)
		}
		m.masked = m.masked || op.Name == "tt.load" && op.Operand(1) != ttir.NoValue || op.Name == "tt.store" && op.Operand(2) != ttir.NoValue
		if isEnd(op.Name) {
			to.ends = op.Operands
		} else if op.uncounted(f) {
			continue
		}
		to.ops = append(to.ops, op)
	}
	return to
}

// isEnd says whether an operation ends a region with values.
func isEnd(name string) bool {
	return name == "scf.yield" || name == "tt.return" || name == "scf.condition"
}

// uncounted says whether an operation computes a tensor: that work is not counted, and no loop bound depends on it.
func (op *operation) uncounted(f *ttir.Function) bool {
	if op.cost != (Work{}) || op.unsized != "" || len(op.regions) > 0 || op.Name == "tt.call" {
		return false
	}
	values := op.Results
	if len(values) == 0 {
		values = op.Operands
	}
	if len(values) == 0 {
		return false
	}
	t := f.Type(values[len(values)-1])
	return t != nil && t.Kind == ttir.TensorType
}

func (m *Module) Parameters() []Parameter {
	if m.kernel == nil {
		return nil
	}
	return m.kernel.parameters
}
