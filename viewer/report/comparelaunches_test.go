package report

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// halved makes every launch of a run take half its time, and drops those of add_kernel.
func halved(p *profile.Profile) *profile.Profile {
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		if n.Name == "add_kernel" {
			n.Launches = nil
		}
		for i := range n.Launches {
			n.Launches[i].Nanos /= 2
		}
		return true
	})
	return p
}

func comparedTraces(t *testing.T) ([]Source, Options) {
	t.Helper()
	a, textsA := traced(t)
	b, textsB := traced(t)
	return []Source{{"before.hatchet", a}, {"after.hatchet", halved(b)}}, Options{Version: "test", Old: textsA, Texts: textsB}
}

func TestLaunchesOfTwoRuns(t *testing.T) {
	sources, o := comparedTraces(t)
	b, err := build(sources, o)
	if err != nil {
		t.Fatal(err)
	}
	k := b.Launches.Kernels[0]
	if k.Name != "matmul_kernel" || len(k.Rows) != 2 {
		t.Fatalf("%s with %d rows", k.Name, len(k.Rows))
	}
	r := k.Rows[0]
	if r.Name != "M=4096 N=4096 K=1024" || r.Count != 1747 || r.Old.Count != 1747 || r.Old.Nanos/100 != 2*r.Nanos/100 {
		t.Errorf("%+v, of A %+v", r, r.Old)
	}
	if want := "BLOCK_M=64 BLOCK_N=64 BLOCK_K=32 num_warps=4 num_stages=2, BLOCK_M=128 BLOCK_N=128 BLOCK_K=64 num_warps=8 num_stages=3 · record 2556"; r.About != want {
		t.Errorf("about %q, want %q", r.About, want)
	}
	o.Old.Trace = nil
	if b, err = build(sources, o); err != nil || b.Launches != nil {
		t.Errorf("one trace alone: %v, %v", b.Launches, err)
	}
}

func TestPageOfTwoTracedRuns(t *testing.T) {
	sources, o := comparedTraces(t)
	path := pageWith(t, sources, o)
	for _, s := range []screen{desk, {width: 1280, height: 800, dark: true}, phone} {
		page := browser(t).open(t, path+"#launches", s)
		page.wait(`document.querySelectorAll("#panel-launches .card").length === 2`)
		card := page.text("#panel-launches .card")
		for _, want := range []string{"matmul_kernel 3,319 launches in 155.4 ms → 3,319 launches in", "M=4096 N=4096 K=1024", "78.85 us 39.43 us -50.0%"} {
			if !strings.Contains(card, want) {
				t.Errorf("the card of matmul_kernel does not say %q: %s", want, card)
			}
		}
		page.readable(t, s, "launches-compared")
	}
}
