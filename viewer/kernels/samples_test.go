package kernels

import (
	"errors"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestSumsAreKept: however samples are shown, none is lost and none is counted twice.
func TestSumsAreKept(t *testing.T) {
	p := model(t)
	for _, byPath := range []bool{false, true} {
		s := collect(t, Options{Profile: p, Kernel: ".", ByPath: byPath}).Samples
		var kernels uint64
		for _, k := range s.Functions {
			kernels += k.Samples
			var pcs, lines, paths uint64
			for _, pc := range k.PCs {
				pcs += pc.Samples
			}
			for _, l := range k.Lines {
				lines += l.Samples
				if own := own(l); own != l.Samples {
					t.Errorf("%s:%d: %d samples, and %d in it and what was inlined there", l.File, l.Number, l.Samples, own)
				}
			}
			for _, path := range k.Paths {
				paths += path.Samples
			}
			if pcs != k.Samples || lines+k.Unplaced.Samples != k.Samples || paths != k.Samples {
				t.Errorf("%s: %d samples, %d of instructions, %d of lines and %d without, %d of paths", k.Name, k.Samples, pcs, lines, k.Unplaced.Samples, paths)
			}
		}
		if kernels != s.Total || s.Total != p.Sampling.Total {
			t.Errorf("%d samples were planted, %d found, %d in kernels", p.Sampling.Total, s.Total, kernels)
		}
	}
}

func own(l *Line) uint64 {
	sum := l.Own
	for _, c := range l.Inlined {
		sum += own(c)
	}
	return sum
}

// linesOf is what Triton writes: lines as frames, and no instructions.
func linesOf() *profile.Profile {
	line := func(name string, metrics ...any) *profile.Node {
		n := &profile.Node{Name: name}
		for i := 0; i < len(metrics); i += 2 {
			n.Set(metrics[i].(string), profile.IntValue(int64(metrics[i+1].(int))))
		}
		return n
	}
	kernel := line("matmul", "time (ns)", 1000, "device_id", 0)
	kernel.Children = []*profile.Node{
		line("/home/user/kernels.py:50@matmul", "num_samples", 1900, "num_stalled_samples", 1000, "stalled_long_scoreboard", 700, "stalled_long_scoreboard_not_issued", 500, "stalled_wait", 200, "stalled_wait_not_issued", 200, "stalled_selected", 100, "stalled_selected_not_issued", 200),
		line("/home/user/kernels.py:48@matmul", "num_samples", 120, "num_stalled_samples", 70, "stalled_long_scoreboard", 60, "stalled_long_scoreboard_not_issued", 50),
	}
	return &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: "forward", Children: []*profile.Node{kernel}}}}}
}

func TestLinesOfTriton(t *testing.T) {
	s := collect(t, Options{Profile: linesOf()}).Samples
	k := s.Functions[0]
	if k.Samples != 1070 || s.Of(k.Counts, "long_scoreboard") != 760 || s.Of(k.Counts, "unknown") != 10 || k.Stalled != 970 {
		t.Errorf("%d samples, %d stalled: %v of %v", k.Samples, k.Stalled, k.Reasons, s.Reasons)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	if _, err := Collect(Options{Profile: &profile.Profile{Root: &profile.Node{Name: "ROOT"}}}); !errors.Is(err, ErrNoSamples) {
		t.Errorf("no samples: %v", err)
	}
	for want, o := range map[string]Options{
		`no kernel with samples matches "softmax"; those with most are matmul, second, inlined, first`: {Kernel: "softmax"},
		"read the pattern": {Kernel: "("},
		"no instruction samples are left by the filters": {Include: "no such"},
		"read exclude": {Exclude: "["},
	} {
		o.Profile = model(t)
		if _, err := Collect(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
}

// TestEveryReasonIsExplained: those of an H200.
func TestEveryReasonIsExplained(t *testing.T) {
	s := collect(t, Options{Profile: model(t)}).Samples
	for _, name := range reasons {
		if _, known := s.Stalls.Explain(name); !known {
			t.Errorf("%s is not explained", name)
		}
	}
}
