package sourcemap

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/tritonparse/internal/quirks"
)

// unrolled is a kernel one line of which became n lines in every stage, as an unrolled loop's do.
func unrolled(n int) []Stage {
	var mlir, llvm, ptx, sass strings.Builder
	mlir.WriteString("#loc1 = loc(\"/src/k.py\":7:4)\nmodule {\n")
	llvm.WriteString("define void @k() !dbg !5 {\n")
	ptx.WriteString(".file 1 \"/src/k.py\"\n// -- Begin function k\n")
	sass.WriteString("Function:k\n")
	for i := range n {
		fmt.Fprintf(&mlir, "  %%%d = arith.addf %%a, %%b : f32 loc(#loc1)\n", i)
		fmt.Fprintf(&llvm, "  %%%d = fadd float %%a, %%b, !dbg !9\n", i+1)
		fmt.Fprintf(&ptx, "\t.loc 1 7 4 // k.py:7:4\n\tadd.f32 %%f%d, %%f1, %%f2;\n", i)
		fmt.Fprintf(&sass, "\t//## File \"/src/k.py\", line 7\n        /*%04x*/ FADD R1, R2, R3 ;\n", 16*i)
	}
	mlir.WriteString("}\n")
	llvm.WriteString("}\n!3 = !DIFile(filename: \"k.py\", directory: \"/src\")\n!5 = distinct !DISubprogram(name: \"k\", file: !3, line: 1)\n!9 = !DILocation(line: 7, column: 4, scope: !5)\n")
	ptx.WriteString("// -- End function\n")
	return []Stage{
		{Name: "ttir", Parser: "mlir", Text: mlir.String()}, {Name: "ttgir", Parser: "mlir", Text: mlir.String()},
		{Name: "llir", Parser: "llvm_dbg", Text: llvm.String()}, {Name: "ptx", Parser: "ptx", Text: ptx.String()}, {Name: "sass", Parser: "sass", Text: sass.String()},
	}
}

// TestCrowds: of a place with few lines every entry names all of the others; of one with many those that are as far from the
// first, in lists that are whole until they have a quarter of a million numbers together, and then no shorter than they must be. The map by
// Python line has all, as has tritonparse's reading.
func TestCrowds(t *testing.T) {
	for _, n := range []int{300, 512, 1500, 20_000} {
		m := New(unrolled(n), Python{File: "/src/k.py", Has: true})
		ttgir, ptx := m.Entries("ttgir"), m.Entries("ptx")
		if len(ttgir) != n || len(ptx) != n {
			t.Fatalf("%d lines of TTGIR and %d of PTX have a place, want %d", len(ttgir), len(ptx), n)
		}
		room, numbers := n, 0
		if n*n > mostPairs {
			room = max(mostPairs/n, leastNear)
		}
		for k := range ttgir {
			o := ttgir[k].others[2]
			if o.stage != "ptx" || len(o.lines) != room {
				t.Fatalf("of %d, line %d names %d lines of %s, want %d of ptx", n, k, len(o.lines), o.stage, room)
			}
			if i := slices.Index(o.lines, ptx[k].Own); i < 0 {
				t.Fatalf("of %d, line %d names %d to %d of PTX, which its own, %d, is not among", n, k, o.lines[0], o.lines[room-1], ptx[k].Own)
			}
			numbers += len(o.lines)
		}
		if numbers > max(mostPairs, n*leastNear) {
			t.Errorf("of %d lines the lists have %d numbers", n, numbers)
		}
		by := m.python[len(m.python)-1]
		for _, s := range by.stages {
			if by.line != 7 || len(s.lines) != n {
				t.Errorf("by Python line there are %d lines of %s, want %d", len(s.lines), s.stage, n)
			}
		}
	}
	if o := NewQuirky(unrolled(1500), Python{}, quirks.TritonParse).Entries("ttgir")[9].others[2]; len(o.lines) < 1500 {
		t.Errorf("in tritonparse's reading a line names %d lines of %s, want all", len(o.lines), o.stage)
	}
}

func BenchmarkUnrolled(b *testing.B) {
	for _, n := range []int{500, 1000, 2000, 10_000} {
		for _, q := range []quirks.Set{quirks.None, quirks.TritonParse} {
			if q != quirks.None && n > 2000 {
				continue // 17 GB
			}
			b.Run(fmt.Sprintf("%d/quirks=%b", n, q), func(b *testing.B) {
				stages := unrolled(n)
				b.ReportAllocs()
				var size, room int
				for b.Loop() {
					m := NewQuirky(stages, Python{File: "/src/k.py", Has: true}, q)
					room = m.Room()
					size = len(m.AppendJSON(nil))
				}
				b.ReportMetric(float64(size)/1e6, "MB")
				b.ReportMetric(float64(room)/1e6, "MB-room")
			})
		}
	}
}
