package tritonparse

import "testing"

func TestDotOf(t *testing.T) {
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
		if got := dotOf("module {\n" + ttir + "\n}\n"); got != want {
			t.Errorf("%s: %+v, want %+v", ttir, got, want)
		}
	}
}
