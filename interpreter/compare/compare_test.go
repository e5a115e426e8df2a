package compare

import (
	"math"
	"strings"
	"testing"

	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/triton/ttir"
)

// kernelText is a kernel that adds BIG to numbers and takes it away again, in a loop, and stores what is left.
const kernelText = `module {
  tt.func public @k(%x: !tt.ptr<f32> loc("k.py":1:0), %z: !tt.ptr<f32> loc("k.py":1:0)) {
    %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %xp = tt.addptr %xs, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %zs = tt.splat %z : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %zp = tt.addptr %zs, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %v = tt.load %xp : tensor<8x!tt.ptr<f32>> loc("v"("k.py":3:8))
    %big = arith.constant dense<BIG> : tensor<8xf32>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %sum = scf.for %i = %c0 to %c2 step %c1 iter_args(%acc = %v) -> (tensor<8xf32>) : i32 {
      %a = arith.addf %acc, %big : tensor<8xf32> loc("a"("k.py":5:8))
      %b = arith.subf %a, %big : tensor<8xf32> loc("b"("k.py":6:8))
      scf.yield %b : tensor<8xf32>
    }
    %w = arith.OPERATION %sum, %v : tensor<8xf32> loc("w"("k.py":7:8))
    tt.store %zp, %w : tensor<8x!tt.ptr<f32>> loc("k.py":8:4)
    tt.return
  }
}
`

func side(t *testing.T, big, operation string, wide bool) *Side {
	t.Helper()
	m := ttir.Parse(strings.NewReplacer("BIG", big, "OPERATION", operation).Replace(kernelText))
	if wide {
		m.Widen()
	}
	p, err := interpreter.Load(m)
	if err != nil {
		t.Fatal(err)
	}
	x, z := &interpreter.Buffer{Name: "x", Data: make([]byte, 32)}, &interpreter.Buffer{Name: "z", Data: make([]byte, 32)}
	for i := range 8 {
		u := math.Float32bits(float32(i+1) / 3)
		for k := range 4 {
			x.Data[4*i+k] = byte(u >> (8 * k))
		}
	}
	return &Side{Program: p, Arguments: []interpreter.Argument{interpreter.Pointer(x, 0), interpreter.Pointer(z, 0)}}
}

// TestTexts: the first variable that differs is named with its turn, and values within the tolerance do not differ.
func TestTexts(t *testing.T) {
	grid := Options{Grid: [3]int32{2, 1, 1}}
	c, err := Texts(side(t, "1.0e5", "addf", false), side(t, "1.0e5", "addf", false), grid)
	if err != nil || c.First != nil || c.Programs != 2 || c.Values != 22 || c.OnlyA != nil || c.OnlyB != nil {
		t.Errorf("equal texts: %+v, %v", c, err)
	}
	c, err = Texts(side(t, "1.0e5", "addf", false), side(t, "1.0e5", "mulf", false), grid)
	if err != nil || c.First == nil || c.First.Variable != "w" || c.First.A.Line != 7 || c.First.A.Op != "arith.addf" || c.First.B.Op != "arith.mulf" || c.First.Count != 7 || c.First.Program != [3]int32{} {
		t.Errorf("another operation: %+v, %v", c.First, err)
	}
	c, err = Texts(side(t, "1.0e5", "addf", false), side(t, "2.0e5", "addf", false), grid)
	if err != nil || c.First == nil || c.First.Variable != "a" || c.First.Times != 1 || c.First.A.Line != 5 {
		t.Errorf("another constant: %+v, %v", c.First, err)
	}
	grid.Absolute, grid.Relative = 0.1, 2
	if c, err = Texts(side(t, "1.0e5", "addf", false), side(t, "2.0e5", "addf", false), grid); err != nil || c.First != nil {
		t.Errorf("within the tolerance: %+v, %v", c.First, err)
	}
}

// TestPrecision: an error is born where a sum is rounded, and grows where its large part is taken away.
func TestPrecision(t *testing.T) {
	p, err := Precision(side(t, "1.0e5", "addf", false), side(t, "1.0e5", "addf", true), Options{Grid: [3]int32{1, 1, 1}})
	if err != nil || len(p.Notes) > 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	at := map[int]Line{}
	for _, l := range p.Lines {
		at[l.Line] = l
	}
	if l := at[5]; l.Error == 0 || l.Error > 1e-7 || l.Variables[0] != "a" || l.Values != 2 {
		t.Errorf("the sum: %+v", l)
	}
	if l := at[6]; l.Error < 1e-4 || l.Error > 1e-2 || l.Growth < 1e4 {
		t.Errorf("the difference: %+v", l)
	}
	if l := at[7]; l.Input < 1e-4 || l.Growth > 2 || l.Op != "arith.addf" {
		t.Errorf("what follows the loop: %+v", l)
	}
	if l := at[3]; l.Error != 0 {
		t.Errorf("what is loaded: %+v", l)
	}
}
