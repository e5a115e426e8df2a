package interpreter

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

// TestLineCorners: comparisons of indices in all directions, and indices that leave the range of i32, give what the elements give.
func TestLineCorners(t *testing.T) {
	defer func() { withoutLines = false }()
	text := body("%z: !tt.ptr<i8>, %w: !tt.ptr<i64>, %a: i32, %b: i32, %n: i32", ` %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
 %step = tt.splat %a : i32 -> tensor<8xi32>
 %from = tt.splat %b : i32 -> tensor<8xi32>
 %bound = tt.splat %n : i32 -> tensor<8xi32>
 %s = arith.muli %r, %step : tensor<8xi32>
 %i = arith.addi %s, %from : tensor<8xi32>
 %m = arith.cmpi PREDICATE, %i, %bound : tensor<8xi32>
 %zs = tt.splat %z : !tt.ptr<i8> -> tensor<8x!tt.ptr<i8>>
 %zp = tt.addptr %zs, %r : tensor<8x!tt.ptr<i8>>, tensor<8xi32>
 %one = arith.constant dense<1> : tensor<8xi8>
 tt.store %zp, %one, %m : tensor<8x!tt.ptr<i8>>
 %eight = arith.constant 8 : i32
 %zq = tt.addptr %z, %eight : !tt.ptr<i8>, i32
 %qs = tt.splat %zq : !tt.ptr<i8> -> tensor<8x!tt.ptr<i8>>
 %qp = tt.addptr %qs, %r : tensor<8x!tt.ptr<i8>>, tensor<8xi32>
 %mi = arith.extui %m : tensor<8xi1> to tensor<8xi8>
 tt.store %qp, %mi : tensor<8x!tt.ptr<i8>>
 %wide = arith.EXTEND %i : tensor<8xi32> to tensor<8xi64>
 %ws = tt.splat %w : !tt.ptr<i64> -> tensor<8x!tt.ptr<i64>>
 %wp = tt.addptr %ws, %r : tensor<8x!tt.ptr<i64>>, tensor<8xi32>
 tt.store %wp, %wide : tensor<8x!tt.ptr<i64>>
 %many = tt.splat %w : !tt.ptr<i64> -> tensor<8x!tt.ptr<i64>>
 %far = tt.addptr %many, %i : tensor<8x!tt.ptr<i64>>, tensor<8xi32>
 %near = tt.ptr_to_int %far : tensor<8x!tt.ptr<i64>> -> tensor<8xi64>
 %zero = tt.ptr_to_int %many : tensor<8x!tt.ptr<i64>> -> tensor<8xi64>
 %bytes = arith.subi %near, %zero : tensor<8xi64>
 %c = arith.constant 8 : i32
 %wq = tt.addptr %w, %c : !tt.ptr<i64>, i32
 %vs = tt.splat %wq : !tt.ptr<i64> -> tensor<8x!tt.ptr<i64>>
 %vp = tt.addptr %vs, %r : tensor<8x!tt.ptr<i64>>, tensor<8xi32>
 tt.store %vp, %bytes : tensor<8x!tt.ptr<i64>>`)
	numbers := []int64{0, 1, -1, 3, -3, 7, 20, -20, 1 << 28, -1 << 28, 1 << 30, -1 << 31, 1<<31 - 1}
	for _, predicate := range strings.Fields("slt sle sgt sge ult ule ugt uge eq ne") {
		extend := "extsi"
		if predicate[0] == 'u' {
			extend = "extui"
		}
		text := strings.NewReplacer("PREDICATE", predicate, "EXTEND", extend).Replace(text)
		withoutLines = false
		fast := program(t, text)
		var results [2]strings.Builder
		for side, p := range []*Program{fast, program(t, text)} {
			withoutLines = side == 1
			for _, a := range numbers {
				for _, b := range numbers {
					for _, n := range numbers {
						z, w := &Buffer{Name: "z", Data: make([]byte, 16)}, &Buffer{Name: "w", Data: make([]byte, 128)}
						if _, err := p.Launch("", [3]int32{1, 1, 1}, []Argument{Pointer(z, 0), Pointer(w, 0), Int(a), Int(b), Int(n)}, Options{}); err != nil {
							t.Fatal(err)
						}
						for i := range 8 {
							index := int64(int32(int64(i)*a + b))
							if got := int64(little.Uint64(w.Data[64+8*i:])); got != 8*index {
								t.Fatalf("%d·%d + %d elements are %d bytes", i, a, b, got)
							}
							if z.Data[i] != z.Data[8+i] {
								t.Fatalf("%s: the mask of %d·%d + %d and %d is %d, and %d", predicate, i, a, b, n, z.Data[i], z.Data[8+i])
							}
						}
						fmt.Fprintf(&results[side], "%x %x\n", z.Data, w.Data)
					}
				}
			}
		}
		if results[0].String() != results[1].String() {
			t.Errorf("%s: the values differ", predicate)
		}
	}
}

