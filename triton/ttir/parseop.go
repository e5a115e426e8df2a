package ttir

import (
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/triton/mlir"
)

// formatted reads an operation by its format, and returns the types of its results.
func (b *builder) formatted(r *reader, f *format, op *Op) (types []*Type) {
	var room [8][]Value
	operands := room[:len(f.names)]
	for i := range f.parts {
		if p := &f.parts[i]; r.err == nil {
			types = b.part(r, f, p, op, operands, types)
		}
	}
	op.place(f, operands)
	if types != nil || len(op.Operands) == 0 || op.Operands[0] == NoValue {
		return types
	}
	switch t := b.f.Values[op.Operands[0]].Type; {
	case t == nil:
	case f.results == asFirst:
		return []*Type{t}
	case f.results == compared:
		return []*Type{b.m.tensorOf(t, b.m.Type("i1"))}
	case f.results == pointed && t.Kind == PointerType:
		return []*Type{t.Element}
	case f.results == pointed:
		return []*Type{b.m.tensorOf(t, t.Pointee())}
	}
	return nil
}

// place puts operands into their order.
func (op *Op) place(f *format, operands [][]Value) {
	n := 0
	for _, list := range operands {
		n += max(len(list), 1)
	}
	op.Operands = make([]Value, 0, n)
	for i, list := range operands {
		if f.lists[i] {
			op.Operands = append(op.Operands, list...)
			if len(f.names) > 1 {
				op.Segments = append(op.Segments, int32(len(list)))
			}
		} else if len(list) == 0 {
			op.Operands = append(op.Operands, NoValue)
		} else {
			op.Operands = append(op.Operands, list[0])
		}
	}
	for last := len(op.Operands) - 1; last >= 0 && op.Segments == nil && op.Operands[last] == NoValue; last-- {
		op.Operands = op.Operands[:last]
	}
}

// part reads one part of a format.
func (b *builder) part(r *reader, f *format, p *part, op *Op, operands [][]Value, types []*Type) []*Type {
	if p.optional || p.word != "" {
		at := r.Offset()
		if p.comma && !r.Take(",") || p.word != "" && !r.Take(p.word) || p.word != "" && p.kind != markPart && p.kind != operandPart && p.kind != typedPart && !r.Take("=") ||
			p.kind == keywordPart && p.word == "" && r.Peek().Kind != mlir.TokenWord {
			if !p.optional && p.kind != typedPart {
				r.fail("%q is expected where %s", p.word, r.here())
			}
			r.Seek(at)
			return types
		}
		if p.word == "descPtr" {
			r.expect("=")
		}
	}
	switch p.kind {
	case operandPart:
		if r.Peek().Kind == mlir.TokenValue || !p.optional {
			operands[f.place(p.name)] = []Value{b.operand(r)}
		} else {
			r.fail("a value is expected where %s", r.here())
		}
	case listPart:
		operands[f.place(p.name)] = b.operands(r)
	case bracketPart:
		list := &operands[f.place(p.name)]
		r.list("[", "]", func() { *list = append(*list, b.operand(r)) })
	case typedPart:
		list := b.operands(r)
		operands[f.place(p.name)] = list
		for i := range list {
			if r.expect([]string{":", ","}[min(i, 1)]); r.err == nil {
				b.typed(r, list[i], r.typ())
			}
		}
	case keywordPart:
		t := r.Next()
		op.set(p.name, Attribute{Kind: Keyword, Text: t.Text, String: unquote(t.Text)})
		if t.Kind != mlir.TokenWord && t.Kind != mlir.TokenString {
			r.fail("a word is expected where %q stands", t.Text)
		}
	case stringPart:
		if t := r.Next(); t.Kind == mlir.TokenString {
			op.set(p.name, Attribute{Kind: String, Text: t.Text, String: unquote(t.Text)})
		} else {
			r.fail("a string is expected where %q stands", t.Text)
		}
	case symbolPart:
		if a := r.attribute(0); a.Kind == Symbol {
			op.set(p.name, a)
		} else {
			r.fail("the name of a function is expected where %s stands", a.Text)
		}
	case unitPart:
		if r.Take(p.name) {
			op.set(p.name, Attribute{Kind: Unit})
		}
	case attributesPart:
		if r.Peek().Text == "{" {
			op.Attributes = append(op.Attributes, r.dictionary(0)...)
		}
	case flagsPart:
		if t := r.Peek(); t.Text == "overflow" || t.Text == "fastmath" {
			r.Next()
			text := r.Brackets()
			op.set(t.Text, Attribute{Kind: Keyword, Text: t.Text + text, String: strings.Trim(text, "<>")})
		}
	case typePart:
		return b.typePart(r, f, p, operands, types, "")
	case shortPart:
		prefix := "!tt.ptr"
		if p.name == "" && op.Name == "tt.make_tensor_descriptor" {
			prefix = "!tt.tensordesc"
		}
		return b.typePart(r, f, p, operands, types, prefix)
	case functionPart:
		return b.functional(r, operands)
	}
	return types
}

