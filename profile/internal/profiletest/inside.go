package profiletest

import (
	"fmt"
	"math/rand/v2"

	"github.com/goproton/goproton/profile"
)

// Instrument adds what is inside of kernels to a profile: some nodes are kernels, some are scopes.
func Instrument(p *profile.Profile, seed uint64) {
	g := generator{r: rand.New(rand.NewPCG(seed, 4))}
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		switch g.r.IntN(3) {
		case 0:
			n.Inside = &profile.Inside{Kernel: g.kernel()}
		case 1:
			n.Inside = &profile.Inside{Scope: g.scope()}
		}
		return true
	})
}

func (g *generator) fill(list []profile.Figure) {
	for _, f := range list {
		*f.Value = amount(g.r)
	}
}

func (g *generator) kernel() *profile.InsideKernel {
	k := &profile.InsideKernel{BySM: g.shares()}
	g.fill(k.Figures())
	g.fill(k.Losses.Figures())
	if g.r.IntN(2) == 0 {
		k.Times = g.sketch()
	}
	for i := range g.r.IntN(3) {
		k.Builds = append(k.Builds, profile.InsideBuild{
			Mode: fmt.Sprint("mode ä\"", i), Triton: "3.6.0", Arch: "90", Warps: 4 + g.r.IntN(2), SlotSize: 8320, Rings: 8192,
		})
	}
	return k
}

func (g *generator) scope() *profile.InsideScope {
	s := &profile.InsideScope{Each: g.sketch(), ByWarp: g.shares(), BySM: g.shares(), Sums: g.sketch()}
	g.fill(s.Figures())
	s.Events = g.r.Uint64N(s.Count() + 1)
	s.Crossed = g.r.Uint64N(s.Events + 1)
	for i := range g.r.IntN(3) {
		s.Lines = append(s.Lines, profile.InsideLine{File: fmt.Sprint("dir/ä\"", i), Line: g.r.IntN(1000)})
	}
	return s
}

func (g *generator) shares() (list []profile.InsideShare) {
	at := uint32(0)
	for range g.r.IntN(5) {
		at += uint32(1 + g.r.IntN(3))
		list = append(list, profile.InsideShare{At: at, Count: amount(g.r), Amount: amount(g.r)})
	}
	return list
}

// insideText prints what is inside of a kernel so that what means the same prints the same.
func insideText(i *profile.Inside) string {
	if i == nil {
		return ""
	}
	sketch := func(s *profile.Sketch) string {
		if s == nil || s.Count == 0 {
			return "none"
		}
		return fmt.Sprint(*s)
	}
	text := ""
	if k := i.Kernel; k != nil {
		text = fmt.Sprintf(" kernel %+v %v %v times %s losses %+v", k.Builds, k.BySM, values(k.Figures()), sketch(k.Times), k.Losses)
	}
	if s := i.Scope; s != nil {
		text += fmt.Sprintf(" scope %v %v %v each %s sums %s %+v", s.ByWarp, s.BySM, values(s.Figures()), sketch(s.Each), sketch(s.Sums), s.Lines)
	}
	return text
}

func values(list []profile.Figure) (all []uint64) {
	for _, f := range list {
		all = append(all, *f.Value)
	}
	return all
}