// TestOverflowOfLines: indices that have wrapped around, also from one turn of a loop to the next, are found without making elements as with them,
// and just where sums in 64 bits are others.
func TestOverflowOfLines(t *testing.T) {
	defer func() { withoutLines = false }()
	text := body("%z: !tt.ptr<i8>, %a: i32, %b: i32, %n: i32", ` %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
 %step = tt.splat %a : i32 -> tensor<8xi32>
 %from = tt.splat %b : i32 -> tensor<8xi32>
 %by = tt.splat %n : i32 -> tensor<8xi32>
 %zs = tt.splat %z : !tt.ptr<i8> -> tensor<8x!tt.ptr<i8>>
 %one = arith.constant dense<1> : tensor<8xi8>
 %c0 = arith.constant 0 : i32
 %c1 = arith.constant 1 : i32
 %c3 = arith.constant 3 : i32
 %s = arith.muli %r, %step : tensor<8xi32>
 %i = arith.addi %s, %from : tensor<8xi32>
 %end = scf.for %k = %c0 to %c3 step %c1 iter_args(%o = %i) -> (tensor<8xi32>) : i32 {
 %p = tt.addptr %zs, %o : tensor<8x!tt.ptr<i8>>, tensor<8xi32>
 tt.store %p, %one : tensor<8x!tt.ptr<i8>>
 %next = arith.addi %o, %by : tensor<8xi32>
 scf.yield %next : tensor<8xi32>
 }`)
	numbers := []int64{0, 1, -1, 3, -7, 1 << 28, -1 << 28, 1 << 30, -1 << 31, 1<<31 - 1}
	fast := program(t, text)
	withoutLines = true
	slow := program(t, text)
	wrapped := 0
	for _, a := range numbers {
		for _, b := range numbers {
			for _, n := range numbers {
				want := false
				for i := range int64(8) {
					now := int64(int32(i * a))
					want = want || now != i*a
					for turn := range int64(3) {
						by := n
						if turn == 0 {
							by = b
						}
						next := int64(int32(now + by))
						want, now = want || next != now+by, next
					}
				}
				var said [2]string
				for side, p := range []*Program{fast, slow} {
					withoutLines = side == 1
					z := &Buffer{Name: "z", Data: make([]byte, 16)}
					r, err := p.Launch("", [3]int32{1, 1, 1}, []Argument{Pointer(z, 0), Int(a), Int(b), Int(n)}, Options{Checks: check.Overflow, KeepGoing: true})
					if err != nil {
						t.Fatal(err)
					}
					said[side] = fmt.Sprint(r.Findings)
				}
				if found := strings.Contains(said[0], "overflow: "); found != want || said[0] != said[1] {
					t.Errorf("%d, %d, %d: wrapped around: %v, found: %s\nwith elements: %s", a, b, n, want, said[0], said[1])
				}
				if want {
					wrapped++
				}
			}
		}
	}
	if wrapped < 300 || wrapped > 900 {
		t.Errorf("%d of 1000 wrap around", wrapped)
	}
}

// TestAddressesAreNotMade: in usual kernels nothing asks for the elements of addresses.
func TestAddressesAreNotMade(t *testing.T) {
	seen := 0
	for _, m := range launches(t) {
		if m.Form != "ttir" || !strings.HasPrefix(m.Name, "big_") && m.Name != "softmax" && m.Name != "grouped_matmul" {
			continue
		}
		module := ttir.Parse(m.TTIR)
		compiled, err := compile(module, module.Kernel(), features{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range compiled.sites {
			if s.late == nil || s.late.asked {
				t.Errorf("%s: the addresses of line %d are made", m.Name, s.op.Line)
			}
			seen++
		}
	}
	if seen < 15 {
		t.Errorf("%d accesses", seen)
	}
}
