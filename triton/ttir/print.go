package ttir

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/triton/mlir"
)

// Print returns the text of a module as MLIR writes it, with the names of values that the module was read with. With locations, the aliases
// that the file has are written, too. Text of operations that are not known is written as it was read.
func (m *Module) Print(locations bool) string {
	p := &printer{m: m, locations: locations}
	p.aliases(func(line int32) bool { return m.wrap == nil || line < m.wrap.Line })
	depth := 0
	if m.wrap != nil {
		p.word("module")
		if len(m.Attributes) > 0 {
			p.word("attributes")
			p.dictionary(m.Attributes)
		}
		p.word("{")
		p.line()
		depth = 1
	}
	for i := range m.rest {
		p.op(nil, &m.rest[i], depth)
	}
	for _, f := range m.Functions {
		p.function(f, depth)
	}
	if m.wrap != nil {
		p.word("}")
		p.location(m.wrap.Location)
		p.line()
	}
	p.aliases(func(line int32) bool { return m.wrap != nil && line >= m.wrap.Line })
	return p.b.String()
}

// printer writes words with the spaces that MLIR has between them.
type printer struct {
	m         *Module
	b         strings.Builder
	locations bool
	last      byte // of the line; 0 at its beginning
}

func (p *printer) raw(s string) {
	if s != "" {
		p.b.WriteString(s)
		p.last = s[len(s)-1]
	}
}

// word writes a word or a mark.
func (p *printer) word(s string) {
	if s == "" {
		return
	}
	if p.last != 0 && p.last != ' ' && p.last != '(' && p.last != '[' && s != "," && s != ")" && s != "]" {
		p.b.WriteByte(' ')
	}
	p.raw(s)
}

// list writes n elements with commas between them.
func (p *printer) list(n int, element func(i int)) {
	for i := range n {
		if i > 0 {
			p.raw(",")
		}
		element(i)
	}
}

func (p *printer) line() {
	p.b.WriteByte('\n')
	p.last = 0
}

func (p *printer) indent(depth int) {
	for range depth {
		p.b.WriteString("  ")
	}
	p.last = 0
}

func (p *printer) aliases(here func(line int32) bool) {
	for i := range p.m.File.Aliases {
		a := &p.m.File.Aliases[i]
		if !here(a.Line) || a.Location() != 0 && !p.locations {
			continue
		}
		p.raw(a.Name + " = " + a.Text)
		p.line()
	}
}

func (p *printer) location(id mlir.LocationID) {
	if p.locations && id != 0 {
		p.word("loc(")
		p.raw(p.m.File.LocationText(id))
		p.raw(")")
	}
}

// dictionary writes {a = 1, b}.
func (p *printer) dictionary(list []NamedAttribute) {
	p.word("{")
	for i := range list {
		if i > 0 {
			p.raw(", ")
		}
		a := &list[i]
		if strings.ContainsFunc(a.Name, func(r rune) bool { return r == '-' || r == ' ' }) {
			p.raw(strconv.Quote(a.Name))
		} else {
			p.raw(a.Name)
		}
		if a.Kind != Unit {
			p.raw(" = " + a.Text)
		}
	}
	p.raw("}")
}

func (p *printer) function(f *Function, depth int) {
	p.indent(depth)
	p.word("tt.func")
	p.word(f.visibility)
	p.word(symbol(f.Name))
	p.raw("(")
	p.list(len(f.Arguments), func(i int) {
		p.argument(f, f.Arguments[i].Value, f.Arguments[i].Attributes, len(f.Body.Blocks) > 0)
	})
	p.raw(")")
	if len(f.Results) > 0 {
		p.word("->")
		many := len(f.Results) > 1 || len(f.ResultAttributes) > 0 && len(f.ResultAttributes[0]) > 0
		if many {
			p.word("(")
		}
		p.list(len(f.Results), func(i int) {
			p.word(f.Results[i].Text)
			if i < len(f.ResultAttributes) && len(f.ResultAttributes[i]) > 0 {
				p.dictionary(f.ResultAttributes[i])
			}
		})
		if many {
			p.raw(")")
		}
	}
	if len(f.Attributes) > 0 {
		p.word("attributes")
		p.dictionary(f.Attributes)
	}
	if len(f.Body.Blocks) > 0 {
		p.region(f, &f.Body, depth)
	}
	p.location(f.Location)
	p.line()
}

func symbol(name string) string {
	plain := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.' && r != '$'
	}) && (name[0] < '0' || name[0] > '9')
	if plain {
		return "@" + name
	}
	return "@" + mlir.Quote(name)
}

