package lookup

import (
	"slices"
	"strings"
	"testing"
)

func TestBest(t *testing.T) {
	names := []string{"time", "tine", "count", "bytes", "l2_hit", "l1_hit", "dram_read"}
	for typed, want := range map[string][]string{
		"tmie":                    {"time", "tine"}, // two letters in the other's place, then two that differ
		"time":                    {"time", "tine"},
		"l2hit":                   {"l2_hit"},
		"byte":                    {"bytes"},
		"zzzzz":                   nil,
		"":                        nil,
		strings.Repeat("t", 1000): nil,
	} {
		got := Nearest(typed, names, 2)
		if len(got) > 2 || len(want) > 0 && (len(got) == 0 || got[0] != want[0]) || want == nil && got != nil {
			t.Errorf("%.20s: %v, want %v", typed, got, want)
		}
	}
	if Or([]string{"a", "a", "b", "c"}) != "a, b or c" || Or([]string{"a"}) != "a" || !slices.Equal(Nearest("time", nil, 3), nil) {
		t.Error("Or")
	}
}
