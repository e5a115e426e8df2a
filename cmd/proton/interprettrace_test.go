package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/goproton/goproton/cmd/proton/internal/interpret"
	"github.com/goproton/goproton/gpu/peaks"
	"github.com/goproton/goproton/interpreter/counts"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/reproduce"
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

// TestInterruptedLaunches: a signal between the launches of a trace keeps the counts of those before.
func TestInterruptedLaunches(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	counted := 0
	o := interpret.Options{Counted: func(kernels []*counts.Kernel) error { counted = kernels[0].Launches; return nil }}
	text := "module {\n tt.func public @k() {\n  scf.while : () -> () {\n   %c = arith.constant BOUND\n   scf.condition(%c)\n  } do {\n   scf.yield\n  }\n  tt.return\n }\n}"
	var stdout, stderr bytes.Buffer
	_, err := interpret.Launches(ctx, o, 3, true, func(i int) (*interpret.Traced, error) {
		more := "false"
		if i == 1 {
			more = "true"
			cancel(signalled(syscall.SIGTERM))
		}
		return &interpret.Traced{What: "k", Inputs: &reproduce.Inputs{Kernel: "k", TTIR: strings.Replace(text, "BOUND", more, 1), Grid: [3]int32{1, 1, 1}}}, nil
	}, &stdout, &stderr)
	var exit *exitError
	if err == nil || !errors.As(endedBy(ctx, err), &exit) || exit.code != 128+15 || !strings.Contains(err.Error(), "terminated, after 1 of 3 launches") || counted == 0 {
		t.Errorf("%v, %d counted: %s", err, counted, stderr.String())
	}
}
