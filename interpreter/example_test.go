package interpreter_test

import (
	"fmt"

	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/triton/ttir"
)

// A kernel that stores where its buffer does not reach.
func Example() {
	p, err := interpreter.Load(ttir.Parse(`module {
  tt.func public @fill(%x: !tt.ptr<i32>, %n: i32) {
    %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %s = tt.splat %x : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
    %p = tt.addptr %s, %r : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
    %b = tt.splat %n : i32 -> tensor<8xi32>
    %m = arith.cmpi slt, %r, %b : tensor<8xi32>
    tt.store %p, %r, %m : tensor<8x!tt.ptr<i32>> loc("fill.py":5:4)
    tt.return
  }
}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	x := &interpreter.Buffer{Name: "x", Data: make([]byte, 5*4)}
	for _, n := range []int64{5, 6} {
		_, err := p.Launch("fill", [3]int32{1, 1, 1}, []interpreter.Argument{interpreter.Pointer(x, 0), interpreter.Int(n)}, interpreter.Options{})
		fmt.Println(x.Data[16], err)
	}
	// Output:
	// 4 <nil>
	// 4 out of bounds: write of x: element 5 of 5 (byte 20 of 20) by program (0, 0, 0), lane 5, at fill.py:5:4 in fill (tt.store)
}
