package ttir

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

const oracle = "triton/ttir/testdata/texts.py"

// versions of Triton that the tests ask.
var versions = []string{"triton-3.6.0", "triton-3.9.0"}

// answer is what a wheel says of a text.
type answer struct {
	Text, Error string
	Walk        []walked
}

// walked is an operation as a wheel walks it.
type walked struct {
	name                       string
	operands, results, regions int
}

func (w *walked) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&w.name, &w.operands, &w.results, &w.regions})
}

// ask has a wheel read texts.
func ask(t *testing.T, version string, texts ...string) []answer {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for i, text := range texts {
		path := filepath.Join(dir, fmt.Sprintf("%d.mlir", i))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	asked, err := json.Marshal(map[string]any{"print": paths})
	if err != nil {
		t.Fatal(err)
	}
	var answers []answer
	for line := range strings.Lines(string(testkit.Python(t, version, oracle, asked))) {
		var a answer
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	if len(answers) != len(texts) {
		t.Fatalf("%d answers to %d texts", len(answers), len(texts))
	}
	return answers
}

// madeBy are the texts that wheels have made, by version: compiling them takes seconds, and several tests read them.
var madeBy = map[string]map[string]string{}

// made are the texts that a wheel makes of testdata/kernels.py, by name.
func made(t *testing.T, version string) map[string]string {
	t.Helper()
	if texts := madeBy[version]; texts != nil {
		return texts
	}
	dir := t.TempDir()
	asked, _ := json.Marshal(map[string]string{"make": dir})
	skipped := testkit.Python(t, version, oracle, asked)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 200 { // 40 kernels in three forms, most for two targets
		t.Fatalf("%d texts: %v\n%s", len(files), err, skipped)
	}
	texts := map[string]string{}
	for _, file := range files {
		texts[filepath.Base(file)] = blockComments.ReplaceAllString(string(testkit.Read(t, file)), "$1")
	}
	madeBy[version] = texts
	return texts
}

// blockComments are what MLIR writes behind the labels of blocks: where they come from.
var blockComments = regexp.MustCompile(`(?m)^(\s*\^bb\d+(?:\(.*\))?:)  // .*$`)

// TestWheelsTexts: every text that a wheel makes is read, is valid, and is printed as the wheel prints it, byte for byte; what was printed is
// accepted by the wheel, whose operations are ours.
func TestWheelsTexts(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			if version != versions[len(versions)-1] {
				testkit.OnlyInCheck(t, "the newest version has most operations")
			}
			var names, prints, originals []string
			var modules []*Module
			for name, text := range made(t, version) {
				m := Parse(text)
				if printed := m.Print(true); printed != text {
					t.Errorf("%s: %s", name, difference(printed, text))
				}
				if again := Parse(m.Print(false)); len(again.Problems) > 0 || again.Print(false) != m.Print(false) {
					t.Errorf("%s: without locations it is read as another: %v", name, again.Problems)
				}
				if strings.HasSuffix(name, ".ttgir") {
					continue // most operations of TTGIR are not known
				}
				if bad := append(m.Problems, m.Verify()...); len(bad) > 0 {
					t.Errorf("%s: %v", name, bad)
				}
				names, prints, originals, modules = append(names, name), append(prints, m.Print(true)), append(originals, text), append(modules, m)
			}
			read := ask(t, version, append(prints, originals...)...) // what is read loses names of arguments, whose locations no text has
			for i, a := range read[:len(prints)] {
				if want := read[len(prints)+i].Text; a.Error != "" || a.Text != want {
					t.Errorf("%s: %s%s", names[i], a.Error, difference(a.Text, want))
				}
				if got, want := fmt.Sprint(walkedOf(modules[i])), fmt.Sprint(a.Walk); got != want {
					t.Errorf("%s: operations\n%s\nand the wheel's\n%s", names[i], got, want)
				}
			}
		})
	}
}

