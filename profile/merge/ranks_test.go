package merge

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

func ranksOf(world int, present ...int) *Ranks {
	r := &Ranks{}
	for _, rank := range present {
		info := profile.Info{}
		if world > 0 {
			info[profile.InfoWorld] = strconv.Itoa(world)
		}
		r.Add(Source{File: fmt.Sprintf("r%d", rank), Rank: strconv.Itoa(rank)}, &profile.Profile{Info: info})
	}
	return r
}

func TestMissingRanks(t *testing.T) {
	for _, c := range []struct {
		ranks *Ranks
		want  string
	}{
		{&Ranks{}, ""},
		{ranksOf(2, 0, 1), ""},
		{ranksOf(2, 1, 1), "rank 0 of 2 is missing: it has no profile here"},
		{ranksOf(8, 7, 3, 0), "ranks 1-2, 4-6 of 8 are missing: they have no profile here"},
		{ranksOf(0, 3), ""}, // of how many is not known
		{ranksOf(2, 0, 5), "rank 1 of 2 is missing: it has no profile here"},
		{ranksOf(1<<40, 1), "ranks 0, 2-1099511627775 of 1099511627776 are missing: they have no profile here"},
	} {
		if got := strings.Join(c.ranks.Notes(), "\n"); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	other := ranksOf(2, 0, 1)
	other.Add(Source{File: "old", Rank: "2"}, &profile.Profile{Info: profile.Info{profile.InfoWorld: "4"}})
	if got := strings.Join(other.Notes(), "\n"); !strings.Contains(got, "r0 is of 2 ranks and old of 4: ") || !strings.Contains(got, "rank 3 of 4 is missing") {
		t.Errorf("two runs: %q", got)
	}
	other.Add(Source{File: "sum"}, &profile.Profile{Info: profile.Info{InfoMerged: "2"}})
	if got := other.Notes(); got != nil {
		t.Errorf("with a file that was merged before: %q", got)
	}
}

// The missing ranks and those that are there make up the world.
func TestMissingRanksProperty(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 4))
	for range 200 {
		world := 1 + r.IntN(12)
		var present []int
		missing := map[int]bool{}
		for rank := range world {
			if missing[rank] = r.IntN(2) == 0; !missing[rank] {
				present = append(present, rank)
			}
		}
		if len(present) == 0 {
			continue
		}
		said := map[int]bool{}
		if notes := ranksOf(world, present...).Notes(); notes != nil {
			text := strings.Fields(strings.SplitN(notes[0], " of ", 2)[0])
			for _, word := range text[1:] {
				first, last, ranged := strings.Cut(strings.TrimSuffix(word, ","), "-")
				a, _ := strconv.Atoi(first)
				b := a
				if ranged {
					b, _ = strconv.Atoi(last)
				}
				for ; a <= b; a++ {
					said[a] = true
				}
			}
		}
		for rank := range world {
			if said[rank] != missing[rank] {
				t.Fatalf("present %v of %d: %v", present, world, ranksOf(world, present...).Notes())
			}
		}
	}
}
