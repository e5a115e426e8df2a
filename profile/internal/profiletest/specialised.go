package profiletest

import (
	"math/rand/v2"
	"strconv"

	"github.com/goproton/goproton/profile"
)

// Specialised is the profile of a kernel with scopes, made from the cycles that each warp was in each scope and in none inside of it; own are
// their sums. An inner scope may be that of warps that are not in the one around it, as in kernels whose warps do different things.
func Specialised(seed uint64) (p *profile.Profile, own map[*profile.Node]uint64) {
	r := rand.New(rand.NewPCG(seed, 5))
	own = map[*profile.Node]uint64{}
	var scope func(depth int) (*profile.Node, [warps]uint64)
	scope = func(depth int) (n *profile.Node, covered [warps]uint64) {
		n = &profile.Node{Name: "scope" + strconv.Itoa(len(own))}
		own[n] = 0
		data := &profile.InsideScope{}
		for range r.IntN(4 - depth) {
			inner, below := scope(depth + 1)
			n.Children = append(n.Children, inner)
			for w := range below {
				covered[w] += below[w]
			}
		}
		for w := range covered {
			if w > 0 && r.IntN(3) == 0 {
				continue // the warp is not in the scope
			}
			alone := 1 + r.Uint64N(1000)
			own[n] += alone
			covered[w] += alone
			data.ByWarp = append(data.ByWarp, profile.InsideShare{At: uint32(w), Count: 1, Amount: covered[w]})
			data.Cycles += covered[w]
		}
		n.Inside = &profile.Inside{Scope: data}
		n.Set(profile.CyclesMetric, profile.IntValue(int64(data.Cycles)))
		n.Set(profile.NormalizedCyclesMetric, profile.FloatValue(float64(data.Cycles)/warps))
		return n, covered
	}
	kernel := &profile.Node{Name: "kernel", Inside: &profile.Inside{Kernel: &profile.InsideKernel{Warps: warps, Blocks: 1, Launches: 1}}}
	for range 1 + r.IntN(3) {
		n, _ := scope(0)
		kernel.Children = append(kernel.Children, n)
	}
	root := &profile.Node{Name: "ROOT", Children: []*profile.Node{kernel}}
	kinds := profile.Kinds{profile.CyclesMetric: profile.Exclusive, profile.NormalizedCyclesMetric: profile.Exclusive}
	return &profile.Profile{Root: root, Kinds: kinds}, own
}

const warps = 4