// walkedOf walks as the wheel does: an operation after those in its regions, and functions and modules, too.
func walkedOf(m *Module) (list []walked) {
	var region func(r *Region)
	region = func(r *Region) {
		for b := range r.Blocks {
			for i := range r.Blocks[b].Ops {
				op := &r.Blocks[b].Ops[i]
				n := len(given(op.Operands))
				for _, s := range op.Successors {
					n += len(s.Arguments)
				}
				for k := range op.Regions {
					region(&op.Regions[k])
				}
				regions := len(op.Regions)
				if op.Name == "scf.if" { // an else that is left out is an empty region
					regions = 2
				}
				if implied := len(op.Results) == 0 && (op.Name == "scf.for" || op.Name == "scf.if"); implied {
					list = append(list, yields(op)...)
				}
				list = append(list, walked{op.Name, n, len(op.Results), regions})
			}
		}
	}
	for _, f := range m.Functions {
		region(&f.Body)
		list = append(list, walked{"tt.func", 0, 0, 1})
	}
	return append(list, walked{"builtin.module", 0, 0, 1})
}

// yields are the ends of regions that a text leaves out, in the order of the regions.
func yields(op *Op) (list []walked) {
	for range op.Regions {
		list = append(list, walked{"scf.yield", 0, 0, 0})
	}
	return list
}

// difference is the first line in which two texts differ.
func difference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("line %d is\n%s\nand not\n%s", i+1, a[i], b[min(i, len(b)-1)])
		}
	}
	return ""
}

// frame is a valid kernel, in which a test puts operations.
const frame = `module {
  tt.func public @k(%p: !tt.ptr<f32>, %n: i32, %x: tensor<4x8xf32>, %i: tensor<8xi32>, %c: i1, %h: tensor<8x4xf16>, %q: tensor<8x!tt.ptr<f32>>, %m: tensor<8xi1>, %f: tensor<8xf32>, %d: !tt.tensordesc<16x64xf16>, %w: tensor<16x64xf16>) {
    OPS
    tt.return
  }
  tt.func private @g(%a: i32) -> i32 {
    tt.return %a : i32
  }
}
`

