package interpreter

import (
	"math"

	"github.com/goproton/goproton/triton/ttir"
)

// pieces are the precisions in which a product of f32 is a sum of products of shorter numbers: which pieces of the left and the right side are
// multiplied, the least first.
var pieces = map[string]struct {
	round func(x float32) float32
	count int
	terms [][2]int
}{
	"tf32x3": {awayTF32, 2, [][2]int{{1, 0}, {0, 1}, {0, 0}}},
	"bf16x3": {func(x float32) float32 { return narrows[ttir.BF16].nearest(x) }, 2, [][2]int{{1, 0}, {0, 1}, {0, 0}}},
	"bf16x6": {func(x float32) float32 { return narrows[ttir.BF16].nearest(x) }, 3, [][2]int{{1, 1}, {2, 0}, {0, 2}, {1, 0}, {0, 1}, {0, 0}}},
}

// awayTF32 rounds to TF32, ties away from zero.
func awayTF32(x float32) float32 {
	if u := math.Float32bits(x); x-x == 0 {
		return math.Float32frombits((u + 1<<12) &^ (1<<13 - 1))
	}
	return x
}

// inPieces adds a product of matrices whose elements are taken apart. The sum of the smaller terms is NaN where an element is not finite: only
// the largest term counts then.
func inPieces(s sizes, precision string) func(o, x, y []float32, s sizes) {
	how := pieces[precision]
	left, right := make([][]float32, how.count), make([][]float32, how.count)
	for i := range how.count {
		left[i], right[i] = make([]float32, s.m*s.k), make([]float32, s.k*s.n)
	}
	sum := make([]float32, s.m*s.n)
	split := func(x []float32, to [][]float32) {
		for i, v := range x {
			for _, list := range to {
				list[i] = how.round(v)
				v -= list[i]
			}
		}
	}
	return func(o, x, y []float32, s sizes) {
		split(x, left)
		split(y, right)
		clear(sum)
		for n, t := range how.terms {
			if n == len(how.terms)-1 {
				for i, v := range sum {
					if v != v {
						sum[i] = 0
					}
				}
			}
			products(sum, left[t[0]], right[t[1]], s)
		}
		for i, v := range sum {
			o[i] += v
		}
	}
}
