package check

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/goproton/goproton/triton/mlir"
)

// TestReadFinding: a finding that was written and read is the same.
func TestReadFinding(t *testing.T) {
	at := func(line int) Place {
		return Place{Op: "tt.load", Access: "read", Line: line, Program: [3]int32{1, 2, 3}, Lane: 5, Index: []int{1, 1}, Frames: []mlir.Frame{{File: "a.py", Line: line, Column: 3}, {File: "b.py", Line: 9}}}
	}
	want := &Finding{Kind: Race, Text: "what happened", Place: at(4), Buffer: "x", Kernel: "k", Count: 7, Others: []Place{at(8)}}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got := &Finding{}
	if err := json.Unmarshal(text, got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v\nfrom %s\nwant %+v", got, text, want)
	}
}
