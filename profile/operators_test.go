package profile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// tree reads lines such as "  aten::mm flops16=2 operator_flops16=2", indented by one blank for each level.
func tree(lines string) *profile.Profile {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Kinds: profile.Kinds{}}
	path := []*profile.Node{p.Root}
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		depth := len(line) - len(strings.TrimLeft(line, " "))
		n := &profile.Node{Name: words[0]}
		for _, word := range words[1:] {
			name, value, _ := strings.Cut(word, "=")
			var v float64
			fmt.Sscan(value, &v)
			if strings.HasPrefix(name, "flops") || strings.Contains(name, "_flops") {
				n.Set(name, profile.FloatValue(v))
			} else {
				n.Set(name, profile.IntValue(int64(v)))
			}
			p.Kinds[name] = profile.Inclusive
		}
		path = append(path[:depth+1], n)
		path[depth].Children = append(path[depth].Children, n)
	}
	return p
}

func text(p *profile.Profile) string {
	var b strings.Builder
	p.Root.Walk(func(n *profile.Node, depth int) bool {
		if depth > 0 {
			b.WriteString(strings.Repeat(" ", depth-1) + n.Name)
			for _, m := range n.Metrics {
				v, _ := m.Value.Float()
				fmt.Fprintf(&b, " %s=%v", m.Name, v)
			}
			b.WriteString("\n")
		}
		return true
	})
	return b.String()
}

func TestOperatorsCountOnce(t *testing.T) {
	for _, c := range []struct{ name, in, out string }{
		{"the only kernel takes the work", `
aten::linear
 aten::addmm flops16=8 operator_flops16=8 bytes=5 operator_bytes=5
  gemm count=2
`, `
aten::linear
 aten::addmm
  gemm count=2 flops16=8 operator_flops16=8 bytes=5 operator_bytes=5
`},
		{"through the operators that it calls, past copies and fills", `
aten::convolution flops16=8 operator_flops16=8
 aten::cudnn_convolution
  conv count=1
  <memset> count=1 bytes=3
`, `
aten::convolution
 aten::cudnn_convolution
  conv count=1 flops16=8 operator_flops16=8
  <memset> count=1 bytes=3
`},
		{"of several kernels none can tell its part", `
aten::mm flops16=8 operator_flops16=8
 gemm count=1
 reduce count=1
`, `
aten::mm flops16=8 operator_flops16=8
 gemm count=1
 reduce count=1
`},
		{"without a kernel it stays", `
aten::mm flops16=8 operator_flops16=8
`, `
aten::mm flops16=8 operator_flops16=8
`},
		{"a scope's own work counts instead", `
layer flops16=9
 aten::mm flops16=8 operator_flops16=8 estimated_flops16=8 bytes=4 operator_bytes=4
  gemm count=1
other bytes=1 operator_bytes=1
`, `
layer flops16=9
 aten::mm operator_flops16=8 operator_bytes=4
  gemm count=1
other bytes=1 operator_bytes=1
`},
		{"work of the program at an operator's frame is kept", `
aten::mm flops16=9 operator_flops16=8 bytes=4 operator_bytes=4
 gemm count=1
`, `
aten::mm flops16=1 operator_flops16=8 operator_bytes=4
 gemm count=1
`},
		{"an operator that did not run has no work", `
aten::addmm flops16=0 operator_flops16=0 estimated_flops16=0 bytes=0 operator_bytes=0
aten::mm flops16=8 operator_flops16=8
layer flops16=0
`, `
aten::addmm
aten::mm flops16=8 operator_flops16=8
layer flops16=0
`},
		{"rounding is not the work of the program", `
aten::mm flops16=1.0000000000000002e18 operator_flops16=1e18
 gemm count=1
`, `
aten::mm
 gemm count=1 flops16=1.0000000000000003e+18 operator_flops16=1e+18
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := tree(strings.TrimPrefix(c.in, "\n"))
			p.CountOperatorsOnce()
			if got := "\n" + text(p); got != c.out {
				t.Errorf("got %s\nwant %s", got, c.out)
			}
		})
	}
}

func TestProfilesWithoutOperatorsStay(t *testing.T) {
	in := "scope flops16=9\n kernel flops16=8 count=1\n"
	p := tree(in)
	p.CountOperatorsOnce()
	if got := text(p); got != in {
		t.Errorf("got %s\nwant %s", got, in)
	}
}
