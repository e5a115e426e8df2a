package ttir

import "github.com/goproton/goproton/triton/mlir"

// custom reads an operation that no format describes, and returns the types of its results.
type custom func(b *builder, r *reader, from *mlir.Op, op *Op, labels map[string]int) []*Type

// customs are set when the program starts: they read regions, whose operations may be any of them.
var customs map[string]custom

func init() {
	customs = map[string]custom{
		"arith.constant": constant, "arith.select": selection, "scf.for": loop, "scf.if": branch, "scf.while": while, "scf.execute_region": execute,
		"cf.br": jump, "cf.cond_br": jump,
	}
}

// constant reads arith.constant {…} 1 : i32.
func constant(b *builder, r *reader, _ *mlir.Op, op *Op, _ map[string]int) []*Type {
	if r.Peek().Text == "{" {
		op.Attributes = r.dictionary(0)
	}
	a := r.attribute(0)
	op.set("value", a)
	switch {
	case r.err != nil:
		return nil
	case a.Kind == Bool:
		return []*Type{b.m.Type("i1")}
	case a.Type == nil:
		r.fail("the constant %.40s has no type", a.Text)
		return nil
	}
	return []*Type{a.Type}
}

// selection reads arith.select %c, %a, %b : T, or : C, T for a condition of many.
func selection(b *builder, r *reader, _ *mlir.Op, op *Op, _ map[string]int) []*Type {
	op.Operands = b.operands(r)
	if r.Peek().Text == "{" {
		op.Attributes = r.dictionary(0)
	}
	r.expect(":")
	if r.err != nil {
		return nil
	}
	if len(op.Operands) != 3 {
		r.fail("it has %d operands and not 3", len(op.Operands))
		return nil
	}
	t := r.typ()
	if r.Take(",") {
		b.typed(r, op.Operands[0], t)
		t = r.typ()
	}
	return []*Type{t}
}

// assigned reads (%a = %x, %b = %y): names of arguments, and values.
func (b *builder) assigned(r *reader) (names []string, values []Value) {
	r.list("(", ")", func() {
		t := r.Next()
		if t.Kind != mlir.TokenValue || len(t.Text) < 2 {
			r.fail("an argument is expected where %q stands", t.Text)
			return
		}
		names = append(names, t.Text[1:])
		r.expect("=")
		values = append(values, b.operand(r))
	})
	return names, values
}

// tail reads the attributes behind the regions.
func (b *builder) tail(r *reader, from *mlir.Op, op *Op) {
	t := &reader{Lexer: mlir.NewLexer(from.Tail), m: b.m}
	t.Take("attributes")
	if t.Peek().Text == "{" {
		op.Attributes = append(op.Attributes, t.dictionary(0)...)
	}
	if r.err == nil {
		r.err = t.err
	}
	if r.err == nil && t.Peek().Kind != mlir.TokenEnd {
		r.fail("%q is not expected", t.Peek().Text)
	}
}

// loop reads scf.for unsigned %i = %a to %b step %c iter_args(%x = %y) -> (T) : i32. Operands are the bounds, the step and the first values
// of what goes from turn to turn; the body's arguments are the counter and these.
func loop(b *builder, r *reader, from *mlir.Op, op *Op, _ map[string]int) []*Type {
	if r.Take("unsigned") {
		op.set("unsignedCmp", Attribute{Kind: Unit})
	}
	counter := r.Next().Text
	for _, word := range []string{"=", "to", "step"} {
		if r.expect(word); r.err == nil {
			op.Operands = append(op.Operands, b.operand(r))
		}
	}
	var names []string
	types := []*Type{}
	if r.err == nil && r.Take("iter_args") {
		var first []Value
		names, first = b.assigned(r)
		op.Operands = append(op.Operands, first...)
		if r.expect("->"); r.err == nil {
			types = r.results()
		}
	}
	t := b.m.Type("index")
	if r.err == nil && r.Take(":") {
		t = r.typ()
	}
	switch {
	case r.err != nil:
	case len(names) != len(types):
		r.fail("it has %d values and types of %d", len(names), len(types))
	case len(from.Regions) != 1 || len(counter) < 2 || counter[0] != '%':
		r.fail("it has no body")
	default:
		mark := len(b.log)
		for _, v := range op.Operands[:3] {
			b.typed(r, v, t)
		}
		arguments := []Value{b.define(counter[1:], t, op.Location)}
		for i, n := range names {
			b.typed(r, op.Operands[3+i], types[i])
			arguments = append(arguments, b.define(n, types[i], op.Location))
		}
		op.Regions = []Region{b.region(&from.Regions[0], arguments)}
		b.leave(mark)
		b.tail(r, from, op)
	}
	return types
}

