package kernels

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/viewer"
)

func TestNothingToCollect(t *testing.T) {
	trace := complexOne(t)
	for want, o := range map[string]Options{
		"the profile has no instruction samples":                                               {},
		`no kernel matches "softmax"; those with most time are matmul_kernel, fused_op_kernel`: {Trace: trace, Kernel: "softmax"},
		`read the pattern "("`: {Trace: trace, Kernel: "("},
		`read include "("`:     {Trace: trace, Profile: &profile.Profile{Root: &profile.Node{}}, Include: "("},
	} {
		if _, err := Collect(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// Split keeps every sum: what was the kernel's is its own and its launches'.
func TestSplitKeepsSums(t *testing.T) {
	trace := complexOne(t)
	p := profileOf(t, trace)
	kernel := p.Root.Child("matmul_kernel")
	kernel.Set(profile.TimeMetric, profile.IntValue(int64(tritonparse.Amount(kernel, profile.TimeMetric)+500))) // of a launch that was not traced
	kernel.Set(profile.CountMetric, profile.IntValue(int64(tritonparse.Amount(kernel, profile.CountMetric)+1)))
	time, count := tritonparse.Amount(kernel, profile.TimeMetric), tritonparse.Amount(kernel, profile.CountMetric)
	if notes, err := Split(p, trace); err != nil || len(notes) > 0 {
		t.Fatal(notes, err)
	}
	if tritonparse.Amount(kernel, profile.TimeMetric) != 500 || tritonparse.Amount(kernel, profile.CountMetric) != 1 {
		t.Errorf("the kernel keeps %d ns of %d launches, want 500 of 1", tritonparse.Amount(kernel, profile.TimeMetric), tritonparse.Amount(kernel, profile.CountMetric))
	}
	var sum, launches uint64
	kernel.Walk(func(n *profile.Node, _ int) bool {
		sum += tritonparse.Amount(n, profile.TimeMetric)
		launches += tritonparse.Amount(n, profile.CountMetric)
		return true
	})
	if sum != time || launches != count {
		t.Errorf("%d ns of %d launches became %d of %d", time, count, sum, launches)
	}
	var out bytes.Buffer
	if _, err := viewer.Render(&out, p, "tree", viewer.Options{Metrics: []string{"time/us", "count"}}, viewer.Terminal{}); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/launches.txt", out.String())
}

func TestSplitWithoutATrace(t *testing.T) {
	trace := complexOne(t)
	p := profileOf(t, trace)
	notes, err := Split(p, nil)
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "--trace DIR") {
		t.Errorf("notes %q, error %v", notes, err)
	}
	for _, c := range p.Root.Child("fused_op_kernel").Children {
		if !strings.HasPrefix(c.Name, "fused_op_kernel [#") {
			t.Errorf("a kind is called %s", c.Name)
		}
	}
	notes, err = Split(&profile.Profile{Root: &profile.Node{Name: "ROOT"}}, trace)
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "proton run --trace DIR") {
		t.Errorf("a profile that does not distinguish launches: notes %q, error %v", notes, err)
	}
}

// TestLaunchesBeforeTheTrace: what a kernel ran before its launches were traced is part of its time, in a row of its own.
func TestLaunchesBeforeTheTrace(t *testing.T) {
	trace := complexOne(t)
	p := profileOf(t, trace)
	node := p.Root.Child("matmul_kernel")
	traced := tritonparse.Amount(node, profile.CountMetric)
	node.Set(profile.TimeMetric, profile.IntValue(int64(tritonparse.Amount(node, profile.TimeMetric)+9000)))
	node.Set(profile.CountMetric, profile.IntValue(int64(traced+3)))
	k := collect(t, Options{Trace: trace, Profile: p, Kernel: "matmul"}).Kernels[0]
	if left := k.Unattributed(); k.Times.Count != traced+3 || left.Count != 3 || left.Nanos != 9000 {
		t.Errorf("%d launches, %d in %d ns of them unattributed; want %d, 3 in 9000", k.Times.Count, left.Count, left.Nanos, traced+3)
	}
}

// TestSerialized: kernels that were made to run alone have other times than the program's.
func TestSerialized(t *testing.T) {
	p, trace := recordedRun(t)
	o := Options{Trace: trace, Profile: p, Kernel: "matmul"}
	const note = "kernels ran one at a time"
	if text := strings.Join(collect(t, o).Notes, "\n"); strings.Contains(text, note) {
		t.Errorf("a continuous profile: %s", text)
	}
	p.Sampling.Mode = "serialized"
	if text := strings.Join(collect(t, o).Notes, "\n"); !strings.Contains(text, note) {
		t.Errorf("a serialized profile: %s", text)
	}
}

// TestUncountedWork: a loop whose end is not known makes rates a lower bound, and a note says so.
func TestUncountedWork(t *testing.T) {
	trace := open(t, complexTrace)
	for _, c := range trace.Compilations() {
		c.Texts["ttir"] = strings.ReplaceAll(c.Texts["ttir"], "scf.for %arg9 = %c0_i32 to %", "scf.for %arg9 = %c0_i32 to %unknown")
	}
	text := strings.Join(collect(t, Options{Trace: trace, Profile: profileOf(t, trace), Kernel: "matmul"}).Notes, "\n")
	if !strings.Contains(text, "rates of matmul_kernel are less sure: in its TTIR, line ") || strings.Contains(text, tritonparse.NoteMasked) {
		t.Errorf("notes:\n%s", text)
	}
}

// TestFramesWithMetadataInTheirNames: a hook named the launches, and the profile does not distinguish them; their times are still
// the kernel's.
func TestFramesWithMetadataInTheirNames(t *testing.T) {
	trace := complexOne(t)
	p := profileOf(t, trace)
	p.Launches = nil
	for _, n := range p.Root.Children {
		n.Name, n.Launches = n.Name+"_<grid:4x1x1>_<warps:2>", nil
	}
	j := collect(t, Options{Trace: trace, Profile: p, Kernel: "matmul"})
	if k := j.Kernels[0]; k.Times.Count == 0 || k.Times.Nanos == 0 {
		t.Errorf("%s has no times: %+v", k.Name, k.Times)
	}
}
