package work

import (
	"fmt"
	"strings"
	"testing"
)

// kernel wraps operations into a kernel of one pointer, a block's size and two numbers.
func kernel(lines ...string) string {
	return "module {\n  tt.func public @k(%p: !tt.ptr<f32> loc(\"p\"(#loc)), %n: i32 loc(\"n\"(#loc)), %m: i32 loc(#loc7)) attributes {noinline = false} {\n    " +
		"%c0 = arith.constant 0 : i32 loc(#loc)\n    %c1 = arith.constant 1 : i32 loc(#loc)\n    %c4 = arith.constant 4 : i32 loc(#loc)\n    " +
		strings.Join(lines, "\n    ") + "\n    tt.return loc(#loc)\n  } loc(#loc)\n} loc(#loc)\n#loc7 = loc(\"m\"(#loc))\n"
}

const load = "%x = tt.load %p : !tt.ptr<f32> loc(#loc)" // 4 bytes

func TestCount(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
	}{
		{"a load", kernel(load), "4 0 0 0 exact"},
		{"types", kernel("%0 = tt.load %a, %mask : tensor<8x4x!tt.ptr<bf16>>", "tt.store %b, %v : tensor<16x!tt.ptr<i1>>", "%1 = tt.descriptor_load %d[%i] : !tt.tensordesc<64x32xf8E4M3FN> -> tensor<64x32xf8E4M3FN>",
			"tt.descriptor_store %d[%i], %v : !tt.tensordesc<tensor<4x4xf16>>, tensor<4x4xf16>", "%2 = tt.load %q {boundaryCheck = array<i32: 0, 1>} : !tt.ptr<tensor<16x8xf32>>"), "2624 48 0 0 exact"},
		{"an atomic reads and writes", kernel("%0 = tt.atomic_rmw fadd, acq_rel, gpu, %p, %v, %t : (!tt.ptr<f32>, f32, i1) -> f32"), "4 4 0 0 exact"},
		{"dots", kernel("%0 = tt.dot %a, %b, %c : tensor<16x32xf16> * tensor<32x8xf16> -> tensor<16x8xf32>", "%1 = tt.dot %a, %b, %c : tensor<2x16x32xf16> * tensor<2x32x8xf16> -> tensor<2x16x8xf32>"), "0 0 24576 0 exact"},
		{"arithmetic", kernel("%0 = arith.mulf %a, %b : tensor<8xf32>", "%1 = math.fma %a, %b, %c : tensor<8xf32>", "%2 = arith.muli %a, %b : tensor<8xi32>",
			"%3 = \"tt.reduce\"(%0) <{axis = 0 : i32}> ({", "^bb0(%l: f32 loc(\"l\"(#loc)), %r: f32 loc(#loc)):", "  %s = arith.addf %l, %r : f32", "  tt.reduce.return %s : f32", "}) : (tensor<8xf32>) -> f32"), "0 0 0 31 exact"},
		{"a loop by an argument", kernel("scf.for %i = %c0 to %n step %c4  : i32 {", load, "} loc(#loc)"), "12 0 0 0 exact"},
		{"an argument by its location's name", kernel("scf.for %i = %c0 to %m step %c1  : i32 {", load, "}"), "20 0 0 0 exact"},
		{"an inner loop by the outer", kernel("scf.for %i = %c0 to %n step %c1  : i32 {", "scf.for %j = %c0 to %i step %c1  : i32 {", load, "}", "}"), "144 0 0 0 exact"},
		{"what goes round", kernel("%r:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %c1, %b = %c0) -> (i32, i32)  : i32 {", "scf.for %j = %c0 to %a step %c1  : i32 {", load, "}", "%d = arith.addi %a, %a : i32", "scf.yield %d, %b : i32, i32", "}",
			"scf.for %j = %c0 to %r#0 step %c1  : i32 {", load, "}"), "124 0 0 0 exact"},
		{"a branch", kernel("%z = arith.cmpi sgt, %n, %c4 : i32", "scf.if %z {", load, "} else {", load, load, "}"), "4 0 0 0 exact"},
		{"the other branch", kernel("%z = arith.cmpi slt, %n, %c4 : i32", "%v = scf.if %z -> (i32) {", load, "scf.yield %c1 : i32", "} else {", load, load, "scf.yield %c4 : i32", "}", "scf.for %j = %c0 to %v step %c1  : i32 {", load, "}"), "24 0 0 0 exact"},
		{"a branch by data", kernel("%z = tt.load %q : !tt.ptr<i1>", "scf.if %z {", load, "} else {", load, load, "}"), "9 0 0 0 line 7: it is not known which branch is taken; the larger is counted"},
		{"a loop by data", kernel("%e = tt.load %q : !tt.ptr<i32>", "scf.for %i = %c0 to %e step %c1  : i32 {", load, "}"), "8 0 0 0 line 7: how often the loop runs is not known before the launch; it is counted once"},
		{"a while loop", kernel("scf.while (%a = %c0) : (i32) -> i32 {", "scf.condition(%t) %a : i32", "} do {", "^bb0(%b: i32):", load, "scf.yield %b : i32", "}"), "4 0 0 0 line 6: how often the while loop runs is not known; it is counted once"},
		{"a size that is not known", kernel("%0 = tt.load %q : !tt.ptr<!x.y>"), "0 0 0 0 exact line 6: the size of !tt.ptr<!x.y> is not known, so it is not counted"},
	} {
		m := Parse(c.text)
		got := Parse(c.text).Count(Launch{Arguments: map[string]int64{"n": 9, "m": 5}, Grid: [3]int64{1, 1, 1}})
		if len(m.Parameters()) != 3 || m.Parameters()[2].Label != "m" {
			t.Errorf("%s: parameters %v", c.name, m.Parameters())
		}
		exact := ""
		if got.Exact {
			exact = " exact"
		}
		s := strings.TrimSpace(fmt.Sprintf("%d %d %d %d%s %s", got.Loaded, got.Stored, got.Dots, got.Flops, exact, strings.Join(got.Notes, "; ")))
		if s != c.want {
			t.Errorf("%s: got %q, want %q", c.name, s, c.want)
		}
		decisiveEnough(t, c.name, m)
	}
}

