package report

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/goproton/goproton/profile"
)

// Kernels of one name differ at the end: where room is short, down to a tree of ten levels on a narrow screen, the end stays.
func TestEndsOfNamesStay(t *testing.T) {
	p, r := model(1, 1), rand.New(rand.NewPCG(5, 6))
	n := p.Root
	for depth := range 9 {
		n.Children = []*profile.Node{{Name: fmt.Sprint("scope ", depth)}}
		n = n.Children[0]
	}
	for stages := range 5 {
		k := &profile.Node{Name: fmt.Sprintf("matmul_<grid:1024x1x1>_<cluster:1x1x1>_<warps:8>_<shared:98304>_<stages:%d>", stages)}
		kernel(k, r, 1) // with all its columns, which leave the names little room
		n.Children = append(n.Children, k)
	}
	path := pageOf(t, "names", p)
	for _, s := range []screen{desk, narrow} {
		tab := browser(t).open(t, path, s)
		for id, rows := range map[string]string{"summary": "#panel-summary .wide", "table": "#panel-table .first"} {
			tab.click("#tab-" + id)
			tab.painted()
			ends := tab.eval(fmt.Sprintf(`[...document.querySelectorAll("%s .tail")].map((tail) => {
				const end = document.createRange();
				end.selectNodeContents(tail);
				return Math.max(end.getBoundingClientRect().right, tail.getBoundingClientRect().right) - tail.closest(".wide, .first").getBoundingClientRect().right;
			})`, rows)).([]any)
			if len(ends) != 5 {
				t.Errorf("%s, %s: %d long names", shotName(s), id, len(ends))
			}
			for _, over := range ends {
				if over.(float64) > 0 {
					t.Errorf("%s, %s: a name ends %v pixels beyond its cell", shotName(s), id, over)
				}
			}
			tab.shoot(shotName(s) + "-names-" + id)
		}
		tab.close()
	}
}
