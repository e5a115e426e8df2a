package viewer_test

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
)

func roofMetrics(t *testing.T) []string {
	set, err := counters.Set("roofline", "GH100")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestEstimatesAreNoted(t *testing.T) {
	gemm := &profile.Node{Name: "gemm"}
	gemm.Set(profile.TimeMetric, profile.IntValue(1000))
	gemm.Set("flops16", profile.FloatValue(8e6))
	gemm.Set("operator_flops16", profile.FloatValue(8e6))
	gemm.Set("bytes", profile.IntValue(300))
	gemm.Set("operator_bytes", profile.IntValue(300))
	flash := &profile.Node{Name: "flash"}
	flash.Set(profile.TimeMetric, profile.IntValue(1000))
	flash.Set("flops16", profile.FloatValue(2e6))
	flash.Set("estimated_flops16", profile.FloatValue(2e6))
	flash.Set("bytes", profile.IntValue(100)) // the program's own
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{gemm, flash}}, Kinds: profile.Kinds{"flops16": profile.Inclusive, "bytes": profile.Inclusive}}

	for metrics, want := range map[string][]string{
		"tflop/s":   {"20.0% of the flops are estimates"},
		"gbyte/s":   {"75.0% of the bytes are estimates"},
		"intensity": {"75.0% of the bytes are estimates", "20.0% of the flops are estimates"},
		"time":      nil,
	} {
		table, err := viewer.NewTable(p, viewer.Options{Metrics: []string{metrics}})
		if err != nil {
			t.Fatal(metrics, err)
		}
		notes := strings.Join(table.Notes, "\n")
		if strings.Count(notes, "are estimates") != len(want) {
			t.Errorf("%s: notes %q, want %d of estimates", metrics, notes, len(want))
		}
		for _, part := range want {
			if !strings.Contains(notes, part) {
				t.Errorf("%s: notes %q, want %q", metrics, notes, part)
			}
		}
	}

	gemm.Set(profile.CountMetric, profile.IntValue(1))
	for _, metric := range append([]string{"counted_launches", "dram__bytes_read.sum"}, roofMetrics(t)...) { // what was measured is not an estimate
		gemm.Set(metric, profile.FloatValue(1))
	}
	table, err := viewer.NewTable(p, viewer.Options{Metrics: []string{"gbyte/s", "intensity"}})
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(table.Notes, "\n"); strings.Contains(notes, "of the bytes are estimates") {
		t.Errorf("measured bytes are called estimates: %s", notes)
	}
}

// Views show the errors of times that are estimates without being asked; that of a frame is the sum of those of its kernels.
func TestErrorsOfEstimatedTimesAreShown(t *testing.T) {
	step := &profile.Node{Name: "step"}
	for _, nanos := range [][2]int64{{5000, 200}, {1000, 40}} {
		n := &profile.Node{Name: "kernel"}
		n.Set(profile.TimeMetric, profile.IntValue(nanos[0]))
		n.Set(profile.TimeErrorMetric, profile.IntValue(nanos[1]))
		step.Children = append(step.Children, n)
	}
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{step}}, Kinds: profile.Kinds{}}
	for _, c := range []struct {
		metrics []string
		header  string
		values  string
		noted   bool
	}{
		{nil, "time (ns),time_error (ns)", "6000,240", true},
		{[]string{"time_error/us", "time/us"}, "time_error (us),time (us)", "0.24,6", true},
		{[]string{"time"}, "path,time (ns)\n", "6000", false},
	} {
		var out strings.Builder
		notes, err := viewer.Render(&out, p, "csv", viewer.Options{Metrics: c.metrics}, viewer.Terminal{})
		if err != nil || !strings.Contains(out.String(), c.header) || !strings.Contains(out.String(), c.values) || len(notes) > 0 != c.noted {
			t.Errorf("%v: %v, notes %q\n%s", c.metrics, err, notes, out.String())
		}
	}
}