// decisiveEnough changes parameters: where that changes the work they must be decisive.
func decisiveEnough(t *testing.T, name string, m *Module) {
	t.Helper()
	decisive := m.Decisive()
	count := func(n, m2 int64) string {
		return fmt.Sprint(m.Count(Launch{Arguments: map[string]int64{"n": n, "m": m2}, Grid: [3]int64{2, 1, 1}}))
	}
	for _, v := range []int64{0, 1, 4, 17, 100} {
		if count(v, 5) != count(9, 5) && !decisive["n"] || count(9, v) != count(9, 5) && !decisive["m"] {
			t.Errorf("%s: the work depends on more than %v", name, decisive)
		}
	}
}

func TestDecisive(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
	}{
		{"nothing", kernel("%0 = arith.addi %n, %m : i32", load), "map[]"},
		{"a bound", kernel("%0 = arith.addi %n, %c1 : i32", "scf.for %i = %c0 to %0 step %c1  : i32 {", load, "}"), "map[n:true]"},
		{"a step that goes round", kernel("%r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %m) -> (i32)  : i32 {", "scf.for %j = %c0 to %c4 step %a  : i32 {", load, "}", "%d = arith.addi %a, %n : i32", "scf.yield %d : i32", "}"), "map[m:true n:true]"},
		{"a branch's result", kernel("%v = scf.if %t -> (i32) {", "scf.yield %n : i32", "} else {", "scf.yield %c4 : i32", "}", "scf.for %j = %c0 to %v step %c1  : i32 {", load, "}"), "map[n:true]"},
		{"a condition", kernel("%z = arith.cmpi sgt, %m, %c4 : i32", "scf.if %z {", load, "}"), "map[m:true]"},
		{"a call", strings.Replace(kernel("%0 = tt.call @f(%n) : (i32) -> i32", "scf.for %j = %c0 to %0 step %c1  : i32 {", load, "}"), "module {\n",
			"module {\n  tt.func private @f(%q: i32 loc(#loc)) -> i32 attributes {noinline = true} {\n    tt.return %q : i32 loc(#loc)\n  } loc(#loc)\n", 1), "map[n:true]"},
		{"a loop in what is called", strings.Replace(kernel("tt.call @f(%m) : (i32) -> ()"), "module {\n",
			"module {\n  tt.func private @f(%q: i32 loc(#loc)) attributes {noinline = true} {\n    scf.for %j = %c0 to %q step %c1  : i32 {\n    "+load+"\n    }\n    tt.return loc(#loc)\n  } loc(#loc)\n", 1), "map[m:true]"},
	} {
		m := Parse(c.text)
		if got := fmt.Sprint(m.Decisive()); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		decisiveEnough(t, c.name, m)
	}
}