// typePart reads types of operands or results; a type without its dialect begins with <.
func (b *builder) typePart(r *reader, f *format, p *part, operands [][]Value, types []*Type, prefix string) []*Type {
	read := func() *Type {
		if prefix != "" && r.Peek().Text == "<" {
			return b.m.Type(prefix + r.Brackets())
		}
		return r.typ()
	}
	if p.name != "" {
		list := operands[f.place(p.name)]
		if len(list) == 0 {
			return types
		}
		if p.comma {
			r.expect(",")
		}
		b.typed(r, list[0], read())
		return types
	}
	types = append(types, read())
	last := p == &f.parts[len(f.parts)-1]
	for last && r.err == nil && r.Take(",") {
		types = append(types, read())
	}
	return types
}

// functional reads (T, U) -> R.
func (b *builder) functional(r *reader, operands [][]Value) []*Type {
	i := 0
	var all []Value
	for _, list := range operands {
		all = append(all, list...)
	}
	r.list("(", ")", func() {
		t := r.typ()
		if i < len(all) {
			b.typed(r, all[i], t)
		}
		i++
	})
	if r.err == nil && i != len(all) {
		r.fail("it has %d operands, and types of %d", len(all), i)
	}
	r.expect("->")
	if r.err != nil {
		return nil
	}
	if types := r.results(); len(types) > 0 {
		return types
	}
	return []*Type{}
}

func (b *builder) operand(r *reader) Value {
	t := r.Next()
	if t.Kind != mlir.TokenValue || len(t.Text) < 2 {
		r.fail("a value is expected where %q stands", t.Text)
		return NoValue
	}
	return b.value(t.Text)
}

// operands reads values up to the one that no comma follows.
func (b *builder) operands(r *reader) (list []Value) {
	if r.Peek().Kind != mlir.TokenValue {
		return nil
	}
	for r.err == nil {
		if list = append(list, b.operand(r)); !r.Take(",") {
			break
		}
	}
	return list
}

func (op *Op) set(name string, a Attribute) {
	op.Attributes = append(op.Attributes, NamedAttribute{Name: name, Attribute: a})
}

// generic reads (%a, %b)[^bb1(…)] <{…}> ({…}) {…} : (T, U) -> R, whatever the operation is.
func (b *builder) generic(r *reader, from *mlir.Op, op *Op, labels map[string]int) (types []*Type) {
	op.generic = true
	var all []Value
	r.list("(", ")", func() { all = append(all, b.operand(r)) })
	if r.Peek().Text == "[" {
		r.list("[", "]", func() { b.successor(r, op, labels) })
	}
	op.Attributes = r.properties()
	tail := r
	if len(from.Regions) > 0 {
		r.expect("(")
		tail = &reader{Lexer: mlir.NewLexer(from.Tail), m: b.m}
		for i := range from.Regions {
			op.Regions = append(op.Regions, b.region(&from.Regions[i], nil))
		}
		tail.expect(")")
	}
	if tail.Peek().Text == "{" {
		op.Attributes = append(op.Attributes, tail.dictionary(0)...)
	}
	tail.expect(":")
	if tail.err == nil {
		types = b.functional(tail, [][]Value{all})
	}
	if r.err == nil {
		r.err = tail.err
	}
	if tail != r && r.err == nil && tail.Peek().Kind != mlir.TokenEnd {
		r.fail("%q is not expected", tail.Peek().Text)
	}
	if r.err == nil {
		b.distribute(r, op, all)
		op.usual()
	}
	return types
}

// usual makes of the generic form of an operation with regions or successors what its usual form is read as.
func (op *Op) usual() {
	switch op.Name {
	case "scf.for":
		if len(op.Operands) < 3 || len(op.Regions) != 1 || len(op.Regions[0].Blocks[0].Arguments) != len(op.Operands)-2 {
			return
		}
		op.Regions[0].Blocks[0].Label = ""
	case "scf.if":
		if len(op.Operands) != 1 || len(op.Regions) != 2 {
			return
		}
		if last := op.Regions[1].Blocks; len(last) == 1 && len(last[0].Ops) == 0 {
			op.Regions = op.Regions[:1]
		}
	case "scf.while":
		if len(op.Regions) != 2 || len(op.Regions[0].Blocks[0].Arguments) != len(op.Operands) {
			return
		}
		op.Regions[0].Blocks[0].Label = ""
	case "scf.execute_region":
		if len(op.Regions) != 1 {
			return
		}
	case "arith.select":
		if len(op.Operands) != 3 {
			return
		}
	case "cf.br", "cf.cond_br":
		if !op.branches() {
			return
		}
	case "arith.constant":
	default:
		return
	}
	op.generic = false
	op.drop("operandSegmentSizes")
	if len(op.Results) == 0 && (op.Name == "scf.for" || op.Name == "scf.if") {
		for i := range op.Regions {
			op.Regions[i].leaveOutYield()
		}
	}
}