// TestVerify: what Triton refuses is refused, and what it accepts is valid.
func TestVerify(t *testing.T) {
	cases := []string{
		"%0 = tt.load %q, %m, %f : tensor<8x!tt.ptr<f32>>", "%0 = tt.load %q, %c : tensor<8x!tt.ptr<f32>>", "%0 = tt.load %q, %m, %i : tensor<8x!tt.ptr<f32>>", "%0 = tt.load %x : tensor<4x8xf32>", "%0 = tt.load %p : !tt.ptr<f32>",
		"tt.store %q, %f, %m : tensor<8x!tt.ptr<f32>>", "tt.store %q, %i : tensor<8x!tt.ptr<f32>>", "tt.store %q, %f, %i : tensor<8x!tt.ptr<f32>>",
		"%0 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>", "%0 = tt.make_range {end = 9 : i32, start = 0 : i32} : tensor<8xi32>", "%0 = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi64>", "%0 = tt.make_range {end = 0 : i32, start = 8 : i32} : tensor<8xi32>",
		"%0 = tt.expand_dims %i {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>", "%0 = tt.expand_dims %i {axis = 2 : i32} : tensor<8xi32> -> tensor<8x1xi32>", "%0 = tt.expand_dims %i {axis = 0 : i32} : tensor<8xi32> -> tensor<8x1xi32>",
		"%0 = tt.reshape %x : tensor<4x8xf32> -> tensor<32xf32>", "%0 = tt.reshape %x allow_reorder : tensor<4x8xf32> -> tensor<2x16xf32>", "%0 = tt.reshape %x : tensor<4x8xf32> -> tensor<64xf32>",
		"%0 = tt.trans %x {order = array<i32: 1, 0>} : tensor<4x8xf32> -> tensor<8x4xf32>", "%0 = tt.trans %x {order = array<i32: 1, 1>} : tensor<4x8xf32> -> tensor<8x4xf32>", "%0 = tt.trans %x {order = array<i32: 0, 1>} : tensor<4x8xf32> -> tensor<8x4xf32>", "%0 = tt.trans %x {order = array<i32: 1>} : tensor<4x8xf32> -> tensor<8x4xf32>",
		"%0 = tt.splat %n : i32 -> tensor<4xi32>", "%0 = tt.splat %n : i32 -> tensor<4xf32>", "%0 = tt.broadcast %x : tensor<4x8xf32> -> tensor<8x8xf32>",
		"%0 = tt.join %f, %f : tensor<8xf32> -> tensor<8x2xf32>", "%0 = tt.join %f, %f : tensor<8xf32> -> tensor<16xf32>",
		"%0 = tt.bitcast %f : tensor<8xf32> -> tensor<8xi32>", "%0 = tt.bitcast %f : tensor<8xf32> -> tensor<8xi64>",
		"%0 = tt.fp_to_fp %h, rounding = rtz : tensor<8x4xf16> -> tensor<8x4xf8E5M2>", "%0 = tt.fp_to_fp %h : tensor<8x4xf16> -> tensor<8x4xf8E5M2>", "%0 = tt.fp_to_fp %h : tensor<8x4xf16> -> tensor<8x4xf32>",
		"%0 = tt.addptr %q, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>", "%0 = tt.addptr %q, %n : tensor<8x!tt.ptr<f32>>, i32",
		"%0 = arith.addi %n, %n overflow<nsw> {a = 1 : i32} : i32", "%0 = arith.addi %f, %f : tensor<8xf32>", "%0 = arith.addf %i, %i : tensor<8xi32>", "%0 = arith.addi %n, %i : i32", "%0 = arith.extsi %n : i32 to i64", "%0 = arith.extsi %n : i32 to i16", "%0 = arith.trunci %n : i32 to i64",
		"%0 = arith.cmpi slt, %n, %n : i32", "%0 = arith.cmpi lt, %n, %n : i32", "%0 = arith.select %m, %f, %f : tensor<8xi1>, tensor<8xf32>", "%0 = arith.select %c, %f, %f : tensor<8xf32>", "%0 = arith.select %m, %x, %x : tensor<8xi1>, tensor<4x8xf32>",
		"%0 = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>", "%0 = arith.constant dense<[1, 2, 3]> : tensor<4xi32>", "%0 = arith.constant 300 : i8", "%0 = arith.constant -128 : i8", "%0 = arith.constant 255 : i8", "%0 = arith.constant dense<\"0x0000803F00000040\"> : tensor<2xf32>", "%0 = arith.constant dense<\"0x0000803F\"> : tensor<2xf32>", "%0 = arith.constant dense<[[1.0, -2.5e-3], [0x7F800000, 4.0]]> : tensor<2x2xf32>",
		"%0 = arith.constant dense<-1> : tensor<2x2xi1>", "%0 = arith.constant dense<true> : tensor<2xi1>", "%0 = arith.constant 1.0", "%0 = arith.constant 1 : index",
		"%0 = tt.atomic_rmw fadd, acq_rel, gpu, %q, %f, %m : (tensor<8x!tt.ptr<f32>>, tensor<8xf32>, tensor<8xi1>) -> tensor<8xf32>", "%0 = tt.atomic_rmw fadd, acq_rel, gpu, %q, %f : (tensor<8x!tt.ptr<f32>>, tensor<8xf32>) -> tensor<8xf32>", "%0 = tt.atomic_rmw fadd, acq_rel, gpu, %q, %f : (tensor<8x!tt.ptr<f32>>, tensor<8xf32>, tensor<8xi1>) -> tensor<8xf32>",
		"%0 = \"tt.reduce\"(%x) <{axis = 0 : i32}> ({\n^bb0(%a: f32, %b: f32):\n%s = arith.addf %a, %b : f32\ntt.reduce.return %s : f32\n}) : (tensor<4x8xf32>) -> tensor<8xf32>", "%0 = \"tt.reduce\"(%x) <{axis = 1 : i32}> ({\n^bb0(%a: f32, %b: f32):\ntt.reduce.return %a : f32\n}) : (tensor<4x8xf32>) -> tensor<8xf32>",
		"%0 = \"tt.reduce\"(%x) <{axis = 2 : i32}> ({\n^bb0(%a: f32, %b: f32):\ntt.reduce.return %a : f32\n}) : (tensor<4x8xf32>) -> tensor<8xf32>", "%0 = \"tt.reduce\"(%f) <{axis = 0 : i32}> ({\n^bb0(%a: f32):\ntt.reduce.return %a : f32\n}) : (tensor<8xf32>) -> f32",
		"%0 = \"tt.scan\"(%f) <{axis = 0 : i32, reverse = false}> ({\n^bb0(%a: f32, %b: f32):\ntt.scan.return %a : f32\n}) : (tensor<8xf32>) -> tensor<8xf32>", "%0 = \"tt.scan\"(%f) <{axis = 0 : i32, reverse = false}> ({\n^bb0(%a: f32, %b: f32):\ntt.reduce.return %a : f32\n}) : (tensor<8xf32>) -> tensor<8xf32>",
		"%0 = tt.gather %f[%i] {axis = 0 : i32} : (tensor<8xf32>, tensor<8xi32>) -> tensor<8xf32>", "%0 = tt.gather %x[%i] {axis = 0 : i32} : (tensor<4x8xf32>, tensor<8xi32>) -> tensor<8xf32>",
		"%0 = tt.histogram %i, %m : tensor<8xi32> -> tensor<16xi32>", "%0 = tt.call @g(%n) : (i32) -> i32", "%0 = tt.call @h(%n) : (i32) -> i32", "%0 = tt.call @g(%c) : (i1) -> i32", "%0:2 = tt.call @g(%n) : (i32) -> (i32, i32)",
		"%0 = tt.descriptor_load %d[%n, %n] : !tt.tensordesc<16x64xf16> -> tensor<16x64xf16>", "%0 = tt.descriptor_load %d[%n, %n] : !tt.tensordesc<16x64xf16> -> tensor<16x32xf16>", "tt.descriptor_store %d[%n, %n], %w : !tt.tensordesc<16x64xf16>, tensor<16x64xf16>",
		"%0 = scf.for %j = %n to %n step %n iter_args(%a = %f) -> (tensor<8xf32>) : i32 {\nscf.yield %a : tensor<8xf32>\n}", "%0 = scf.for %j = %n to %n step %n iter_args(%a = %f) -> (tensor<8xf32>) : i32 {\nscf.yield %j : i32\n}", "scf.for %j = %n to %n step %n : i32 {\n}", "%0 = scf.for %j = %n to %n step %n iter_args(%a = %f) -> (tensor<8xf32>) : i32 {\n%b = arith.addf %a, %a : tensor<8xf32>\n}",
		"%0 = scf.if %c -> (i32) {\nscf.yield %n : i32\n} else {\nscf.yield %n : i32\n}", "%0 = scf.if %c -> (i32) {\nscf.yield %n : i32\n}", "scf.if %n {\n}", "%0 = scf.while (%a = %n) : (i32) -> i32 {\nscf.condition(%c) %a : i32\n} do {\n^bb0(%b: i32):\nscf.yield %b : i32\n}", "%0 = scf.while (%a = %n) : (i32) -> i1 {\nscf.condition(%c) %a : i32\n} do {\n^bb0(%b: i32):\nscf.yield %b : i32\n}",
		"%1 = arith.addi %0, %n : i32\n%0 = arith.addi %n, %n : i32", "%1 = arith.addi %nothing, %n : i32", "scf.if %c {\n%0 = arith.addi %n, %n : i32\n}\n%1 = arith.addi %0, %n : i32", "cf.br ^bb1(%n : i32)\n^bb1(%a: i32):", "cf.br ^bb1(%c : i1)\n^bb1(%a: i32):", "cf.br ^bb1\n^bb1(%a: i32):", "cf.cond_br %c, ^bb1, ^bb2\n^bb1:\n%0 = arith.addi %n, %n : i32\ncf.br ^bb2\n^bb2:\n%1 = arith.addi %0, %n : i32",
		"cf.cond_br %c, ^bb1, ^bb2\n^bb1:\n%0 = arith.addi %n, %n : i32\ncf.br ^bb3\n^bb2:\ncf.br ^bb3\n^bb3:", "cf.br ^bb2\n^bb1:\n%1 = arith.addi %0, %n : i32\ntt.return\n^bb2:\n%0 = arith.addi %n, %n : i32\ncf.br ^bb1\n^bb3:", "tt.return\ntt.return", "scf.yield", "%0 = tt.dot %x, %h, %x : tensor<4x8xf32> * tensor<8x4xf16> -> tensor<4x8xf32>",
	}
	var texts []string
	for _, c := range cases {
		texts = append(texts, strings.Replace(frame, "OPS", c, 1))
	}
	refused := 0
	for i, a := range ask(t, "triton-3.9.0", texts...) {
		m := Parse(texts[i])
		bad := append(m.Problems, m.Verify()...)
		if valid := len(bad) == 0; valid != (a.Error == "") {
			t.Errorf("%s\n is %v here, and Triton says %q", cases[i], bad, a.Error)
		}
		refused += min(len(a.Error), 1)
	}
	if refused < len(cases)/3 || refused > len(cases)*2/3 {
		t.Errorf("%d of %d are refused", refused, len(cases))
	}
}
