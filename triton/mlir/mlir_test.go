package mlir

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// dump writes a tree, an operation on a line.
func dump(f *File) string {
	var b strings.Builder
	dumpOps(&b, f, f.Ops, "")
	for _, p := range f.Problems {
		fmt.Fprintf(&b, "problem in line %d: %s\n", p.Line, p.Text)
	}
	return b.String()
}

func dumpOps(b *strings.Builder, f *File, ops []Op, in string) {
	for _, op := range ops {
		fmt.Fprintf(b, "%s%d [%s] %s [%s]", in, op.Line, op.Results, op.Name, op.Head)
		for _, r := range op.Regions {
			fmt.Fprintf(b, " {%s", r.Head)
			for _, block := range r.Blocks {
				if block.Label != "" {
					fmt.Fprintf(b, "\n%s %s(%s)", in, block.Label, block.Arguments)
				}
				b.WriteByte('\n')
				dumpOps(b, f, block.Ops, in+"  ")
				b.WriteString(in)
			}
			b.WriteString("}")
		}
		if op.Tail != "" {
			fmt.Fprintf(b, " [%s]", op.Tail)
		}
		for _, frame := range f.Frames(op.Location) {
			fmt.Fprintf(b, " @%s:%d:%d", frame.File, frame.Line, frame.Column)
		}
		b.WriteByte('\n')
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"an operation", `%0 = tt.load %p, %m {a = 1 : i32} : tensor<8x!tt.ptr<f32>> loc("k.py":3:4)`,
			"1 [%0] tt.load [%p, %m {a = 1 : i32} : tensor<8x!tt.ptr<f32>>] @k.py:3:4\n"},
		{"several results, no location", "%a:2, %b = \"x.y\"() : () -> (i32, i32, i32)\n\nx.z", "1 [%a:2, %b] x.y [() : () -> (i32, i32, i32)]\n3 [] x.z []\n"},
		{"a location defined later", "module {\n  tt.return loc(#loc1)\n} loc(#loc)\n#loc = loc(\"k.py\":0:0)\n#loc1 = loc(callsite(\"x\"(#loc2) at #loc3))\n#loc2 = loc(\"a b\\22.py\":1:2)\n#loc3 = loc(\"k.py\":3:4 to 5:6)\n",
			"1 [] module [] {\n  2 [] tt.return [] @a b\".py:1:2 @k.py:3:4\n} @k.py:0:0\n"},
		{"fused and unknown", "a.a loc(fused<\"<>]\">[unknown, \"k.py\":1:2, \"l.py\":3:4])\na.b loc(unknown)\na.c loc(fused[])\na.d loc(callsite(unknown at \"k.py\":5:6))", "1 [] a.a [] @k.py:1:2\n2 [] a.b []\n3 [] a.c []\n4 [] a.d [] @k.py:5:6\n"},
		{"a location that refers to itself", "a.a loc(#a)\n#a = loc(callsite(#b at #a))\n#b = loc(\"n\"(#a))\n", "1 [] a.a []\n"},
		{"regions", "scf.if %c -> (i32) {\n scf.yield %a : i32\n} else {\n scf.yield %b : i32\n} loc(\"k.py\":1:1)",
			"1 [] scf.if [%c -> (i32)] {\n  2 [] scf.yield [%a : i32]\n} {else\n  4 [] scf.yield [%b : i32]\n} @k.py:1:1\n"},
		{"a generic region with a label", "%r = \"tt.reduce\"(%x) <{axis = 0 : i32}> ({\n^bb0(%l: f32 loc(\"l\"(#loc)), %r: f32):\n  tt.reduce.return %l : f32\n}) : (tensor<8xf32>) -> f32",
			"1 [%r] tt.reduce [(%x) <{axis = 0 : i32}> (] {\n ^bb0(%l: f32 loc(\"l\"(#loc)), %r: f32)\n  3 [] tt.reduce.return [%l : f32]\n} [) : (tensor<8xf32>) -> f32]\n"},
		{"blocks", "tt.func @f(%a: i32 {tt.divisibility = 16 : i32} loc(\"a\"(#loc))) attributes {noinline = false} {\n  cf.br ^bb1\n^bb1:  // pred: ^bb0\n  tt.return\n}",
			"1 [] tt.func [@f(%a: i32 {tt.divisibility = 16 : i32} loc(\"a\"(#loc))) attributes {noinline = false}] {\n  2 [] cf.br [^bb1]\n\n ^bb1()\n  4 [] tt.return []\n}\n"},
		{"regions on lines of their own", "ttg.warp_specialize(%a) attributes {x = 1 : i32}\ndefault {\n  ttg.warp_yield\n}\npartition0(%b: i32) num_warps(4) {\n  ttg.warp_return\n} : (i32) -> ()",
			"1 [] ttg.warp_specialize [(%a) attributes {x = 1 : i32}\ndefault] {\n  3 [] ttg.warp_yield []\n} {partition0(%b: i32) num_warps(4)\n  6 [] ttg.warp_return []\n} [: (i32) -> ()]\n"},
		{"lists over lines", "cf.switch %f : i32, [\n default: ^bb1,\n 42: ^bb2\n]\ntt.return", "1 [] cf.switch [%f : i32, [\n default: ^bb1,\n 42: ^bb2\n]]\n5 [] tt.return []\n"},
		{"regions within a line", "x.y { x.z {a} } {b = \"{\"}\nmodule {}", "1 [] x.y [] {\n  1 [] x.z [{a}]\n} [{b = \"{\"}]\n2 [] module [] {}\n"},
		{"brackets without an end", "%a = x.y (%b\n%c = x.z [\ntt.return %c\n", "1 [%a] x.y [(%b]\n2 [%c] x.z [[]\n3 [] tt.return [%c]\nproblem in line 1: a bracket without an end\nproblem in line 2: a bracket without an end\n"},
		{"what is not MLIR", "}\n^x\n*** a\n%0\n\"x\nx.y \"}\n", "2 [] x []\n4 [] % []\n5 [] x []\n6 [] x.y [\"}]\n"},
		{"half of a text", "module {\n  tt.func @f() {\n    %0 = tt.lo", "1 [] module [] {\n  2 [] tt.func [@f()] {\n    3 [%0] tt.lo []\n  }\n}\nproblem in line 3: a region without an end\nproblem in line 3: a region without an end\n"},
		{"resources and aliases", "#b = #ttg.blocked<{a = [1]}>\n!t = tensor<4xf32>\nx.y\n{-#\n  a: {}\n#-}\n", "3 [] x.y []\n"},
	} {
		f := Parse(c.text)
		if got := dump(f); c.name == "what is not MLIR" {
			if len(f.Problems) != 6 {
				t.Errorf("%s: %s", c.name, got)
			}
		} else if got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.name, got, c.want)
		}
	}
}

