package interpreter

import (
	"math"
	"strings"
	"testing"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

// TestDivisions: the result of an integer division by zero is followed to its use, and the finding names the lane that was divided.
func TestDivisions(t *testing.T) {
	const (
		divisor = `    %five = arith.constant dense<5> : tensor<16xi32>
    %by = arith.subi %at, %five : tensor<16xi32>
    %few = arith.cmpi sgt, %at, %five : tensor<16xi32>
    %none = arith.constant dense<0> : tensor<16xi32>
    %yi = tt.bitcast %y : !tt.ptr<f32> -> !tt.ptr<i32>
    %ys2 = tt.splat %yi : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
    %pi = tt.addptr %ys2, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
`
		divide = `    %q = arith.OPERATION %at, %by : tensor<16xi32> loc("k.py":4:1)` + "\n"
		store  = `    tt.store %pi, %q, %mask : tensor<16x!tt.ptr<i32>> loc("k.py":8:1)`
		masked = `    tt.store %pi, %q, %few : tensor<16x!tt.ptr<i32>> loc("k.py":8:1)`
		chosen = `    %r = arith.select %few, %q, %none : tensor<16xi1>, tensor<16xi32>
    tt.store %pi, %r : tensor<16x!tt.ptr<i32>> loc("k.py":8:1)`
		scalar = `    %zero = arith.subi %n, %n : i32
    %q = arith.OPERATION %n, %zero : i32 loc("k.py":4:1)
    %c = arith.cmpi eq, %q, %n : i32
    scf.if %c {
      tt.store %yi, %n : !tt.ptr<i32>
    } loc("k.py":8:1)`
		addressed = `    %inside = arith.maxsi %q, %none : tensor<16xi32>
    %p2 = tt.addptr %ys2, %inside : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    tt.store %p2, %none, %mask : tensor<16x!tt.ptr<i32>> loc("k.py":8:1)`
		constant = `    %q = arith.OPERATION %at, %five : tensor<16xi32> loc("k.py":4:1)` + "\n"
	)
	for _, operation := range []string{"divsi", "remui", "ceildivsi"} {
		for _, p := range []planted{
			{"stored", divisor + divide + store, 1, twoBuffers, check.DivisionByZero, 4, "by program (0, 0, 0), lane 5, at k.py:4:1"},
			{"an address", divisor + divide + addressed, 1, twoBuffers, check.DivisionByZero, 4, "is an address"},
			{"decides", divisor + scalar, 1, twoBuffers, check.DivisionByZero, 4, "decides which branch is taken"},
			{"left out by the mask", divisor + divide + masked, 1, twoBuffers, "", 0, ""},
			{"not chosen", divisor + divide + chosen, 1, twoBuffers, "", 0, ""},
			{"not used", divisor + divide, 1, twoBuffers, "", 0, ""},
			{"by a constant", divisor + constant + store, 1, twoBuffers, "", 0, ""},
		} {
			p.name = operation + " " + p.name
			p.text = strings.ReplaceAll(blocksOf(16, p.text), "OPERATION", operation)
			p.found(t, Options{Checks: check.Divisions})
			p.found(t, Options{Checks: check.Divisions | check.Uninitialised | check.Hints})
			if p.kind != "" { // who does not ask hears nothing
				p.kind = ""
				p.found(t, Options{Checks: check.Uninitialised})
			}
		}
	}
}

// TestSmallNaN: NaN of the types of 8 bits has the bits that GPUs write, whatever NaN it was; a NaN in memory keeps its own.
func TestSmallNaN(t *testing.T) {
	for _, f := range []ttir.Float{ttir.F8E5M2, ttir.F8E4M3FN} {
		for _, bits := range []uint32{0x7FC00000, 0x7F800001, 0x7FFFFFFF, 0xFFC00000, 0xFF812345} {
			list := []float32{math.Float32frombits(bits)}
			rounded(&ttir.Type{Kind: ttir.FloatType, Float: f})(list)
			if got, want := patternOf(f, list[0]), 0x7F|bits>>24&0x80; got != want {
				t.Errorf("%s of %#x: %#x, want %#x", f, bits, got, want)
			}
		}
	}
	for _, bits := range []uint32{0x7D, 0x7E, 0x7F, 0xFD} {
		if got := patternOf(ttir.F8E5M2, valueOf(ttir.F8E5M2, bits)); got != bits {
			t.Errorf("%#x is written as %#x", bits, got)
		}
	}
}
