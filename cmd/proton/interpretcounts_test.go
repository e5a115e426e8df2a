package main

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/interpreter"
	"github.com/goproton/goproton/interpreter/counts"
)

// TestNotedLeast: where arithmetic cannot be on all multiprocessors, and where roof_time adds what may overlap.
func TestNotedLeast(t *testing.T) {
	device, err := peaks.Board("H200") // of 132 multiprocessors
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		most          int64
		same          bool
		dots, others  int64
		bytes         int64
		units, adding bool
	}{
		{132, true, 1e12, 0, 0, false, false},
		{133, true, 1e12, 0, 0, true, false},
		{133, false, 1e12, 0, 0, false, false},
		{131, false, 1e12, 0, 0, true, false},
		{132, true, 1e12, 1e10, 0, false, true},
		{132, true, 1e12, 1e10, 1e13, false, false}, // the memory takes longer
		{131, true, 0, 0, 1e9, false, false},
	} {
		var out strings.Builder
		k := counts.Kernel{Name: "k", Launches: 1, Most: c.most, SameWork: c.same, Lines: []interpreter.LineCounts{{Loads: interpreter.Access{FirstBytes: c.bytes},
			DotFlops: map[string]int64{"f16": c.dots}, Flops: map[string]int64{"f32": c.others}}}}
		f := countFlags{device: &device}
		f.noteLeast(&k, &out)
		if strings.Contains(out.String(), "for 132 multiprocessors") != c.units || strings.Contains(out.String(), "a GPU may do both at once") != c.adding {
			t.Errorf("%+v: %s", c, out.String())
		}
	}
}