// TestPrograms: what a program does may depend on which it is.
func TestPrograms(t *testing.T) {
	text := kernel("%x = tt.get_program_id x : i32", "%y = tt.get_num_programs y : i32", "%e = arith.muli %x, %y : i32", "scf.for %i = %c0 to %e step %c1  : i32 {", load, "}")
	got := Parse(text).Count(Launch{Grid: [3]int64{5, 2, 1}}) // 0, 2, 4, 6, 8 loads, twice
	if got.Loaded != 160 || !got.Exact || got.Programs != 10 {
		t.Errorf("%+v", got)
	}
	many := Parse(text).Count(Launch{Grid: [3]int64{1 << 14, 1, 1}})
	if want := int64(1<<14) * (1<<14 - 1) / 2 * 4; many.Exact || many.Loaded < want*9/10 || many.Loaded > want*11/10 || len(many.Notes) != 1 {
		t.Errorf("%+v, about %d", many, want)
	}
}

// TestCalls: functions that are not inlined are counted where they are called.
func TestCalls(t *testing.T) {
	text := kernel("%a = tt.call @twice__i32(%n) : (i32) -> i32", "scf.for %i = %c0 to %a step %c1  : i32 {", "tt.call @\"other one\"() : () -> ()", "}") +
		"tt.func private @twice__i32(%v: i32 loc(#loc)) -> i32 attributes {noinline = true} {\n%d = arith.addi %v, %v : i32\ntt.return %d : i32\n}\n" +
		"tt.func private @\"other one\"() attributes {noinline = true} {\n" + load + "\ntt.return\n}\n"
	if got := Parse(text).Count(Launch{Arguments: map[string]int64{"n": 3}, Grid: [3]int64{1, 1, 1}}); got.Loaded != 24 || !got.Exact {
		t.Errorf("%+v", got)
	}
}

// TestCallsOfTritonsNames: names of functions may have brackets, and what a function with a tensor as its result does counts.
func TestCallsOfTritonsNames(t *testing.T) {
	text := kernel("%a = tt.call @\"m.f__i32__(1,)cconstexpr[3]\"(%n) : (i32) -> tensor<4xf32>") +
		"tt.func private @\"m.f__i32__(1,)cconstexpr[3]\"(%v: i32 loc(#loc)) -> tensor<4xf32> attributes {noinline = true} {\n" + load + "\n%d = tt.splat %x : f32 -> tensor<4xf32>\ntt.return %d : tensor<4xf32>\n}\n"
	if got := Parse(text).Count(Launch{Grid: [3]int64{1, 1, 1}}); got.Loaded != 4 || !got.Exact {
		t.Errorf("%+v", got)
	}
}

// TestCallsWithoutEnd: each of forty functions calls the next twice, which would be a million million calls.
func TestCallsWithoutEnd(t *testing.T) {
	text := kernel("tt.call @f0() : () -> ()")
	for i := range 40 {
		call := fmt.Sprintf("tt.call @f%d() : () -> ()\n", i+1)
		text += fmt.Sprintf("tt.func private @f%d() attributes {noinline = true} {\n%s\n%s%stt.return\n}\n", i, load, call, call)
	}
	if got := Parse(text).Count(Launch{Grid: [3]int64{1, 1, 1}}); got.Exact || got.Loaded < 4<<18 || len(got.Notes) == 0 {
		t.Errorf("%+v", got)
	}
}

// FuzzTTIR looks for panics and endless work.
func FuzzTTIR(f *testing.F) {
	f.Add(kernel(load, "scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> (i32) : i32 {", "scf.if %a {", "} else {", "}", "scf.yield %i : i32", "}"))
	f.Add(kernel("%r:2 = scf.for %i = %n to %c0 step %n : i32 {", "}", "}", "} else {", "%0 = \"tt.reduce\"(%0) ({", "^bb0(%a: f32):", "}) : (tensor<"))
	f.Add("tt.func @f(%a: i32) {\ntt.call @f(%a) : (i32) -> ()\n}")
	f.Fuzz(func(t *testing.T, text string) {
		m := Parse(text)
		got := m.Count(Launch{Grid: [3]int64{3, 2, 1}, Arguments: map[string]int64{"n": 100, "a": -1}})
		if got.Loaded < 0 || got.Stored < 0 || got.Dots < 0 || got.Flops < 0 {
			t.Fatalf("%+v", got)
		}
	})
}
