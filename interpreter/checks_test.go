package interpreter

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

// orders are those in which every finding of races must be made.
var orders = []Options{{}, {Order: Reverse}, {Order: Shuffled, Seed: 3}, {Workers: 3}, {Order: Cooperative}}

// planted is a kernel with a fault, or a kernel without one that is nearly the same.
type planted struct {
	name, text string
	grid       int32
	arguments  func() []Argument
	kind       string // "" of a kernel without a fault
	line       int    // of k.py
	says       string
}

func (p *planted) launch(t *testing.T, o Options) (*Result, error) {
	t.Helper()
	return program(t, p.text).Launch("", [3]int32{p.grid, 1, 1}, p.arguments(), o)
}

// found runs a kernel in one order with checks, until the first finding and to its end.
func (p *planted) found(t *testing.T, o Options) {
	t.Helper()
	name := fmt.Sprintf("%s, order %d, %d workers", p.name, o.Order, o.Workers)
	_, err := p.launch(t, o)
	o.KeepGoing = true
	r, after := p.launch(t, o)
	if after != nil {
		t.Errorf("%s: %v", name, after)
		return
	}
	if p.kind == "" {
		if err != nil || len(r.Findings) > 0 {
			t.Errorf("%s: %v, %v", name, err, r.Findings)
		}
		return
	}
	var f *Finding
	if !errors.As(err, &f) || f.Kind != p.kind {
		t.Errorf("%s: %v", name, err)
		return
	}
	fits := func(f *Finding) bool {
		lines := []int{}
		for _, at := range append([]check.Place{f.Place}, f.Others...) {
			if len(at.Frames) > 0 {
				lines = append(lines, at.Frames[0].Line)
			}
		}
		return f.Kind == p.kind && strings.Contains(fmt.Sprint(lines), fmt.Sprint(p.line)) && strings.Contains(f.Error(), p.says)
	}
	if !fits(f) {
		t.Errorf("%s: %v", name, err)
	}
	any := false
	for _, f := range r.Findings {
		any = any || fits(f)
	}
	if !any {
		t.Errorf("%s: %v", name, r.Findings)
	}
}

// bytesOf is a buffer of so many bytes.
func newBuffer(name string, n int) *Buffer { return &Buffer{Name: name, Data: make([]byte, n)} }

// blocks is a kernel of blocks of 16 elements at pid·STRIDE, with BODY.
const blocks = `module {
  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {
    %stride = arith.constant STRIDE : i32
    %one = arith.constant dense<1.0> : tensor<16xf32>
    %c1 = arith.constant 1 : i32
    %c0 = arith.constant 0 : i32
    %true = arith.constant true
    %pid = tt.get_program_id x : i32
    %pids = tt.splat %pid : i32 -> tensor<16xi32>
    %from = arith.muli %pid, %stride : i32
    %range = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %start = tt.splat %from : i32 -> tensor<16xi32>
    %at = arith.addi %start, %range : tensor<16xi32>
    %bound = tt.splat %n : i32 -> tensor<16xi32>
    %mask = arith.cmpi slt, %at, %bound : tensor<16xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %px = tt.addptr %xs, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %py = tt.addptr %ys, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
BODY
    tt.return
  }
}
`

func blocksOf(stride int, body string) string {
	return strings.NewReplacer("STRIDE", fmt.Sprint(stride), "BODY", body).Replace(blocks)
}

func twoBuffers() []Argument {
	return []Argument{Pointer(newBuffer("x", 400), 0), Pointer(newBuffer("y", 400), 0), Int(64)}
}

const (
	storePids = `    %v = arith.sitofp %pids : tensor<16xi32> to tensor<16xf32>
    tt.store %px, %v, %mask : tensor<16x!tt.ptr<f32>> loc("k.py":5:1)`
	loadThenStore = `    %v = tt.load %px, %mask : tensor<16x!tt.ptr<f32>> loc("k.py":4:1)
    %w = arith.addf %v, %one : tensor<16xf32>
    tt.store %px, %w, %mask : tensor<16x!tt.ptr<f32>> loc("k.py":5:1)`
	copied1 = `    %v = tt.load %px, %mask : tensor<16x!tt.ptr<f32>> loc("k.py":4:1)
    tt.store %py, %v, %mask : tensor<16x!tt.ptr<f32>> loc("k.py":5:1)`
	sharedSum = `    %v = arith.sitofp %c1 : i32 to f32
    %old = tt.atomic_rmw fadd, ORDER, SCOPE, %x, %v, %true : (!tt.ptr<f32>, f32, i1) -> f32 loc("k.py":5:1)`
	readShared = `
    %r = tt.load %x : !tt.ptr<f32> loc("k.py":6:1)
    %to = tt.addptr %y, %pid : !tt.ptr<f32>, i32
    tt.store %to, %r : !tt.ptr<f32>`
	// each instance writes its element of y, counts, and the last one reads all elements
	lastReads = `    %z = tt.bitcast %x : !tt.ptr<f32> -> !tt.ptr<i32>
    %to = tt.addptr %y, %pid : !tt.ptr<f32>, i32
    %f = arith.sitofp %pid : i32 to f32
    tt.store %to, %f : !tt.ptr<f32> loc("k.py":4:1)
    %old = tt.atomic_rmw add, ORDER, gpu, %z, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32 loc("k.py":5:1)
    %grid = tt.get_num_programs x : i32
    %top = arith.subi %grid, %c1 : i32
    %isLast = arith.cmpi eq, %old, %top : i32
    scf.if %isLast {
      %all = tt.addptr %ys, %range : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
      %few = tt.splat %grid : i32 -> tensor<16xi32>
      %mine = arith.cmpi slt, %range, %few : tensor<16xi32>
      %r = tt.load %all, %mine : tensor<16x!tt.ptr<f32>> loc("k.py":7:1)
      tt.store %all, %r, %mine : tensor<16x!tt.ptr<f32>> loc("k.py":8:1)
    }`
	// a lock around a plain counter
	locked = `    %z = tt.bitcast %x : !tt.ptr<f32> -> !tt.ptr<i32>
    scf.while : () -> () {
      %was = tt.atomic_cas ORDER, gpu, %z, %c0, %c1 : (!tt.ptr<i32>, i32, i32) -> i32 loc("k.py":4:1)
      %taken = arith.cmpi ne, %was, %c0 : i32
      scf.condition(%taken)
    } do {
      scf.yield
    }
    %r = tt.load %y : !tt.ptr<f32> loc("k.py":6:1)
    %f = arith.sitofp %c1 : i32 to f32
    %s = arith.addf %r, %f : f32
    tt.store %y, %s : !tt.ptr<f32> loc("k.py":8:1)
    %b = tt.atomic_rmw exch, FREED, gpu, %z, %c0, %true : (!tt.ptr<i32>, i32, i1) -> i32 loc("k.py":9:1)`
)

