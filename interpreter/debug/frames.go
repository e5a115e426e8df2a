package debug

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/triton/mlir"
	"github.com/goproton/goproton/triton/ttir"
)

// Frame is a function that has begun and not ended.
type Frame struct {
	Name      string
	File      string
	Line      int
	variables []*variable // in the order in which they were set
	marked    bool        // marks say what its variables are
	inlined   map[mlir.Frame]*Frame
}

type variable struct {
	name     string
	value    interpreter.Value
	constant string // of a constexpr
	argument bool
	copied   bool
	unsigned bool
}

func (f *Frame) variable(name string) *variable {
	for _, v := range f.variables {
		if v.name == name {
			return v
		}
	}
	return nil
}

// set gives a variable a value. Of what has no mark of its own, the value is not copied: only the operation that set it changes it.
func (f *Frame) set(name string, v interpreter.Value, copied bool) *variable {
	x := f.variable(name)
	if x == nil {
		x = &variable{name: name}
		f.variables = append(f.variables, x)
	}
	x.constant = ""
	if copied {
		earlier := interpreter.Value{}
		if x.copied {
			earlier = x.value
		}
		x.value, x.copied = v.Copy(earlier), true
	} else {
		x.value, x.copied = v, false
	}
	return x
}

// activation is a function of the text that runs, with the functions that were inlined into it.
type activation struct {
	root    *Frame
	stack   []*Frame // the root, and what is inlined at the operation, the outermost first
	regions map[*ttir.Op]*Frame
}

func (r *run) activate(f *ttir.Function) *activation {
	at, _ := r.program.FunctionFrame(f)
	root := &Frame{Name: r.d.Source.functionName(f, at), File: at.File, marked: r.marked[f.Name]}
	return &activation{root: root, stack: []*Frame{root}, regions: map[*ttir.Op]*Frame{}}
}

// locate finds the frames of an operation. Those of functions that were inlined at the same places are the same.
func (a *activation) locate(r *run, frames []mlir.Frame) {
	a.stack = append(a.stack[:0], a.root)
	f := a.root
	for i := len(frames) - 1; i > 0; i-- {
		next := f.inlined[frames[i]]
		if next == nil {
			name := r.d.Source.functionAt(frames[i-1].File, frames[i-1].Line)
			if name == "" {
				name = fmt.Sprintf("the function at line %d", frames[i-1].Line)
			}
			next = &Frame{Name: name, File: frames[i-1].File, marked: a.root.marked}
			if f.inlined == nil {
				f.inlined = map[mlir.Frame]*Frame{}
			}
			f.inlined[frames[i]] = next
		}
		a.stack = append(a.stack, next)
		f = next
	}
}

// stack is all frames, the outermost first, of which the innermost is one of the present activation.
func (r *run) stack(inner int) []*Frame {
	var list []*Frame
	for i, a := range r.activations {
		if i == len(r.activations)-1 {
			return append(list, a.stack[:inner+1]...)
		}
		list = append(list, a.stack...)
	}
	return list
}

func (r *run) current() *activation { return last(r.activations) }

func last[T any](list []T) T { return list[len(list)-1] }

// bind sets the arguments of a function, and the counter of a loop, when the first operation of their block is reached.
func (r *run) bind(p *interpreter.Point) {
	if len(p.Begins) == 0 {
		return
	}
	a := r.current()
	f := a.root
	if p.Within != nil && a.regions[p.Within] != nil {
		f = a.regions[p.Within]
	}
	for i, b := range p.Begins {
		isFunction := p.Within == nil
		if isFunction && f.variable(b.Name) != nil { // another block of the body
			continue
		}
		if !nameable(b.Name) || !isFunction && f.marked && (i > 0 || p.Within.Name != "scf.for") { // what a loop carries has marks
			continue
		}
		f.set(b.Name, b.Value, false).argument = isFunction
	}
}

// nameable says whether a name is one of the source: %0 and %arg5 are not.
func nameable(name string) bool {
	if name == "" || digit(name[0]) {
		return false
	}
	rest, ok := strings.CutPrefix(name, "arg")
	return !ok || rest == "" || strings.Trim(rest, "0123456789") != ""
}

