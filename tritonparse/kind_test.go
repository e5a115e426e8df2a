package tritonparse

import (
	"encoding/json"
	"testing"
)

func TestLaunchKind(t *testing.T) {
	grid := json.RawMessage(`[128, 1]`)
	kind := func(args string) string { return LaunchKind("ab12", grid, json.RawMessage(args)) }
	first := kind(`{"x": {"type":"tensor","shape":[4],"data_ptr":"0x10"}, "n": {"type":"int","value":7}}`)

	// Python: sha256('ab12\n[128,1]\n{"n": …}'.encode()).hexdigest()[:16] with json.dumps(value, sort_keys=True, separators=(",", ":")).
	if want := "e824f44ffbd10c43"; first != want {
		t.Errorf("kind %s, Python makes it %s", first, want)
	}
	for _, same := range []string{
		`{"n":{"value":7,"type":"int"},"x":{"type":"tensor","shape":[4],"data_ptr":"0x20","min":1,"tensor_hash":"ff","error":null}}`,
	} {
		if kind(same) != first {
			t.Errorf("another kind for %s", same)
		}
	}
	for _, other := range []string{
		`{"x":{"type":"tensor","shape":[5],"data_ptr":"0x10"},"n":{"type":"int","value":7}}`,
		`{"x":{"type":"tensor","shape":[4],"data_ptr":"0x10"},"n":{"type":"int","value":8}}`,
	} {
		if kind(other) == first {
			t.Errorf("the same kind for %s", other)
		}
	}
	if LaunchKind("ab12", nil, nil) != LaunchKind("ab12", json.RawMessage("null"), json.RawMessage("null")) {
		t.Error("a missing member does not count as null")
	}
}
