package ttir

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goproton/goproton/triton/mlir"
)

// Parse reads a text.
func Parse(text string) *Module { return Read(mlir.Parse(text)) }

// Read is Parse of a text that has been read as MLIR.
func Read(file *mlir.File) *Module {
	m := &Module{File: file, types: map[string]*Type{}}
	for _, p := range file.Problems {
		m.problem(p.Line, "%s", p.Text)
	}
	for i := range file.Ops {
		if op := &file.Ops[i]; op.Name == "module" || op.Name == "builtin.module" { // a file may have several
			m.readModule(op)
		} else {
			m.outermost(op)
		}
	}
	return m
}

func (m *Module) problem(line int32, format string, args ...any) {
	m.Problems = append(m.Problems, Problem{line, fmt.Sprintf(format, args...)})
}

func (m *Module) readModule(op *mlir.Op) {
	if m.wrap == nil {
		m.wrap = op
	}
	r := &reader{Lexer: mlir.NewLexer(op.Head), m: m}
	for t := r.Peek(); t.Kind != mlir.TokenEnd && r.err == nil; t = r.Peek() {
		if t.Text == "{" {
			m.Attributes = append(m.Attributes, r.dictionary(0)...)
		} else {
			r.Next()
		}
	}
	if r.err != nil {
		m.problem(op.Line, "module: %v", r.err)
	}
	for _, region := range op.Regions {
		for _, block := range region.Blocks {
			for i := range block.Ops {
				m.outermost(&block.Ops[i])
			}
		}
	}
}

// outermost reads an operation of the module.
func (m *Module) outermost(op *mlir.Op) {
	if op.Name == "tt.func" {
		f := &Function{Line: op.Line, Location: op.Location, module: m}
		m.Functions = append(m.Functions, f)
		(&builder{m: m, f: f, scope: map[string]Value{}, ahead: map[string]Value{}}).function(op)
		return
	}
	m.rest = append(m.rest, Op{Name: op.Name, Text: op.Head, Line: op.Line, Location: op.Location, opaque: true})
	m.problem(op.Line, "%s is not a function", op.Name)
}

// builder reads one function.
type builder struct {
	m     *Module
	f     *Function
	scope map[string]Value
	log   []change         // of the scope, to be undone at the ends of regions
	ahead map[string]Value // values that are used and not defined yet
}

type change struct {
	name string
	old  Value // NoValue for none
}

func (b *builder) leave(mark int) {
	for i := len(b.log) - 1; i >= mark; i-- {
		if c := b.log[i]; c.old == NoValue {
			delete(b.scope, c.name)
		} else {
			b.scope[c.name] = c.old
		}
	}
	b.log = b.log[:mark]
}

// value returns the number of a value by its name, with %.
func (b *builder) value(name string) Value {
	name = name[1:]
	if v, ok := b.scope[name]; ok {
		return v
	}
	if first, ok := strings.CutSuffix(name, "#0"); ok {
		if v, ok := b.scope[first]; ok {
			return v
		}
	}
	if v, ok := b.ahead[name]; ok {
		return v
	}
	v := b.add(ValueInfo{Name: name})
	b.ahead[name] = v
	return v
}

func (b *builder) add(v ValueInfo) Value {
	b.f.Values = append(b.f.Values, v)
	return Value(len(b.f.Values) - 1)
}

// define makes a value with a name that has no %.
func (b *builder) define(name string, t *Type, at mlir.LocationID) Value {
	v, used := b.ahead[name]
	if used {
		delete(b.ahead, name)
	} else {
		v = b.add(ValueInfo{Name: name})
	}
	b.f.Values[v] = ValueInfo{name, t, at, true}
	old, shadowed := b.scope[name]
	if !shadowed {
		old = NoValue
	}
	b.log = append(b.log, change{name, old})
	b.scope[name] = v
	return v
}

// typed reads the type of an operand, and keeps it if it is not known. The text has it twice.
func (b *builder) typed(r *reader, v Value, t *Type) {
	if t == nil || v == NoValue {
		return
	}
	switch was := b.f.Values[v].Type; {
	case was == nil:
		b.f.Values[v].Type = t
	case was != t && r.err == nil:
		b.m.problem(b.f.Line, "%%%s has the type %s and is used as %s", b.f.Values[v].Name, was.Text, t.Text)
	}
}

func (b *builder) function(op *mlir.Op) {
	f := b.f
	r := &reader{Lexer: mlir.NewLexer(op.Head), m: b.m}
	if op.Generic {
		b.genericFunction(r, op)
	} else {
		b.signature(r)
	}
	if r.err != nil {
		b.m.problem(op.Line, "tt.func: %v", r.err)
	}
	if len(op.Regions) > 0 {
		f.Body = b.region(&op.Regions[0], nil)
	}
	if op.Generic && len(f.Body.Blocks) > 0 {
		first := &f.Body.Blocks[0]
		for i, v := range first.Arguments {
			if i < len(f.Arguments) {
				f.Arguments[i].Value = v
			}
		}
		first.Label, first.Arguments = "", nil
	}
	if len(f.Body.Blocks) > 0 && len(f.Body.Blocks[0].Arguments) == 0 {
		for _, a := range f.Arguments {
			f.Body.Blocks[0].Arguments = append(f.Body.Blocks[0].Arguments, a.Value)
		}
	}
	for _, v := range f.Values {
		if !v.defined {
			b.m.problem(f.Line, "%%%s is used and not defined in %s", v.Name, f.Name)
		}
	}
}