func with1(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }

var races = []planted{
	{"blocks overlap", blocksOf(15, storePids), 4, twoBuffers, check.Race, 5, "write of x: element "},
	{"blocks touch", blocksOf(16, storePids), 4, twoBuffers, "", 0, ""},
	{"blocks of an odd size touch", blocksOf(15, strings.ReplaceAll(storePids, "%mask", "%less")), 4, twoBuffers, "", 0, ""},
	{"neighbours are read and written", blocksOf(15, loadThenStore), 4, twoBuffers, check.Race, 4, " of x: element "},
	{"only read in common", blocksOf(16, copied1), 4, twoBuffers, "", 0, ""},
	{"read and written in other instances", blocksOf(15, `    %v = tt.load %px, %mask : tensor<16x!tt.ptr<f32>> loc("k.py":4:1)
    tt.store %x, %c : !tt.ptr<f32> loc("k.py":5:1)`), 4, twoBuffers, check.Race, 5, " of x: element 0 of 100"},
	{"the same value in all instances", blocksOf(15, `    tt.store %px, %one : tensor<16x!tt.ptr<f32>> loc("k.py":5:1)`), 4, twoBuffers, "", 0, ""},
	{"atomic sums", blocksOf(16, with1(sharedSum, "ORDER", "relaxed", "SCOPE", "gpu")), 8, twoBuffers, "", 0, ""},
	{"atomic sums of the block only", blocksOf(16, with1(sharedSum, "ORDER", "acq_rel", "SCOPE", "cta")), 8, twoBuffers, check.Race, 5, "atomic operation of x"},
	{"a sum is read without waiting", blocksOf(16, with1(sharedSum, "ORDER", "acq_rel", "SCOPE", "gpu")+readShared), 8, twoBuffers, check.Race, 6, " of x: element 0"},
	{"the last one reads", blocksOf(16, with1(lastReads, "ORDER", "acq_rel")), 8, twoBuffers, "", 0, ""},
	{"the last one reads, relaxed", blocksOf(16, with1(lastReads, "ORDER", "relaxed")), 8, twoBuffers, check.Race, 4, " of y: element"},
	{"the last one reads, only released", blocksOf(16, with1(lastReads, "ORDER", "release")), 8, twoBuffers, check.Race, 7, " of y: element"},
	{"a lock", blocksOf(16, with1(locked, "ORDER", "acquire", "FREED", "release")), 8, twoBuffers, "", 0, ""},
	{"a lock that does not release", blocksOf(16, with1(locked, "ORDER", "acquire", "FREED", "relaxed")), 8, twoBuffers, check.Race, 8, " of y: element 0"},
}

func init() {
	for i := range races { // more masks and constants
		r := &races[i]
		r.text = strings.Replace(r.text, "    %xs =", "    %c = arith.constant 2.0 : f32\n    %c15 = arith.constant dense<15> : tensor<16xi32>\n    %less = arith.cmpi slt, %range, %c15 : tensor<16xi32>\n    %xs =", 1)
	}
}

// TestRaces: instances that nothing orders are found in every order, and what is ordered is not.
func TestRaces(t *testing.T) {
	for _, p := range races {
		for _, o := range orders {
			o.Checks = check.Races
			p.found(t, o)
		}
	}
}

