package record

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/settings"
)

// TestFromVariables: each variable of TritonParse's gives an argument of trace.init, or a sentence.
func TestFromVariables(t *testing.T) {
	for _, c := range []struct {
		set     string // NAME=VALUE, separated by blanks
		want    string // the arguments, as JSON
		remarks string // beginnings, separated by |
	}{
		{"", `{}`, ""},
		{"TRITON_TRACE_LAUNCH=1 TRITON_TRACE_LAUNCH_WITHIN_PROFILING=1", `{"launches":"all"}`, ""},
		{"TRITON_TRACE_LAUNCH_WITHIN_PROFILING=True", `{"launches":"profiled"}`, ""},
		{"TRITON_TRACE_LAUNCH=0", `{"launches":"none"}`, ""},
		{"TRITON_TRACE_COMPRESSION=GZIP", `{"compression":"gzip"}`, ""},
		{"TRITON_TRACE_COMPRESSION=clp", `{}`, "TRITON_TRACE_COMPRESSION=clp has no effect: give zstd"},
		{"TRITONPARSE_MORE_TENSOR_INFORMATION=1 TRITONPARSE_SAVE_TENSOR_BLOBS=0", `{"statistics":true,"tensors":false}`, ""},
		{"TRITONPARSE_TENSOR_SIZE_LIMIT=1000 TRITONPARSE_TENSOR_STORAGE_QUOTA=x", `{"tensor_limit":1000}`, "TRITONPARSE_TENSOR_STORAGE_QUOTA=x has no effect: give a number, bytes"},
		{"TRITONPARSE_TENSOR_SAVE_SKIP_RUNS=2 TRITONPARSE_TENSOR_SAVE_MAX_RUNS=3", `{"tensor_max":3,"tensor_skip":2}`, ""},
		{"TRITONPARSE_KERNEL_ALLOWLIST=mat*,x TRITON_FULL_PYTHON_SOURCE=1", `{"full_source":true,"kernels":"mat*,x"}`, ""},
		{"TRITONPARSE_DUMP_SASS=1", `{"sass":true}`, ""},
		{"TRITONPARSE_DERIVED_ARTIFACTS=SASS", `{"sass":true}`, ""},
		{"TRITONPARSE_DERIVED_ARTIFACTS=none", `{}`, ""},
		{"TRITONPARSE_DERIVED_ARTIFACTS=all,other", `{"sass":true}`, "TRITONPARSE_DERIVED_ARTIFACTS=all,other has no effect"},
		{"TRITON_MAX_SOURCE_SIZE=5 TRITONPARSE_TRACE_MANIFOLD=1 TRITONPARSE_DEBUG=1", `{}`, "TRITON_MAX_SOURCE_SIZE=5|TRITONPARSE_TRACE_MANIFOLD=1|TRITONPARSE_DEBUG=1"},
	} {
		env := map[string]string{}
		for _, s := range strings.Fields(c.set) {
			name, value, _ := strings.Cut(s, "=")
			env[name] = value
		}
		given, remarks := FromVariables(func(name string) string { return env[name] })
		got, err := json.Marshal(given)
		if err != nil || string(got) != c.want {
			t.Errorf("%s gives %s, not %s (%v)", c.set, got, c.want, err)
		}
		if err := json.Unmarshal(got, &runinfo.Trace{}); err != nil {
			t.Errorf("%s does not give arguments of trace.init: %v", c.set, err)
		}
		want := strings.Split(c.remarks, "|")
		if c.remarks == "" {
			want = nil
		}
		for i, r := range remarks {
			if i >= len(want) || !strings.HasPrefix(r, want[i]) {
				t.Errorf("%s: %q, not %q", c.set, remarks, want)
			}
		}
		if len(remarks) != len(want) {
			t.Errorf("%s: %q, not %q", c.set, remarks, want)
		}
	}
}

// TestVariablesAreListed: FromVariables asks for no variable that the table of all does not have.
func TestVariablesAreListed(t *testing.T) {
	asked := map[string]bool{}
	FromVariables(func(name string) string { asked[name] = true; return "" })
	for _, s := range settings.All {
		delete(asked, s.Name)
	}
	if len(asked) > 0 {
		t.Errorf("%v", asked)
	}
}
