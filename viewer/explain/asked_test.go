package explain

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/tritonparse"
)

// Of kernels other than the asked one nothing is looked up in the trace: to count the work of some, launches are run, which takes seconds.
func TestOthersThanTheAskedAreNotRun(t *testing.T) {
	trace, err := tritonparse.Open("../../tritonparse/testdata/dedicated_log_triton_trace_complex_.ndjson.gz", tritonparse.OpenOptions{Kinds: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := formats.Read(strings.NewReader(`[{"frame":{"name":"ROOT","type":"function"},"metrics":{"count":0,"time (ns)":0},"children":[
{"frame":{"name":"fused_op_kernel","type":"function"},"metrics":{"count":4,"time (ns)":3000000,"device_id":"0","device_type":"CUDA"},"children":[]},
{"frame":{"name":"matmul_kernel","type":"function"},"metrics":{"count":2,"time (ns)":1000000,"device_id":"0","device_type":"CUDA"},"children":[]}]},
{"CUDA":{"0":{"arch":"90","bus_width":5120,"clock_rate":1980000,"memory_clock_rate":2619000,"num_sms":132}}}]`))
	if err != nil {
		t.Fatal(err)
	}
	for asked, want := range map[string]string{"": "fused_op_kernel matmul_kernel", "matmul*": "matmul_kernel", "elsewhere": "fused_op_kernel matmul_kernel"} {
		s := survey{Input: Input{Profile: p, Trace: trace, Kernel: asked}}
		run, err := s.collect()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, k := range run.Kernels {
			names = append(names, k.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("asked for %q: %s, want %s", asked, got, want)
		}
	}
}
