package ttir

import (
	"fmt"
	"slices"

	"github.com/goproton/goproton/internal/figures"
)

// Verify returns what is wrong with a module, beyond Problems: types that do not fit, shapes that an operation cannot have, blocks without
// an end. A module without problems can be executed; an operation that is not known is not looked at.
func (m *Module) Verify() []Problem {
	v := &verifier{m: m}
	for _, f := range m.Functions {
		if len(f.Body.Blocks) > 0 {
			v.f = f
			v.region(&f.Body, "tt.func", false)
			v.dominance()
		}
	}
	return v.problems
}

type verifier struct {
	m        *Module
	f        *Function
	op       *Op
	problems []Problem
}

func (v *verifier) fail(format string, args ...any) {
	v.problems = append(v.problems, Problem{v.op.Line, v.op.Name + ": " + fmt.Sprintf(format, args...)})
}

// ends are the operations that a block of an operation's regions may end with.
var ends = map[string][]string{
	"tt.func": {"tt.return", "cf.br", "cf.cond_br"}, "scf.for": {"scf.yield"}, "scf.if": {"scf.yield"}, "scf.while": {"scf.condition", "scf.yield"},
	"scf.execute_region": {"scf.yield", "cf.br", "cf.cond_br"}, "tt.reduce": {"tt.reduce.return"}, "tt.scan": {"tt.scan.return"},
	"tt.map_elementwise": {"tt.map_elementwise.return", "cf.br", "cf.cond_br"},
}

// isEnd says whether an operation ends a block.
func isEnd(name string) bool {
	switch name {
	case "tt.return", "cf.br", "cf.cond_br", "scf.yield", "scf.condition", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return":
		return true
	}
	return false
}

// region checks the blocks of an operation. implied says whether an end without operands may be missing, as the text leaves it out.
func (v *verifier) region(r *Region, of string, implied bool) {
	for b := range r.Blocks {
		block := &r.Blocks[b]
		for i := range block.Ops {
			v.op = &block.Ops[i]
			if last := i == len(block.Ops)-1; isEnd(v.op.Name) && !last {
				v.fail("it ends the block, and operations follow")
			}
			if allowed := ends[of]; isEnd(v.op.Name) && allowed != nil && !slices.Contains(allowed, v.op.Name) {
				v.fail("it does not end a block of %s", of)
			}
			if v.op.Known() {
				v.operation(r)
			}
		}
		if n := len(block.Ops); n == 0 || !isEnd(block.Ops[n-1].Name) && block.Ops[n-1].Known() {
			if n > 0 {
				v.op = &block.Ops[n-1]
			}
			if !implied && v.op != nil {
				v.fail("a block of %s has no end", of)
			}
		}
	}
}

func (v *verifier) operation(in *Region) {
	op := v.op
	for _, o := range append(slices.Clone(op.Operands), op.Results...) {
		if o != NoValue && v.f.Type(o) == nil {
			v.fail("the type of %%%s is not known", v.f.Values[o].Name)
			return
		}
	}
	for _, s := range op.Successors {
		v.same("the arguments of a block", s.Arguments, in.Blocks[s.Block].Arguments)
	}
	if want, ok := regions[op.Name]; ok && len(op.Regions) != want {
		v.fail("it has %d regions, and needs %d", len(op.Regions), want)
		return
	}
	if check := checks[op.Name]; check != nil {
		if n := operandCount(op.Name); n > 0 && (len(op.Operands) < n || slices.Contains(op.Operands[:n], NoValue)) {
			v.fail("it has %d operands, and needs %d", len(given(op.Operands)), n)
			return
		}
		check(v, op)
	}
	for i := range op.Regions {
		v.region(&op.Regions[i], op.Name, len(op.Results) == 0 && (op.Name == "scf.for" || op.Name == "scf.if"))
		v.op = op
	}
}

// regions are how many regions operations have.
var regions = map[string]int{"scf.for": 1, "scf.while": 2, "scf.execute_region": 1, "tt.reduce": 1, "tt.scan": 1, "tt.map_elementwise": 1}

// operandCount is how many operands an operation has at least.
func operandCount(name string) (n int) {
	switch name {
	case "scf.for", "arith.select":
		return 3
	case "scf.if", "cf.cond_br", "tt.reduce", "tt.scan", "tt.map_elementwise":
		return 1
	}
	if f := formats[name]; f != nil {
		for _, list := range f.lists {
			n += figures.OneIf[int](!list)
		}
		for i := range f.parts {
			if p := &f.parts[i]; p.kind == operandPart && p.optional && !f.lists[f.place(p.name)] {
				n--
			}
		}
	}
	return n
}

func (v *verifier) typ(n int) *Type { return v.f.Type(v.op.Operand(n)) }

func (v *verifier) result(n int) *Type {
	if n < len(v.op.Results) {
		return v.f.Type(v.op.Results[n])
	}
	return nil
}

// same checks that values have the types of others.
func (v *verifier) same(what string, values, as []Value) {
	if len(values) != len(as) {
		v.fail("%s: there are %d, and %d are needed", what, len(values), len(as))
		return
	}
	for i := range values {
		if a, b := v.f.Type(values[i]), v.f.Type(as[i]); a != b && a != nil && b != nil {
			v.fail("%s: %%%s has the type %s, and %s is needed", what, v.f.Values[values[i]].Name, a.Text, b.Text)
		}
	}
}

// types checks that values have types.
func (v *verifier) types(what string, values []Value, as []*Type) {
	if len(values) != len(as) {
		v.fail("%s: there are %d, and %d are needed", what, len(values), len(as))
		return
	}
	for i := range values {
		if t := v.f.Type(values[i]); t == nil || as[i] == nil {
			v.fail("%s: a type is not known", what)
		} else if t != as[i] {
			v.fail("%s: %%%s has the type %s, and %s is needed", what, v.f.Values[values[i]].Name, t.Text, as[i].Text)
		}
	}
}

// shape is the dimensions of a tensor, and nil of a scalar.
func shape(t *Type) []int64 {
	if t.Kind == TensorType || t.Kind == DescriptorType {
		return t.Shape
	}
	return nil
}

func sameShape(a, b *Type) bool {
	return a.Kind == b.Kind && slices.Equal(a.Shape, b.Shape) || shape(a) == nil && shape(b) == nil
}

// integer returns an attribute's number; the operation needs it.
func (v *verifier) integer(name string) (int64, bool) {
	a := v.op.Attribute(name)
	if a == nil || a.Kind != Integer {
		v.fail("the attribute %s is missing", name)
		return 0, false
	}
	return a.Int, true
}
