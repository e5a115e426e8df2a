package interpreter

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/goproton/goproton/triton/ttir"
)

// adding is a kernel that adds 1 to n numbers; MASK is the mask of its accesses, and ACTIVE its bound.
const adding = `module {
  tt.func public @add(%x: !tt.ptr<f32> loc("k.py":1:0), %n: i32) {
    %c16 = arith.constant 16 : i32
    %one = arith.constant dense<1.0> : tensor<16xf32>
    %pid = tt.get_program_id x : i32
    %from = arith.muli %pid, %c16 : i32
    %range = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %start = tt.splat %from : i32 -> tensor<16xi32>
    %at = arith.addi %start, %range : tensor<16xi32>
    %bound = tt.splat %n : i32 -> tensor<16xi32>
    %mask = arith.cmpi slt, %at, %bound : tensor<16xi32>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %ps = tt.addptr %p, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %v = tt.load %ps, %mask : tensor<16x!tt.ptr<f32>> loc("k.py":7:8)
    %w = arith.addf %v, %one : tensor<16xf32> loc("k.py":8:8)
    tt.store %ps, %w, %mask : tensor<16x!tt.ptr<f32>> loc("k.py":9:4)
    tt.return
  }
}
`

func program(t testing.TB, text string) *Program {
	t.Helper()
	p, err := Load(ttir.Parse(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOutOfBounds: the first element outside is named, whatever lies next to the buffer; elements that the mask leaves out do not count.
func TestOutOfBounds(t *testing.T) {
	p := program(t, adding)
	for _, c := range []struct {
		size, n  int
		grid     int32
		lane     int
		instance int32
		text     string
	}{
		{40, 40, 3, -1, 0, ""}, {40, 41, 3, 8, 2, "read of x: element 40 of 40 (byte 160 of 160)"}, {16, 32, 2, 0, 1, "read of x: element 16 of 16"}, {0, 1, 1, 0, 0, "read of x: element 0 of 0"},
	} {
		x := &Buffer{Name: "x", Data: make([]byte, 4*c.size)}
		m := []Argument{Pointer(x, 0), Int(int64(c.n))}
		r, err := p.Launch("add", [3]int32{c.grid, 1, 1}, m, Options{})
		if c.lane < 0 {
			if err != nil || r.Programs != int64(c.grid) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		var f *Finding
		if !errors.As(err, &f) || f.Kind != "out of bounds" || f.Lane != c.lane || f.Program != [3]int32{c.instance} || f.Buffer != "x" || !strings.Contains(f.Text, c.text) || f.Frames[0].Line != 7 {
			t.Errorf("%+v: %v", c, err)
		}
	}
	x := &Buffer{Name: "x", Data: make([]byte, 64)}
	if _, err := p.Launch("add", [3]int32{1, 1, 1}, []Argument{Pointer(x, -4), Int(16)}, Options{}); err == nil || !strings.Contains(err.Error(), "element -1 of 16") || !strings.Contains(err.Error(), "k.py:7:8") {
		t.Errorf("in front of the buffer: %v", err)
	}
	if _, err := p.Launch("add", [3]int32{1, 1, 1}, []Argument{Pointer(nil, 0), Int(16)}, Options{}); err == nil || !strings.Contains(err.Error(), "the null pointer") {
		t.Errorf("the null pointer: %v", err)
	}
}

// TestCounts: what a launch did by line, as computed by hand: 3 instances of 16 elements, of which 40 are active.
func TestCounts(t *testing.T) {
	for _, o := range []Options{{}, {Workers: 3}} {
		x := &Buffer{Name: "x", Data: make([]byte, 160)}
		r, err := program(t, adding).Launch("", [3]int32{3, 1, 1}, []Argument{Pointer(x, 0), Int(40)}, o)
		if err != nil {
			t.Fatal(err)
		}
		want := Access{Operations: 3, Lanes: 48, Active: 40, Bytes: 192, ActiveBytes: 160}
		seen := 0
		for _, l := range r.Lines {
			if l.Frames[0].File != "k.py" {
				continue
			}
			switch l.Frames[0].Line {
			case 7:
				seen++
				if l.Loads != want {
					t.Errorf("loads %+v", l.Loads)
				}
			case 8:
				seen++
				if l.Flops["f32"] != 48 {
					t.Errorf("flops %v", l.Flops)
				}
			case 9:
				seen++
				if l.Stores != want {
					t.Errorf("stores %+v", l.Stores)
				}
			}
		}
		if seen != 3 {
			t.Errorf("%+v", r.Lines)
		}
	}
}

func body(arguments, text string) string {
	return "module {\n tt.func public @k(" + arguments + ") {\n" + text + "\n tt.return\n }\n}\n"
}

// TestNotSupported: an operation that cannot run is named when it is reached, with its line; where it is not reached, the kernel runs.
func TestNotSupported(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown": {`"tt.later"() : () -> ()`, "the operation is not supported"},
		"library": {`%r = tt.extern_elementwise %f {libname = "l", libpath = "", pure = true, symbol = "__nv_strangef"} : (f32) -> f32`, "the function __nv_strangef is not in the table"},
		"width":   {`%r = arith.extsi %n : i32 to i128 loc("k.py":3:1)` + "\n" + `%q = arith.addi %r, %r : i128`, "it does not give i128 by program (0, 0, 0), lane 0, at k.py:3:1 in k (arith.extsi)"},
		"itself":  {"tt.call @k(%f, %n) : (f32, i32) -> ()", "k calls itself"},
		"large":   {`%a = ub.poison : tensor<1048576x1048576xf32>`, "has more than 4194304 elements"},
		"moved":   {`%a = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>` + "\n" + `%r = scf.for %i = %zero to %n step %n iter_args(%b = %a) -> (tensor<8xi32>) : i32 {` + "\n" + `%l = "tt.later"() : () -> i32` + "\n" + `%s = tt.splat %l : i32 -> tensor<8xi32>` + "\n" + `%q = arith.addi %b, %s : tensor<8xi32>` + "\n" + `scf.yield %q : tensor<8xi32>` + "\n}", "the operation is not supported"},
		"carried": {`%a = scf.for %i = %n to %n step %n iter_args(%b = %n) -> (i32) : i32 {` + "\n" + `%l = "tt.later"() : () -> i32` + "\n" + `scf.yield %l : i32` + "\n}", ""},
	} {
		for reached := range int64(2) {
			p := program(t, body("%f: f32, %n: i32", "%zero = arith.constant 0 : i32\n%c = arith.cmpi ne, %n, %zero : i32\nscf.if %c {\n"+c.text+"\n}"))
			_, err := p.Launch("", [3]int32{1, 1, 1}, []Argument{Float(1), Int(reached)}, Options{})
			var f *Finding
			if reached == 0 || c.want == "" {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			} else if !errors.As(err, &f) || f.Kind != "not supported" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestArguments: arguments that do not fit are named.
func TestArguments(t *testing.T) {
	p := program(t, adding)
	x := &Buffer{Name: "x", Data: make([]byte, 64)}
	for _, c := range []struct {
		grid [3]int32
		list []Argument
		want string
	}{
		{[3]int32{1, 1, 1}, []Argument{Pointer(x, 0)}, "add has 2 arguments, and 1 are given"},
		{[3]int32{1, 1, 1}, []Argument{Pointer(x, 0), Float(1)}, "the argument n (1) of add: it is an integer from -2147483648 to 4294967295"},
		{[3]int32{1, 1, 1}, []Argument{Pointer(x, 0), Int(1 << 40)}, "the argument n (1) of add"},
		{[3]int32{1, 1, 1}, []Argument{Float(1), Int(1)}, "the argument x (0) of add: it is !tt.ptr<f32>"},
		{[3]int32{0, 1, 1}, []Argument{Pointer(x, 0), Int(1)}, "a grid of 0 × 1 × 1 cannot be launched"},
	} {
		if _, err := p.Launch("", c.grid, c.list, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.want, err)
		}
	}
	if _, err := p.Launch("other", [3]int32{1, 1, 1}, nil, Options{}); err == nil {
		t.Error("a kernel that is not there was launched")
	}
	if _, err := p.Launch("", [3]int32{1, 1, 1}, []Argument{Pointer(x, 0), Int(16)}, Options{Programs: [][3]int32{{1, 0, 0}}}); err == nil {
		t.Error("an instance outside of the grid was run")
	}
}

// TestEndless: a loop without an end ends at the limit, or with its context.
func TestEndless(t *testing.T) {
	p := program(t, body("", ` scf.while : () -> () {
 %true = arith.constant true loc("k.py":3:1)
 scf.condition(%true)
 } do {
 scf.yield
 }`))
	var f *Finding
	if _, err := p.Launch("", [3]int32{1, 1, 1}, nil, Options{MaxSteps: 1 << 20}); !errors.As(err, &f) || f.Kind != "steps" || len(f.Frames) > 0 && f.Frames[0].Line != 3 {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Launch("", [3]int32{1, 1, 1}, nil, Options{Context: ended}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestTalk: what a kernel prints and asserts.
func TestTalk(t *testing.T) {
	text := body("%n: i32", ` %r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
 %b = tt.splat %n : i32 -> tensor<16xi32>
 tt.print " at: " {hex = false, isSigned = array<i32: 1>} : %r : tensor<16xi32>
 %c = arith.cmpi slt, %r, %b : tensor<16xi32>
 tt.assert %c, "small" : tensor<16xi1> loc("k.py":4:2)`)
	var out bytes.Buffer
	p := program(t, text)
	if _, err := p.Launch("", [3]int32{1, 1, 1}, []Argument{Int(16)}, Options{Output: &out}); err != nil || !strings.HasPrefix(out.String(), "pid (0, 0, 0) idx ( 0) at: 0\npid (0, 0, 0) idx ( 1) at: 1\n") || strings.Count(out.String(), "\n") != 16 {
		t.Errorf("%v: %q", err, out.String())
	}
	var f *Finding
	if _, err := p.Launch("", [3]int32{1, 1, 1}, []Argument{Int(5)}, Options{}); !errors.As(err, &f) || f.Kind != "assertion" || f.Lane != 5 || f.Text != "small" {
		t.Errorf("%v", err)
	}
}

// TestMarks: what goproton's handlers write into a kernel prints as Python's print does, or nothing.
func TestMarks(t *testing.T) {
	p := program(t, body("%n: i32", ` %r = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
 tt.print "\01break" {hex = false, isSigned = array<i32>}
 tt.print "\01var r" {hex = false, isSigned = array<i32: 1>} : %r : tensor<4xi32>
 tt.print "\01print r is \02 and n \02 of (4,)" {hex = false, isSigned = array<i32: 1, 1>} : %r, %n : tensor<4xi32>, i32`))
	var out bytes.Buffer
	if _, err := p.Launch("", [3]int32{1, 1, 1}, []Argument{Int(16)}, Options{Output: &out}); err != nil || out.String() != "pid (0, 0, 0) r is [0, 1, 2, 3] and n 16 of (4,)\n" {
		t.Errorf("%v: %q", err, out.String())
	}
	seen := 0
	print := func(p *Printed) {
		if seen++; len(p.Values) != 2 || p.Values[1].Elements().([]int64)[0] != 16 {
			t.Errorf("%+v", p)
		}
	}
	if _, err := p.Launch("", [3]int32{1, 1, 1}, []Argument{Int(16)}, Options{Print: print}); err != nil || seen != 1 {
		t.Errorf("%v: %d", err, seen)
	}
}

// TestAddressesInMemory: pointers that are stored in memory are those of the program that launches; others are not followed.
func TestAddressesInMemory(t *testing.T) {
	p := program(t, body("%table: !tt.ptr<i64>, %z: !tt.ptr<f32>", ` %a = tt.load %table : !tt.ptr<i64>
 %p = tt.int_to_ptr %a : i64 -> !tt.ptr<f32>
 %v = tt.load %p : !tt.ptr<f32>
 tt.store %z, %v : !tt.ptr<f32>`))
	table, z := &Buffer{Name: "table", Data: make([]byte, 8)}, &Buffer{Name: "z", Data: make([]byte, 8), Address: 0x7F0000001000}
	z.Data[7] = 0x40
	little.PutUint64(table.Data, z.Address+4)
	if _, err := p.Launch("", [3]int32{1, 1, 1}, []Argument{Pointer(table, 0), Pointer(z, 0)}, Options{}); err != nil || z.Data[3] != 0x40 {
		t.Errorf("%v: %x", err, z.Data)
	}
	little.PutUint64(table.Data, z.Address+8)
	if _, err := p.Launch("", [3]int32{1, 1, 1}, []Argument{Pointer(table, 0), Pointer(z, 0)}, Options{}); err == nil || !strings.Contains(err.Error(), "which is in no buffer") {
		t.Errorf("%v", err)
	}
}

// TestBlockPointers: dimensions in boundaryCheck are compared with the tensor's, and what is outside is NaN; others are accesses outside.
func TestBlockPointers(t *testing.T) {
	text := body("%x: !tt.ptr<f32>, %z: !tt.ptr<f32>, %n: i64", ` %c1 = arith.constant 1 : i64
 %o = arith.constant 0 : i32
 %two = arith.constant 2 : i32
 %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
 %p = tt.make_tensor_ptr %x, [%n], [%c1], [%o] {order = array<i32: 0>} : !tt.ptr<tensor<8xf32>>
 %q = tt.advance %p, [%two] : !tt.ptr<tensor<8xf32>>
 %v = tt.load %q {boundaryCheck = array<i32: CHECK>, padding = 2 : i32} : !tt.ptr<tensor<8xf32>>
 %zs = tt.splat %z : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
 %za = tt.addptr %zs, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
 tt.store %za, %v : tensor<8x!tt.ptr<f32>>`)
	x, z := &Buffer{Name: "x", Data: make([]byte, 20)}, &Buffer{Name: "z", Data: make([]byte, 32)}
	for i := range 5 {
		little.PutUint32(x.Data[4*i:], math.Float32bits(float32(i+1)))
	}
	list := []Argument{Pointer(x, 0), Pointer(z, 0), Int(5)}
	if _, err := program(t, strings.ReplaceAll(text, "CHECK", "0")).Launch("", [3]int32{1, 1, 1}, list, Options{}); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		v := math.Float32frombits(little.Uint32(z.Data[4*i:]))
		if i < 3 && v != float32(i+3) || i >= 3 && v == v {
			t.Errorf("element %d is %v", i, v)
		}
	}
	_, err := program(t, strings.ReplaceAll(text, "i32: CHECK", "i32")).Launch("", [3]int32{1, 1, 1}, list, Options{})
	var f *Finding
	if !errors.As(err, &f) || f.Lane != 3 || f.Buffer != "x" {
		t.Errorf("%v", err)
	}
}

// TestAtomics: no addition is lost, in parallel either; each instance reads another sum.
func TestAtomics(t *testing.T) {
	p := program(t, body("%x: !tt.ptr<i32>, %z: !tt.ptr<i32>", ` %one = arith.constant 1 : i32
 %true = arith.constant true
 %pid = tt.get_program_id x : i32
 %old = tt.atomic_rmw add, acq_rel, gpu, %x, %one, %true : (!tt.ptr<i32>, i32, i1) -> i32
 %at = tt.addptr %z, %old : !tt.ptr<i32>, i32
 tt.store %at, %pid : !tt.ptr<i32>`))
	const n = 1000
	for _, o := range []Options{{}, {Workers: 4}, {Order: Reverse}, {Order: Shuffled, Seed: 5}} {
		x, z := &Buffer{Name: "x", Data: make([]byte, 4)}, &Buffer{Name: "z", Data: make([]byte, 4*n)}
		if _, err := p.Launch("", [3]int32{10, 10, 10}, []Argument{Pointer(x, 0), Pointer(z, 0)}, o); err != nil || little.Uint32(x.Data) != n {
			t.Errorf("%+v: %v, %d", o, err, little.Uint32(x.Data))
		}
		sum := uint32(0)
		for i := range n {
			sum += little.Uint32(z.Data[4*i:])
		}
		if sum != 100*45 {
			t.Errorf("%+v: the instances' numbers add up to %d", o, sum)
		}
		if first := little.Uint32(z.Data); o.Order == Reverse && first != 9 {
			t.Errorf("the last instance is not the first: %d", first)
		}
	}
}

// TestPrints: numbers as C writes them, bits, operands and dimensions.
func TestPrints(t *testing.T) {
	text := body("%f: f32, %n: i32, %p: !tt.ptr<f32>", ` %r = tt.make_range {end = 2 : i32, start = 0 : i32} : tensor<2xi32>
 %e = tt.expand_dims %r {axis = 1 : i32} : tensor<2xi32> -> tensor<2x1xi32>
 %b = tt.broadcast %e : tensor<2x1xi32> -> tensor<2x2xi32>
 tt.print " b: " {hex = false, isSigned = array<i32: 1>} : %b : tensor<2x2xi32>
 tt.print " f: " {hex = false, isSigned = array<i32: 1, 0>} : %f, %n : f32, i32
 tt.print " h: " {hex = true, isSigned = array<i32: 1, 1>} : %f, %n : f32, i32
 tt.print " nothing" {hex = false, isSigned = array<i32>}`)
	want := "pid (0, 0, 0) idx (0, 0) b: 0\npid (0, 0, 0) idx (0, 1) b: 0\npid (0, 0, 0) idx (1, 0) b: 1\npid (0, 0, 0) idx (1, 1) b: 1\n" +
		"pid (0, 0, 0) idx () f: (operand 0) 1.500000\npid (0, 0, 0) idx () f: (operand 1) 4294967295\npid (0, 0, 0) idx () h: (operand 0) 0x3fc00000\npid (0, 0, 0) idx () h: (operand 1) 0xffffffff\npid (0, 0, 0) idx () nothing\n"
	var out bytes.Buffer
	if _, err := program(t, text).Launch("", [3]int32{1, 1, 1}, []Argument{Float(1.5), Int(-1), Pointer(nil, 0)}, Options{Output: &out}); err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestAtomicAccesses: loads, stores and polls of Triton 3.9, and exchanges of i1.
func TestAtomicAccesses(t *testing.T) {
	p := program(t, body("%x: !tt.ptr<i32>, %z: !tt.ptr<i32>, %f: !tt.ptr<i1>, %n: i32", ` %true = arith.constant true
 %pid = tt.get_program_id x : i32
 %zero = arith.constant 0 : i32
 %limit = arith.constant 1000 : i64
 %v = tt.atomic_load acquire, gpu, %x, %true : (!tt.ptr<i32>, i1) -> i32
 %first = arith.cmpi eq, %pid, %zero : i32
 scf.if %first {
  tt.atomic_store release, gpu, %x, %n, %true : !tt.ptr<i32>
 }
 %ok = tt.atomic_poll acquire, gpu, %x, %n timeout %limit : !tt.ptr<i32>, i32 -> i1
 %old = tt.atomic_rmw xor, acq_rel, gpu, %f, %ok, %true : (!tt.ptr<i1>, i1, i1) -> i1
 %at = tt.addptr %z, %pid : !tt.ptr<i32>, i32
 %k = arith.extui %ok : i1 to i32
 %w = arith.addi %v, %k : i32
 tt.store %at, %w : !tt.ptr<i32>`))
	for _, c := range []struct {
		o    Options
		want string
	}{{Options{}, "\x01\x00\x00\x00\x08\x00\x00\x00\x08\x00\x00\x00"}, {Options{Order: Reverse}, "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"}} {
		x, z, f := &Buffer{Name: "x", Data: make([]byte, 4)}, &Buffer{Name: "z", Data: make([]byte, 12)}, &Buffer{Name: "f", Data: make([]byte, 1)}
		if _, err := p.Launch("", [3]int32{3, 1, 1}, []Argument{Pointer(x, 0), Pointer(z, 0), Pointer(f, 0), Int(7)}, c.o); err != nil || string(z.Data) != c.want || f.Data[0] != 1 {
			t.Errorf("%+v: %v, %x, %x", c.o, err, z.Data, f.Data)
		}
	}
	waits := program(t, body("%x: !tt.ptr<i32>, %n: i32", ` %true = arith.constant true
 %pid = tt.get_program_id x : i32
 %zero = arith.constant 0 : i32
 %first = arith.cmpi eq, %pid, %zero : i32
 scf.if %first {
  %ok = tt.atomic_poll acquire, gpu, %x, %n : !tt.ptr<i32>, i32 -> i1
 } else {
  tt.atomic_store release, gpu, %x, %n, %true : !tt.ptr<i32>
 }`))
	for _, o := range []Options{{Order: Cooperative}, {Workers: 2}} {
		if _, err := waits.Launch("", [3]int32{2, 1, 1}, []Argument{Pointer(&Buffer{Name: "x", Data: make([]byte, 4)}, 0), Int(7)}, o); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	text := body("%x: !tt.ptr<i32>, %n: i32", "%ok = tt.atomic_poll acquire, gpu, %x, %n : !tt.ptr<i32>, i32 -> i1")
	_, err := program(t, text).Launch("", [3]int32{1, 1, 1}, []Argument{Pointer(&Buffer{Name: "x", Data: make([]byte, 4)}, 0), Int(7)}, Options{MaxSteps: 1000})
	if f := (*Finding)(nil); !errors.As(err, &f) || f.Kind != "steps" {
		t.Errorf("%v", err)
	}
}