// TestFailedWhileOthersWait: an instance that is ended by a finding while it has a lock does not let those that wait for the lock run for ever.
func TestFailedWhileOthersWait(t *testing.T) {
	text := strings.Replace(blocksOf(16, with1(locked, "ORDER", "acquire", "FREED", "release")), "%r = tt.load %y", "%far = arith.constant 1000 : i32\n%yy = tt.addptr %y, %far : !tt.ptr<f32>, i32\n%r = tt.load %yy", 1)
	for range 20 {
		var f *Finding
		if _, err := program(t, text).Launch("", [3]int32{8, 1, 1}, twoBuffers(), Options{Workers: 4}); !errors.As(err, &f) || f.Kind != check.OutOfBounds {
			t.Fatalf("%v", err)
		}
	}
}

// TestDuplicates: one store with two values for an element; equal values, and elements that a mask leaves out, are none.
func TestDuplicates(t *testing.T) {
	text := func(by, value string) string {
		return blocksOf(16, `    %by = arith.constant dense<`+by+`> : tensor<16xi32>
    %to = arith.divsi %range, %by : tensor<16xi32>
    %p = tt.addptr %xs, %to : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %f = arith.sitofp %range : tensor<16xi32> to tensor<16xf32>
    %first = arith.cmpi slt, %range, %by : tensor<16xi32>
    tt.store %p, `+value+` : tensor<16x!tt.ptr<f32>> loc("k.py":5:1)`)
	}
	for _, p := range []planted{
		{"two values", text("2", "%f"), 1, twoBuffers, check.DuplicateAddresses, 5, "x: element 0 of 100 (byte 0 of 400) by program (0, 0, 0), lane 1, at k.py:5:1"},
		{"two equal values", text("2", "%one"), 1, twoBuffers, "", 0, ""},
		{"no two", text("1", "%f"), 1, twoBuffers, "", 0, ""},
		{"the mask has one", text("1", "%f, %first"), 1, twoBuffers, "", 0, ""},
	} {
		p.found(t, Options{Checks: check.Duplicates})
		p.found(t, Options{Checks: check.All &^ check.Overflow})
	}
}

// computed are the kernels that compute something that is not finite, from what numpy gives them.
var computed = map[string]string{"vector_add_bf16": check.BirthOfNaN, "casts": check.BirthOfInfinity}

// TestChecksOfLaunches: the kernels that are compared with numpy have no other findings, and give the same with checks.
func TestChecksOfLaunches(t *testing.T) {
	for _, m := range launches(t) {
		p, err := Load(ttir.Parse(m.TTIR))
		if err != nil {
			t.Fatal(err)
		}
		buffers, list := m.arguments()
		r, err := p.Launch("", m.Grid, list, Options{Checks: check.All, KeepGoing: true})
		if err != nil {
			t.Errorf("%s/%s: %v", m.Name, m.Form, err)
			continue
		}
		for _, f := range r.Findings {
			if f.Kind != computed[m.Name] {
				t.Errorf("%s/%s: %v", m.Name, m.Form, f)
			}
		}
		if computed[m.Name] != "" && len(r.Findings) == 0 {
			t.Errorf("%s/%s: no finding", m.Name, m.Form)
		}
		for name, b := range m.Buffers {
			if b.After != nil && differences(b.Type, buffers[name].Data, b.After, b.Absolute, b.Relative) != "" {
				t.Errorf("%s/%s: %s differs", m.Name, m.Form, name)
			}
		}
	}
}

// waits is a kernel whose instances wait until ANOTHER has set their flag, and then set their own.
const waits = `module {
  tt.func public @k(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>) {
    %c1 = arith.constant 1 : i32
    %c0 = arith.constant 0 : i32
    %true = arith.constant true
    %pid = tt.get_program_id x : i32
    %grid = tt.get_num_programs x : i32
    %other = arith.addi %pid, %c1 : i32
    %flag = tt.addptr %x, %other : !tt.ptr<i32>, i32
    %last = arith.cmpi COMPARED, %other, %grid : i32
    scf.if %last {
      scf.while : () -> () {
        POLL
        %unset = arith.cmpi eq, %v, %c0 : i32
        scf.condition(%unset)
      } do {
        scf.yield
      }
    }
    %next = tt.addptr %y, %other : !tt.ptr<i32>, i32
    %sum = tt.load %next : !tt.ptr<i32> loc("k.py":6:1)
    %more = arith.addi %sum, %c1 : i32
    %mine = tt.addptr %y, %pid : !tt.ptr<i32>, i32
    tt.store %mine, %more : !tt.ptr<i32> loc("k.py":7:1)
    %own = tt.addptr %x, %pid : !tt.ptr<i32>, i32
    %old = tt.atomic_rmw exch, release, gpu, %own, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32 loc("k.py":9:1)
    tt.return
  }
}
`