func (p *printer) argument(f *Function, v Value, list []NamedAttribute, named bool) {
	t := f.Type(v)
	switch {
	case named && t != nil:
		p.word(p.name(f, v) + ":")
		p.word(t.Text)
	case t != nil:
		p.word(t.Text)
	}
	if len(list) > 0 {
		p.dictionary(list)
	}
	if v != NoValue {
		p.location(f.Values[v].Location)
	}
}

func (p *printer) name(f *Function, v Value) string {
	if v < 0 || int(v) >= len(f.Values) {
		return "%?"
	}
	return "%" + f.Values[v].Name
}

func (p *printer) region(f *Function, r *Region, depth int) {
	p.word("{")
	p.line()
	for i := range r.Blocks {
		b := &r.Blocks[i]
		if b.Label != "" {
			p.indent(depth)
			p.raw("^" + b.Label)
			if len(b.Arguments) > 0 {
				p.raw("(")
				p.list(len(b.Arguments), func(k int) { p.argument(f, b.Arguments[k], nil, true) })
				p.raw(")")
			}
			p.raw(":")
			p.line()
		}
		for k := range b.Ops {
			p.op(f, &b.Ops[k], depth+1)
		}
	}
	p.indent(depth)
	p.raw("}")
}

// results writes %a, %b:2 =.
func (p *printer) results(f *Function, op *Op) {
	for i := 0; i < len(op.Results); {
		if i > 0 {
			p.raw(",")
		}
		name := p.name(f, op.Results[i])
		base, _, several := strings.Cut(name, "#")
		n := 1
		for several && i+n < len(op.Results) && p.name(f, op.Results[i+n]) == base+"#"+strconv.Itoa(n) {
			n++
		}
		if i += n; several {
			base += ":" + strconv.Itoa(n)
		}
		p.word(base)
	}
	if len(op.Results) > 0 {
		p.word("=")
	}
}

func (p *printer) op(f *Function, op *Op, depth int) {
	p.indent(depth)
	p.results(f, op)
	switch print := customPrints[op.Name]; {
	case op.opaque:
		p.opaque(f, op, depth)
	case op.generic:
		p.generic(f, op, depth)
	case print != nil:
		p.word(op.Name)
		print(p, f, op, depth)
	default:
		p.word(op.Name)
		p.formatted(f, formats[op.Name], op)
	}
	p.location(op.Location)
	p.line()
}

// opaque writes the text of an operation that is not known, and its regions.
func (p *printer) opaque(f *Function, op *Op, depth int) {
	name := op.Name
	if op.generic {
		name = strconv.Quote(name)
	}
	if p.word(name); strings.HasPrefix(op.Text, "(") || strings.HasPrefix(op.Text, "<") {
		p.raw(op.Text)
	} else {
		p.word(op.Text)
	}
	for i := range op.Regions {
		head := op.Regions[i].head
		if strings.HasPrefix(head, "partition") { // of ttg.warp_specialize: on a line of its own
			p.line()
			p.indent(depth)
		}
		p.word(head)
		p.region(f, &op.Regions[i], depth)
	}
	if strings.HasPrefix(op.tail, ")") {
		p.raw(op.tail)
	} else {
		p.word(op.tail)
	}
}

func (p *printer) operands(f *Function, list []Value) {
	p.list(len(list), func(i int) { p.word(p.name(f, list[i])) })
}

func (p *printer) types(f *Function, list []Value) {
	p.list(len(list), func(i int) {
		if t := f.Type(list[i]); t != nil {
			p.word(t.Text)
		} else {
			p.word("none")
		}
	})
}

// given are the operands that are not left out.
func given(list []Value) []Value {
	return slices.DeleteFunc(slices.Clone(list), func(v Value) bool { return v == NoValue })
}

// functional writes (T, U) -> R.
func (p *printer) functional(f *Function, operands, results []Value) {
	p.word("(")
	p.types(f, given(operands))
	p.raw(")")
	p.word("->")
	if len(results) == 1 {
		p.types(f, results)
		return
	}
	p.word("(")
	p.types(f, results)
	p.raw(")")
}

// of returns the operands of a name in the operation's format.
func (f *format) of(op *Op, name string) []Value {
	at := f.place(name)
	if !f.lists[at] {
		if v := op.Operand(at); v != NoValue {
			return []Value{v}
		}
		return nil
	}
	if len(f.names) == 1 {
		return op.Operands
	}
	n := 0
	for i := range at {
		n += figures.OneIf[int](f.lists[i])
	}
	return op.List(n)
}

