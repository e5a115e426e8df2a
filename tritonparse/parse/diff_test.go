package parse

import (
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
)

// TestOnlyCounted: values of addresses and handles are only counted; those of an argument whose name has one of theirs in it
// are listed, except for tritonparse.
func TestOnlyCounted(t *testing.T) {
	plain := frames("/m.py:20:main")
	launches := []string{
		launchRecord("aa", "k", plain, 1, `"rapid_len":{"type":"int","value":5},"x":`+tensorArgument(8, 1)),
		launchRecord("aa", "k", plain, 2, `"rapid_len":{"type":"int","value":6},"x":`+tensorArgument(8, 2)),
	}
	for compat, want := range map[bool]string{true: "summary", false: "distribution"} {
		found := false
		for _, e := range parsedEvents(t, testkit.RawTraces(t, map[string][]string{"u": launches}), tritonparse.Prefix+"u__mapped.ndjson.gz", Options{Compat: compat}) {
			if at(e, "event_type") != "launch_diff" {
				continue
			}
			found = true
			length, pointer := at(e, "diffs", "extracted_args", "rapid_len", "diffs", "value", "diff_type"), at(e, "diffs", "extracted_args", "x", "diffs", "data_ptr", "diff_type")
			if length != want || pointer != "summary" || at(e, "diffs", "function", "diff_type") != "summary" {
				t.Errorf("compat %t: %v %v\n%v", compat, length, pointer, e)
			}
		}
		if !found {
			t.Error("no launch_diff")
		}
	}
}