const (
	pollSwap = `%v = tt.atomic_cas acquire, gpu, %flag, %c1, %c1 : (!tt.ptr<i32>, i32, i32) -> i32 loc("k.py":4:1)`
	pollAdd  = `%v = tt.atomic_rmw add, acquire, gpu, %flag, %c0, %true : (!tt.ptr<i32>, i32, i1) -> i32 loc("k.py":4:1)`
	pollLoad = `%v = tt.load %flag {isVolatile = true} : !tt.ptr<i32> loc("k.py":4:1)`
	pollRead = `%v = tt.load %flag : !tt.ptr<i32> loc("k.py":4:1)`
	pollMask = `%range = tt.make_range {end = 2 : i32, start = 0 : i32} : tensor<2xi32>
        %one = arith.constant dense<1> : tensor<2xi32>
        %before = arith.subi %range, %one : tensor<2xi32>
        %flags = tt.splat %flag : !tt.ptr<i32> -> tensor<2x!tt.ptr<i32>>
        %both = tt.addptr %flags, %before : tensor<2x!tt.ptr<i32>>, tensor<2xi32>
        %mask = arith.cmpi eq, %range, %one : tensor<2xi32>
        %none = arith.constant dense<0> : tensor<2xi32>
        %vs = tt.load %both, %mask, %none {isVolatile = true} : tensor<2x!tt.ptr<i32>> loc("k.py":4:1)
        %v = "tt.reduce"(%vs) <{axis = 0 : i32}> ({
        ^bb0(%a: i32, %b: i32):
          %ab = arith.addi %a, %b : i32
          tt.reduce.return %ab : i32
        }) : (tensor<2xi32>) -> i32`
)

