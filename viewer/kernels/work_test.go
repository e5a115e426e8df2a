package kernels

import (
	"math"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
)

// TestPeakOfOperands: rates are held against the peak of the units that did the work. On an H200 those of ieee f32 reach a
// seventh of TF32's.
func TestPeakOfOperands(t *testing.T) {
	trace := open(t, complexTrace)
	device := profileOf(t, trace).Devices[0]
	for precision, want := range map[string]float64{ // flop/s
		"":                          256 * 132 * 1980e6,
		", inputPrecision = tf32":   1513e12 / 4 * 132 / 114 * 1980 / 1755,
		", inputPrecision = tf32x3": 1513e12 / 4 * 132 / 114 * 1980 / 1755 / 3,
		", inputPrecision = bf16x6": 1513e12 / 2 * 132 / 114 * 1980 / 1755 / 6,
	} {
		trace := open(t, complexTrace)
		for _, c := range trace.Compilations() {
			c.Texts["ttir"] = strings.NewReplacer(", inputPrecision = tf32", precision, "xf16>", "xf32>", "ptr<f16>", "ptr<f32>").Replace(c.Texts["ttir"])
		}
		j := collect(t, Options{Trace: trace, Profile: profileOf(t, trace), Kernel: "matmul"})
		w := &j.Kernels[0].Specialisations[0].Groups[0].Work
		work := &worker{profile: &profile.Profile{Devices: []profile.Device{device}}}
		roof := work.roof(w, &device)
		seconds, _ := roof.Parts()
		if got := w.Flops / seconds; w.Flops == 0 || math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%q: %g flops as %s ×%d at %g flop/s, want %g", precision, w.Flops, w.Type, w.Passes, got, want)
		}
	}
}

// A hook's flops32 are those of f32; which f32 the code says.
func TestHookAndCodeTellTheType(t *testing.T) {
	for _, c := range []struct {
		hook, code, want string
	}{
		{"tf32", "fp32", "fp32"}, {"fp16", "bf16", "bf16"}, {"fp8", "int8", "int8"},
		{"fp16", "tf32", "fp16"}, // the hook knows of another multiplication
		{"", "bf16", "bf16"}, {"fp16", "", "fp16"},
	} {
		w := Work{}
		w.computes("profile", operations{1, c.hook, 1})
		w.complete(Work{Type: c.code, Passes: 1})
		if w.Type != c.want {
			t.Errorf("a hook's %s and the code's %s are %s, want %s", c.hook, c.code, w.Type, c.want)
		}
	}
}

// TestTypedFlops: a hook's flops_bf16 count as its flops16 do, and of several types the one with most is named.
func TestTypedFlops(t *testing.T) {
	for metrics, want := range map[[2]string]string{{"flops_bf16", "flops8"}: "bf16", {"flops8", "flops_bf16"}: "fp8", {"flops_fp32", "flops"}: "fp32"} {
		n := &profile.Node{Name: "k", Launches: []profile.LaunchTimes{{Durations: profile.Durations{Count: 2, Nanos: 10}}}}
		n.Set(profile.CountMetric, profile.IntValue(2))
		n.Set(metrics[0], profile.IntValue(3000))
		n.Set(metrics[1], profile.IntValue(1000))
		total := 2000.0
		if metrics[1] == "flops" { // the same work without its type
			total = 1500
		}
		g := &Group{}
		(&worker{}).measured(g, n, &n.Launches[0])
		if w := &g.Work; w.Flops != total || w.FlopsFrom != "profile" || w.Type != want {
			t.Errorf("%q: %g flops of %s by the %s, want %g of %s", metrics, w.Flops, w.Type, w.FlopsFrom, total, want)
		}
	}
}

// TestOneRoof: a kernel with flops8 and flops16 has one share of the roof, in the tree and in the join with the trace, and it is that of
// the textbook: each type at its own peak, one after the other. What hardware counters measured stands before what a hook said.
func TestOneRoof(t *testing.T) {
	device := profile.Device{Type: "CUDA", ID: "0", Arch: "90", NumSMs: 132, ClockRate: 1_980_000, MemoryClockRate: 3_201_000, BusWidth: 6016}
	for _, c := range []struct {
		flops8, flops16, bytes int64
		measured               bool
	}{{9e12, 3e12, 1e9, false}, {3e12, 9e12, 0, false}, {1e9, 2e9, 4e10, false}, {0, 5e12, 0, false}, {9e12, 3e12, 1e9, true}, {1e9, 2e9, 4e10, true}} {
		const nanos = 50_000_000
		n := &profile.Node{Name: "k", Launches: []profile.LaunchTimes{{Durations: profile.Durations{Count: 1, Nanos: nanos}}}}
		for name, v := range map[string]int64{profile.CountMetric: 1, profile.TimeMetric: nanos, "flops8": c.flops8, "flops16": c.flops16, "bytes": c.bytes} {
			n.Set(name, profile.IntValue(v))
		}
		n.Set("device_id", profile.StringValue("0"))
		n.Set("device_type", profile.StringValue("CUDA"))
		if c.measured {
			set, err := counters.Set("roofline", "GH100")
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range append(set, counters.Launches) {
				n.Set(m, profile.FloatValue(0))
			}
			for name, v := range map[string]int64{counters.Launches: 1, "sm__ops_path_tensor_src_fp8.sum": c.flops8, "sm__ops_path_tensor_src_fp16.sum": c.flops16,
				"dram__bytes_read.sum": c.bytes / 4, "dram__bytes_write.sum": c.bytes * 3 / 4, "flops8": 7e12, "flops16": 1, "bytes": 9e9} { // the hook is wrong
				n.Set(name, profile.FloatValue(float64(v)))
			}
		}
		p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{n}}, Devices: []profile.Device{device},
			Kinds: profile.Kinds{}, Launches: []profile.LaunchKind{{Kernel: "k"}}}

		table, err := viewer.NewTable(p, viewer.Options{Metrics: []string{"util", "bound"}})
		if err != nil {
			t.Fatal(err)
		}
		row := table.Root.Children[0]
		w, g := &worker{profile: p}, &Group{Times: profile.Durations{Count: 1, Nanos: nanos}}
		w.measured(g, n, &n.Launches[0])
		w.finish(g)

		const fp8 = 132.0 / 114 * 1980 / 1755 * 1513e12
		compute, memory := float64(c.flops8)/fp8+float64(c.flops16)/(fp8/2), float64(c.bytes)/(2*6016*3.201e9/8)
		want, bound := max(compute, memory)/(nanos/1e9), "compute"
		if memory > compute {
			bound = "memory"
		}
		for from, got := range map[string]float64{"tree": row.Values[0], "trace": g.Work.Roof} {
			if math.Abs(got/want-1) > 1e-9 {
				t.Errorf("%+v: %g of the roof by the %s, want %g", c, got, from, want)
			}
		}
		if table.Text(row, 1) != bound || g.Work.Bound != bound {
			t.Errorf("%+v: bound by %s and %s, want %s", c, table.Text(row, 1), g.Work.Bound, bound)
		}
	}
}