// leaveOutYield removes the end of a region that passes nothing on, which the usual form does not have.
func (r *Region) leaveOutYield() {
	b := &r.Blocks[len(r.Blocks)-1]
	if n := len(b.Ops); n > 0 && b.Ops[n-1].Name == "scf.yield" && len(b.Ops[n-1].Operands) == 0 {
		b.Ops = b.Ops[:n-1]
	}
}

// branches gives the successors of a branch their arguments, which the generic form has among its operands.
func (op *Op) branches() bool {
	conditions := figures.OneIf[int](op.Name == "cf.cond_br")
	if len(op.Successors) != 1+conditions || len(op.Operands) < conditions {
		return false
	}
	sizes := []int64{int64(conditions), int64(len(op.Operands) - conditions), 0}
	if a := op.Attribute("operandSegmentSizes"); a != nil && len(a.Ints) == 3 {
		sizes = a.Ints
	} else if conditions == 1 && len(op.Operands) > 1 {
		return false
	}
	at := conditions
	for i := range op.Successors {
		n := int(sizes[i+1])
		if n < 0 || at+n > len(op.Operands) {
			return false
		}
		op.Successors[i].Arguments = op.Operands[at : at+n]
		at += n
	}
	op.Operands = op.Operands[:conditions]
	return true
}

func (op *Op) drop(name string) {
	op.Attributes = slices.DeleteFunc(op.Attributes, func(a NamedAttribute) bool { return a.Name == name })
}

// distribute gives the operands of the generic form their places.
func (b *builder) distribute(r *reader, op *Op, all []Value) {
	f := formats[op.Name]
	if f == nil {
		op.Operands = all
		return
	}
	sizes := make([]int, len(f.names))
	if a := op.Attribute("operandSegmentSizes"); a != nil && len(a.Ints) == len(sizes) {
		for i, n := range a.Ints {
			sizes[i] = int(n)
		}
	} else {
		left := len(all)
		for i := range sizes {
			if sizes[i] = min(left, 1); f.lists[i] && i == len(sizes)-1 {
				sizes[i] = left
			}
			left -= sizes[i]
		}
	}
	operands := make([][]Value, len(sizes))
	for i, n := range sizes {
		if n < 0 || n > len(all) {
			r.fail("it has operands in other places than its format")
			return
		}
		operands[i], all = all[:n], all[n:]
	}
	if len(all) > 0 {
		r.fail("it has %d operands too many", len(all))
		return
	}
	op.place(f, operands)
	kept := op.Attributes[:0]
	for _, a := range op.Attributes {
		if a.Name == "operandSegmentSizes" {
			continue
		}
		if word := keywordOf(op.Name, a.Name, a.Int); a.Kind == Integer && word != "" && f.keyword(a.Name) {
			a.Attribute = Attribute{Kind: Keyword, Text: word, String: word}
		}
		if flag := a.Name == "overflowFlags" || a.Name == "fastmath"; flag {
			continue // of no meaning for values
		}
		kept = append(kept, a)
	}
	op.Attributes = kept
	op.generic = false
}

// keyword says whether a format has an attribute as a word.
func (f *format) keyword(name string) bool {
	for i := range f.parts {
		if f.parts[i].kind == keywordPart && f.parts[i].name == name {
			return true
		}
	}
	return false
}

// successor reads ^bb1, or ^bb1(%a, %b : T, U).
func (b *builder) successor(r *reader, op *Op, labels map[string]int) {
	t := r.Next()
	at, ok := labels[t.Text]
	if !ok {
		r.fail("the block %q is not in this region", t.Text)
		return
	}
	s := Successor{Block: at, label: t.Text[1:]}
	if r.Take("(") {
		s.Arguments = b.operands(r)
		for i := range s.Arguments {
			if r.expect([]string{":", ","}[min(i, 1)]); r.err == nil {
				b.typed(r, s.Arguments[i], r.typ())
			}
		}
		r.expect(")")
	}
	op.Successors = append(op.Successors, s)
}
