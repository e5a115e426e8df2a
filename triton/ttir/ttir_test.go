package ttir

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/triton/mlir"
)

func kernelOf(lines ...string) string {
	return "module {\n  tt.func public @k(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc(\"p\"(#loc)), %n: i32 loc(#loc1)) attributes {noinline = false} {\n    " +
		strings.Join(lines, "\n    ") + "\n    tt.return loc(#loc)\n  } loc(#loc)\n} loc(#loc)\n#loc = loc(\"k.py\":1:2)\n#loc1 = loc(\"n\"(#loc))\n"
}

func TestTree(t *testing.T) {
	m := Parse(kernelOf("%q = tt.splat %p : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>> loc(#loc1)", "%x = tt.load %q evictionPolicy = evict_first {isVolatile = true} : tensor<8x!tt.ptr<f32>> loc(callsite(\"x\"(\"f.py\":3:4) at #loc))",
		"%d = tt.make_tensor_descriptor %p, [%n, %n], [%s, %s] {padding = 2 : i32} : <f32>, <4x8xf32> loc(#loc)"))
	f := m.Kernel()
	if f.Name != "k" || !f.Public || len(f.Arguments) != 2 || f.Arguments[0].Attribute("tt.divisibility").Int != 16 || m.File.Variable(f.Values[f.Arguments[1].Value].Location) != "n" {
		t.Fatalf("%+v", f)
	}
	ops := f.Body.Blocks[0].Ops
	if got := fmt.Sprintln(m.Frames(&ops[1]), m.File.Variable(ops[1].Location), ops[1].Line, ops[1].Keyword("evict", "normal"), ops[1].Keyword("cache", "none"), ops[1].Attribute("isVolatile").Int); got != "[{f.py 3 4} {k.py 1 2}] x 4 evict_first none 1\n" {
		t.Error(got)
	}
	x := f.Type(ops[1].Results[0])
	if x.Text != "tensor<8xf32>" || x != m.Type("tensor<8xf32>") || x.Elements() != 8 || x.Scalar().Float != F32 || f.Type(ops[0].Results[0]).Pointee() != x.Element {
		t.Errorf("%+v", x)
	}
	if len(ops[2].List(0)) != 2 || len(ops[2].List(1)) != 2 || ops[2].List(2) == nil && ops[2].Keyword("padding", "") != "nan" || ops[2].List(0)[0] != f.Arguments[1].Value {
		t.Errorf("%+v", ops[2])
	}
	if len(m.Problems) != 1 || !strings.Contains(m.Problems[0].Text, "%s is used and not defined") {
		t.Errorf("%v", m.Problems)
	}
}

// TestOtherForms: the generic form, forms of older versions of Triton, and forms that a person writes, are read as the usual form.
func TestOtherForms(t *testing.T) {
	for _, c := range []struct{ other, usual string }{
		{`%0 = "arith.addi"(%n, %n) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32`, "%0 = arith.addi %n, %n : i32"},
		{`%0 = "tt.load"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>, cache = 3 : i32, evict = 1 : i32, isVolatile = false, boundaryCheck = array<i32>}> : (!tt.ptr<f32>) -> f32`, "%0 = tt.load %p cacheModifier = cg {isVolatile = false, boundaryCheck = array<i32>} : !tt.ptr<f32>"},
		{`%0 = "tt.get_program_id"() <{axis = 1 : i32}> : () -> i32`, "%0 = tt.get_program_id y : i32"},
		{"%0 = tt.get_program_id {axis = 1 : i32} : i32", "%0 = tt.get_program_id {axis = 1 : i32} : i32"},
		{`%0 = "arith.cmpi"(%n, %n) <{predicate = 2 : i64}> : (i32, i32) -> i1`, "%0 = arith.cmpi slt, %n, %n : i32"},
		{`%0 = arith.cmpi "slt", %n, %n : i32`, `%0 = arith.cmpi "slt", %n, %n : i32`},
		{"scf.for %i = %n to %n step %n : i32 { tt.store %p, %z {} : !tt.ptr<f32> }", "scf.for %i = %n to %n step %n  : i32 {\n      tt.store %p, %z : !tt.ptr<f32>\n    }"},
		{"%0 = x.y %n, [%n] {a = \"} : \"} : i32 -> tensor<4xi32>", "%0 = x.y %n, [%n] {a = \"} : \"} : i32 -> tensor<4xi32>"},
		{"ttg.barrier local|global", "ttg.barrier local|global"},
	} {
		m := Parse(kernelOf("%z = arith.constant 1.000000e+00 : f32", c.other))
		lines := strings.SplitN(m.Print(false), "\n", 4)
		if want := "    " + c.usual + "\n    tt.return\n  }\n}\n"; lines[3] != want || len(m.Problems) > 0 {
			t.Errorf("%s\n%s%v", c.other, lines[3], m.Problems)
		}
	}
}

