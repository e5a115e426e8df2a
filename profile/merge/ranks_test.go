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

// A merged file next to the files that it was made of, and two files of one process, count twice, and a note says so. Files of another job, time or
// attempt do not.
func TestNotesOnWhatCountsTwice(t *testing.T) {
	merged := profile.Info{InfoMerged: "4", profile.InfoRanks: "0-3", profile.InfoJob: "train", profile.InfoStart: "1000", profile.InfoEnd: "2000"}
	const twice = "all has rank 2 already, of which there are other files as well: what is in both counts twice"
	for _, c := range []struct {
		first profile.Info
		rank  string
		facts profile.Info
		want  string
	}{
		{merged, "2", nil, twice},
		{merged, "2", profile.Info{profile.InfoJob: "train", profile.InfoStart: "1100", profile.InfoEnd: "1900"}, twice},
		{merged, "4", nil, ""},
		{merged, "", nil, ""},
		{merged, "2", profile.Info{profile.InfoRestart: "1"}, ""},
		{merged, "2", profile.Info{profile.InfoJob: "other"}, ""},
		{merged, "2", profile.Info{profile.InfoStart: "2001", profile.InfoEnd: "2500"}, ""},
		{merged, "2", profile.Info{profile.InfoStart: "500", profile.InfoEnd: "1500"}, ""},
		{profile.Info{profile.InfoPID: "7", profile.InfoStart: "1"}, "2", profile.Info{profile.InfoPID: "7", profile.InfoStart: "1"}, "all and one are of one process, pid 7, from one moment on: what it did counts twice"},
		{profile.Info{profile.InfoPID: "7", profile.InfoStart: "1"}, "2", profile.Info{profile.InfoPID: "7", profile.InfoStart: "2"}, ""},
		{profile.Info{profile.InfoPID: "7", profile.InfoStart: "1"}, "3", profile.Info{profile.InfoPID: "7", profile.InfoStart: "1"}, ""},
		{profile.Info{profile.InfoPID: "7"}, "2", profile.Info{profile.InfoPID: "7"}, ""},
	} {
		for _, backwards := range []bool{false, true} {
			r := &Ranks{}
			first := func() { r.Add(Source{File: "all", Rank: "2"}, &profile.Profile{Info: c.first}) }
			second := func() { r.Add(Source{File: "one", Rank: c.rank}, &profile.Profile{Info: c.facts}) }
			want := c.want
			if backwards {
				first, second = second, first
				want = strings.Replace(want, "all and one", "one and all", 1)
			}
			first()
			second()
			if got := strings.Join(r.Notes(), "\n"); got != want {
				t.Errorf("%v and rank %q with %v: got %q, want %q", c.first, c.rank, c.facts, got, want)
			}
		}
	}
}
