package tree

import (
	"fmt"

	"github.com/goproton/goproton/profile"
)

// Totals adds up what the nodes of profiles count. Readers of files and merges refuse what is beyond mostCounted, so that no sum of
// samples, launches or cycles wraps around. They are floats, which do not.
type Totals struct{ samples, launches, times, inside float64 }

// mostCounted is more than any run counts: as ns it is 146 years. Two of it still fit into 63 bits.
const mostCounted = 1 << 62

// Node adds all of a node.
func (t *Totals) Node(n *profile.Node) {
	t.Samples(n.Samples)
	t.Launches(n.Launches)
	t.Times(n.Times)
	t.Inside(n.Inside)
}

// Samples adds the samples of a node, or what its instructions counted.
func (t *Totals) Samples(list []profile.FunctionSamples) {
	for i := range list {
		for _, pc := range list[i].PCs {
			for _, stall := range pc.Stalls {
				t.samples += float64(stall.Samples)
			}
		}
	}
}

// Launches adds the traced launches of a node.
func (t *Totals) Launches(list []profile.LaunchTimes) {
	for i := range list {
		t.launches += float64(list[i].Count) + float64(list[i].Nanos)
	}
}

// Times adds how many kernels of a node were timed.
func (t *Totals) Times(s *profile.Sketch) {
	t.times += counted(s)
}

// Inside adds what is known of a kernel, or of a scope in one. Cycles are those of every warp of the GPU, some 10^13 in a second, and a
// kernel or scope has them in several ways: the largest of its sums is what counts.
func (t *Totals) Inside(i *profile.Inside) {
	if i == nil {
		return
	}
	var figures []profile.Figure
	most := 0.0
	if k := i.Kernel; k != nil {
		figures = append(k.Figures(), k.Losses.Figures()...)
		most = max(shared(k.BySM), counted(k.Times))
	}
	if s := i.Scope; s != nil {
		figures = append(figures, s.Figures()...)
		most = max(most, shared(s.ByWarp), shared(s.BySM), counted(s.Each), counted(s.Sums))
	}
	for _, f := range figures {
		most = max(most, float64(*f.Value))
	}
	t.inside += most
}

func shared(list []profile.InsideShare) float64 {
	count, amount := 0.0, 0.0
	for _, s := range list {
		count += float64(s.Count)
		amount += float64(s.Amount)
	}
	return max(count, amount)
}

func counted(s *profile.Sketch) float64 {
	if s == nil {
		return 0
	}
	return float64(s.Count)
}

// Join adds other totals.
func (t *Totals) Join(o Totals) {
	t.samples, t.launches, t.times, t.inside = t.samples+o.samples, t.launches+o.launches, t.times+o.times, t.inside+o.inside
}

// Err says which total is more than a run counts; nil if none is.
func (t *Totals) Err() error {
	for _, of := range []struct {
		what  string
		total float64
	}{
		{"samples or counts of instructions", t.samples}, {"traced launches", t.launches}, {"timed kernels", t.times}, {"scopes inside kernels", t.inside},
	} {
		if of.total > mostCounted {
			return fmt.Errorf("the %s come to %.3g, more than any run counts", of.what, of.total)
		}
	}
	return nil
}
