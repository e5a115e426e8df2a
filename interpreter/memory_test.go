package interpreter

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goproton/goproton/triton/ttir"
)

// TestDimensions: each element of a tensor is named by its indices, whatever its strides; a row too many is named too, and what is between the
// elements is not.
func TestDimensions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		shape := make([]int64, 2+random.IntN(3))
		order := random.Perm(len(shape))
		strides := make([]int64, len(shape))
		step := 1 + random.Int64N(2)
		for i := range shape {
			shape[i] = 1 + random.Int64N(4)
		}
		for _, d := range order {
			strides[d] = step
			step *= shape[d] + random.Int64N(2)
		}
		const size, at = 4, 12
		b := &Buffer{Name: "x", Data: make([]byte, at+size*step), Views: []View{{At: at, Shape: shape, Strides: strides}}}
		named := map[int64]bool{}
		full := make([]int, len(shape))
		for i, n := range shape {
			full[i] = int(n)
		}
		ttir.Each(full, func(index []int) {
			place, list := int64(at), make([]int64, len(index))
			for d, i := range index {
				place += size * int64(i) * strides[d]
				list[d] = int64(i)
			}
			named[place] = true
			if got, want := b.dimensions(place, size), fmt.Sprintf(", %v of %v", list, shape); got != want {
				t.Fatalf("shape %v, strides %v, byte %d:%s, want%s", shape, strides, place, got, want)
			}
		})
		for place := int64(at); place < int64(len(b.Data)); place += size {
			v := &b.Views[0]
			if list := v.indices(place, size, false); (list != nil) != named[place] {
				t.Fatalf("shape %v, strides %v, byte %d: %v", shape, strides, place, list)
			}
		}
	}
	x := &Buffer{Data: make([]byte, 40), Views: []View{{Shape: []int64{2, 5}, Strides: []int64{5, 1}}}}
	for at, want := range map[int64]string{40: ", [2 0] of [2 5]", 48: ", [2 2] of [2 5]", -4: "", 2: ""} {
		if got := x.dimensions(at, 4); got != want {
			t.Errorf("byte %d: %s", at, got)
		}
	}
	y := &Buffer{Data: make([]byte, 40), Views: []View{{Shape: []int64{3, 5}, Strides: []int64{0, 1}}, {Shape: []int64{5}, Strides: []int64{1}}}} // a row that is repeated
	if got := y.dimensions(8, 4); got != ", [0 2] of [3 5]" {
		t.Error(got)
	}
	if !slices.Equal((&View{Shape: []int64{2, 5}}).indices(0, 4, true), nil) {
		t.Error("a shape without strides")
	}
}
