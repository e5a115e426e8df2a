package merge

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
)

// counting is a profile in which one thing was counted so often.
func counting(what string, n uint64) *profile.Profile {
	root := &profile.Node{Name: "ROOT"}
	p := &profile.Profile{Root: root, Kinds: profile.Kinds{}}
	many := &profile.Sketch{Count: n, Min: 5, Max: 5, Mean: 5, Buckets: []profile.Bucket{{Index: 5, Count: n}}}
	switch what {
	case "samples":
		p.Sampling = &profile.Sampling{Reasons: []string{"wait"}, Functions: []profile.SampledFunction{{Name: "f"}}}
		root.Samples = []profile.FunctionSamples{{PCs: []profile.PCSamples{{Stalls: []profile.Stall{{Samples: n}}}}}}
	case "traced launches":
		p.Launches = []profile.LaunchKind{{Kernel: "f"}}
		root.Launches = []profile.LaunchTimes{{Durations: profile.Durations{Count: 1, Nanos: n}}}
	case "timed kernels":
		root.Times = many
	case "scopes inside kernels":
		root.Inside = &profile.Inside{Scope: &profile.InsideScope{Cycles: 1, Each: many}}
	}
	return p
}

// Sums that would wrap around are refused, whether one file has them or several together, and nothing of the last one is added.
func TestSumsThatWrapAround(t *testing.T) {
	for _, what := range []string{"samples", "traced launches", "timed kernels", "scopes inside kernels"} {
		half := counting(what, 1<<61)
		m := New(Options{})
		for i := range 3 {
			err := m.Add(half, Source{File: "x.hatchet"})
			if i == 0 && err != nil || i == 2 && (err == nil || !strings.Contains(err.Error(), "with x.hatchet the "+what) || !strings.Contains(err.Error(), "more than any run counts")) {
				t.Errorf("%s of file %d: %v", what, i, err)
			}
		}
		for n, refused := range map[uint64]bool{1 << 61: false, 1 << 63: true} {
			var file bytes.Buffer
			if err := hatchet.Write(&file, counting(what, n)); err != nil {
				t.Fatal(err)
			}
			if _, err := hatchet.Read(&file); (err != nil) != refused {
				t.Errorf("a file with %d %s: %v", n, what, err)
			}
		}
	}
}

// The cycles of hours are in a file several times: in all, by warp and by multiprocessor.
func TestCyclesOfHoursCountOnce(t *testing.T) {
	const cycles = 1 << 61
	by := []profile.InsideShare{{Count: cycles / 2, Amount: cycles}}
	p := counting("", 0)
	p.Root.Inside = &profile.Inside{
		Kernel: &profile.InsideKernel{Cycles: cycles, CyclesOff: cycles, WarpNanos: cycles / 2, BySM: by},
		Scope:  &profile.InsideScope{Cycles: cycles, ByWarp: by, BySM: by},
	}
	var file bytes.Buffer
	if err := hatchet.Write(&file, p); err != nil {
		t.Fatal(err)
	}
	read, err := hatchet.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	m := New(Options{})
	for i := range 3 {
		if err := m.Add(read, Source{File: "x.hatchet"}); (err != nil) != (i == 2) {
			t.Errorf("file %d: %v", i, err)
		}
	}
}
