package count

import "github.com/goproton/goproton/triton/ttir"

// dotWork is the floating-point operations of one matrix multiplication: 2·M·N·K for each matrix of a batch, where a
// multiplication and an addition are two operations.
//
// M, N and the batch are the dimensions of the result. K is the last dimension of the first operand: its place decides, not
// its size, because tiles often have K equal to M or N. A sparse left operand holds only the values that are multiplied, so
// its own K counts them.
func (op *operation) dotWork(f *ttir.Function) int64 {
	left, out := f.Type(op.Operand(0)), op.result(f)
	if left == nil || out == nil || len(left.Shape) < 2 || len(out.Shape) < 2 {
		return 0
	}
	k := left.Shape[len(left.Shape)-1]
	if op.packedAlongK() {
		k = times(k, 2)
	}
	return times(2, times(out.Elements(), k))
}

// packedAlongK says whether the left operand of a scaled dot holds two 4-bit numbers in each byte along K, so that its last
// dimension is half of K. With lhs_k_pack = false the pairs lie along M and the last dimension is K itself.
func (op *operation) packedAlongK() bool {
	along := op.Attribute("lhs_k_pack")
	return op.Keyword("a_elem_type", "") == "e2m1" && (along == nil || along.Int != 0)
}
