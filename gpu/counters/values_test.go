package counters

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// measured reads testdata/h200.tsv: what an H200 counted for one launch of each of some kernels, by kernel and metric.
func measured(t *testing.T) map[string]map[string]float64 {
	t.Helper()
	kernels := map[string]map[string]float64{}
	var names []string
	for line := range strings.Lines(testkit.Read(t, "testdata/h200.tsv")) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if names == nil {
			names = cells[1:]
			for _, name := range names {
				kernels[name] = map[string]float64{}
			}
			continue
		}
		for i, name := range names {
			v, err := strconv.ParseFloat(cells[i+1], 64)
			if err != nil {
				t.Fatal(err)
			}
			kernels[name][cells[0]] = v
		}
	}
	return kernels
}

// value is a figure of a kernel.
func value(f *Figure, kernel map[string]float64) (v float64, ok bool) {
	above, below, ok := f.Parts(func(m string) (float64, bool) { v, has := kernel[m]; return v, has })
	return above / below, ok
}

// TestFiguresAreTheVendorsRatios: for every kernel that was measured, a figure is the vendor's own value of it.
func TestFiguresAreTheVendorsRatios(t *testing.T) {
	compared := 0
	for name, kernel := range measured(t) {
		for i := range Figures {
			f := &Figures[i]
			for _, same := range f.Same {
				want, has := kernel[same]
				if !has {
					t.Errorf("%s was not measured", same)
				}
				got, ok := value(f, kernel)
				if !ok {
					t.Errorf("%s of %s has no value", f.Name, name)
				}
				if f.Unit == Share {
					got *= 100
				}
				if math.IsNaN(got) { // nothing of the kind happened, for which the vendor writes 0
					got = 0
				}
				compared++
				if math.Abs(got-want) > 1e-6*math.Abs(want) {
					t.Errorf("%s of %s is %g, the vendor's %s %g", f.Name, name, got, same, want)
				}
			}
		}
	}
	if compared < 18*20 {
		t.Errorf("%d values were compared", compared)
	}
}

// TestFiguresOfKnownWork: what kernels do by arithmetic. The sum adds 2^24 floats, 16 bytes a thread; the strided copy loads every 33rd float,
// a sector for each thread; the matrices are of 2048 x 2048, of FP64 1024 x 1024; the chains of FMA are of 64 steps on 2^20 values.
func TestFiguresOfKnownWork(t *testing.T) {
	kernels := measured(t)
	const n, product, chain = 1 << 24, 2 * 2048 * 2048 * 2048, 2 * 64 << 20
	for _, c := range []struct {
		kernel, figure string
		want, within   float64
	}{
		{"add", "dram_read", 2 * 4 * n, 0.001},
		{"add", "dram_bytes", 3 * 4 * n, 0.02}, // some of what is written stays in L2
		{"add", "l1_bytes", 3 * 4 * n, 0},
		{"add", "fp32_flops", n, 0},
		{"add", "sectors_per_load", 32 * 16 / sector, 0},
		{"add", "load_efficiency", 1, 0},
		{"strided", "sectors_per_load", 32, 0},
		{"strided", "load_efficiency", 4. / sector, 0},
		{"strided", "store_efficiency", 1, 0},
		{"triton_fp16", "dram_read", 2 * 2 * 2048 * 2048, 0.001},
		{"triton_fp16", "tensor_fp16_flops", product, 0},
		{"triton_ieee", "fp32_flops", product, 0},
		{"triton_ieee", "tensor_tf32_flops", 0, 0},
		{"cublas_fp16", "tensor_fp16_flops", product, 0},
		{"cublas_bf16", "tensor_bf16_flops", product, 0},
		{"cublas_tf32", "tensor_tf32_flops", product, 0},
		{"cublas_fp8", "tensor_fp8_flops", product, 0},
		{"cublas_int8", "tensor_int8_flops", product, 0},
		{"cublas_fp64", "tensor_fp64_flops", product / 8, 0},
		{"cublas_fp32", "fp32_flops", product, 0.001},
		{"float_fma", "fp32_flops", chain, 0},
		{"double_fma", "fp64_flops", chain, 0},
		{"half_fma", "fp16_flops", chain, 0},
		{"transpose", "dram_bytes", 2 * 4 * 4096 * 4096, 0.07},
	} {
		got, ok := value(Find(c.figure), kernels[c.kernel])
		if !ok || math.Abs(got-c.want) > c.within*c.want {
			t.Errorf("%s of %s: %g, %v; want %g", c.figure, c.kernel, got, ok, c.want)
		}
	}
	if _, ok := value(Find("l2_hit"), map[string]float64{"lts__t_sectors.sum": 1}); ok {
		t.Error("a figure was computed from a part of its metrics")
	}
}
