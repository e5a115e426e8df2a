package profiletest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/goproton/goproton/profile"
)

// Launch adds traced launches to a profile: some nodes have some of a few kinds.
func Launch(p *profile.Profile, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	for i := range 1 + r.IntN(4) {
		k := profile.LaunchKind{ID: fmt.Sprintf("%016x", r.Uint64()), Kernel: fmt.Sprint("kernel ä\"", i), Hash: fmt.Sprintf("%064x", r.Uint64())}
		if r.IntN(4) == 0 {
			k = profile.LaunchKind{}
		}
		k.PID, k.Function = r.IntN(math.MaxInt32), uint64(r.Int64())
		p.Launches = append(p.Launches, k)
	}
	g := generator{r: r}
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for kind := range p.Launches {
			for device := range r.IntN(3) {
				l := profile.LaunchTimes{Kind: kind, Device: device, Durations: profile.Durations{Count: amount(r), Nanos: amount(r)}}
				l.Least, l.Most = g.bounds()
				if r.IntN(3) == 0 {
					l.Times = g.sketch()
					l.Count += l.Times.Count
				}
				n.Launches = append(n.Launches, l)
			}
		}
		return true
	})
}

// amount is a number of any size that adds up over all nodes of a profile without leaving 62 bits, which readers refuse.
func amount(r *rand.Rand) uint64 { return uint64(r.Int64()) >> (20 + r.IntN(44)) }

func (g *generator) bounds() (least, most uint64) {
	if g.r.IntN(4) == 0 {
		return 0, 0
	}
	most = 1 + uint64(g.r.Int64())>>g.r.IntN(60)
	return g.r.Uint64N(most + 1), most
}

// launchesText prints the launches of a node so that those that mean the same print the same.
func launchesText(list []profile.LaunchTimes) string {
	text := ""
	for _, l := range list {
		text += fmt.Sprintf(" launches kind %d device %d %d %d %d..%d", l.Kind, l.Device, l.Count, l.Nanos, l.Least, l.Most)
		if l.Times != nil && l.Times.Count > 0 {
			text += fmt.Sprintf(" %v", *l.Times)
		}
	}
	return text
}
