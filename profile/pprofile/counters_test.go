package pprofile

import (
	"bytes"
	"slices"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/goproton/goproton/profile"
)

// TestHardwareCounters: their sums are sample types, with bytes as such; shares and means, which pprof would add up, are labels; and
// all come back.
func TestHardwareCounters(t *testing.T) {
	kernel := &profile.Node{Name: "gemm"}
	sums := []string{"dram__bytes_read.sum", "lts__t_bytes.sum", "sm__inst_executed.sum", "sm__warps_active.sum.peak_sustained_active", "smsp__sass_data_bytes_mem_global_op_ld.sum"}
	labels := []string{"lts__t_sector_hit_rate.pct", "sm__cycles_active.avg", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "dram__bytes.sum.per_second", "sm__cycles_elapsed.max"}
	kernel.Set(profile.TimeMetric, profile.IntValue(5))
	kernel.Set("counted_launches", profile.IntValue(2))
	for i, name := range slices.Concat(sums, labels) {
		kernel.Set(name, profile.FloatValue(float64(100+i)))
	}
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{kernel}}}
	var file bytes.Buffer
	if err := Write(&file, p); err != nil {
		t.Fatal(err)
	}
	written, err := pprof.ParseData(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	units := map[string]string{}
	for _, st := range written.SampleType {
		units[st.Type] = st.Unit
	}
	want := map[string]string{"time": "nanoseconds", "counted_launches": "count", sums[0]: "bytes", sums[1]: "bytes", sums[2]: "count", sums[3]: "count", sums[4]: "bytes"}
	if len(units) != len(want) {
		t.Errorf("sample types %v, want %v", units, want)
	}
	for name, unit := range want {
		if units[name] != unit {
			t.Errorf("%s has the unit %q, want %q", name, units[name], unit)
		}
	}
	back, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	got := back.Root.Children[0]
	for _, m := range kernel.Metrics {
		a, _ := m.Value.Float()
		v, ok := got.Metric(m.Name)
		if b, _ := v.Float(); !ok || a != b {
			t.Errorf("%s: %g came back as %g, %v", m.Name, a, b, ok)
		}
	}
}