// branch reads scf.if %c -> (T).
func branch(b *builder, r *reader, from *mlir.Op, op *Op, _ map[string]int) []*Type {
	op.Operands = []Value{b.operand(r)}
	types := []*Type{}
	if r.Take("->") {
		types = r.results()
	}
	if r.err == nil && (len(from.Regions) == 0 || len(from.Regions) > 2) {
		r.fail("it has %d regions", len(from.Regions))
	}
	if r.err == nil {
		for i := range from.Regions {
			op.Regions = append(op.Regions, b.region(&from.Regions[i], nil))
		}
		b.tail(r, from, op)
	}
	return types
}

// while reads scf.while (%a = %x) : (T) -> R. Its regions are what decides, which has the arguments, and the body.
func while(b *builder, r *reader, from *mlir.Op, op *Op, _ map[string]int) []*Type {
	var names []string
	if r.Peek().Text == "(" {
		names, op.Operands = b.assigned(r)
	}
	r.expect(":")
	if r.err != nil {
		return nil
	}
	types := b.functional(r, [][]Value{op.Operands})
	if r.err == nil && len(from.Regions) != 2 {
		r.fail("it has %d regions and not 2", len(from.Regions))
	}
	if r.err != nil {
		return nil
	}
	mark := len(b.log)
	var arguments []Value
	for i, n := range names {
		arguments = append(arguments, b.define(n, b.f.Values[op.Operands[i]].Type, op.Location))
	}
	op.Regions = []Region{b.region(&from.Regions[0], arguments)}
	b.leave(mark)
	op.Regions = append(op.Regions, b.region(&from.Regions[1], nil))
	b.tail(r, from, op)
	return types
}

// execute reads scf.execute_region -> T no_inline.
func execute(b *builder, r *reader, from *mlir.Op, op *Op, _ map[string]int) []*Type {
	types := []*Type{}
	if r.Take("->") {
		types = r.results()
	}
	if r.Take("no_inline") {
		op.set("no_inline", Attribute{Kind: Unit})
	}
	if len(from.Regions) != 1 {
		r.fail("it has no body")
	}
	if r.err == nil {
		op.Regions = []Region{b.region(&from.Regions[0], nil)}
		b.tail(r, from, op)
	}
	return types
}

// jump reads cf.br ^bb1(%a : T), and cf.cond_br %c weights([1, 2]), ^bb1, ^bb2.
func jump(b *builder, r *reader, _ *mlir.Op, op *Op, labels map[string]int) []*Type {
	if op.Name == "cf.cond_br" {
		op.Operands = []Value{b.operand(r)}
		if r.Take("weights") {
			r.expect("(")
			op.set("branch_weights", r.attribute(0))
			r.expect(")")
		}
		if r.expect(","); r.err == nil {
			b.successor(r, op, labels)
		}
		r.expect(",")
	}
	if r.err == nil {
		b.successor(r, op, labels)
	}
	if r.Peek().Text == "{" {
		op.Attributes = append(op.Attributes, r.dictionary(0)...)
	}
	return []*Type{}
}

// customPrints write the operations that customs read, behind their names.
var customPrints map[string]func(p *printer, f *Function, op *Op, depth int)