// commit does what an operation has done to variables.
func (r *run) commit(p *interpreter.Point) {
	k, f := r.points[p], last(r.current().stack)
	switch {
	case k.variable != "" && len(p.Operands) == 1:
		f.set(k.variable, p.Operands[0], true).unsigned = unsigned(p.Op)
	case k.constant != "":
		name, text, _ := strings.Cut(k.constant, " ")
		f.set(name, interpreter.Value{}, false).constant = text
	case k.named != "" && !f.marked && len(p.Results) == 1:
		f.set(k.named, p.Results[0], false)
	}
}

// unsigned says whether a mark's operand is an integer without a sign, which its type in the text does not say.
func unsigned(op *ttir.Op) bool {
	a := op.Attribute("isSigned")
	return a != nil && len(a.Ints) == 1 && a.Ints[0] == 0
}

// fact is what is known of an operation before it runs.
type fact struct {
	isBreak            bool
	variable, constant string // of a mark
	named              string // the variable that Triton says its result belongs to
	silent             bool   // it is at no line that a user would stop at
}

func (r *run) fact(p *interpreter.Point) *fact {
	k := &fact{}
	if p.Op.Name == "tt.print" {
		text := p.Op.Keyword("prefix", "")
		k.isBreak = text == interpreter.MarkBreak
		if name, ok := strings.CutPrefix(text, interpreter.MarkVariable); ok {
			k.variable = name
		}
		if set, ok := strings.CutPrefix(text, interpreter.MarkConstant); ok {
			k.constant = set
		}
	} else if len(p.Op.Regions) == 0 || strings.HasPrefix(p.Op.Name, "tt.") {
		k.named = r.program.Variable(p.Op.Location)
	}
	at, known := r.program.FunctionFrame(p.Function)
	k.silent = len(p.Frames) == 0 || known && last(p.Frames).Line == at.Line && last(p.Frames).File == at.File && k.variable == "" && k.constant == ""
	k.silent = k.silent || r.hoisted[p.Op]
	if known && last(append([]mlir.Frame{{}}, p.Frames...)).Line == at.Line && len(p.Frames) == 1 {
		k.silent = true // the return of a function without a return, and marks of its arguments
	}
	return k
}

// add remembers the lines of an operation.
func (r *run) add(p *interpreter.Point) {
	k := r.fact(p)
	if k.variable != "" {
		r.marked[p.Function.Name] = true
	}
	for _, name := range []string{k.variable, k.named} {
		r.names[name] = true
	}
	if name, _, ok := strings.Cut(k.constant, " "); ok {
		r.names[name] = true
	}
	if k.isBreak {
		r.hasBreak = true
	}
	if k.silent {
		return
	}
	at, _ := r.program.FunctionFrame(p.Function)
	for i, f := range p.Frames {
		name := r.d.Source.functionName(p.Function, at)
		if i < len(p.Frames)-1 {
			name = r.d.Source.functionAt(f.File, f.Line)
		}
		r.code = append(r.code, codeLine{f.File, f.Line, name})
	}
}

// hoist finds the constants that Triton's passes moved to the beginning of a block, in front of operations of lines before theirs.
func (r *run) hoist(region *ttir.Region) {
	for b := range region.Blocks {
		ops := region.Blocks[b].Ops
		n := slices.IndexFunc(ops, func(op ttir.Op) bool { return op.Name != "arith.constant" })
		for i := range ops {
			if i < n && r.outermost(&ops[i]) > r.outermost(&ops[n]) {
				r.hoisted[&ops[i]] = true
			}
			for k := range ops[i].Regions {
				r.hoist(&ops[i].Regions[k])
			}
		}
	}
}

// outermost is the line of an operation in the function of the text.
func (r *run) outermost(op *ttir.Op) int {
	frames := r.program.Frames(op)
	if len(frames) == 0 {
		return 0
	}
	return last(frames).Line
}

// codeLine is a line that has operations.
type codeLine struct {
	file     string
	line     int
	function string
}