// signature reads public @f(%a: T {…} loc(…), …) -> (R) attributes {…}.
func (b *builder) signature(r *reader) {
	f := b.f
	if t := r.Peek(); t.Kind == mlir.TokenWord {
		r.Next()
		f.visibility, f.Public = t.Text, t.Text == "public"
	}
	t := r.Next()
	if t.Kind != mlir.TokenSymbol {
		r.fail("the name of the function is expected where %q stands", t.Text)
		return
	}
	f.Name = unquote(t.Text[1:])
	r.list("(", ")", func() {
		var a Argument
		if t := r.Peek(); t.Kind == mlir.TokenValue { // a declaration has types only
			r.Next()
			r.expect(":")
			a.Value = b.define(t.Text[1:], r.typ(), 0)
		} else {
			a.Value = b.add(ValueInfo{Type: r.typ(), defined: true})
		}
		if r.Peek().Text == "{" {
			a.Attributes = r.dictionary(0)
		}
		b.f.Values[a.Value].Location = r.location()
		f.Arguments = append(f.Arguments, a)
	})
	if r.Take("->") {
		result := func() {
			f.Results = append(f.Results, r.typ())
			var list []NamedAttribute
			if r.Peek().Text == "{" {
				list = r.dictionary(0)
			}
			f.ResultAttributes = append(f.ResultAttributes, list)
		}
		if r.Peek().Text == "(" {
			r.list("(", ")", result)
		} else {
			result()
		}
	}
	if r.Take("attributes") {
		f.Attributes = r.dictionary(0)
	}
}

// genericFunction reads () <{sym_name = "f", function_type = (T) -> R, …}>.
func (b *builder) genericFunction(r *reader, op *mlir.Op) {
	f := b.f
	r.Brackets()
	list := r.properties()
	if tail := (&reader{Lexer: mlir.NewLexer(op.Tail), m: b.m}); tail.Take(")") && tail.Peek().Text == "{" { // before Triton 3.1
		list = append(list, tail.dictionary(0)...)
	}
	for _, a := range list {
		switch a.Name {
		case "sym_name":
			f.Name = a.String
		case "sym_visibility":
			f.visibility, f.Public = a.String, a.String == "public"
		case "function_type":
			types := &reader{Lexer: mlir.NewLexer(a.Text), m: b.m}
			types.list("(", ")", func() { types.typ(); f.Arguments = append(f.Arguments, Argument{Value: NoValue}) })
			types.expect("->")
			f.Results = types.results()
		case "arg_attrs":
			for i, of := range a.List {
				if i < len(f.Arguments) {
					f.Arguments[i].Attributes = of.Names
				}
			}
		case "res_attrs":
		default:
			f.Attributes = append(f.Attributes, a)
		}
	}
	if f.visibility == "" {
		f.Public, f.visibility = true, "public" // MLIR does not write what is usual
	}
}

// location reads loc(…), if it comes next.
func (r *reader) location() mlir.LocationID {
	if t := r.Peek(); t.Text != "loc" {
		return 0
	}
	r.Next()
	return r.m.File.Location(r.Brackets())
}

// properties reads <{…}>, if they come next.
func (r *reader) properties() (list []NamedAttribute) {
	if r.Take("<") {
		list = r.dictionary(0)
		r.expect(">")
	}
	for i := range list {
		list[i].property = true
	}
	return list
}

// results reads R, (R, S) or ().
func (r *reader) results() (list []*Type) {
	if r.Peek().Text != "(" {
		return []*Type{r.typ()}
	}
	at := r.Offset()
	if text := r.Type(); strings.Contains(text, "->") { // a function's type
		return []*Type{r.m.Type(text)}
	}
	r.Seek(at)
	r.list("(", ")", func() { list = append(list, r.typ()) })
	return list
}

// region reads blocks. Arguments are those of the first block, where the operation has them.
func (b *builder) region(from *mlir.Region, arguments []Value) Region {
	mark := len(b.log)
	to := Region{Blocks: make([]Block, max(len(from.Blocks), 1))}
	to.Blocks[0].Arguments = arguments
	labels := map[string]int{}
	for i := range from.Blocks {
		if label := from.Blocks[i].Label; label != "" {
			labels[label] = i
		}
	}
	for i := range from.Blocks {
		block := &from.Blocks[i]
		out := &to.Blocks[i]
		if out.Label = strings.TrimPrefix(block.Label, "^"); i == 0 && block.Label != "" {
			out.Arguments = nil
		}
		b.blockArguments(block, out)
		if len(block.Ops) > 0 {
			out.Ops = make([]Op, len(block.Ops))
		}
		for k := range block.Ops {
			b.operation(&block.Ops[k], &out.Ops[k], labels)
		}
	}
	b.leave(mark)
	return to
}

