// Package ttir reads Triton's first representation of a kernel, of Triton 3.0 to 3.9: functions, their values by number, typed operations
// with regions and blocks, and the line of the source of each. Verify checks what is needed to execute a kernel, and Print writes a text
// that Triton reads.
//
// Parse never fails. An operation that is not known, or not understood, keeps its text, and Problems says why it is not understood: a
// text of a later Triton is executed up to the operation that is new.
package ttir

import "github.com/goproton/goproton/triton/mlir"

// Module is one text.
type Module struct {
	Functions  []*Function
	Attributes []NamedAttribute
	File       *mlir.File // for locations
	Problems   []Problem

	types map[string]*Type
	wrap  *mlir.Op // the module itself; nil if the text has functions only
	rest  []Op     // operations of the module that are not functions
}

// Problem is what is wrong with a line of the text.
type Problem struct {
	Line int32
	Text string
}

// Function is a kernel, or a function that one calls.
type Function struct {
	Name             string
	Public           bool
	Arguments        []Argument
	Results          []*Type
	ResultAttributes [][]NamedAttribute
	Attributes       []NamedAttribute
	Body             Region // without blocks, the function is declared only
	Values           []ValueInfo
	Location         mlir.LocationID
	Line             int32
	module           *Module
	visibility       string
}

// Value is the number of a value in its function. Values are numbered from 0 without gaps, whatever region they belong to.
type Value int32

// NoValue stands for an operand that is left out: the mask of a load that has an other has its place even if there is none.
const NoValue Value = -1

// ValueInfo is what is known of a value.
type ValueInfo struct {
	Name     string // without %; a result of several is x#1
	Type     *Type  // nil if the text does not say
	Location mlir.LocationID
	defined  bool
}

// Argument is an argument of a function, with what its caller promises: tt.divisibility and others.
type Argument struct {
	Value      Value
	Attributes []NamedAttribute
}

// Region is the blocks of an operation or a function; the first one is where it begins.
type Region struct {
	Blocks []Block
	head   string // of an operation that is not known: the text before the region's brace
}

// Block is a list of operations, of which the last one says what follows.
type Block struct {
	Label     string // bb1; "" for a first block that nothing branches to
	Arguments []Value
	Ops       []Op
}

// Op is an operation.
type Op struct {
	Name       string
	Operands   []Value // an optional one that is left out keeps its place, with NoValue
	Segments   []int32 // lengths of the lists of operands, of operations with several lists: see List
	Results    []Value
	Attributes []NamedAttribute
	Regions    []Region
	Successors []Successor
	Text       string // of an operation that is not known, or not understood: what follows its name
	Location   mlir.LocationID
	Line       int32
	opaque     bool
	generic    bool
	tail       string // of an operation that is not known: what follows its regions
}

// Successor is a block of the same region, by its index, and the values of its arguments.
type Successor struct {
	Block     int
	Arguments []Value
	label     string
}

// Known says whether an operation was taken apart. Others have their Text, and the operands and results that it names.
func (op *Op) Known() bool { return !op.opaque }

// Attribute returns an attribute by its name; nil if the operation does not have it.
func (op *Op) Attribute(name string) *Attribute { return find(op.Attributes, name) }

// Flag says whether an attribute is true.
func (op *Op) Flag(name string) bool {
	a := op.Attribute(name)
	return a != nil && (a.Kind == Unit || a.Int != 0)
}

// Keyword is the value of an enumerated attribute as Triton writes it, whether the text has the word or its number; otherwise that is
// used if the operation does not have the attribute.
func (op *Op) Keyword(name, otherwise string) string {
	switch a := op.Attribute(name); {
	case a == nil:
		return otherwise
	case a.Kind == Integer:
		return keywordOf(op.Name, name, a.Int)
	default:
		return a.String
	}
}

// List is a list of operands: shape is list 0 and strides are list 1 of tt.make_tensor_descriptor.
func (op *Op) List(n int) []Value {
	at := len(op.Operands)
	for _, s := range op.Segments {
		at -= int(s)
	}
	for i, s := range op.Segments {
		if i == n {
			return op.Operands[at : at+int(s)]
		}
		at += int(s)
	}
	return nil
}

// Operand is the operand at a place, and NoValue if it is left out.
func (op *Op) Operand(n int) Value {
	if n < len(op.Operands) {
		return op.Operands[n]
	}
	return NoValue
}

func find(list []NamedAttribute, name string) *Attribute {
	for i := range list {
		if list[i].Name == name {
			return &list[i].Attribute
		}
	}
	return nil
}

// Type is the type of a value; nil for NoValue and where the text does not say.
func (f *Function) Type(v Value) *Type {
	if v < 0 || int(v) >= len(f.Values) {
		return nil
	}
	return f.Values[v].Type
}

// Attribute of an argument by its name; nil if it does not have it.
func (a *Argument) Attribute(name string) *Attribute { return find(a.Attributes, name) }

// Function by its name; nil if there is none.
func (m *Module) Function(name string) *Function {
	for _, f := range m.Functions {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Kernel is the public function, and without one the first; nil if there is none.
func (m *Module) Kernel() *Function {
	for _, f := range m.Functions {
		if f.Public {
			return f
		}
	}
	if len(m.Functions) > 0 {
		return m.Functions[0]
	}
	return nil
}

// Frames are the places in the source that an operation came from, the innermost first.
func (m *Module) Frames(op *Op) []mlir.Frame { return m.File.Frames(op.Location) }

// Walk calls visit for all operations of a function, each before those in its regions.
func (f *Function) Walk(visit func(*Op)) { walk(&f.Body, visit) }

func walk(r *Region, visit func(*Op)) {
	for b := range r.Blocks {
		for i := range r.Blocks[b].Ops {
			op := &r.Blocks[b].Ops[i]
			visit(op)
			for n := range op.Regions {
				walk(&op.Regions[n], visit)
			}
		}
	}
}
