package interpreter

import (
	"strings"
	"testing"
)

// TestReductionsAreProgress: an instance that looks at the same memory again and again does not wait while it changes memory by atomic
// operations, of descriptors too; one that changes nothing does.
func TestReductionsAreProgress(t *testing.T) {
	defer func(n int) { mostTurns = n }(mostTurns)
	mostTurns = 8
	text := `module {
  tt.func public @k(%flag: !tt.ptr<i32>, %y: !tt.ptr<i32>, %by: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %n = arith.constant 100 : i32
    %c16 = arith.constant 16 : i32
    %one = arith.constant 1 : i64
    %v = tt.splat %by : i32 -> tensor<16xi32>
    %d = tt.make_tensor_descriptor %y, [%c16], [%one] : !tt.ptr<i32>, !tt.tensordesc<tensor<16xi32>>
    scf.for %i = %c0 to %n step %c1 : i32 {
      %seen = tt.load %flag {isVolatile = true} : !tt.ptr<i32>
      tt.descriptor_reduce add, %d[%c0], %v : !tt.tensordesc<tensor<16xi32>>, tensor<16xi32>
    }
    tt.return
  }
}`
	for by, waits := range map[int64]bool{1: false, 0: true} {
		y := newBuffer("y", 64)
		_, err := program(t, text).Launch("", [3]int32{1, 1, 1}, []Argument{Pointer(newBuffer("flag", 4), 0), Pointer(y, 0), Int(by)}, Options{Order: Cooperative})
		if waits != (err != nil && strings.Contains(err.Error(), "deadlock")) {
			t.Errorf("adding %d: %v", by, err)
		}
		if sum := little.Uint32(y.Data[60:]); !waits && sum != 100 {
			t.Errorf("adding %d: %d", by, sum)
		}
	}
}
