package work

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// matrices is a random multiplication, described by what it computes and not by the types of its operands.
type matrices struct {
	batch   []int64
	m, n, k int64
}

// flops counts one multiplication and one addition for every element of the result and every place along K.
func (x matrices) flops() int64 {
	total := int64(0)
	matricesInBatch := int64(1)
	for _, b := range x.batch {
		matricesInBatch *= b
	}
	for range matricesInBatch {
		for range x.m {
			for range x.n {
				total += x.k + x.k
			}
		}
	}
	return total
}

func (x matrices) tensor(element string, dims ...int64) string {
	var b strings.Builder
	b.WriteString("tensor<")
	for _, d := range slices.Concat(x.batch, dims) {
		fmt.Fprintf(&b, "%dx", d)
	}
	return b.String() + element + ">"
}

// forms are the ways in which Triton writes the multiplication down.
func (x matrices) forms() map[string]string {
	a, b, c := x.tensor("f16", x.m, x.k), x.tensor("f16", x.k, x.n), x.tensor("f32", x.m, x.n)
	scaleA, scaleB := x.tensor("i8", x.m, max(1, x.k/32)), x.tensor("i8", x.n, max(1, x.k/32))
	fp8B := x.tensor("f8E4M3FN", x.k, x.n)
	packed, packedM, packedB := x.tensor("i8", x.m, x.k/2), x.tensor("i8", x.m/2, x.k), x.tensor("i8", x.k/2, x.n)
	return map[string]string{
		"plain":       fmt.Sprintf("%%r = tt.dot %%a, %%b, %%c, inputPrecision = tf32 : %s * %s -> %s loc(#loc)", a, b, c),
		"old":         fmt.Sprintf("%%r = tt.dot %%a, %%b, %%c {allowTF32 = true, maxNumImpreciseAcc = 0 : i32} : %s * %s -> %s", a, b, c),
		"generic":     fmt.Sprintf(`%%r = "tt.dot"(%%a, %%b, %%c) <{inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32}> : (%s, %s, %s) -> %s`, a, b, c, c),
		"encoded":     fmt.Sprintf("%%r = tt.dot %%a, %%b, %%c : %s * %s -> %s", encoded(a, "#dot_a"), encoded(b, "#dot_b"), encoded(c, "#mma")),
		"scaled":      fmt.Sprintf("%%r = tt.dot_scaled %%a scale %%s, %%b scale %%t, %%c lhs = e5m2 rhs = e4m3 {fastMath = false} : %s, %s * %s, %s -> %s", x.tensor("f8E5M2", x.m, x.k), scaleA, fp8B, scaleB, c),
		"no scales":   fmt.Sprintf("%%r = tt.dot_scaled %%a, %%b, %%c lhs = e4m3 rhs = e4m3 {fastMath = true} : %s * %s -> %s", x.tensor("i8", x.m, x.k), x.tensor("i8", x.k, x.n), c),
		"both packed": fmt.Sprintf("%%r = tt.dot_scaled %%a scale %%s, %%b scale %%t, %%c lhs = e2m1 rhs = e2m1 {fastMath = false} : %s, %s * %s, %s -> %s", packed, scaleA, packedB, scaleB, c),
		"left packed": fmt.Sprintf("%%r = tt.dot_scaled %%a, %%b scale %%t, %%c lhs = e2m1 rhs = e4m3 {fastMath = false} : %s * %s, %s -> %s", packed, fp8B, scaleB, c),
		"packed by M": fmt.Sprintf("%%r = tt.dot_scaled %%a scale %%s, %%b scale %%t, %%c lhs = e2m1 rhs = e4m3 {fastMath = false, lhs_k_pack = false} : %s, %s * %s, %s -> %s", packedM, scaleA, fp8B, scaleB, c),
		"right packed": fmt.Sprintf("%%r = tt.dot_scaled %%a scale %%s, %%b scale %%t, %%c lhs = e4m3 rhs = e2m1 {fastMath = false, rhs_k_pack = false} : %s, %s * %s, %s -> %s",
			x.tensor("f8E4M3FN", x.m, x.k), scaleA, x.tensor("i8", x.k, x.n/2), scaleB, c),
	}
}

func encoded(tensor, encoding string) string {
	return strings.TrimSuffix(tensor, ">") + ", " + encoding + ">"
}

// TestDotCountsTheMultiplication: shapes in which K equals M or N, or is smaller or larger than both, in every form.
func TestDotCountsTheMultiplication(t *testing.T) {
	random := rand.New(rand.NewPCG(12, 1))
	size := func() int64 { return 2 << random.Int64N(6) }
	shapes := []matrices{
		{nil, 32, 16, 16}, {nil, 16, 32, 16}, {nil, 128, 64, 64}, {nil, 64, 256, 64}, {nil, 16, 16, 16}, // those of the finding
		{[]int64{4}, 32, 16, 16}, {[]int64{32}, 32, 16, 32},
	}
	for range 300 {
		x := matrices{nil, size(), size(), size()}
		for range random.IntN(3) {
			x.batch = append(x.batch, 1+random.Int64N(4))
		}
		shapes = append(shapes, x)
	}
	for _, x := range shapes {
		want := x.flops()
		for form, text := range x.forms() {
			if got := Parse(kernel(text)).Count(Launch{Grid: [3]int64{1, 1, 1}}).Dots; got != want {
				t.Fatalf("%s: %d flops, %d are true\n%s", form, got, want, text)
			}
		}
	}
}

