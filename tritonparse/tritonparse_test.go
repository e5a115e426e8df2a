package tritonparse

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

func TestParseName(t *testing.T) {
	for name, want := range map[string]string{
		"dedicated_log_triton_trace_me_rank_3_pid_12_host_a-b_.ndjson":           "rank 3 pid 12 host a-b",
		"dedicated_log_triton_trace_me_rank_none_pid_12_host_h_.bin.ndjson":      "pid 12 host h",
		"dedicated_log_triton_trace_me_rank_0_pid_7_.ndjson.gz":                  "rank 0 pid 7",
		"dedicated_log_triton_trace_me_rank_0_.bin.ndjson.zst":                   "rank 0",
		"dedicated_log_triton_trace_me_.ndjson":                                  "",
		"dedicated_log_triton_trace_a_rank_9_b_rank_1_pid_2_host_h_.ndjson":      "rank 1 pid 2 host h",
		"dedicated_log_triton_trace_a_pid_12_x_rank_none_pid_5_host_h_.ndjson":   "pid 5 host h",
		"log.source.dedicated_log_triton_trace_u_rank_2_pid_4_host_h_.ndjson":    "rank 2 pid 4 host h",
		"dedicated_log_triton_trace_u_rank_2_pid_99999999999999999999_.ndjson":   "rank 2",
		"dedicated_log_triton_trace_u_rank_none_.ndjson":                         "",
		"dedicated_log_triton_trace_rank_4_x_rank_none_pid_1_host_h_.bin.ndjson": "pid 1 host h",
	} {
		f := ParseName(name)
		var parts []string
		if f.HasRank {
			parts = append(parts, fmt.Sprint("rank ", f.Rank))
		}
		if f.HasPID {
			parts = append(parts, fmt.Sprint("pid ", f.PID))
		}
		if f.Host != "" {
			parts = append(parts, "host "+f.Host)
		}
		if got := strings.Join(parts, " "); got != want || !IsRaw(name) {
			t.Errorf("%s: got %q, want %q; raw %v", name, got, want, IsRaw(name))
		}
	}
}

func TestBuckets(t *testing.T) {
	name := func(s string) string { return Prefix + "u_" + s + "_.ndjson" }
	files := []string{
		name("rank_none_pid_1_host_b"), name("rank_1_pid_1_host_b"), name("rank_0_pid_1_host_a"),
		name("rank_none_pid_1_host_c"), name("rank_none_pid_2"), name("rank_1_pid_9_host_a"),
	}
	show := func(preInit bool) string {
		var parts []string
		for _, b := range Buckets(files, preInit, func(w string) { t.Error(w) }) {
			for i, f := range b.Files {
				b.Files[i] = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), Prefix+"u_"), "_.ndjson")
			}
			parts = append(parts, b.Key()+": "+strings.Join(b.Files, " "))
		}
		return strings.Join(parts, "\n")
	}
	want := "rank_0: rank_0_pid_1_host_a\n" +
		"rank_1: rank_1_pid_9_host_a rank_1_pid_1_host_b rank_none_pid_1_host_b\n" +
		"rank_none: rank_none_pid_2 rank_none_pid_1_host_c"
	if got := show(true); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	want = "rank_0: rank_0_pid_1_host_a\n" +
		"rank_1: rank_1_pid_9_host_a rank_1_pid_1_host_b\n" +
		"rank_none: rank_none_pid_2 rank_none_pid_1_host_b rank_none_pid_1_host_c"
	if got := show(false); got != want {
		t.Errorf("without attribution: got\n%s\nwant\n%s", got, want)
	}
}

func TestReadInfo(t *testing.T) {
	const file = "testdata/dedicated_log_triton_trace_complex_.ndjson.gz"
	for filter, want := range map[string]int{
		"": 1553, "M=16,a_ptr.shape=[16, 16]": 442, "a_ptr.shape[0]=16": 991, "num_warps=1.0,a_ptr.dtype=torch.float16": 1553, "M=17": 0,
	} {
		f, err := ParseFilter(filter)
		if err != nil {
			t.Fatal(err)
		}
		info, err := ReadInfo(file, InfoOptions{Kernel: "matmul_kernel", Filter: f})
		if err != nil {
			t.Fatal(err)
		}
		if len(info.Launches) != want || info.Total != 1553 {
			t.Errorf("%q: %d of %d launches, want %d", filter, len(info.Launches), info.Total, want)
		}
	}
	nothing, err := ParseFilter("M=16,nothing=1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadInfo(file, InfoOptions{Kernel: "matmul_kernel", Filter: nothing}); err == nil || !strings.Contains(err.Error(), "has nothing, which") {
		t.Errorf("a name that no launch has: %v", err)
	}
	for _, filter := range []string{"M", "=1", "a[x]=1", "a[1=2", ".b=1", "a=[1"} {
		if _, err := ParseFilter(filter); err == nil {
			t.Errorf("filter %q is taken", filter)
		}
	}
}

// TestFilterNumbers: 1 is 1.0, but whole numbers are not taken for their neighbours, which are one number as floats.
func TestFilterNumbers(t *testing.T) {
	record := []byte(`{"function":9007199254740993,"extracted_args":{"eps":{"type":"float","value":1e-05},"n":{"type":"int","value":16}}}`)
	for filter, want := range map[string]bool{
		"function=9007199254740993": true, "function=9007199254740992": false, "eps=0.00001": true, "n=16.0": true, "n=17": false, "n=-0": false,
	} {
		f, err := ParseFilter(filter)
		if err != nil || f.Match(record) != want {
			t.Errorf("%s: %v, %v", filter, !want, err)
		}
	}
}

// TestPlaceholders: the message of a backend's tool that failed is not the text of a stage.
func TestPlaceholders(t *testing.T) {
	for text, want := range map[string]bool{
		"<file too large: 11 bytes>": true, "<error reading cubin file: x>": true, "<nvdisasm failed: x>": true, "<llvm-objdump failed: x>": true,
		"": false, "<": false, "<html>": false, "#loc = loc(unknown)": false,
	} {
		if ndjson.IsPlaceholder(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
