package work_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/interpreter/fromtrace"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/internal/work"
	"github.com/goproton/goproton/tritonparse/reproduce"
)

// TestConformanceOfTraces: every kind of launches in the recorded traces.
func TestConformanceOfTraces(t *testing.T) {
	root, exact, all := testkit.Root(t), 0, 0
	sources, _ := filepath.Glob(root + "/testdata/traces/*/*")
	samples, _ := filepath.Glob(root + "/tritonparse/testdata/*.ndjson*")
	for _, source := range append(append(sources, samples...), root+"/viewer/kernels/testdata/h200/traces", root+"/viewer/kernels/testdata/hip", root+"/viewer/kernels/testdata/asm") {
		trace, err := tritonparse.Open(source, tritonparse.OpenOptions{Kinds: true})
		if err != nil {
			t.Fatal(err)
		}
		kinds, err := trace.Kinds()
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range kinds {
			if c := trace.Compilation(k.Hash); !k.Whole || c == nil || c.Inferred || c.Texts["ttir"] == "" {
				continue
			} else if testing.Short() && strings.Contains(c.Texts["ttir"], "tt.dot") {
				continue // products take minutes with the race detector
			}
			name, _ := filepath.Rel(root, source)
			t.Run(name+"/"+k.Name, func(t *testing.T) {
				l, err := k.Record()
				if err != nil {
					t.Fatal(err)
				}
				in, err := reproduce.ReadInputs(trace, l, reproduce.Options{})
				if err != nil {
					t.Fatal(err)
				}
				var numbers []int64
				for _, a := range in.Arguments {
					numbers = append(numbers, a.Int)
				}
				if all++; work.Conforms(t, in.TTIR, in.Grid, fromtrace.Arguments(in), numbers) {
					exact++
				}
			})
		}
	}
	if t.Logf("%d of %d kinds", exact, all); exact < 30 {
		t.Errorf("%d of %d kinds of launches were compared", exact, all)
	}
}