func TestEnd(t *testing.T) {
	f := Parse("a.a {\n  a.b [\n    1\n  ] loc(#x)\n\n} {b = 1} loc(#x)\n\na.c // c\n#x = loc(unknown)\n")
	var got []int32
	f.Walk(func(op *Op) { got = append(got, op.Line, op.End) })
	if want := []int32{1, 6, 2, 4, 8, 8}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAliases(t *testing.T) {
	f := Parse("#b = #ttg.blocked<{a = [1], b = \"}\"}>\n#loc = loc(\"x\"(#loc1))\n!t = tensor<4xf32> // comment\n#loc1 = loc(\"k.py\":7:8)\n")
	var got []string
	for _, a := range f.Aliases {
		got = append(got, fmt.Sprintf("%s|%s|%s|%v", a.Name, a.Text, f.Variable(a.Location()), f.Frames(a.Location())))
	}
	want := []string{"#b|#ttg.blocked<{a = [1], b = \"}\"}>||[]", "#loc|loc(\"x\"(#loc1))|x|[{k.py 7 8}]", "!t|tensor<4xf32>||[]", "#loc1|loc(\"k.py\":7:8)||[{k.py 7 8}]"}
	if !slices.Equal(got, want) || len(f.Problems) > 0 {
		t.Errorf("%q, want %q, %v", got, want, f.Problems)
	}
}

// TestManyCallers: locations that double with each line would have 2^60 frames.
func TestManyCallers(t *testing.T) {
	var b strings.Builder
	b.WriteString("x.y loc(#a60)\n#a0 = loc(\"k.py\":1:1)\n")
	for i := range 60 {
		fmt.Fprintf(&b, "#a%d = loc(callsite(#a%d at #a%d))\n", i+1, i, i)
	}
	if n := len(Parse(b.String()).Frames(1)); n == 0 || n > MaxFrames {
		t.Errorf("%d frames", n)
	}
}

func TestDeep(t *testing.T) {
	for _, text := range []string{strings.Repeat("x.y {\n", 1<<20), strings.Repeat("x.y ({", 1<<20), "x.y loc(" + strings.Repeat("callsite(", 1<<20), "x.y " + strings.Repeat("[", 1<<20), strings.Repeat("{\"", 1<<20),
		strings.Repeat("\n", 1<<20) + "else {" + strings.Repeat("x.y\n\n\n\n\n", 1<<18), "x.y" + strings.Repeat("\n", 1<<20) + "else", "x.y loc(fused[" + strings.Repeat("fused[", 1<<20)} {
		f := Parse(text)
		f.Walk(func(op *Op) { f.Frames(op.Location) })
	}
}

func TestLexer(t *testing.T) {
	l := NewLexer("%a#1, @f @\"g h\"(-1.5e-3:0xFF 4x8 <-> ^bb1 #x.y !tt.ptr<f32> \"a\\\"b\" a.b-c->d // e\n z")
	var got []string
	for tok := l.Next(); tok.Kind != TokenEnd; tok = l.Next() {
		got = append(got, tok.Text)
	}
	want := []string{"%a#1", ",", "@f", "@\"g h\"", "(", "-1.5e-3", ":", "0xFF", "4", "x8", "<", "->", "^bb1", "#x.y", "!tt.ptr", "<", "f32", ">", "\"a\\\"b\"", "a.b-c", "->", "d", "z"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, c := range [][2]string{{"tensor<4x!tt.ptr<f32>, #b> -> x", "tensor<4x!tt.ptr<f32>, #b>"}, {"(i32, f32) -> (f32) x", "(i32, f32) -> (f32)"}, {"<f32>, i", "<f32>"}, {"i32", "i32"}, {", i", ""}, {"", ""}} {
		if got := NewLexer(c[0]).Type(); got != c[1] {
			t.Errorf("%q: type %q", c[0], got)
		}
	}
}

func TestCode(t *testing.T) {
	for _, c := range [][2]string{
		{"  %0 = tt.load %p : f32 loc(callsite(\"x)\"(#loc3) at fused[#a, #b]))", "%0 = tt.load %p : f32"},
		{"tt.func @f(%a: i32 loc(\"a\"(#loc)), %b: i32 loc(#loc)) { // x", "tt.func @f(%a: i32, %b: i32) {"},
		{"} loc(#loc)", "}"}, {"tt.print \"// loc(\" : i32 // x", "tt.print \"// loc(\" : i32"}, {"x loc(", "x"}, {"\"x", "\"x"},
	} {
		if got := Code(c[0]); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

// FuzzParse looks for panics and endless work, and holds that nothing is invented: names, heads and tails are parts of the text.
func FuzzParse(f *testing.F) {
	f.Add("module {\n  tt.func @f(%a: i32 loc(\"a\"(#loc))) {\n^bb0:\n  %0:2 = \"x.y\"(%a) <{a = 1}> ({\n^bb0(%b: i32):\n}) : () -> () loc(callsite(#loc at #loc1))\n  }\n}\n#loc = loc(\"f\":1:2)\n#loc1 = loc(fused<\"x\">[#loc])")
	f.Add("x.y\ndefault {\n} partition0() {\n}\n{-# a #-}\n} ^a(\n%a, %b = \n")
	f.Fuzz(func(t *testing.T, text string) {
		file := Parse(text)
		file.Walk(func(op *Op) {
			for _, part := range []string{op.Name, op.Results, op.Head, op.Tail} {
				if !strings.Contains(text, part) {
					t.Fatalf("%q is not in the text", part)
				}
			}
			if len(file.Frames(op.Location)) > MaxFrames || op.Line < 1 || op.End < op.Line || int(op.End) > strings.Count(text, "\n")+1 {
				t.Fatalf("%+v", op)
			}
			file.Variable(op.Location)
			l := NewLexer(op.Head)
			for l.Next().Kind != TokenEnd {
				at := l.Offset()
				l.Type()
				l.Brackets()
				l.Seek(at)
			}
		})
		for line := range strings.SplitSeq(text, "\n") {
			Code(line)
		}
	})
}
