package tritonparse

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestLaunchKind: the hashes are those of Python's hashlib over json.dumps(…, sort_keys=True, separators=(",", ":")).
func TestLaunchKind(t *testing.T) {
	const args = `{"x":{"type":"tensor","shape":[64, 64],"dtype":"torch.float16","data_ptr":"0x7f00","min":0.5,"tensor_hash":"aa"},` +
		`"n":{"type":"float","value":1e-05},"é":{"type":"str","value":"\u00e9\ud83d\ude00"},"mean":{"type":"int","value":3}}`
	for _, c := range []struct{ what, hash, grid, args, want string }{
		{"all", "ab", "[1, 2]", args, "eb4a81d0c549ffa4"},
		{"nothing", "", "", "", "291de76fc18a0a2e"},
		{"no arguments", "ab", "[1]", "{}", "a769b80f04770d8f"},
	} {
		if got := LaunchKind(c.hash, json.RawMessage(c.grid), json.RawMessage(c.args)); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	kind := func(change ...string) string {
		return LaunchKind("ab", json.RawMessage("[1,2]"), json.RawMessage(strings.NewReplacer(change...).Replace(args)))
	}
	for _, same := range [][]string{{"0x7f00", "0x8000"}, {`"min":0.5,`, ""}, {`"tensor_hash":"aa"`, `"blob_path":"/b","error":"disk full"`}} {
		if kind(same...) != kind() {
			t.Errorf("%q makes another kind", same)
		}
	}
	for _, other := range [][]string{{"64, 64", "64, 65"}, {`"value":3`, `"value":4`}, {"1e-05", "2e-05"}, {`"x":`, `"y":`}} {
		if kind(other...) == kind() {
			t.Errorf("%q makes no other kind", other)
		}
	}
	if LaunchKind("ab", nil, nil) != LaunchKind("ab", json.RawMessage("null"), json.RawMessage("null")) {
		t.Error("a missing member does not count as null")
	}
}
