package report

import (
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestCopiesAreNotKernels: copies, fills and waits count in the same metric as kernels do, at frames of their own. They are
// neither launches of kernels nor among the kernels of a page.
func TestCopiesAreNotKernels(t *testing.T) {
	root := &profile.Node{Name: "ROOT"}
	for name, count := range map[string]int64{
		"gemm": 240, "relu": 12, "<memcpy HtoD>": 50, "<memset>": 100, "Memcpy DtoH (Device -> Pinned)": 7, "Memset (Device)": 3,
	} {
		n := &profile.Node{Name: name}
		n.Set("count", profile.IntValue(count))
		n.Set("time (ns)", profile.IntValue(1000*count))
		n.Set("device_id", profile.StringValue("0"))
		root.Children = append(root.Children, n)
	}
	p := &profile.Profile{Root: root}
	if got := kernelLaunches(p); got != 252 {
		t.Errorf("%d kernels were launched, want 252", got)
	}
	if names := kernelNames(p); len(names) != 2 || !names["gemm"] || !names["relu"] {
		t.Errorf("the kernels are %v", names)
	}
	b, err := newBuilder()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.single(Source{Name: "a", Profile: p}, Options{}); err != nil {
		t.Fatal(err)
	}
	if b.Launched != 252 || b.Flat.Count != 2 {
		t.Errorf("the page says %d launches of %d kernels, want 252 of 2", b.Launched, b.Flat.Count)
	}
}
