package parse

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/internal/work"
)

// TestFacts: what of an argument the work of a launch depends on, as tritonparse sees it and correctly.
func TestFacts(t *testing.T) {
	const base = `"numel":64,"element_size":2,"shape":[8,8],"stride":[8,1]`
	for raw, want := range map[string]string{
		`{"type":"tensor",` + base + `}`:                                                                         "128 128",
		`{"type":"tensor","numel":64,"element_size":2,"shape":[8,8],"stride":[0,1]}`:                             "128 16", // expanded
		`{"type":"TensorDescriptor","base":{` + base + `},"shape":[8,8],"strides":[8,1]}`:                        "- 128 [8 8] [8 1]",
		`{"type":"triton_kernels.tensor.Tensor","shape":[8,8],"storage":{"data":{` + base + `}}}`:                "- 128",
		`{"type":"int","value":7}`:                                                                               "- - =7",
		`{"type":"bool","value":true}`:                                                                           "- - =1",
		`{"type":"float","value":7.5}`:                                                                           "- -",
		`{"type":"tensor","numel":9223372036854775807,"element_size":8}`:                                         "- -",
		`{"type":"NoneType","repr":"None"}`:                                                                      "- -",
		`"argument extraction skipped during CUDA graph capture"`:                                                "- -",
		`{"type":"tensor","numel":64,"element_size":2,"shape":[8,8],"stride":[0,1],"data_ptr":"0x1","extra":{}}`: "128 16",
	} {
		f := work.ReadFacts([]byte(raw))
		got := "-"
		if f.IsTensor {
			got = fmt.Sprint(f.Bytes)
		}
		if f.Distinct >= 0 {
			got += fmt.Sprint(" ", f.Distinct)
		} else {
			got += " -"
		}
		if f.Shape != nil {
			got += fmt.Sprint(" ", f.Shape, " ", f.Strides)
		}
		if f.IsNumber {
			got += fmt.Sprint(" =", f.Number)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", raw, got, want)
		}
	}
}

// TestRankSuffix: log_file_list.json says where the files of a rank are.
func TestRankSuffix(t *testing.T) {
	zero := 0
	for _, c := range []struct {
		compat bool
		rank   *int
		want   string
	}{{false, nil, "rank_0/"}, {true, nil, ""}, {false, &zero, "rank_0/"}, {true, &zero, "rank_0/"}} {
		out := t.TempDir()
		dir := testkit.RawTraces(t, map[string][]string{"u_rank_0_pid_1_host_h": {testkit.LaunchRecord("aa", 0)}, "u_rank_1_pid_2_host_h": {testkit.LaunchRecord("aa", 0)}})
		if _, err := Parse(dir, out, Options{Compat: c.compat, Rank: c.rank}); err != nil {
			t.Fatal(err)
		}
		if got := at(readEvents(t, filepath.Join(out, "log_file_list.json"))[0], "rank_0", "rank_suffix"); got != c.want {
			t.Errorf("compat %v: %q, want %q", c.compat, got, c.want)
		}
	}
}

// TestOnlyTheAutotunerSays: what its record says is shown also where no launch was traced.
func TestOnlyTheAutotunerSays(t *testing.T) {
	stack := won("/m.py:1:main")
	lines := []string{compiledRecord("aa", "k", "cuda", stack, 4, ""), `{"event_type":"autotune","pid":1,"kernel_name":"k","best_config":"num_warps: 4","configs_timings":{},"duration":1,"cache_hit":true,"stack":` + stack + `}`}
	for compat, want := range map[bool]int{true: 1, false: 2} {
		events := parsedEvents(t, testkit.RawTraces(t, map[string][]string{"u": lines}), tritonparse.Prefix+"u__mapped.ndjson.gz", Options{Compat: compat, Analyses: []string{}})
		if len(events) != want || !compat && at(events[1], "autotune_result", "best_config") != "num_warps: 4" {
			t.Errorf("compat %v: %v", compat, events)
		}
	}
}