func init() {
	customPrints = map[string]func(p *printer, f *Function, op *Op, depth int){
		"arith.constant": func(p *printer, _ *Function, op *Op, _ int) {
			p.otherAttributes(op, "value")
			if a := op.Attribute("value"); a != nil {
				p.word(a.Text)
			}
		},
		"arith.select": func(p *printer, f *Function, op *Op, _ int) {
			p.operands(f, op.Operands)
			p.otherAttributes(op)
			p.word(":")
			if t := f.Type(op.Operand(0)); t != nil && t.Kind == TensorType {
				p.types(f, op.Operands[:1])
				p.raw(",")
			}
			p.types(f, op.Results)
		},
		"scf.for": printLoop, "scf.if": printBranch, "scf.while": printWhile,
		"scf.execute_region": func(p *printer, f *Function, op *Op, depth int) {
			p.arrow(f, op)
			if op.Attribute("no_inline") != nil {
				p.word("no_inline")
			}
			p.region(f, &op.Regions[0], depth)
			p.otherAttributes(op, "no_inline")
		},
		"cf.br": printJump, "cf.cond_br": printJump,
	}
}

// arrow writes -> (T, U), if there are results.
func (p *printer) arrow(f *Function, op *Op) {
	if len(op.Results) > 0 {
		p.word("->")
		p.word("(")
		p.types(f, op.Results)
		p.raw(")")
	}
}

// assigned writes (%a = %x, %b = %y).
func (p *printer) assigned(f *Function, names, values []Value) {
	p.raw("(")
	p.list(len(values), func(i int) { p.word(p.name(f, names[i]) + " = " + p.name(f, values[i])) })
	p.raw(")")
}

func printLoop(p *printer, f *Function, op *Op, depth int) {
	if op.Attribute("unsignedCmp") != nil {
		p.word("unsigned")
	}
	body := &op.Regions[0]
	arguments := body.Blocks[0].Arguments
	p.word(p.name(f, arguments[0]))
	for i, word := range []string{"=", "to", "step"} {
		p.word(word)
		p.word(p.name(f, op.Operands[i]))
	}
	if len(arguments) > 1 {
		p.word("iter_args")
		p.assigned(f, arguments[1:], op.Operands[3:])
		p.arrow(f, op)
		p.raw(" ")
	}
	if t := f.Type(arguments[0]); t != nil && t.Kind != IndexType {
		if len(arguments) == 1 {
			p.raw(" ")
		}
		p.b.WriteByte(' ')
		p.word(":")
		p.word(t.Text)
	}
	p.region(f, body, depth)
	p.otherAttributes(op, "unsignedCmp")
}

func printBranch(p *printer, f *Function, op *Op, depth int) {
	p.operands(f, op.Operands)
	p.arrow(f, op)
	for i := range op.Regions {
		if i > 0 {
			p.word("else")
		}
		p.region(f, &op.Regions[i], depth)
	}
	p.otherAttributes(op)
}

func printWhile(p *printer, f *Function, op *Op, depth int) {
	if len(op.Operands) > 0 {
		p.raw(" ")
		p.assigned(f, op.Regions[0].Blocks[0].Arguments, op.Operands)
	}
	p.word(":")
	p.functional(f, op.Operands, op.Results)
	p.region(f, &op.Regions[0], depth)
	p.word("do")
	p.region(f, &op.Regions[1], depth)
	if len(op.Attributes) > 0 {
		p.word("attributes")
		p.dictionary(op.Attributes)
	}
}

func printJump(p *printer, f *Function, op *Op, _ int) {
	p.operands(f, op.Operands)
	if a := op.Attribute("branch_weights"); a != nil {
		p.word("weights(" + a.Text + ")")
	}
	if len(op.Operands) > 0 {
		p.raw(",")
	}
	p.successors(f, op)
	p.otherAttributes(op, "branch_weights")
}
