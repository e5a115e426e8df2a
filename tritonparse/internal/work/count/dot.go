package count

import "strings"

// dotWork is the floating-point operations of one matrix multiplication: 2·M·N·K for each matrix of a batch, where a
// multiplication and an addition are two operations.
//
// M, N and the batch are the dimensions of the result. K is the last dimension of the first operand: its place decides, not
// its size, because tiles often have K equal to M or N. The texts of one dot, as Triton prints it, are
//
//	tt.dot        %a, %b, %c : tensor<MxK> * tensor<KxN> -> tensor<MxN>
//	tt.dot_scaled %a scale %sa, %b scale %sb, %c lhs = e2m1 rhs = e4m3 {…} : tensor<…>, tensor<…> * tensor<…>, tensor<…> -> tensor<…>
//
// and in MLIR's generic form the operands stand in one bracket, separated by commas. A sparse left operand holds only the
// values that are multiplied, so its own K counts them.
func dotWork(operands, types string) int64 {
	from, to, ok := strings.Cut(types, "-> ")
	out := readType(to)
	if !ok || len(out.dims) < 2 {
		return 0
	}
	from = strings.TrimPrefix(strings.TrimSpace(from), "(")
	left := readType(firstType(strings.ReplaceAll(from, " * ", ",")))
	if len(left.dims) < 2 {
		return 0
	}
	k := left.dims[len(left.dims)-1]
	if packedAlongK(operands) {
		k = times(k, 2)
	}
	return times(2, times(out.elements(), k))
}

// packedAlongK says whether the left operand of a scaled dot holds two 4-bit numbers in each byte along K, so that its last
// dimension is half of K. With lhs_k_pack = false the pairs lie along M and the last dimension is K itself.
func packedAlongK(operands string) bool {
	_, formats, ok := strings.Cut(operands, " lhs = ")
	return ok && strings.HasPrefix(formats, "e2m1") && !strings.Contains(formats, "lhs_k_pack = false")
}
