package ttir_test

import (
	"fmt"

	"github.com/goproton/goproton/triton/ttir"
)

// A kernel's loads, with their lines in the source and the types that they have.
func Example() {
	m := ttir.Parse(`module {
  tt.func public @copy(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
    %at = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32> loc("k.py":3:9)
    %from = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>> loc("k.py":4:9)
    %p = tt.addptr %from, %at : tensor<128x!tt.ptr<f32>>, tensor<128xi32> loc("k.py":4:9)
    %v = tt.load %p : tensor<128x!tt.ptr<f32>> loc("k.py":4:5)
    tt.return
  }
}`)
	kernel := m.Kernel()
	kernel.Walk(func(op *ttir.Op) {
		if op.Name == "tt.load" {
			fmt.Println(kernel.Name, m.Frames(op)[0].Line, kernel.Type(op.Results[0]).Text)
		}
	})
	fmt.Println(len(m.Problems), len(m.Verify()))
	// Output:
	// copy 4 tensor<128xf32>
	// 0 0
}
