package interpreter

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/goproton/goproton/triton/ttir"
)

// ptx executes instructions with registers of 32 bits (64 where d, 8 where b and 16 where h stands in widths), of which the last are given,
// and returns the first.
func ptx(t *testing.T, text, widths string, given ...uint64) (uint64, error) {
	t.Helper()
	size := map[rune]int{'b': 8, 'h': 16, 'r': 32, 'd': 64}
	var list []int
	for _, c := range widths {
		list = append(list, size[c])
	}
	m := &machine{at: [3]int32{7, 8, 9}, launch: &launch{grid: [3]int32{10, 11, 12}}}
	a, err := readPTX(m, text, list)
	if err != nil {
		return 0, err
	}
	r := a.registers()
	copy(r[len(list)-len(given):], given)
	for _, run := range a.run {
		run(r)
	}
	return r[0], nil
}

func f32bits(x float64) uint64 { return uint64(math.Float32bits(float32(x))) }

// TestInstructions: instructions of PTX with values that are known.
func TestInstructions(t *testing.T) {
	half := func(low, high float64) uint64 { return ttir.F16.Pattern(low) | ttir.F16.Pattern(high)<<16 }
	brain := func(low, high float64) uint64 { return ttir.BF16.Pattern(low) | ttir.BF16.Pattern(high)<<16 }
	bits := math.Float64bits
	for _, c := range []struct {
		text, widths string
		given        []uint64
		want         uint64
	}{
		{"mov.u32 $0, %ctaid.y;", "r", nil, 8}, {"mov.u32 $0, %nctaid.z;", "r", nil, 12}, {"mov.u32 $0, %smid;", "r", nil, 0}, {"mov.b32 $0, {$1, $2};", "rhh", []uint64{0x1234, 0x5678}, 0x56781234},
		{"{ .reg .b16 a, b; mov.b32 {a, b}, $1; mov.b32 $0, {b, a}; }", "rr", []uint64{0x12345678}, 0x56781234}, {".reg .b8 t<4>; mov.b32 {t0, t1, t2, t3}, $1; cvt.u32.u8 $0, t2; // a comment", "rr", []uint64{0x04030201}, 3},
		{"add.u32 $0, $1, 5;", "rr", []uint64{0xFFFFFFFE}, 3}, {"sub.s32 $0, $1, $2;", "rrr", []uint64{3, 5}, 0xFFFFFFFE}, {"add.sat.s32 $0, $1, 1;", "rr", []uint64{math.MaxInt32}, math.MaxInt32}, {"mul.lo.s32 $0, $1, -3;", "rr", []uint64{5}, 0xFFFFFFF1},
		{"mul.hi.u32 $0, $1, $2;", "rrr", []uint64{0xFFFFFFFF, 0xFFFFFFFF}, 0xFFFFFFFE}, {"mul.hi.s32 $0, $1, $2;", "rrr", []uint64{0xFFFFFFFF, 5}, 0xFFFFFFFF}, {"mul.wide.s32 $0, $1, $2;", "drr", []uint64{0xFFFFFFFF, 5}, math.MaxUint64 - 4}, {"mul.wide.u16 $0, $1, $2;", "rhh", []uint64{0xFFFF, 2}, 0x1FFFE},
		{"mad.lo.u32 $0, $1, 2, 0x00800080;", "rr", []uint64{0x3F003F00}, 0x7E807E80}, {"mad.wide.u32 $0, $1, $2, $3;", "drrd", []uint64{1 << 31, 4, 7}, 1<<33 + 7}, {"div.s32 $0, $1, $2;", "rrr", []uint64{0xFFFFFFF9, 2}, 0xFFFFFFFD}, {"rem.u32 $0, $1, 7;", "rr", []uint64{0xFFFFFFFF}, 3},
		{"min.s32 $0, $1, 1;", "rr", []uint64{0xFFFFFFFF}, 0xFFFFFFFF}, {"min.u32 $0, $1, 1;", "rr", []uint64{0xFFFFFFFF}, 1}, {"max.s16 $0, $1, $2;", "hhh", []uint64{0x8000, 1}, 1}, {"abs.s32 $0, $1;", "rr", []uint64{0xFFFFFFF0}, 16}, {"neg.s32 $0, $1;", "rr", []uint64{1}, 0xFFFFFFFF},
		{"and.b32 $0, $1, 0xff;", "rr", []uint64{0x1234}, 0x34}, {"or.b32 $0, $1, $2;", "rrr", []uint64{1, 2}, 3}, {"xor.b32 $0, $1, -1;", "rr", []uint64{1}, 0xFFFFFFFE}, {"not.b32 $0, $1;", "rr", []uint64{0xFF}, 0xFFFFFF00}, {"cnot.b32 $0, $1;", "rr", []uint64{0}, 1},
		{"shl.b32 $0, $1, 4;", "rr", []uint64{0xF0000001}, 0x10}, {"shl.b32 $0, $1, 40;", "rr", []uint64{1}, 0}, {"shr.u32 $0, $1, 4;", "rr", []uint64{0xF0000001}, 0x0F000000}, {"shr.s32 $0, $1, 4;", "rr", []uint64{0xF0000001}, 0xFF000000}, {"shr.s32 $0, $1, 99;", "rr", []uint64{0xF0000001}, 0xFFFFFFFF},
		{"shf.l.wrap.b32 $0, $1, $2, 8;", "rrr", []uint64{0x11223344, 0xAABBCCDD}, 0xBBCCDD11}, {"shf.r.wrap.b32 $0, $1, $2, 8;", "rrr", []uint64{0x11223344, 0xAABBCCDD}, 0xDD112233}, {"lop3.b32 $0, $1, 0x80008000, $2, 0xf8;", "rrr", []uint64{0x1234, 0x8000FFFF}, 0x80009234}, {"lop3.b32 $0, $1, $2, $3, 0x96;", "rrrr", []uint64{1, 3, 5}, 7},
		{"prmt.b32 $0, 0, $1, 0x5746;", "rr", []uint64{0x44332211}, 0x22441133}, {"prmt.b32 $0, $1, $2, 0x7531;", "rrr", []uint64{0x44332211, 0x88776655}, 0x88664422}, {"prmt.b32 $0, $1, 0, 0x0098;", "rr", []uint64{0x7F80}, 0x808000FF}, {"bfe.u32 $0, $1, 4, 8;", "rr", []uint64{0x12345678}, 0x67}, {"bfe.s32 $0, $1, 4, 4;", "rr", []uint64{0xF0}, 0xFFFFFFFF}, {"bfi.b32 $0, $1, $2, 8, 8;", "rrr", []uint64{0xAB, 0x11223344}, 0x1122AB44},
		{"brev.b32 $0, $1;", "rr", []uint64{1}, 1 << 31}, {"popc.b32 $0, $1;", "rr", []uint64{0xFF0F}, 12}, {"clz.b32 $0, $1;", "rr", []uint64{1}, 31}, {"bfind.u32 $0, $1;", "rr", []uint64{0x100}, 8}, {"sad.u32 $0, $1, 9, 1;", "rr", []uint64{4}, 6},
		{"{ .reg .pred p; setp.lt.s32 p, $1, 0; selp.b32 $0, 7, 9, p; }", "rr", []uint64{0xFFFFFFFF}, 7}, {"{ .reg .pred p; setp.lt.u32 p, $1, 1; selp.b32 $0, 7, 9, p; }", "rr", []uint64{0xFFFFFFFF}, 9}, {".reg .pred p; mov.b32 $0, 1; setp.gt.f32 p, $1, 0f3F800000; @p mov.b32 $0, 2;", "rr", []uint64{f32bits(3)}, 2}, {".reg .pred p; mov.b32 $0, 1; setp.leu.f32 p, $1, 1.0; @!p mov.b32 $0, 2;", "rr", []uint64{f32bits(math.NaN())}, 1},
		{".reg .pred p, q; setp.lt.f16x2 p|q, $1, $2; selp.b32 $0, 1, 0, q;", "rrr", []uint64{half(1, 3), half(2, 2)}, 0}, {".reg .pred p, q; setp.eq.u32 q, 1, 1; setp.lt.and.s32 p, $1, 4, !q; selp.b32 $0, 1, 0, p;", "rr", []uint64{3}, 0}, {"set.gt.u32.f32 $0, $1, 0f00000000;", "rr", []uint64{f32bits(1)}, 0xFFFFFFFF},
		{"add.f32 $0, $1, $2;", "rrr", []uint64{f32bits(1.5), f32bits(2)}, f32bits(3.5)}, {"add.rz.f32 $0, $1, $2;", "rrr", []uint64{f32bits(1), f32bits(0x1.8p-24)}, f32bits(1)}, {"add.rp.f32 $0, $1, $2;", "rrr", []uint64{f32bits(1), f32bits(0x1p-60)}, f32bits(1 + 0x1p-23)}, {"mul.f64 $0, $1, $2;", "ddd", []uint64{bits(1.5), bits(3)}, bits(4.5)}, {"mul.sat.f32 $0, $1, $2;", "rrr", []uint64{f32bits(2), f32bits(3)}, f32bits(1)}, {"mul.ftz.f32 $0, $1, 0f3F800000;", "rr", []uint64{1}, 0},
		{"fma.rn.f32 $0, $1, $1, 0fBF800000;", "rr", []uint64{f32bits(1 + 0x1p-12)}, f32bits(0x1p-11 + 0x1p-24)}, {"fma.rn.relu.bf16x2 $0, $1, $2, $3;", "rrrr", []uint64{brain(2, -2), brain(3, 3), brain(1, 1)}, brain(7, 0)}, {"mul.rn.bf16x2 $0, $1, $2;", "rrr", []uint64{brain(2, -2), brain(3, 0.5)}, brain(6, -1)}, {"mul.bf16x2 $0, $1, $1;", "rr", []uint64{brain(3, 0.5)}, brain(9, 0.25)}, {"add.f16x2 $0, $1, $2;", "rrr", []uint64{half(1, 65504), half(2, 65504)}, half(3, math.Inf(1))}, {"sub.f16 $0, $1, $2;", "hhh", []uint64{half(1, 0), half(2, 0)}, half(-1, 0)}, {"sub.f32 $0, $1, $2;", "rrr", []uint64{f32bits(1), 0x7FC00000}, 0x7FC00000}, {"sub.f32 $0, $1, $2;", "rrr", []uint64{0xFFC00000, f32bits(1)}, 0xFFC00000},
		{"ex2.approx.ftz.f32 $0, $1;", "rr", []uint64{f32bits(3)}, f32bits(8)}, {"lg2.approx.f32 $0, $1;", "rr", []uint64{f32bits(8)}, f32bits(3)}, {"rcp.approx.f32 $0, $1;", "rr", []uint64{f32bits(4)}, f32bits(0.25)}, {"rsqrt.approx.f32 $0, $1;", "rr", []uint64{f32bits(4)}, f32bits(0.5)}, {"sqrt.rn.f32 $0, $1;", "rr", []uint64{f32bits(2)}, f32bits(math.Sqrt2)}, {"tanh.approx.f32 $0, $1;", "rr", []uint64{f32bits(0.5)}, f32bits(math.Tanh(0.5))}, {"ex2.approx.f16x2 $0, $1;", "rr", []uint64{half(1, -1)}, half(2, 0.5)}, {"tanh.approx.bf16x2 $0, $1;", "rr", []uint64{brain(0, 20)}, brain(0, 1)}, {"div.full.f32 $0, $1, $2;", "rrr", []uint64{f32bits(1), f32bits(3)}, f32bits(1. / 3)},
		{"max.f32 $0, $1, $2;", "rrr", []uint64{f32bits(math.NaN()), f32bits(3)}, f32bits(3)}, {"max.NaN.f32 $0, $1, $2;", "rrr", []uint64{f32bits(math.NaN()), f32bits(3)}, f32bits(math.NaN())}, {"min.xorsign.abs.f32 $0, $1, $2;", "rrr", []uint64{f32bits(-2), f32bits(3)}, f32bits(-2)}, {"max.xorsign.abs.f32 $0, $1, $2;", "rrr", []uint64{f32bits(-2), f32bits(-3)}, f32bits(3)}, {"min.f16x2 $0, $1, $2;", "rrr", []uint64{half(1, 5), half(2, 3)}, half(1, 3)}, {"max.f32 $0, $1, $2, $3;", "rrrr", []uint64{f32bits(1), f32bits(3), f32bits(2)}, f32bits(3)},
		{"neg.f32 $0, $1;", "rr", []uint64{f32bits(2)}, f32bits(-2)}, {"abs.f16x2 $0, $1;", "rr", []uint64{half(-1, -5)}, half(1, 5)}, {"copysign.f32 $0, $1, $2;", "rrr", []uint64{f32bits(-0.5), f32bits(3)}, f32bits(-3)}, {".reg .pred p; testp.finite.f32 p, $1; selp.b32 $0, 1, 0, p;", "rr", []uint64{f32bits(math.Inf(1))}, 0},
		{"cvt.rn.f16.f32 $0, $1;", "hr", []uint64{f32bits(1.0004)}, half(1, 0)}, {"cvt.f32.f16 $0, $1;", "rh", []uint64{half(1.5, 0)}, f32bits(1.5)}, {"cvt.rn.bf16.f32 $0, $1;", "hr", []uint64{f32bits(1.01171875)}, 0x3f82}, {"cvt.rz.bf16.f32 $0, $1;", "hr", []uint64{f32bits(1.01171875)}, 0x3f81}, {"cvt.rn.bf16x2.f32 $0, $1, $2;", "rrr", []uint64{f32bits(1), f32bits(2)}, brain(2, 1)}, {"cvt.rn.relu.f16x2.f32 $0, $1, $2;", "rrr", []uint64{f32bits(-1), f32bits(2)}, half(2, 0)},
		{"cvt.rni.s32.f32 $0, $1;", "rr", []uint64{f32bits(-2.5)}, 0xFFFFFFFE}, {"cvt.rzi.u32.f32 $0, $1;", "rr", []uint64{f32bits(3e10)}, 0xFFFFFFFF}, {"cvt.rmi.f32.f32 $0, $1;", "rr", []uint64{f32bits(-2.5)}, f32bits(-3)}, {"cvt.rn.f32.s32 $0, $1;", "rr", []uint64{0xFFFFFFFF}, f32bits(-1)}, {"cvt.rn.f32.u64 $0, $1;", "rd", []uint64{math.MaxUint64}, f32bits(0x1p64)}, {"cvt.rz.f32.s64 $0, $1;", "rd", []uint64{math.MaxInt64}, f32bits(0x1p63 - 0x1p39)}, {"cvt.s32.s8 $0, $1;", "rb", []uint64{0x80}, 0xFFFFFF80}, {"cvt.u32.u8 $0, $1;", "rb", []uint64{0x80}, 0x80}, {"cvt.sat.s8.s32 $0, $1;", "rr", []uint64{1000}, 127}, {"cvt.sat.u8.s32 $0, $1;", "rr", []uint64{0xFFFFFFFF}, 0}, {"cvt.f64.f32 $0, $1;", "dr", []uint64{f32bits(1.5)}, bits(1.5)}, {"cvt.rn.f32.f64 $0, $1;", "rd", []uint64{bits(0.1)}, f32bits(0.1)}, {"cvt.rm.f32.f64 $0, $1;", "rd", []uint64{bits(0.1)}, f32bits(0.1) - 1},
		{"cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;", "hrr", []uint64{f32bits(1e9), f32bits(1.0625)}, 0x7e38}, {"cvt.rn.satfinite.e5m2x2.f32 $0, $1, $2;", "hrr", []uint64{f32bits(-3), f32bits(1.125)}, 0xc23c}, {"cvt.rn.f16x2.e4m3x2 $0, $1;", "rh", []uint64{0x7e38}, half(1, 448)}, {"cvt.rn.satfinite.e4m3x2.f16x2 $0, $1;", "hr", []uint64{half(1, -448)}, 0xfe38}, {"cvt.rn.satfinite.e2m1x2.f32 $0, $1, $2;", "brr", []uint64{f32bits(-6), f32bits(0.5)}, 0xf1}, {"cvt.rn.f16x2.e2m1x2 $0, $1;", "rb", []uint64{0xf1}, half(0.5, -6)}, {"cvt.rn.satfinite.e2m1x2.f32 $0, $1, $2;", "brr", []uint64{f32bits(100), f32bits(math.NaN())}, 0x77}, {"cvt.rn.satfinite.e3m2x2.f32 $0, $1, $2;", "hrr", []uint64{f32bits(28), f32bits(1)}, 0x1f0c}, {"cvt.rp.satfinite.ue8m0x2.f32 $0, $1, $2;", "hrr", []uint64{f32bits(1), f32bits(3)}, 0x7f81}, {"cvt.rn.bf16x2.ue8m0x2 $0, $1;", "rh", []uint64{0x7f81}, brain(4, 1)}, {"cvt.rna.tf32.f32 $0, $1;", "rr", []uint64{0x3F801000}, 0x3F802000}, {"cvt.rn.tf32.f32 $0, $1;", "rr", []uint64{0x3F801000}, 0x3F800000},
		{"fence.acq_rel.gpu; griddepcontrol.wait; nanosleep.u32 20; mov.b32 $0, 5;", "r", nil, 5},
	} {
		if got, err := ptx(t, c.text, c.widths, c.given...); err != nil || got != c.want {
			t.Errorf("%s of %x is %#x and not %#x: %v", c.text, c.given, got, c.want, err)
		}
	}
	for text, want := range map[string]string{
		"mma.sync.aligned.m16n8k16.f32 $0, $0;": "the modifier", "add.u32 $0, %r1, 1;": `the operand "%r1"`, "mov.u32 $0, %strange;": "the register %strange", "bra DONE;": "is not supported", "add.cc.u32 $0, $0, 1;": "the modifier .cc", "prmt.b32.f4e $0, $0, $0, 1;": "the modifier .f4e", "s_memrealtime $0": "is not supported", "add.u32 $0;": "is not supported", "mov.b32": "is not supported", "cvt.rn.f32 $0, $0;": "is not supported",
	} {
		if _, err := ptx(t, text, "r"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestInlineAssembly: elements of few bits share registers, in order; several results; an instruction that is not known is named when it is reached.
func TestInlineAssembly(t *testing.T) {
	text := body("%x: !tt.ptr<i8>, %z: !tt.ptr<i32>, %f: !tt.ptr<f32>", ` %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
 %xs = tt.splat %x : !tt.ptr<i8> -> tensor<8x!tt.ptr<i8>>
 %xp = tt.addptr %xs, %r : tensor<8x!tt.ptr<i8>>, tensor<8xi32>
 %a = tt.load %xp : tensor<8x!tt.ptr<i8>>
 %b = arith.sitofp %r : tensor<8xi32> to tensor<8xf32>
 %c, %d = tt.elementwise_inline_asm "TEXT" {constraints = "=r,=r,=r,=r,=r,=r,=r,=r,r,r,r,r,r", packed_element = 4 : i32, pure = true} %a, %b : tensor<8xi8>, tensor<8xf32> -> tensor<8xi32>, tensor<8xf32>
 %zs = tt.splat %z : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
 %zp = tt.addptr %zs, %r : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
 tt.store %zp, %c : tensor<8x!tt.ptr<i32>>
 %fs = tt.splat %f : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
 %fp = tt.addptr %fs, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
 tt.store %fp, %d : tensor<8x!tt.ptr<f32>>`)
	code := `{ .reg .b8 t<4>; mov.b32 {t0, t1, t2, t3}, $8;`
	for i := range 4 {
		code += fmt.Sprintf(" cvt.u32.u8 $%d, t%d; cvt.rn.f32.s32 $%d, $%d; max.f32 $%d, $%d, $%d;", i, i, i+4, i, i+4, i+4, i+9)
	}
	code += " }"
	x, z, f := &Buffer{Name: "x", Data: []byte{9, 0, 200, 1, 2, 3, 100, 4}}, &Buffer{Name: "z", Data: make([]byte, 32)}, &Buffer{Name: "f", Data: make([]byte, 32)}
	list := []Argument{Pointer(x, 0), Pointer(z, 0), Pointer(f, 0)}
	if _, err := program(t, strings.ReplaceAll(text, "TEXT", code)).Launch("", [3]int32{1, 1, 1}, list, Options{}); err != nil {
		t.Fatal(err)
	}
	for i, v := range x.Data {
		if got, most := little.Uint32(z.Data[4*i:]), numberAt("float32", f.Data, i); got != uint32(v) || most != math.Max(float64(v), float64(i)) {
			t.Errorf("element %d is %d, %v", i, got, most)
		}
	}
	_, err := program(t, strings.ReplaceAll(text, "TEXT", "wgmma.fence.sync.aligned;")).Launch("", [3]int32{1, 1, 1}, list, Options{})
	if f := (*Finding)(nil); !errors.As(err, &f) || f.Kind != "not supported" || !strings.Contains(f.Text, "wgmma.fence") {
		t.Errorf("%v", err)
	}
}

// FuzzAssembly: instructions are refused or executed, whatever they are.
func FuzzAssembly(f *testing.F) {
	for _, s := range []string{"add.u32 $0, $1, 5;", "{ .reg .b16 a, b; mov.b32 {a, b}, $1; mov.b32 $0, {b, a}; }", "@!p cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;", "lop3.b32 $0, $1, 0x80008000, $2, 0xf8;", "mov.b32 {}, $1;", "setp.lt.and.f16x2 p|q, $1, $2, !q;"} {
		f.Add(s, uint64(1), uint64(2))
	}
	f.Fuzz(func(t *testing.T, text string, a, b uint64) {
		_, _ = ptx(t, ".reg .pred p, q; "+text, "rrr", a, b)
	})
}
