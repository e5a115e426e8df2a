package report

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// countedProfile has a kernel of a library that nothing declares the work of and hardware counters measured, one that says more bytes than
// were moved, and one that was not measured.
func countedProfile() *profile.Profile {
	kernel := func(name string, nanos int64, metrics map[string]float64) *profile.Node {
		n := &profile.Node{Name: name}
		n.Set("time (ns)", profile.IntValue(nanos))
		n.Set("count", profile.IntValue(10))
		n.Set("device_id", profile.StringValue("0"))
		n.Set("device_type", profile.StringValue("CUDA"))
		for m, v := range metrics {
			n.Set(m, profile.FloatValue(v))
		}
		return n
	}
	counted := func(tensor, fma, read float64) map[string]float64 {
		m := map[string]float64{"counted_launches": 2, "dram__bytes_read.sum": read, "dram__bytes_write.sum": read / 2, "sm__ops_path_tensor_src_fp16.sum": tensor,
			"lts__t_sectors_lookup_hit.sum": 30, "lts__t_sectors.sum": 40, "gpu__time_duration.sum": 60000}
		for _, unit := range []string{"f", "h", "d"} {
			for _, op := range []string{"add", "mul", "fma"} {
				m["smsp__sass_thread_inst_executed_op_"+unit+op+"_pred_on.sum"] = 0
			}
		}
		m["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] = fma
		return m
	}
	declared := counted(0, 2e8, 3.2e7)
	declared["bytes"], declared["flops_fp32"] = 4e8, 2e9
	return &profile.Profile{
		Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{
			kernel("nvjet_sm90", 290_000, counted(3.4e10, 0, 3.3e7)), kernel("norm", 200_000, declared), kernel("other", 100_000, map[string]float64{"bytes": 1e8, "flops_fp32": 1e9}),
		}},
		Kinds:   profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive},
		Devices: []profile.Device{{Type: "CUDA", ID: "0", Arch: "90", Name: "NVIDIA H200", BusWidth: 6144, ClockRate: 1_980_000, MemoryClockRate: 3_201_000, NumSMs: 132}},
	}
}

// TestRooflineOfMeasuredKernels: a library's kernel has a place on the roofline and a ring around it, and the tip says what was measured.
func TestRooflineOfMeasuredKernels(t *testing.T) {
	p := browser(t).open(t, pageOf(t, "counted", countedProfile()), desk)
	p.click("#tab-roofline")
	p.wait(`document.querySelectorAll("#panel-roofline circle.point").length === 3`)
	p.wait(`document.querySelectorAll("#panel-roofline circle.point.measured").length === 2`)
	p.wait(`document.querySelector("#panel-roofline .legend").textContent.includes("ringed: measured by counters")`)
	labels := p.eval(`[...document.querySelectorAll("#panel-roofline circle.point")].map((c) => c.getAttribute("aria-label")).join("|")`).(string)
	for _, want := range []string{"nvjet_sm90", "measured by counters 100", "bound by compute"} {
		if !strings.Contains(labels, want) {
			t.Errorf("no dot says %q: %s", want, labels)
		}
	}
	p.shoot("counted-roofline")
	p.click("#tab-table")
	p.wait(`document.querySelector("#panel-table").textContent.includes("DRAM bytes")`)
	p.shoot("counted-table")
	if text := p.text("#panel-table"); !strings.Contains(text, "DRAM / declared") || strings.Contains(text, "dram__bytes") {
		t.Errorf("the table has %s", text)
	}
}

// TestPictureOfMeasuredKernels: the static roofline has them too, and says which were measured.
func TestPictureOfMeasuredKernels(t *testing.T) {
	var out strings.Builder
	if err := Roofline(&out, Source{Name: "counted", Profile: countedProfile()}, Options{}); err != nil {
		t.Fatal(err)
	}
	for part, times := range map[string]int{" measured\"": 2, ">measured</text>": 1, "<title>nvjet_sm90": 1, "not drawn": 0} {
		if got := strings.Count(out.String(), part); got != times {
			t.Errorf("%q stands %d times, want %d", part, got, times)
		}
	}
}
