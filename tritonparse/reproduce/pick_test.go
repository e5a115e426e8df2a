package reproduce

import (
	"testing"

	"github.com/goproton/goproton/tritonparse"
)

// Both sides of a comparison are the launch after tuning: a trace compared with its copy takes the same launch twice.
func TestPickForComparison(t *testing.T) {
	trace, err := tritonparse.Open("../../testdata/traces/matmul_autotuned/goproton", tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := Selection{Line: -1, Kernel: "matmul_kernel"}
	first, err := Pick(trace, s)
	if err != nil {
		t.Fatal(err)
	}
	a, err := PickForComparison(trace, s)
	if err != nil {
		t.Fatal(err)
	}
	b, err := MostSimilar(trace, a)
	if err != nil {
		t.Fatal(err)
	}
	if a.Place() != b.Place() || a.Line <= first.Line || signature(a) != signature(first) {
		t.Errorf("chose record %d for A and %d for B; the first launch is record %d", a.Line, b.Line, first.Line)
	}
	s.Launch = 1
	if exact, err := PickForComparison(trace, s); err != nil || exact.Line == a.Line {
		t.Errorf("launch 1 became record %d: %v", exact.Line, err)
	}
}