// TestWaiting: instances that wait for later ones end in the co-operative order, whatever they look at their flags with. The other orders say
// what to do, and instances that wait for each other are a finding.
func TestWaiting(t *testing.T) {
	defer func(n int) { mostTurns = n }(mostTurns)
	mostTurns = 1 << 15
	const n = 100
	arguments := func() []Argument {
		return []Argument{Pointer(newBuffer("x", 4*n+4), 0), Pointer(newBuffer("y", 4*n+4), 0)}
	}
	for name, poll := range map[string]string{"swap": pollSwap, "add": pollAdd, "volatile": pollLoad, "plain": pollRead, "masked": pollMask} {
		text := strings.NewReplacer("POLL", poll, "COMPARED", "slt").Replace(waits)
		for _, checks := range []check.Set{0, check.Races} {
			list := arguments()
			r, err := program(t, text).Launch("", [3]int32{n, 1, 1}, list, Options{Order: Cooperative, Checks: checks, KeepGoing: true})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			y := list[1].buffer.Data
			for i := range n {
				if v := little.Uint32(y[4*i:]); v != uint32(n-i) {
					t.Fatalf("%s: element %d is %d", name, i, v)
				}
			}
			if acquired := name == "swap" || name == "add"; acquired != (len(r.Findings) == 0) && checks != 0 {
				t.Errorf("%s: %v", name, r.Findings)
			}
		}
		var f *Finding
		if _, err := program(t, text).Launch("", [3]int32{n, 1, 1}, arguments(), Options{}); !errors.As(err, &f) || f.Kind != check.Deadlock || f.Frames[0].Line != 4 || !strings.Contains(f.Text, "run in the co-operative order") {
			t.Errorf("%s: %v", name, err)
		}
		text = strings.NewReplacer("POLL", poll, "COMPARED", "ne").Replace(strings.Replace(waits, "%other = arith.addi %pid, %c1 : i32", "%after = arith.addi %pid, %c1 : i32\n%other = arith.remui %after, %grid : i32", 1))
		for _, keep := range []bool{false, true} {
			r, err := program(t, text).Launch("", [3]int32{n, 1, 1}, arguments(), Options{Order: Cooperative, KeepGoing: keep})
			if keep && err == nil && len(r.Findings) == 1 {
				err = r.Findings[0]
			}
			if !errors.As(err, &f) || f.Kind != check.Deadlock || f.Frames[0].Line != 4 || !strings.Contains(f.Text, fmt.Sprintf("100 program instances wait, and nothing changes what they wait for: x: element %d of", (f.Program[0]+1)%n)) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestCooperativeLaunches: kernels give the same in the co-operative order.
func TestCooperativeLaunches(t *testing.T) {
	for _, m := range launches(t) {
		buffers, _ := m.run(t, Options{Order: Cooperative})
		for name, b := range m.Buffers {
			if b.After != nil && differences(b.Type, buffers[name].Data, b.After, b.Absolute, b.Relative) != "" {
				t.Errorf("%s/%s: %s differs", m.Name, m.Form, name)
			}
		}
	}
}

func unwritten(n int) *Buffer {
	return &Buffer{Name: "x", Data: make([]byte, n), Unwritten: bytes.Repeat([]byte{1}, n)}
}

// TestUninitialised: an element that was never set is followed to where it is stored, decides or addresses.
func TestUninitialised(t *testing.T) {
	of := func(body string) string {
		return blocksOf(16, `    %inside = arith.cmpi slt, %at, %bound : tensor<16xi32>
    %i = tt.bitcast %x : !tt.ptr<f32> -> !tt.ptr<i32>
    %is = tt.splat %i : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
    %pi = tt.addptr %is, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    %zero = arith.constant dense<0.0> : tensor<16xf32>
    %none = arith.constant dense<0> : tensor<16xi32>
`+body)
	}
	const (
		part   = `    %v = tt.load %px, %mask : tensor<16x!tt.ptr<f32>> loc("k.py":4:1)` + "\n"
		filled = `    %v = tt.load %px, %mask, %zero : tensor<16x!tt.ptr<f32>> loc("k.py":4:1)` + "\n"
		ints   = `    %v = tt.load %pi, %mask : tensor<16x!tt.ptr<i32>> loc("k.py":4:1)` + "\n"
		store  = `    tt.store %py, %w : tensor<16x!tt.ptr<f32>> loc("k.py":8:1)`
		masked = `    tt.store %py, %w, %mask : tensor<16x!tt.ptr<f32>> loc("k.py":8:1)`
		added  = "    %w = arith.addf %v, %one : tensor<16xf32>\n"
		chosen = "    %w = arith.select %mask, %v, %zero : tensor<16xi1>, tensor<16xf32>\n"
		summed = `    %s = "tt.reduce"(%a) <{axis = 0 : i32}> ({
    ^bb0(%p: f32, %q: f32):
      %r = arith.addf %p, %q : f32
      tt.reduce.return %r : f32
    }) : (tensor<16xf32>) -> f32
    tt.store %y, %s : !tt.ptr<f32> loc("k.py":8:1)`
		scanned = `    %w = "tt.scan"(%v) <{axis = 0 : i32, reverse = REVERSE}> ({
    ^bb0(%p: f32, %q: f32):
      %r = arith.addf %p, %q : f32
      tt.scan.return %r : f32
    }) : (tensor<16xf32>) -> tensor<16xf32>
`
		twisted = `    %m = tt.reshape %v : tensor<16xf32> -> tensor<4x4xf32>
    %n2 = tt.trans %m {order = array<i32: 1, 0>} : tensor<4x4xf32> -> tensor<4x4xf32>
    %n3 = tt.trans %n2 {order = array<i32: 1, 0>} : tensor<4x4xf32> -> tensor<4x4xf32>
    %j = tt.join %n3, %n3 : tensor<4x4xf32> -> tensor<4x4x2xf32>
    %k, %l = tt.split %j : tensor<4x4x2xf32> -> tensor<4x4xf32>
    %w = tt.reshape %k : tensor<4x4xf32> -> tensor<16xf32>
`
		carried = `    %three = arith.constant 3 : i32
    %w = scf.for %n0 = %c0 to %three step %c1 iter_args(%acc = %zero) -> (tensor<16xf32>) : i32 {
      %c = arith.cmpi eq, %n0, %c1 : i32
      %more = scf.if %c -> (tensor<16xf32>) {
        %b = arith.addf %acc, %v : tensor<16xf32>
        scf.yield %b : tensor<16xf32>
      } else {
        scf.yield %acc : tensor<16xf32>
      }
      scf.yield %more : tensor<16xf32>
    }
`
		decided = `    %one1 = arith.constant dense<1.0> : tensor<16xf32>
    %positive = arith.cmpf ogt, %v, %zero : tensor<16xf32>
    %both = arith.andi %positive, %MASK : tensor<16xi1>
    tt.store %py, %one1, %both : tensor<16x!tt.ptr<f32>> loc("k.py":8:1)`
		addressed = `    %pv = tt.addptr %ys, %v : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    tt.store %pv, %one, %MASK : tensor<16x!tt.ptr<f32>> loc("k.py":8:1)`
		branched = `    %e = tt.load %i, %FIRST : !tt.ptr<i32> loc("k.py":4:1)
    %c = arith.cmpi eq, %e, %c0 : i32
    scf.if %c {
      tt.store %y, %g : !tt.ptr<f32>
    } loc("k.py":8:1)`
	)
	one := func(x *Buffer, n int64) func() []Argument {
		return func() []Argument {
			x := &Buffer{Name: x.Name, Data: bytes.Clone(x.Data), Unwritten: bytes.Clone(x.Unwritten)}
			return []Argument{Pointer(x, 0), Pointer(newBuffer("y", 400), 0), Int(n)}
		}
	}
	x := newBuffer("x", 400)
	sum := func(of string) string { return strings.Replace(summed, "%a", of, 1) }
	for _, p := range []planted{
		{"stored", part + added + store, 1, one(x, 9), check.UninitialisedValue, 8, "the mask leaves the element out, and there is no other value by program (0, 0, 0), at k.py:4:1"},
		{"stored, all have a value", part + added + store, 1, one(x, 16), "", 0, ""},
		{"stored with the mask", part + added + masked, 1, one(x, 9), "", 0, ""},
		{"with another value", filled + added + store, 1, one(x, 9), "", 0, ""},
		{"chosen", part + chosen + store, 1, one(x, 9), "", 0, ""},
		{"summed", part + sum("%v"), 1, one(x, 9), check.UninitialisedValue, 8, "is stored in y: element 0"},
		{"summed, chosen before", part + chosen + sum("%w"), 1, one(x, 9), "", 0, ""},
		{"scanned", part + strings.Replace(scanned, "REVERSE", "false", 1) + masked, 1, one(x, 9), "", 0, ""},
		{"scanned from the end", part + strings.Replace(scanned, "REVERSE", "true", 1) + masked, 1, one(x, 9), check.UninitialisedValue, 8, "lane 0"},
		{"twisted", part + twisted + masked, 1, one(x, 9), "", 0, ""},
		{"twisted and stored", part + twisted + store, 1, one(x, 9), check.UninitialisedValue, 8, "lane 9, at"},
		{"carried", part + carried + masked, 1, one(x, 9), "", 0, ""},
		{"carried and stored", part + carried + store, 1, one(x, 9), check.UninitialisedValue, 8, "lane 9, at"},
		{"a mask", part + strings.Replace(decided, "%MASK", "%positive", 1), 1, one(x, 9), check.UninitialisedValue, 8, "never set is a mask"},
		{"a mask with another one", part + strings.Replace(decided, "%MASK", "%mask", 1), 1, one(x, 9), "", 0, ""},
		{"an address", ints + strings.Replace(addressed, ", %MASK", "", 1), 1, one(x, 9), check.UninitialisedValue, 8, "never set is an address"},
		{"an address that is not used", ints + strings.Replace(addressed, "%MASK", "%mask", 1), 1, one(x, 9), "", 0, ""},
		{"a branch", "%false = arith.constant false\n%g = arith.constant 1.0 : f32\n" + strings.Replace(branched, "%FIRST", "%false", 1), 1, one(x, 9), check.UninitialisedValue, 8, "decides which branch"},
		{"a branch with a value", "%g = arith.constant 1.0 : f32\n" + strings.Replace(branched, "%FIRST", "%true", 1), 1, one(x, 9), "", 0, ""},
		{"memory", part + added + masked, 1, one(unwritten(400), 9), check.UninitialisedValue, 8, "the memory was never written by program (0, 0, 0), at k.py:4:1"},
		{"memory that is written first", "    tt.store %px, %zero, %mask : tensor<16x!tt.ptr<f32>>\n" + part + added + masked, 1, one(unwritten(400), 9), "", 0, ""},
		{"memory that is changed", `    %old = tt.atomic_rmw fadd, relaxed, gpu, %px, %one, %mask : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xi1>) -> tensor<16xf32> loc("k.py":8:1)`, 1, one(unwritten(400), 9), check.UninitialisedValue, 8, "never set is changed: x: element 0"},
		{"memory that is exchanged", `    %old = tt.atomic_rmw exch, relaxed, gpu, %px, %one, %mask : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xi1>) -> tensor<16xf32> loc("k.py":8:1)`, 1, one(unwritten(400), 9), "", 0, ""},
		{"memory that is read and not used", part + chosen + masked, 1, one(unwritten(400), 0), "", 0, ""},
	} {
		p.text = of(p.text)
		p.found(t, Options{Checks: check.Uninitialised})
		p.found(t, Options{Checks: check.All &^ check.Races})
	}
}

// TestUninitialisedProducts: in a product of matrices an element without a value is in a row or a column of the result.
func TestUninitialisedProducts(t *testing.T) {
	text := func(left, right, stored string) string {
		return body("%x: !tt.ptr<f16>, %y: !tt.ptr<f32>", ` %r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
 %row = tt.expand_dims %r {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
 %column = tt.expand_dims %r {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
 %c16 = arith.constant dense<16> : tensor<16x1xi32>
 %nine = arith.constant dense<9> : tensor<16x1xi32>
 %few = arith.constant dense<9> : tensor<1x16xi32>
 %zero = arith.constant dense<0.0> : tensor<16x16xf32>
 %from = arith.muli %row, %c16 : tensor<16x1xi32>
 %a = tt.broadcast %from : tensor<16x1xi32> -> tensor<16x16xi32>
 %b = tt.broadcast %column : tensor<1x16xi32> -> tensor<16x16xi32>
 %at = arith.addi %a, %b : tensor<16x16xi32>
 %low = arith.cmpi slt, %row, %nine : tensor<16x1xi32>
 %left = arith.cmpi slt, %column, %few : tensor<1x16xi32>
 %rows = tt.broadcast %low : tensor<16x1xi1> -> tensor<16x16xi1>
 %columns = tt.broadcast %left : tensor<1x16xi1> -> tensor<16x16xi1>
 %all = arith.constant dense<true> : tensor<16x16xi1>
 %xs = tt.splat %x : !tt.ptr<f16> -> tensor<16x16x!tt.ptr<f16>>
 %px = tt.addptr %xs, %at : tensor<16x16x!tt.ptr<f16>>, tensor<16x16xi32>
 %ys = tt.splat %y : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
 %py = tt.addptr %ys, %at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
 %u = tt.load %px, `+left+` : tensor<16x16x!tt.ptr<f16>> loc("k.py":3:1)
 %v = tt.load %px, `+right+` : tensor<16x16x!tt.ptr<f16>> loc("k.py":4:1)
 %d = tt.dot %u, %v, %zero : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
 tt.store %py, %d, `+stored+` : tensor<16x16x!tt.ptr<f32>> loc("k.py":8:1)`)
	}
	arguments := func() []Argument {
		return []Argument{Pointer(newBuffer("x", 512), 0), Pointer(newBuffer("y", 1024), 0)}
	}
	for _, p := range []planted{
		{"all", text("%all", "%all", "%all"), 1, arguments, "", 0, ""},
		{"rows", text("%rows", "%all", "%rows"), 1, arguments, "", 0, ""},
		{"columns", text("%all", "%columns", "%columns"), 1, arguments, "", 0, ""},
		{"rows that are stored", text("%rows", "%all", "%all"), 1, arguments, check.UninitialisedValue, 8, "lane 144 [9, 0], at k.py:8"},
		{"along K", text("%columns", "%all", "%all"), 1, arguments, check.UninitialisedValue, 8, "lane 0 [0, 0], at k.py:8"},
		{"along K on the right", text("%all", "%rows", "%rows"), 1, arguments, check.UninitialisedValue, 4, "lane 0 [0, 0], at k.py:8"},
	} {
		p.found(t, Options{Checks: check.Uninitialised})
	}
}

// TestOverflow: an address that is computed with integers which are too small. Hashes, and what is not an address, are not reported.
func TestOverflow(t *testing.T) {
	of := func(body string) string {
		return blocksOf(16, `    %big = arith.constant dense<1500000000> : tensor<16xi32>
    %two = arith.constant dense<2> : tensor<16xi32>
    %seven = arith.constant dense<7> : tensor<16xi32>
    %none = arith.constant dense<0> : tensor<16xi32>
    %never = arith.cmpi slt, %range, %none : tensor<16xi32>
    %sum = arith.OP %bigs, %two : tensor<16xi32> loc("k.py":4:1)
`+body)
	}
	const store = `    %p = tt.addptr %ys, %sum : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    tt.store %p, %one, %MASK : tensor<16x!tt.ptr<f32>> loc("k.py":5:1)`
	const hashed = `    %low = arith.andi %sum, %seven : tensor<16xi32>
    %p = tt.addptr %ys, %low : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    tt.store %p, %one : tensor<16x!tt.ptr<f32>> loc("k.py":5:1)`
	const stored = `    %i = tt.bitcast %ys : tensor<16x!tt.ptr<f32>> -> tensor<16x!tt.ptr<i32>>
    %p = tt.addptr %i, %range : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    tt.store %p, %sum : tensor<16x!tt.ptr<i32>> loc("k.py":5:1)`
	for _, p := range []planted{
		{"product", strings.Replace(store, ", %MASK", "", 1), 1, twoBuffers, check.IntegerOverflow, 4, "overflowed is an address"},
		{"product that is not used", strings.Replace(store, "%MASK", "%never", 1), 1, twoBuffers, "", 0, ""},
		{"hash", hashed, 1, twoBuffers, "", 0, ""},
		{"value", stored, 1, twoBuffers, "", 0, ""},
	} {
		text := p.text
		for op, value := range map[string]string{"muli": "1500000000", "addi": "2147483647", "shli": "1500000000", "subi": "-2147483648"} {
			p.text = strings.NewReplacer("OP", op, "1500000000", value, "%bigs", "%many").Replace(of(text))
			p.text = strings.Replace(p.text, "    %sum =", "    %many = arith.addi %big, %pids : tensor<16xi32>\n    %sum =", 1)
			p.name += " " + op
			p.found(t, Options{Checks: check.Overflow})
		}
	}
}

// TestBirths: the line in which a NaN or an infinity comes from numbers is named where it is stored; what was in the inputs, and what a mask
// leaves out, is not reported.
func TestBirths(t *testing.T) {
	of := func(body string) string {
		return blocksOf(16, `    %zero = arith.constant dense<0.0> : tensor<16xf32>
    %low = arith.constant dense<0xFF800000> : tensor<16xf32>
    %v = tt.load %px, %mask, %zero : tensor<16x!tt.ptr<f32>>
`+body)
	}
	const (
		store   = `    tt.store %py, %w, %mask : tensor<16x!tt.ptr<f32>> loc("k.py":8:1)`
		chosen  = "    %w = arith.select %mask, %u, %zero : tensor<16xi1>, tensor<16xf32>\n"
		divided = `    %u = arith.divf %one, %v : tensor<16xf32> loc("k.py":4:1)` + "\n"
		logged  = `    %n = arith.subf %v, %one : tensor<16xf32>` + "\n" + `    %u = math.log %n : tensor<16xf32> loc("k.py":4:1)` + "\n"
		passed  = "    %w = arith.addf %u, %v : tensor<16xf32>\n"
		less    = `    %m = arith.select %mask, %low, %low : tensor<16xi1>, tensor<16xf32>
    %u = arith.subf %m, %low : tensor<16xf32> loc("k.py":4:1)
`
		summed = `    %big = arith.constant dense<3.0e38> : tensor<16xf32>
    %bigs = arith.addf %big, %v : tensor<16xf32>
    %s = "tt.reduce"(%bigs) <{axis = 0 : i32}> ({
    ^bb0(%p: f32, %q: f32):
      %r = arith.addf %p, %q : f32
      tt.reduce.return %r : f32
    }) : (tensor<16xf32>) -> f32 loc("k.py":4:1)
    tt.store %y, %s : !tt.ptr<f32> loc("k.py":8:1)`
		copied = "    %w = arith.addf %v, %one : tensor<16xf32>\n"
		most   = `    %s = "tt.reduce"(%m) <{axis = 0 : i32}> ({
    ^bb0(%p: f32, %q: f32):
      %r = arith.maxnumf %p, %q : f32
      tt.reduce.return %r : f32
    }) : (tensor<16xf32>) -> f32
    %e = tt.splat %s : f32 -> tensor<16xf32>
    %d = arith.subf %v, %e : tensor<16xf32>
    %w = math.exp %d : tensor<16xf32>
`
	)
	with := func(value float32) func() []Argument {
		return func() []Argument {
			list := twoBuffers()
			for i := range 16 {
				little.PutUint32(list[0].buffer.Data[4*i:], math.Float32bits(value))
			}
			return list
		}
	}
	for _, p := range []planted{
		{"divided by zero", divided + passed + store, 1, with(0), check.BirthOfInfinity, 4, "by program (0, 0, 0), lane 0, at k.py:8:1"},
		{"divided by one", divided + passed + store, 1, with(1), "", 0, ""},
		{"the logarithm of a negative number", logged + passed + store, 1, with(0), check.BirthOfNaN, 4, "at k.py:4:1 in k (math.log)"},
		{"NaN in memory", copied + store, 1, with(float32(math.NaN())), "", 0, ""},
		{"an infinity in memory", copied + store, 1, with(float32(math.Inf(1))), "", 0, ""},
		{"infinities that cancel", less + passed + store, 1, with(0), check.BirthOfNaN, 4, "at k.py:4:1 in k (arith.subf)"},
		{"a sum", summed, 1, with(0), check.BirthOfInfinity, 4, "in k (tt.reduce)"},
		{"a sum with an infinity", summed, 1, with(float32(math.Inf(1))), "", 0, ""},
		{"the largest, with another value", "    %m = arith.select %mask, %v, %low : tensor<16xi1>, tensor<16xf32>\n" + most + store, 1, with(3), "", 0, ""},
		{"chosen", strings.Replace(divided, "%v", "%f", 1) + chosen + store, 1, func() []Argument { return with(1)()[:2:2] }, "", 0, ""},
	} {
		p.text = of(p.text)
		if p.name == "chosen" { // the mask leaves out what is divided by zero
			p.text = strings.Replace(p.text, "    %u =", "    %f = arith.select %mask, %one, %zero : tensor<16xi1>, tensor<16xf32>\n    %u =", 1)
			p.arguments = func() []Argument { return append(with(1)()[:2:2], Int(9)) }
		}
		p.found(t, Options{Checks: check.NaN | check.Infinity})
	}
}

// TestHints: what the kernel or the launch promises of a value is compared with it, for as many elements as an instruction takes.
func TestHints(t *testing.T) {
	of := func(hints, by string) string {
		text := blocksOf(16, `    %sixty = arith.constant dense<`+by+`> : tensor<16xi32>
    %o = arith.remsi %at, %sixty {`+hints+`} : tensor<16xi32> loc("k.py":4:1)
    %p = tt.addptr %xs, %o : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %v = tt.load %p : tensor<16x!tt.ptr<f32>>
    tt.store %py, %v, %mask : tensor<16x!tt.ptr<f32>>`)
		return text
	}
	const both = "tt.contiguity = dense<64> : tensor<1xi32>, tt.divisibility = dense<64> : tensor<1xi32>"
	arguments := func(address uint64, offset, n int64) func() []Argument {
		return func() []Argument {
			x := &Buffer{Name: "x", Data: make([]byte, 400), Address: address}
			return []Argument{Pointer(x, offset), Pointer(newBuffer("y", 400), 0), Int(n)}
		}
	}
	argued := func(text string) string {
		return strings.NewReplacer("%x: !tt.ptr<f32>", `%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("k.py":4:1)`, "%n: i32", `%n: i32 {tt.divisibility = 16 : i32} loc("k.py":4:1)`).Replace(text)
	}
	for _, p := range []planted{
		{"contiguous", of(both, "64"), 4, twoBuffers, "", 0, ""},
		{"not contiguous", of(both, "60"), 4, twoBuffers, check.WrongHint, 4, "16 elements are contiguous, and 0 follows 59 by program (3, 0, 0), lane 12, at k.py:4"},
		{"further than an instruction", of(strings.ReplaceAll(both, "64", "8"), "56"), 4, twoBuffers, "", 0, ""},
		{"multiples of contiguous ones", of("tt.divisibility = dense<4> : tensor<1xi32>", "60"), 4, twoBuffers, "", 0, ""},
		{"not multiples", of("tt.divisibility = dense<16> : tensor<1xi32>", "64"), 4, func() []Argument { return twoBuffers() }, "", 0, ""},
		{"not multiples of blocks of 15", strings.Replace(of("tt.divisibility = dense<16> : tensor<1xi32>", "64"), "constant 16 : i32", "constant 15 : i32", 1), 4, twoBuffers, check.WrongHint, 4, "a multiple of 16 where contiguous elements begin, and the value is 15 by program (1, 0, 0), lane 0"},
		{"equal", of("tt.constancy = dense<16> : tensor<1xi32>", "1"), 4, twoBuffers, "", 0, ""},
		{"not equal", of("tt.constancy = dense<16> : tensor<1xi32>", "2"), 4, twoBuffers, check.WrongHint, 4, "16 elements are equal, and 1 follows 0 by program (0, 0, 0), lane 1"},
		{"arguments", argued(of(both, "64")), 4, arguments(4096, 16, 64), "", 0, ""},
		{"a number", argued(of(both, "64")), 4, arguments(0, 0, 60), check.WrongHint, 4, "an argument n that is a multiple of 16, and it is 60"},
		{"an address", argued(of(both, "64")), 4, arguments(4096, 8, 64), check.WrongHint, 4, "an argument x that is a multiple of 16, and it is byte 8 of x"},
		{"an address of the program", argued(of(both, "64")), 4, arguments(4100, 16, 64), check.WrongHint, 4, "an argument x"},
	} {
		p.found(t, Options{Checks: check.Hints})
	}
}
