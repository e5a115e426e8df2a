package viewer

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestConfigOf(t *testing.T) {
	for name, want := range map[string]string{
		"matmul_<grid:1x1x1>_<warps:8>": "matmul [[grid 1x1x1] [warps 8]]", "matmul<warps:8>": "matmul [[warps 8]]",
		"k [M=4 N=8 | BLOCK=64 num_warps=4]": "k [M=4 N=8] [[BLOCK 64] [num_warps 4]]", "k [ | BLOCK=64]": "k [[BLOCK 64]]", "k [n=16]": "k [n=16] []",
		"<autotune>": "<autotune> []", "gemm<float, 4>": "gemm<float, 4> []", "k [captured in a graph]": "k [captured in a graph] []", "": " []",
	} {
		kernel, pairs := configOf(name)
		if got := fmt.Sprint(kernel, " ", pairs); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

// Kernels that differ in their parameters alone are one table, the fastest per launch first; a parameter that all share is said once.
func TestConfigs(t *testing.T) {
	p := tree(`a
  k_<warps:8>_<stages:3> time=1000 count=1
  k_<warps:4>_<stages:3> time=1200 count=4
  k_<warps:2>_<stages:3> time=5000 count=2
  other_<warps:2> time=1 count=1
b
  k_<warps:8>_<stages:3> time=7 count=1`)
	var out bytes.Buffer
	notes, err := Render(&out, p, "configs", Options{Metrics: []string{"time/ns"}}, Terminal{})
	want := `k: 3 configurations below ROOT > a; the worst takes 8.33 times the best; all have stages 3
       avg_time  count     time  warps
             ns              ns
best     300.00      4  1200.00      4
        1000.00      1  1000.00      8
worst   2500.00      2  5000.00      2
`
	if err != nil || len(notes) > 0 || out.String() != want {
		t.Errorf("%v %v, got\n%s\nwant\n%s", err, notes, out.String(), want)
	}
	out.Reset()
	if notes, err := Render(&out, tree("a time=1 count=1"), "configs", Options{}, Terminal{}); err != nil || out.Len() > 0 || !strings.Contains(strings.Join(notes, ""), "no kernel has several") {
		t.Errorf("%v %v %s", err, notes, out.String())
	}
}