// TestDotOfATransposedTile: the operand's type is that of the transposed tile.
func TestDotOfATransposedTile(t *testing.T) {
	text := kernel("%t = tt.trans %b {order = array<i32: 1, 0>} : tensor<16x32xf16> -> tensor<32x16xf16>",
		"%r = tt.dot %a, %t, %c : tensor<64x32xf16> * tensor<32x16xf16> -> tensor<64x16xf32>")
	if got, want := Parse(text).Count(Launch{Grid: [3]int64{1, 1, 1}}).Dots, (matrices{nil, 64, 16, 32}).flops(); got != want {
		t.Errorf("%d flops, %d are true", got, want)
	}
}

// TestDotOfASparseOperand: two of four values of each row of A are there, and only these are multiplied.
func TestDotOfASparseOperand(t *testing.T) {
	text := kernel("%r = ttg.sparse_dot %a, %b, %c, %meta : tensor<64x32xf16>, meta tensor<64x4xi16> * tensor<64x16xf16> -> tensor<64x16xf32>")
	if got, want := Parse(text).Count(Launch{Grid: [3]int64{1, 1, 1}}).Dots, (matrices{nil, 64, 16, 32}).flops(); got != want {
		t.Errorf("%d flops, %d are true", got, want)
	}
}

// TestTilesAddUpToTheMatrix: 64 × 64 × 64 in tiles has 524,288 operations, however the tiles are cut.
func TestTilesAddUpToTheMatrix(t *testing.T) {
	const size = 64
	for _, tile := range [][3]int64{{32, 16, 16}, {16, 32, 16}, {64, 64, 64}, {16, 64, 32}, {32, 32, 16}, {64, 16, 64}} {
		m, n, k := tile[0], tile[1], tile[2]
		text := kernel(fmt.Sprintf("%%step = arith.constant %d : i32", k), "scf.for %i = %c0 to %n step %step  : i32 {",
			fmt.Sprintf("%%r = tt.dot %%a, %%b, %%c : tensor<%dx%dxf16> * tensor<%dx%dxf16> -> tensor<%dx%dxf32>", m, k, k, n, m, n), "}")
		got := Parse(text).Count(Launch{Arguments: map[string]int64{"n": size}, Grid: [3]int64{size / m, size / n, 1}})
		if got.Dots != 524_288 || !got.Exact {
			t.Errorf("tiles of %d × %d × %d: %d flops", m, n, k, got.Dots)
		}
	}
}

func TestDot(t *testing.T) {
	for ttir, want := range map[string]Dot{
		`%1 = arith.addf %a, %b : tensor<64xf32>`: {},
		`%1 = tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<64x32xf16> * tensor<32x64xf16> -> tensor<64x64xf32>`:                                                                               {"f16", ""},
		`%1 = tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<64x32xf32> * tensor<32x64xf32> -> tensor<64x64xf32> loc(#loc3)`:                                                                    {"f32", "tf32"},
		`%1 = tt.dot %a, %b, %c, inputPrecision = tf32x3 : tensor<64x32xf32> * tensor<32x64xf32> -> tensor<64x64xf32>`:                                                                             {"f32", "tf32x3"},
		`%1 = tt.dot %a, %b, %c : tensor<2x64x32xf32> * tensor<2x32x64xf32> -> tensor<2x64x64xf32>`:                                                                                                {"f32", "ieee"},
		`%1 = tt.dot %a, %b, %c {allowTF32 = true, maxNumImpreciseAcc = 0 : i32} : tensor<64x32xf32> * tensor<32x64xf32> -> f`:                                                                     {"f32", "tf32"},
		`%1 = tt.dot %a, %b, %c {allowTF32 = false, maxNumImpreciseAcc = 0 : i32} : tensor<64x32xf32> * tensor<32x64xf32> -> f`:                                                                    {"f32", "ieee"},
		`%1 = tt.dot_scaled %a scale %s, %b scale %r, %c lhs = e2m1 rhs = e2m1 {fastMath = false} : tensor<64x32xi8>, tensor<64x2xi8> * tensor<32x64xi8>, tensor<64x2xi8> -> tensor<64x64xf32>`:    {"f4E2M1", ""},
		`%1 = tt.dot_scaled %a scale %s, %b, %c lhs = e2m1 rhs = bf16 {fastMath = true} : tensor<64x32xi8>, tensor<64x2xi8> * tensor<64x64xbf16> -> tensor<64x64xf32>`:                             {"bf16", ""},
		`%1 = tt.dot_scaled %a scale %s, %b scale %r, %c lhs = e4m3 rhs = e2m1 {fastMath = false} : tensor<64x64xf8E4M3FN>, tensor<64x2xi8> * tensor<32x64xi8>, tensor<64x2xi8> -> tensor<64xf32>`: {"f8E4M3FN", ""},
	} {
		if got := Parse(kernel(ttir)).Dot(); got != want {
			t.Errorf("%s: %+v, want %+v", ttir, got, want)
		}
	}
}