func (b *builder) blockArguments(from *mlir.Block, to *Block) {
	if from.Arguments == "" {
		return
	}
	r := &reader{Lexer: mlir.NewLexer(from.Arguments), m: b.m}
	for r.Peek().Kind == mlir.TokenValue && r.err == nil {
		name := r.Next().Text[1:]
		r.expect(":")
		v := b.define(name, r.typ(), 0)
		b.f.Values[v].Location = r.location()
		to.Arguments = append(to.Arguments, v)
		if !r.Take(",") {
			break
		}
	}
	if t := r.Peek(); r.err != nil || t.Kind != mlir.TokenEnd && t.Text != ")" {
		b.m.problem(from.Line, "the arguments of %s are not understood", from.Label)
	}
}

// operation reads one operation into its place.
func (b *builder) operation(from *mlir.Op, op *Op, labels map[string]int) {
	op.Name, op.Line, op.Location = from.Name, from.Line, from.Location
	r := &reader{Lexer: mlir.NewLexer(from.Head), m: b.m}
	var types []*Type
	f := formats[op.Name]
	values := len(b.f.Values)
	switch special := customs[op.Name]; {
	case from.Generic:
		types = b.generic(r, from, op, labels)
	case special != nil:
		types = special(b, r, from, op, labels)
	case f != nil && len(from.Regions) == 0:
		types = b.formatted(r, f, op)
	default:
		r.fail("the operation is not known")
	}
	if t := r.Peek(); r.err == nil && t.Kind != mlir.TokenEnd {
		r.fail("%q is not expected", t.Text)
	}
	names := resultNames(from.Results)
	if r.err == nil && types != nil && len(types) != len(names) {
		if len(types) == 1 && len(names) > 1 && !from.Generic {
			for len(types) < len(names) {
				types = append(types, types[0])
			}
		} else if len(names) > 0 {
			r.fail("it has %d results, and types of %d", len(names), len(types))
		}
	}
	if r.err != nil {
		if f != nil || customs[op.Name] != nil {
			b.m.problem(op.Line, "%s: %v", op.Name, r.err)
		}
		types = b.opaque(from, op, values)
	}
	for i, name := range names {
		var t *Type
		if i < len(types) {
			t = types[i]
		}
		op.Results = append(op.Results, b.define(name, t, op.Location))
	}
}

// resultNames reads %a, %b:2.
func resultNames(text string) (names []string) {
	for text != "" {
		var one string
		one, text, _ = strings.Cut(text, ",")
		one = strings.TrimSpace(one)
		if len(one) < 2 || one[0] != '%' {
			continue
		}
		name, count, several := strings.Cut(one[1:], ":")
		n, err := strconv.Atoi(count)
		if !several || err != nil || n < 0 || n > 1<<12 {
			names = append(names, name)
			continue
		}
		for i := range n {
			names = append(names, name+"#"+strconv.Itoa(i))
		}
	}
	return names
}

// opaque keeps the text of an operation, and reads what MLIR's forms have in common: operands, regions, and types at the end.
func (b *builder) opaque(from *mlir.Op, op *Op, values int) []*Type {
	read := op.Regions // what is not understood stands behind them: they are not read twice
	*op = Op{Name: from.Name, Line: from.Line, Location: from.Location, Text: from.Head, Regions: read, tail: from.Tail, opaque: true, generic: from.Generic}
	l := mlir.NewLexer(from.Head)
	for t := l.Next(); t.Kind != mlir.TokenEnd; t = l.Next() {
		if t.Kind == mlir.TokenValue && len(t.Text) > 1 {
			if v := b.value(t.Text); len(from.Regions) == 0 || int(v) < values {
				op.Operands = append(op.Operands, v)
			}
		}
	}
	for i := range read {
		read[i].head = from.Regions[i].Head
	}
	for i := len(read); i < len(from.Regions); i++ {
		mark, head := len(b.log), from.Regions[i].Head
		if at := strings.Index(head, "(%"); at >= 0 { // partition0(%a: i32 loc(…)) num_warps(4)
			b.blockArguments(&mlir.Block{Label: head[:at], Line: from.Line, Arguments: mlir.NewLexer(head[at:]).Brackets()[1:]}, &Block{})
		}
		region := b.region(&from.Regions[i], nil)
		region.head = head
		b.leave(mark)
		op.Regions = append(op.Regions, region)
	}
	text := from.Head
	if len(from.Regions) > 0 {
		text = from.Tail
	}
	at := strings.LastIndex(text, ": ")
	if arrow := strings.LastIndex(text, "-> "); arrow >= 0 {
		at = arrow + 1
	}
	if at < 0 {
		return nil
	}
	r := &reader{Lexer: mlir.NewLexer(text[at+2:]), m: b.m}
	var types []*Type
	if r.Peek().Text == "(" {
		types = r.results()
	} else {
		for r.err == nil {
			if types = append(types, r.typ()); !r.Take(",") {
				break
			}
		}
	}
	if r.err != nil || len(types) != len(resultNames(from.Results)) {
		return nil
	}
	return types
}