// TestNotUnderstood: an operation that is not understood keeps its text and its results' types, and the line is reported.
func TestNotUnderstood(t *testing.T) {
	m := Parse(kernelOf("%0 = tt.load %p whatever = 1 : !tt.ptr<f32>", "%1 = new.op %n : i32 -> tensor<4xi8>", "%2:2 = \"new.two\"(%1) {a} : (tensor<4xi8>) -> (i1, f16)", "new.regions %n {", "  %3 = arith.addi %n, %n : i32", "} {x = 1 : i32}"))
	f := m.Kernel()
	ops := f.Body.Blocks[0].Ops
	if len(m.Problems) != 1 || m.Problems[0].Line != 3 || ops[0].Known() || ops[1].Known() || ops[1].Operands[0] != f.Arguments[1].Value || f.Type(ops[1].Results[0]).Shape[0] != 4 || f.Type(ops[2].Results[1]).Float != F16 || len(ops[3].Regions[0].Blocks[0].Ops) != 1 {
		t.Errorf("%v\n%s", m.Problems, m.Print(false))
	}
}

// TestNested: what is not understood around regions is read once, and not once for each region around it.
func TestNested(t *testing.T) {
	for _, line := range []string{"%x = \"tt.reduce\"(%y) ({", "scf.for %i = %n to %n step %n : i32 {", "%x = scf.for %i = %n to %n step %n : i32 {", "x.y {", "tt.func @f() {", "scf.if %c {\n} else {"} {
		m := Parse(kernelOf(strings.Repeat(line+"\n", 200) + strings.Repeat("x.y\n", 1000)))
		if n := len(m.Kernel().Body.Blocks[0].Ops); n == 0 {
			t.Errorf("%s: %d operations", line, n)
		}
	}
}

func TestModules(t *testing.T) {
	text := kernelOf()
	m := Parse(text + "// -----\n" + strings.ReplaceAll(text, "@k", "@l"))
	if len(m.Functions) != 2 || len(m.Problems) > 0 || m.Function("l") == nil {
		t.Errorf("%v", m.Problems)
	}
}

func TestTypes(t *testing.T) {
	m := Parse("")
	for _, c := range []struct{ text, want string }{
		{"i32", "1 32 0 [] 1"}, {"ui8", "1 8 0 [] 1"}, {"index", "2 64 0 [] 1"}, {"bf16", "3 16 2 [] 1"}, {"tensor<f32>", "5 0 0 [] 1"}, {"tensor<4x8x!tt.ptr<i8>, #blocked>", "5 0 0 [4 8] 32"},
		{"!tt.ptr<tensor<4x8xf16>>", "4 64 0 [] 1"}, {"!tt.ptr<f32, 3>", "4 64 0 [] 1"}, {"!tt.tensordesc<16x64xf16>", "6 0 0 [16 64] 1024"}, {"!tt.tensordesc<tensor<16x64xsi8>>", "6 0 0 [16 64] 1024"}, {"!ttg.memdesc<3x64xf16, #s, #smem, mutable>", "7 0 0 [3 64] 192"},
		{"!ttg.async.token", "0 0 0 [] 1"}, {"tensor<99999999999999999999xi8>", "0 0 0 [] 1"}, {"i0", "0 0 0 [] 1"}, {"", "0 0 0 [] 1"}, {strings.Repeat("!tt.ptr<", 1000) + strings.Repeat(">", 1000), "4 64 0 [] 1"},
		{"tensor<9223372036854775807x9223372036854775807xi8>", "5 0 0 [9223372036854775807 9223372036854775807] 9223372036854775807"},
	} {
		x := m.Type(c.text)
		if got := fmt.Sprint(x.Kind, x.Bits, int(x.Float), x.Shape, x.Elements()); got != c.want || x.Text != c.text {
			t.Errorf("%.50s: %s, want %s", c.text, got, c.want)
		}
	}
	if m.Type("!tt.ptr<f32, 3>").Space != 3 || m.Type("!tt.ptr<f32>").Space != 1 || !m.Type("ui8").Unsigned || m.Type("tensor<4xi8, #a<{x = [1]}>>").Layout != "#a<{x = [1]}>" {
		t.Error("spaces, signs, layouts")
	}
}

