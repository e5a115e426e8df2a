package work

import (
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// compiledText reads a text of testdata/compiled, which make.py there compiles.
func compiledText(t *testing.T, name string) string {
	t.Helper()
	return string(testkit.Gunzip(t, "testdata/compiled/"+name+".gz"))
}

// launched is a compiled kernel with its arguments. Its work is counted in the TTIR, counted by executing the PTX, and given
// by a formula that knows the algorithm only.
type launched struct {
	name      string
	grid      [3]int64
	arguments []argument // all that the kernel has, in order
	dots      int64      // by the formula
	bytes     int64      // by the formula: what the programs move, with nothing masked off
	passes    int64      // instructions for one multiplication of the source: 3 for tf32x3; 0 is 1
	masked    int64      // bytes that masks leave out, by the formula
	scalar    bool       // without matrix instructions: fma
	flops     int64      // by the formula, of what is not a multiplication of matrices; 0 is not compared
}

type argument struct {
	name  string
	value int64
}

func tensors(names ...string) (list []argument) {
	for i, n := range names {
		list = append(list, argument{n, int64(i+1) << 40})
	}
	return list
}

func matmulArguments(m, n, k int64) []argument {
	return append(tensors("a", "b", "c"), argument{"M", m}, argument{"N", n}, argument{"K", k}, argument{"sa", k}, argument{"sb", n}, argument{"sc", n})
}

// matmulLaunch is C = A·B in fp16 by tiles: every tile of C reads its rows of A and its columns of B.
func matmulLaunch(name string, m, n, k, bm, bn int64) launched {
	return launched{name: name, grid: [3]int64{m / bm * (n / bn), 1, 1}, arguments: matmulArguments(m, n, k), dots: 2 * m * n * k, bytes: 2 * (n/bn*m*k + m/bm*n*k + m*n)}
}

// productLaunch is two programs that each multiply three pairs of tiles and add them up.
func productLaunch(name string, m, n, k, in, out int64) launched {
	return launched{name: name, grid: [3]int64{2, 1, 1}, arguments: append(tensors("a", "b", "c"), argument{"n", 3}), dots: 2 * 3 * 2 * m * n * k, bytes: 2 * (3*in*(m*k+k*n) + out*m*n)}
}

func compiledLaunches() []launched {
	// Causal attention of two heads, 384 × 64, by blocks of 128 queries and 64 keys: block i sees 2(i+1) blocks of keys, once for the
	// scores and once for the values. The log-sum-exp of each query is stored in f32.
	attention := launched{name: "flash_attention", grid: [3]int64{3, 2, 1}, dots: 2 * (2 + 4 + 6) * 2 * (2 * 128 * 64 * 64), bytes: 2 * (2*(384*64*2+(2+4+6)*2*64*64) + 384*4),
		arguments: append(tensors("q_ptr", "k_ptr", "v_ptr", "o_ptr", "lse"), argument{"stride", 64}, argument{"head", 384 * 64}, argument{"n", 384}, argument{"scale", 0})}
	split := productLaunch("product_tf32x3", 64, 64, 32, 4, 4)
	split.passes = 3
	ieee := productLaunch("product_ieee", 32, 32, 32, 4, 4)
	ieee.scalar = true
	wrong := matmulLaunch("matmul_128_128_32", 256, 384, 80, 128, 128) // K is not a multiple of 32: 96 are multiplied, 80 loaded
	wrong.dots, wrong.masked = 2*256*384*96, 2*(3*256*16+2*384*16)
	wrong.bytes += wrong.masked
	return []launched{
		{name: "vector_add", grid: [3]int64{4, 1, 1}, arguments: append(tensors("x", "y", "z"), argument{"n", 4096}), bytes: 3 * 4 * 4096, flops: 4096},
		{name: "vector_add", grid: [3]int64{4, 1, 1}, arguments: append(tensors("x", "y", "z"), argument{"n", 4001}), bytes: 3 * 4 * 4096, masked: 3 * 4 * 95},
		// A row: largest, differences, exponentials, sum, quotients. The largest and the sum combine 4096 values.
		{name: "softmax", grid: [3]int64{3, 1, 1}, arguments: append(tensors("x", "z"), argument{"n", 4096}, argument{"s", 4096}), bytes: 2 * 4 * 3 * 4096, flops: 3 * (3*4096 + 2*4095)},
		{name: "softmax", grid: [3]int64{3, 1, 1}, arguments: append(tensors("x", "z"), argument{"n", 1000}, argument{"s", 1000}), bytes: 2 * 4 * 3 * 4096, masked: 2 * 4 * 3 * 3096},
		// Three readings of the row and one writing in fp16; weight, bias, and one mean and one deviation in f32.
		{name: "layer_norm", grid: [3]int64{3, 1, 1}, arguments: append(tensors("x", "y", "w", "b", "mean", "rstd"), argument{"stride", 2048}, argument{"n", 2048}, argument{"eps", 0}), bytes: 3 * (4*2*2048 + 2*4*2048 + 2*4)},
		attention,
		matmulLaunch("matmul_128_128_32", 256, 384, 96, 128, 128),
		wrong,
		matmulLaunch("matmul_64_256_64", 128, 512, 192, 64, 256),
		matmulLaunch("matmul_128_64_64", 256, 128, 128, 128, 64),
		matmulLaunch("matmul_32_32_16", 64, 96, 48, 32, 32),
		productLaunch("product_bf16", 64, 32, 64, 2, 4),
		productLaunch("product_tf32", 64, 64, 32, 4, 4),
		split, ieee,
		productLaunch("product_int8", 64, 64, 64, 1, 4),
		productLaunch("product_fp8", 64, 64, 64, 1, 4),
	}
}

// TestWorkAgainstTheCompiledKernel: multiplications and bytes three ways: from the TTIR, by executing the PTX that Triton makes of
// it for sm_80 (mma) and sm_90 (wgmma), and by a formula.
func TestWorkAgainstTheCompiledKernel(t *testing.T) {
	for _, l := range compiledLaunches() {
		for _, sm := range []string{"sm80", "sm90"} {
			t.Run(l.name+"."+sm, func(t *testing.T) { l.check(t, sm) })
		}
	}
}

func (l *launched) check(t *testing.T, sm string) {
	arguments, values := map[string]int64{}, []int64{}
	for _, a := range l.arguments {
		arguments[a.name] = a.value
		values = append(values, a.value)
	}
	total := Parse(compiledText(t, l.name+"."+sm+".ttir")).Count(Launch{Arguments: arguments, Grid: l.grid})
	kernel, err := readPTX(compiledText(t, l.name+"."+sm+".ptx"))
	if err != nil {
		t.Fatal(err)
	}
	ran, err := kernel.run(l.grid, values...)
	if err != nil {
		t.Fatal(err)
	}
	flops := ran.flops
	if l.scalar {
		flops = ran.scalar
	}
	if total.Dots != l.dots || flops != float64(l.dots*max(l.passes, 1)) || !total.Exact {
		t.Errorf("dots: %d in the TTIR (exact: %v), %.0f executed %v, %d by the formula", total.Dots, total.Exact, flops, ran.matrixShapes, l.dots)
	}
	if l.flops > 0 && total.Flops != l.flops {
		t.Errorf("%d operations in the TTIR, %d by the formula", total.Flops, l.flops)
	}
	moved := ran.loaded + ran.stored
	if total.Bytes() != l.bytes || moved != l.bytes-l.masked || l.masked > 0 && !total.Masked {
		t.Errorf("bytes: %d in the TTIR, %d executed (%d loaded, %d stored), %d by the formula of which %d are masked off", total.Bytes(), moved, ran.loaded, ran.stored, l.bytes, l.masked)
	}
}
