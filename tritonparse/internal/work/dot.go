package work

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

// Dot is how a kernel multiplies matrices, by its first tt.dot.
type Dot struct {
	Type      string // element type of the operands: f16, f8E5M2, f32, f4E2M1; "" where nothing is multiplied
	Precision string // of f32, by which the GPU's units follow: ieee, tf32, tf32x3, bf16x3, bf16x6; "" for other types
}

// Dot is that of the first multiplication in the text.
func (m *Module) Dot() Dot { return m.dot }

func (op *operation) dot(f *ttir.Function) Dot {
	left := f.Type(op.Operand(0))
	if op.Name != "tt.dot" && op.Name != "tt.dot_scaled" || left == nil || left.Kind != ttir.TensorType {
		return Dot{}
	}
	d := Dot{Type: left.Element.Text}
	if op.Name == "tt.dot_scaled" {
		d.Type = widerFormat(op.Keyword("a_elem_type", ""), op.Keyword("b_elem_type", ""), d.Type)
	}
	if d.Type != "f32" {
		return d
	}
	// Triton does not print ieee, which is MLIR's default for the attribute and not tl.dot's; before 3.0 there was a switch instead.
	d.Precision = op.Keyword("inputPrecision", "ieee")
	if a := op.Attribute("allowTF32"); a != nil && a.Int != 0 {
		d.Precision = "tf32"
	}
	return d
}

// formats are what tt.dot_scaled calls the types of its operands, the narrowest first. Of two that differ the wider is
// multiplied.
var formats = []struct{ name, element string }{
	{"e2m1", "f4E2M1"}, {"e2m3", "f6E2M3"}, {"e3m2", "f6E3M2"}, {"e4m3", "f8E4M3FN"}, {"e5m2", "f8E5M2"}, {"fp16", "f16"}, {"bf16", "bf16"},
}

// widerFormat is the element type of the wider of two formats. Operands of four bits are packed in pairs as i8, which is what
// the operation's own types say.
func widerFormat(left, right, otherwise string) string {
	for i := len(formats) - 1; i >= 0; i-- {
		if f := formats[i]; f.name == left || f.name == right {
			return f.element
		}
	}
	return otherwise
}
