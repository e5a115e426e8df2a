package replay

import (
	"math"
	"testing"

	"github.com/goproton/goproton/gpu/counters"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
)

// TestCountersOfAnH200: nine kernels that an H200 measured, in twelve passes each, are in the replay as they were in the run. What a kernel has to
// read, write and execute follows from its text, too.
func TestCountersOfAnH200(t *testing.T) {
	p, problems := playMode(t, "counted", "shadow", "counters:set=agent:kernels=add_kernel,big_add,strided_kernel,softmax_kernel,matmul_kernel,*nvjet*,conflicts,*layer_norm*,*fort_native*")
	if len(problems) > 0 {
		t.Errorf("problems: %q", problems)
	}
	testkit.Golden(t, "testdata/counted.txt", outline(p))
	metric := func(name string, path ...string) float64 {
		n := p.Root
		for _, frame := range path {
			if n = n.Child(frame); n == nil {
				t.Fatalf("no %q", path)
			}
		}
		v, has := n.Metric(name)
		f, _ := v.Float()
		if !has {
			t.Fatalf("%q has no %s", path, name)
		}
		return f
	}
	const elements = 3 << 26 // of the large addition, far more than the caches hold
	for _, c := range []struct {
		metric string
		want   float64
		within float64 // a share
	}{
		{"dram__bytes_read.sum", 2 * 4 * elements, 0.005},
		{"dram__bytes_write.sum", 4 * elements, 0.005},
		{"smsp__sass_data_bytes_mem_global_op_ld.sum", 2 * 4 * elements, 0},
		{"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", 2 * 4 * elements / 32, 0},
		{counters.Time, metric(profile.TimeMetric, "large add", "big_add"), 0},
		{counters.Launches, 1, 0},
	} {
		if got := metric(c.metric, "large add", "big_add"); math.Abs(got-c.want) > c.within*c.want {
			t.Errorf("%s of the large addition is %v, want %v within %v", c.metric, got, c.want, c.within)
		}
	}
	if a, b := metric("dram__bytes_read.sum", "uncoalesced", "strided_kernel"), metric("dram__bytes_read.sum", "vector add", "add_kernel"); a < 6*b {
		t.Errorf("a copy of every 33rd element reads %v bytes, an addition %v", a, b)
	}
}

// TestRecordedSet: a capture says which set was measured.
func TestRecordedSet(t *testing.T) {
	for name, want := range map[string]string{"counted": "agent", "lines": "lines", "matmul": ""} {
		c, err := Open("../testdata/captures/" + name + ".capture.gz")
		if err != nil {
			t.Fatal(err)
		}
		if got := c.measuredSet(); got != want {
			t.Errorf("%s has the set %q, want %q", name, got, want)
		}
	}
}
