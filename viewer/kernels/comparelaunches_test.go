package kernels

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// compared writes a comparison as text: count and average of each kind in A and in B.
func compared(all []*ComparedKernel) string {
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "%s %d → %d\n", c.Name, c.Times[0].Count, c.Times[1].Count)
		for _, k := range c.Kinds {
			x, y := &k.Sides[0], &k.Sides[1]
			fmt.Fprintf(&b, "  %s: %d×%.0f of %d → %d×%.0f of %d\n", k.Label, x.Times.Count, x.Times.Average(), len(x.Specialisations), y.Times.Count, y.Times.Average(), len(y.Specialisations))
		}
	}
	return b.String()
}

// TestComparedWithItself: launches of the same arguments are one kind, whatever an autotuner made of them.
func TestComparedWithItself(t *testing.T) {
	p, trace := recordedRun(t)
	r := collect(t, Options{Profile: p, Trace: trace, Kernel: "matmul"})
	got := compared(CompareLaunches([2]*Run{r, r}, nil))
	want := "matmul_kernel 3319 → 3319\n" +
		"  M=4096 N=4096 K=1024: 1747×78852 of 2 → 1747×78852 of 2\n" +
		"  M=1024 N=1024 K=512: 1572×11224 of 2 → 1572×11224 of 2\n"
	if got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

func handmade(kernel string, specialisations ...*Specialisation) *Run {
	k := &Kernel{Name: kernel, Specialisations: specialisations}
	for _, s := range specialisations {
		for _, g := range s.Groups {
			s.Times.Add(&g.Times)
		}
		k.Times.Add(&s.Times)
	}
	return &Run{Kernels: []*Kernel{k}}
}

func launched(n, each uint64, arguments ...string) *Group {
	g := &Group{ID: "0123456789abcdef", Times: profile.Durations{Count: n, Nanos: n * each}, Arguments: []Setting{}}
	for _, a := range arguments {
		name, value, _ := strings.Cut(a, "=")
		g.Arguments = append(g.Arguments, Setting{name, value})
	}
	return g
}

// TestComparedKinds: an argument that one version of a kernel has alone does not part its launches; those of one run alone are
// there; a renamed kernel is the same; of what a graph replays the grid must do.
func TestComparedKinds(t *testing.T) {
	captured := func(n uint64) *Group {
		return &Group{Note: "argument extraction skipped during CUDA graph capture", Grid: []int{8}, Times: profile.Durations{Count: n, Nanos: 10 * n}}
	}
	a := handmade("old", &Specialisation{Groups: []*Group{launched(10, 100, "n=1"), launched(2, 50, "n=2"), captured(4)}})
	b := handmade("new",
		&Specialisation{Groups: []*Group{launched(5, 80, "n=1", "flag=True"), captured(6)}},
		&Specialisation{Groups: []*Group{launched(5, 60, "n=1", "flag=False"), launched(1, 7, "n=3", "flag=True")}})
	b.Kernels[0].Times.Count += 3
	all := CompareLaunches([2]*Run{a, b}, func(name string) string { return strings.Replace(name, "old", "new", 1) })
	got := compared(all)
	want := "new 16 → 20\n" +
		"  n=1: 10×100 of 1 → 10×70 of 2\n" +
		"  n=2: 2×50 of 1 → 0×0 of 0\n" +
		"  captured in a graph: 4×10 of 1 → 6×10 of 1\n" +
		"  n=3: 0×0 of 0 → 1×7 of 1\n"
	if got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	if left := all[0].Unattributed(1); left.Count != 3 {
		t.Errorf("%d launches are unattributed, want 3", left.Count)
	}
}