func TestElements(t *testing.T) {
	for _, c := range []struct {
		text string
		want string
	}{
		{"dense<[[1, -2], [0x7F, 4]]> : tensor<2x2xi8>", "[1 254 127 4]"}, {"dense<true> : tensor<4xi1>", "[1]"}, {"dense<-1> : tensor<4xi1>", "[1]"}, {"dense<1.5> : tensor<4xf16>", "[15872]"}, {"dense<0xFF80> : tensor<4xbf16>", "[65408]"},
		{"dense<\"0x0102FFFF\"> : tensor<2xi16>", "[513 65535]"}, {"dense<9.999940e-41> : tensor<2xf32>", "[71362]"}, {"dense<[0x7FC00000, 1.0]> : tensor<2xf32>", "[2143289344 1065353216]"},
		{"dense<[1]> : tensor<2xi8>", "[1]"}, {"dense<[1, 2, 3]> : tensor<2xi8>", "a constant of tensor<2xi8> has 3 elements"}, {"dense<\"0x01\"> : tensor<2xi16>", "a constant of 1 bytes is not 2 elements of i16"}, {"dense<300> : tensor<2xi8>", "300 does not fit into i8"}, {"unit", "unit is not a tensor's constant"},
	} {
		m := Parse("")
		a := (&reader{Lexer: mlir.NewLexer(c.text), m: m}).attribute(0)
		got, err := a.Elements()
		s := fmt.Sprint(got)
		if err != nil {
			s = err.Error()
		}
		if s != c.want || a.Text != c.text {
			t.Errorf("%s: %s, want %s", c.text, s, c.want)
		}
	}
}

// TestFloats: of each format that has at most 16 bits, all patterns are numbers that have these patterns, and any number has the pattern of
// the nearest one.
func TestFloats(t *testing.T) {
	for name, f := range floats {
		if f.Bits() > 16 {
			continue
		}
		var all []float64
		for bits := range uint64(1) << f.Bits() {
			v := f.Value(bits)
			switch {
			case math.IsNaN(v):
				if !math.IsNaN(f.Value(f.Pattern(v))) {
					t.Errorf("%s: NaN is %v", name, f.Value(f.Pattern(v)))
				}
			case f.Pattern(v) != bits:
				t.Fatalf("%s: %#x is %v, which is %#x", name, bits, v, f.Pattern(v))
			case !math.IsInf(v, 0):
				all = append(all, v)
			}
		}
		slices.Sort(all)
		for i := 1; i < len(all) && f != F8E8M0FNU; i++ {
			a, b := all[i-1], all[i]
			half := new(big.Float).Quo(new(big.Float).Add(big.NewFloat(a), big.NewFloat(b)), big.NewFloat(2))
			middle, _ := half.Float64()
			low, high := f.Value(f.Pattern(math.Nextafter(middle, a))), f.Value(f.Pattern(math.Nextafter(middle, b)))
			if low != a || high != b {
				t.Fatalf("%s: near %v are %v and %v, and not %v and %v", name, middle, low, high, a, b)
			}
			if tie := f.Value(f.Pattern(middle)); tie != a && tie != b || a != 0 && b != 0 && f.Pattern(middle)&1 != 0 {
				t.Fatalf("%s: %v between %v and %v is %v (%#x)", name, middle, a, b, tie, f.Pattern(middle))
			}
		}
	}
	for v, want := range map[float64]uint64{1.01171875: 0x3f82, .99999: 0x3f80, 1e-40: 1, 3.4e38: 0x7f80} {
		if got := BF16.Pattern(v); got != want {
			t.Errorf("bf16 of %v is %#x, want %#x", v, got, want)
		}
	}
	if TF32.Pattern(1+1.0/(1<<11)) != F32.Pattern(1) || TF32.Value(TF32.Pattern(1+3.0/(1<<11))) != 1+2.0/(1<<10) {
		t.Error("tf32")
	}
}