func (p *printer) formatted(f *Function, form *format, op *Op) {
	var done []string // attributes that the format has
	for i := range form.parts {
		switch part := &form.parts[i]; part.kind {
		case keywordPart:
			if a := op.Attribute(part.name); a != nil && a.Kind == Keyword {
				done = append(done, part.name)
			}
		case stringPart, symbolPart, unitPart:
			done = append(done, part.name)
		case flagsPart:
			done = append(done, "overflow", "fastmath")
		}
	}
	for i := range form.parts {
		p.part(f, form, &form.parts[i], op, done)
	}
}

func (p *printer) part(f *Function, form *format, part *part, op *Op, done []string) {
	begin := func() {
		if part.comma {
			p.raw(",")
		}
		p.word(part.word)
	}
	switch part.kind {
	case markPart:
		switch part.word {
		case "(", "[":
			p.raw(part.word)
		default:
			p.word(part.word)
		}
	case operandPart:
		if list := form.of(op, part.name); len(list) > 0 {
			if begin(); part.word == "descPtr" {
				p.word("=")
			}
			p.operands(f, list)
		}
	case listPart:
		p.operands(f, form.of(op, part.name))
	case bracketPart:
		if p.last == ',' {
			p.word("[")
		} else {
			p.raw("[")
		}
		p.operands(f, form.of(op, part.name))
		p.raw("]")
	case typedPart:
		if list := form.of(op, part.name); len(list) > 0 {
			begin()
			p.operands(f, list)
			p.word(":")
			p.types(f, list)
		}
	case keywordPart, stringPart, symbolPart:
		if a := op.Attribute(part.name); a != nil && (part.kind != keywordPart || a.Kind == Keyword) && (!part.optional || a.String != usual[part.name]) {
			if begin(); part.word != "" {
				p.word("=")
			}
			p.word(a.Text)
		}
	case unitPart:
		if op.Attribute(part.name) != nil {
			p.word(part.name)
		}
	case flagsPart:
		for _, name := range []string{"overflow", "fastmath"} {
			if a := op.Attribute(name); a != nil {
				p.word(a.Text)
			}
		}
	case attributesPart:
		p.otherAttributes(op, done...)
	case typePart, shortPart:
		p.typePart(f, form, part, op)
	case functionPart:
		p.functional(f, op.Operands, op.Results)
	}
}

// otherAttributes writes the attributes that have no names of their own in the form.
func (p *printer) otherAttributes(op *Op, done ...string) {
	others := slices.DeleteFunc(slices.Clone(op.Attributes), func(a NamedAttribute) bool { return slices.Contains(done, a.Name) })
	if len(others) > 0 {
		p.dictionary(others)
	}
}

func (p *printer) typePart(f *Function, form *format, part *part, op *Op) {
	list := op.Results
	if part.name != "" {
		if list = form.of(op, part.name); len(list) > 0 && part.comma {
			p.raw(",")
		}
		list = list[:min(len(list), 1)]
	} else if same := op.Name == "arith.mulsi_extended" || op.Name == "arith.mului_extended"; same || op.Name == "tt.split" {
		list = list[:min(len(list), 1)] // both results have it
	}
	if part.kind == typePart {
		p.types(f, list)
		return
	}
	for _, v := range list {
		if t := f.Type(v); t != nil {
			p.word(strings.TrimPrefix(strings.TrimPrefix(t.Text, "!tt.ptr"), "!tt.tensordesc"))
		}
	}
}

// generic writes "tt.reduce"(%a) <{axis = 0 : i32}> ({…}) : (T) -> R.
func (p *printer) generic(f *Function, op *Op, depth int) {
	p.word(strconv.Quote(op.Name))
	p.raw("(")
	p.operands(f, given(op.Operands))
	p.raw(")")
	if len(op.Successors) > 0 {
		p.raw("[")
		p.successors(f, op)
		p.raw("]")
	}
	var properties, others []NamedAttribute
	for _, a := range op.Attributes {
		if a.property {
			properties = append(properties, a)
		} else {
			others = append(others, a)
		}
	}
	if len(properties) > 0 {
		p.word("<")
		p.last = 0
		p.dictionary(properties)
		p.raw(">")
	}
	for i := range op.Regions {
		if i == 0 {
			p.word("(")
		} else {
			p.raw(",")
		}
		p.region(f, &op.Regions[i], depth)
	}
	if len(op.Regions) > 0 {
		p.raw(")")
	}
	if len(others) > 0 {
		p.dictionary(others)
	}
	p.word(":")
	p.functional(f, op.Operands, op.Results)
}

func (p *printer) successors(f *Function, op *Op) {
	p.list(len(op.Successors), func(i int) {
		s := &op.Successors[i]
		p.word("^" + s.label)
		if len(s.Arguments) > 0 {
			p.raw("(")
			p.operands(f, s.Arguments)
			p.word(":")
			p.types(f, s.Arguments)
			p.raw(")")
		}
	})
}
