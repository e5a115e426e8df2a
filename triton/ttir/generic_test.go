package ttir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/figures"
)

// genericText writes a module in MLIR's generic form, in which every operation has the same syntax, and enumerated attributes are numbers.
func genericText(m *Module) string {
	g := &generic{}
	g.b.WriteString("\"builtin.module\"() ({\n")
	for _, f := range m.Functions {
		g.f = f
		var arguments, attributes []string
		for _, a := range f.Arguments {
			arguments = append(arguments, f.Type(a.Value).Text)
			attributes = append(attributes, braces(a.Attributes))
		}
		fmt.Fprintf(&g.b, "\"tt.func\"() <{arg_attrs = [%s], function_type = (%s) -> (%s), sym_name = %q, sym_visibility = %q}> (",
			strings.Join(attributes, ", "), strings.Join(arguments, ", "), strings.Join(texts(f.Results), ", "), f.Name, f.visibility)
		g.region(&f.Body, true)
		fmt.Fprintf(&g.b, ") %s : () -> ()\n", braces(f.Attributes))
	}
	g.b.WriteString("}) : () -> ()\n")
	return g.b.String()
}

func texts(types []*Type) (list []string) {
	for _, t := range types {
		list = append(list, t.Text)
	}
	return list
}

func braces(list []NamedAttribute) string {
	var parts []string
	for _, a := range list {
		if parts = append(parts, a.Name+" = "+a.Text); a.Kind == Unit {
			parts[len(parts)-1] = a.Name
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

type generic struct {
	b strings.Builder
	f *Function
}

func (g *generic) names(values []Value) (names, types []string) {
	for _, v := range given(values) {
		names, types = append(names, "%"+g.f.Values[v].Name), append(types, g.f.Type(v).Text)
	}
	return names, types
}

func (g *generic) region(r *Region, labelled bool) {
	g.b.WriteString("{\n")
	for i, b := range r.Blocks {
		if label := b.Label; label != "" || labelled && len(b.Arguments) > 0 {
			if label == "" {
				label = "first"
			}
			names, types := g.names(b.Arguments)
			for k := range names {
				names[k] += ": " + types[k]
			}
			fmt.Fprintf(&g.b, "^%s(%s):\n", label, strings.Join(names, ", "))
		}
		for k := range b.Ops {
			g.op(&r.Blocks[i].Ops[k])
		}
	}
	g.b.WriteString("}")
}

// segmented are the operations whose operands are divided by an attribute.
var segmented = []string{"tt.load", "tt.dot_scaled", "tt.make_tensor_ptr", "tt.make_tensor_descriptor", "cf.cond_br"}

func (g *generic) op(op *Op) {
	p := printer{m: g.f.module}
	if !op.Known() || op.Name == "llvm.intr.assume" { // which has an attribute for each version of LLVM
		p.op(g.f, op, 0)
		g.b.WriteString(p.b.String())
		return
	}
	p.results(g.f, op)
	operands := slices.Clone(op.Operands)
	var sizes []string
	for _, o := range op.Operands[:len(op.Operands)-sum(op.Segments)] {
		sizes = append(sizes, strconv.Itoa(figures.OneIf[int](o != NoValue)))
	}
	for _, s := range op.Segments {
		sizes = append(sizes, strconv.Itoa(int(s)))
	}
	var to []string
	for _, s := range op.Successors {
		to = append(to, "^"+s.label)
		operands = append(operands, s.Arguments...)
		sizes = append(sizes, strconv.Itoa(len(s.Arguments)))
	}
	for f := formats[op.Name]; f != nil && len(sizes) < len(f.names); {
		sizes = append(sizes, "0")
	}
	names, types := g.names(operands)
	_, results := g.names(op.Results)
	fmt.Fprintf(&g.b, "%s %q(%s)", p.b.String(), op.Name, strings.Join(names, ", "))
	if len(to) > 0 {
		fmt.Fprintf(&g.b, "[%s]", strings.Join(to, ", "))
	}
	properties, others := g.properties(op)
	if slices.Contains(segmented, op.Name) {
		properties = append(properties, NamedAttribute{Name: "operandSegmentSizes", Attribute: Attribute{Text: "array<i32: " + strings.Join(sizes, ", ") + ">"}})
	}
	if len(properties) > 0 {
		fmt.Fprintf(&g.b, " <%s>", braces(properties))
	}
	g.regions(op)
	if len(others) > 0 {
		g.b.WriteString(" " + braces(others))
	}
	fmt.Fprintf(&g.b, " : (%s) -> (%s)\n", strings.Join(types, ", "), strings.Join(results, ", "))
}

func sum(list []int32) (n int) {
	for _, i := range list {
		n += int(i)
	}
	return n
}

func (g *generic) regions(op *Op) {
	if len(op.Regions) == 0 {
		return
	}
	g.b.WriteString(" (")
	for i := range op.Regions {
		if i > 0 {
			g.b.WriteString(", ")
		}
		r := op.Regions[i]
		if n := len(r.Blocks[0].Ops); op.Name == "scf.for" && (n == 0 || r.Blocks[0].Ops[n-1].Name != "scf.yield") || op.Name == "scf.if" && len(op.Results) == 0 {
			r.Blocks = []Block{{Label: r.Blocks[0].Label, Arguments: r.Blocks[0].Arguments, Ops: append(slices.Clone(r.Blocks[0].Ops), Op{Name: "scf.yield"})}}
		}
		g.region(&r, true)
	}
	if op.Name == "scf.if" && len(op.Regions) == 1 {
		g.b.WriteString(", {}")
	}
	g.b.WriteString(")")
}

// properties are an operation's own attributes, with the numbers of words, and the attributes that any operation may have.
func (g *generic) properties(op *Op) (own, others []NamedAttribute) {
	for _, a := range op.Attributes {
		if a.Name == "overflow" || a.Name == "fastmath" {
			continue
		}
		if a.Kind == Keyword {
			size := "i32"
			if a.Name == "predicate" {
				size = "i64"
			}
			a.Text = fmt.Sprint(numberOf(op.Name, a.Name, a.String)) + " : " + size
		}
		if strings.Contains(a.Name, ".") {
			others = append(others, a)
		} else {
			own = append(own, a)
		}
	}
	return own, others
}

func numberOf(op, name, word string) int {
	if name == "propagateNan" {
		return figures.OneIf[int](word == "all") * 0xFFFF
	}
	words := enums[op+" "+name]
	if words == nil {
		words = enums[name]
	}
	return slices.Index(words, word)
}

// TestGenericForm: the generic form of each text is what Triton reads as the text, and is read here as the same. So the order of operands, the
// names of attributes and the numbers of words are Triton's.
func TestGenericForm(t *testing.T) {
	version := versions[len(versions)-1]
	var names, asked []string
	for name, text := range made(t, version) {
		if m := Parse(text); !strings.HasSuffix(name, ".ttgir") {
			names, asked = append(names, name), append(asked, m.Print(false), genericText(m))
		}
	}
	answers := ask(t, version, asked...)
	for i, name := range names {
		usual, generic := answers[2*i], answers[2*i+1]
		if generic.Error != "" {
			t.Errorf("%s: %s\n%s", name, generic.Error, asked[2*i+1])
			return
		}
		if a, b := Parse(generic.Text).Print(false), Parse(usual.Text).Print(false); a != b {
			t.Errorf("%s: %s", name, difference(a, b))
		}
		m := Parse(asked[2*i+1])
		if bad := append(m.Problems, m.Verify()...); len(bad) > 0 {
			t.Errorf("%s: %v", name, bad)
		}
		again := Parse(m.Print(false))
		want := Parse(asked[2*i])
		if got, want := fmt.Sprint(walkedOf(again)), fmt.Sprint(walkedOf(want)); len(again.Problems) > 0 || got != want {
			t.Errorf("%s: %v\n%s\n%s", name, again.Problems, got, want)
		}
	}
}
