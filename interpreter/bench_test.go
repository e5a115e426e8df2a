//go:build unix

package interpreter

import (
	"flag"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/goproton/goproton/interpreter/check"
	"github.com/goproton/goproton/triton/ttir"
)

// floatsFor returns n numbers of a size in bytes: f32, or f16.
func floatsFor(n, size int) []byte {
	r, half := rand.New(rand.NewPCG(1, 2)), narrows[ttir.F16]
	raw := make([]byte, n*size)
	for i := range n {
		x := float32(r.NormFloat64())
		if size == 2 {
			little.PutUint16(raw[2*i:], halfPattern(half.nearest(x)))
		} else {
			little.PutUint32(raw[4*i:], math.Float32bits(x))
		}
	}
	return raw
}

// BenchmarkLaunch runs the kernels of testdata/launches.py with blocks and sizes as others measure them.
func BenchmarkLaunch(b *testing.B) {
	buffer := func(n, size int) Argument { return Pointer(&Buffer{Name: "b", Data: floatsFor(n, size)}, 0) }
	for _, c := range []struct {
		name, kernel string
		grid         [3]int32
		arguments    func() []Argument
	}{
		{"add_1M", "big_add", [3]int32{1024, 1, 1}, func() []Argument {
			return []Argument{buffer(1<<20, 4), buffer(1<<20, 4), buffer(1<<20, 4), Int(1 << 20)}
		}},
		{"softmax_1823x781", "softmax", [3]int32{1823, 1, 1}, func() []Argument { return []Argument{buffer(1823*781, 4), buffer(1823*781, 4), Int(1823), Int(781)} }},
		{"matmul_512_f16", "big_matmul", [3]int32{8, 8, 1}, func() []Argument {
			return []Argument{buffer(512*512, 2), buffer(512*512, 2), buffer(512*512, 2), Int(512), Int(512), Int(512)}
		}},
		{"norm_1151x8192_f16", "big_norm", [3]int32{1151, 1, 1}, func() []Argument {
			return []Argument{buffer(1151*8192, 2), buffer(1151*8192, 2), buffer(8192, 2), Int(8192), Float(1e-5)}
		}},
		{"attention_4x512x64_f16", "big_attention", [3]int32{8, 4, 1}, func() []Argument {
			return []Argument{buffer(4*512*64, 2), buffer(4*512*64, 2), buffer(4*512*64, 2), buffer(4*512*64, 2), Float(0.125), Int(512)}
		}},
		{"scan_8x1024", "big_scan", [3]int32{8, 1, 1}, func() []Argument {
			return []Argument{buffer(8*1024, 4), buffer(8*1024, 4), buffer(8*1024, 4), Int(1024)}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for _, m := range launches(b) {
				if m.Name != c.kernel || m.Form != "ttir" {
					continue
				}
				p, arguments := program(b, m.TTIR), c.arguments()
				checks, err := check.Parse(*checked)
				if err != nil {
					b.Fatal(err)
				}
				before := processor()
				for b.Loop() {
					if _, err := p.Launch("", c.grid, arguments, Options{Touched: *touched, Checks: checks}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(processor()-before)/float64(b.N)/1e6, "cpu-ms/op")
				return
			}
			b.Fatal("the kernel is missing")
		})
	}
}

// touched has the benchmark count different bytes too: go test ./interpreter -bench . -touched
var touched = flag.Bool("touched", false, "count different bytes in BenchmarkLaunch")

// checked has the benchmark check too: go test ./interpreter -bench . -checked race,uninit
var checked = flag.String("checked", "", "checks in BenchmarkLaunch")

// processor is how many nanoseconds this process has computed: other work of the machine does not count.
func processor() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