// FuzzParse: whatever the text is, it is read, checked and printed without a panic, and what is printed is read as the same.
func FuzzParse(f *testing.F) {
	f.Add(kernelOf("%x = tt.load %p, %m, %o : !tt.ptr<f32>", "%r:2 = scf.for %i = %n to %n step %n iter_args(%a = %n, %b = %x) -> (i32, f32) : i32 {", "scf.yield %i, %b : i32, f32", "} {tt.num_stages = 3 : i32}"))
	f.Add(kernelOf("cf.cond_br %c, ^bb1(%n : i32), ^bb2", "^bb1(%a: i32):", "cf.br ^bb2", "^bb2:", "%0 = \"tt.reduce\"(%x) <{axis = 0 : i32}> ({", "^bb0(%l: f32, %r: f32):", "tt.reduce.return %l : f32", "}) : (tensor<4xf32>) -> f32"))
	f.Add(kernelOf("%0 = \"scf.for\"() ({}) : () -> i32", "%1 = \"scf.while\"(%n) ({^bb0:\ntt.return}) : (i32) -> ()", "\"tt.call\"() : () -> ()", "%c = arith.constant dense<[1, 2]> : tensor<2xi8>", "%s = tt.dot_scaled %a scale %b, %c, %d lhs = e2m1 rhs = e4m3 : tensor<4x4xi8>, tensor<4x1xi8> * tensor<4x4xi8> -> tensor<4x4xf32>"))
	f.Fuzz(func(t *testing.T, text string) {
		m := Parse(text)
		m.Verify()
		for _, fn := range m.Functions {
			fn.Walk(func(op *Op) {
				if a := op.Attribute("value"); a != nil {
					_, _ = a.Elements()
				}
				for _, v := range append(slices.Clone(op.Operands), op.Results...) {
					if v != NoValue && int(v) >= len(fn.Values) {
						t.Fatalf("%s has the value %d of %d", op.Name, v, len(fn.Values))
					}
				}
			})
		}
		printed := m.Print(true)
		if again := Parse(printed); len(m.Problems) == 0 && (len(again.Problems) > 0 || again.Print(true) != printed) {
			t.Fatalf("%v\n%s\nis\n%s", again.Problems, printed, again.Print(true))
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := strings.Repeat("    %x = tt.load %p, %m {a = 1 : i32} : tensor<64x64x!tt.ptr<f32>> loc(#loc)\n", 1<<12)
	text = kernelOf("%m = tt.splat %n : i32 -> tensor<64x64xi1>", text)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Parse(text)
	}
}

// TestCallOfUnknownType: a function whose result has no type that can be read is a problem, also where it is called.
func TestCallOfUnknownType(t *testing.T) {
	m := Parse("module {\n tt.func private @g() -> (%a) {\n tt.return\n }\n tt.func public @k() {\n %r = tt.call @g() : () -> i32\n tt.return\n }\n}\n")
	if len(m.Problems) == 0 {
		t.Error("the type was read")
	}
	for _, p := range m.Verify() {
		if strings.HasPrefix(p.Text, "tt.call") {
			return
		}
	}
	t.Error("the call is accepted")
}
