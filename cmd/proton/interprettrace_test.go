package main

import (
	"bytes"
	"testing"

	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/tritonparse"
)

// TestOccupancyOfALaunch: with the machine code of the kernel it is said how many program instances the GPU holds, if the code is for it.
func TestOccupancyOfALaunch(t *testing.T) {
	trace, err := tritonparse.Open("../../testdata/traces/blobs/goproton", tritonparse.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := trace.Compilations()[0]
	for gpu, want := range map[string]string{
		"H200": "proton: add_kernel: 16 program instances at a time on each of 132 multiprocessors, limited by registers and warps: a grid of 2113 takes 2 waves\n", "L4": "",
	} {
		d, err := peaks.Board(gpu)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if noteOccupancy(c, [3]int32{2113, 1, 1}, &d, &out); out.String() != want {
			t.Errorf("%s: %s", gpu, out.String())
		}
	}
}
