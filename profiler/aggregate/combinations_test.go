package aggregate

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Sessions begin and end in any order. Each number stands for the members that it was given to, without those that have ended.
func TestCombinationsAgainstAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		c := newCombinations(1, func(member int) int { return member })
		want := map[uint32][]int{}
		var alive []int
		for step := range 300 {
			if i := random.IntN(12); i < len(alive) {
				gone := alive[i]
				alive = slices.Delete(alive, i, i+1)
				c.drop(gone)
				for n, members := range want {
					want[n] = slices.DeleteFunc(members, func(m int) bool { return m == gone })
				}
			} else if len(alive) < 6 {
				alive = append(alive, step)
			}
			members := slices.DeleteFunc(slices.Clone(alive), func(int) bool { return random.IntN(3) == 0 })
			if len(members) == 0 {
				continue
			}
			n := c.number(members)
			if now, known := want[n]; known && !slices.Equal(now, members) {
				t.Fatalf("%v got the number of %v", members, now)
			}
			want[n] = members
		}
		for n := range c.next + 2 {
			if got := c.members(n); !slices.Equal(got, want[n]) {
				t.Fatalf("%d stands for %v, want %v", n, got, want[n])
			}
		}
		for i := 1; i < len(c.runs); i++ {
			if before, r := c.runs[i-1], c.runs[i]; before.to > r.from || before.to == r.from && before.of == r.of {
				t.Fatalf("the runs %v and %v could be one", before, r)
			}
		}
	}
}
