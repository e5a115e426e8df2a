package merge

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

// A set of ranks is that of a map, whatever is added in which order, and its text reads back.
func TestRankSetProperty(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 17))
	random := func() (rankSet, map[int]bool) {
		var s rankSet
		listed := map[int]bool{}
		for range r.IntN(8) {
			n := span{first: r.IntN(30)}
			n.last = n.first + r.IntN(5)
			s = s.add(n)
			for rank := n.first; rank <= n.last; rank++ {
				listed[rank] = true
			}
		}
		return s, listed
	}
	ranks := func(s rankSet) map[int]bool {
		listed := map[int]bool{}
		for i, n := range s {
			if n.first > n.last || i > 0 && n.first <= s[i-1].last+1 {
				t.Fatalf("spans overlap, touch or are out of order: %v", s)
			}
			for rank := n.first; rank <= n.last; rank++ {
				listed[rank] = true
			}
		}
		return listed
	}
	for range 2000 {
		a, inA := random()
		b, inB := random()
		if !reflect.DeepEqual(ranks(a), inA) {
			t.Fatalf("%v, want %v", a, inA)
		}
		union, common, missing := ranks(a.union(b)), ranks(a.common(b)), ranks(a.missing(33))
		for rank := range 33 {
			if union[rank] != (inA[rank] || inB[rank]) || common[rank] != (inA[rank] && inB[rank]) || missing[rank] == inA[rank] {
				t.Fatalf("rank %d of %v and %v: union %v, common %v, missing %v", rank, a, b, union, common, missing)
			}
		}
		if back, ok := parseRanks(a.String()); len(a) > 0 && (!ok || !slices.Equal(back, a)) {
			t.Fatalf("%v is read as %v", a, back)
		}
	}
}

// file is a profile of a process, by its facts: "rank=3 job=a restart=1 start=5 end=9".
func file(facts string) (Source, *profile.Profile) {
	info := profile.Info{}
	for _, fact := range strings.Fields(facts) {
		key, value, _ := strings.Cut(fact, "=")
		info[key] = strings.ReplaceAll(value, "_", " ")
	}
	return Source{File: info["file"], Rank: info[profile.InfoRank]}, &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Info: info}
}

func TestAttempts(t *testing.T) {
	for name, c := range map[string]struct {
		files   []string
		all     []string // what is said of them all
		last    []string // what is said with the last attempts alone
		earlier []int    // files that are left out then
	}{
		"none":                       {[]string{"rank=0 start=1 end=9", "rank=1 start=2 end=8"}, nil, nil, nil},
		"a child of a rank":          {[]string{"rank=0 start=1 end=9", "rank=0 start=3 end=5", "rank=0 start=6 end=8"}, nil, nil, nil},
		"files without times":        {[]string{"rank=0", "rank=0"}, nil, nil, nil},
		"workers without ranks":      {[]string{"start=1 end=2", "start=3 end=4"}, nil, nil, nil},
		"two runs, of other formats": {[]string{"start=1 end=2 job=a", "start=3 end=4 job=b"}, nil, nil, nil},
		"windows of a process that rested": {
			[]string{"rank=0 pid=7 start=1 end=3 window_end=2", "rank=0 pid=7 start=9 end=11 window_end=10", "rank=0 pid=7 start=30 end=40 window_end=39"}, nil, nil, nil},
		"windows of a rank that was restarted": {
			[]string{"rank=0 pid=7 start=1 end=3 window_end=2", "rank=0 pid=8 restart=1 start=40 end=51 window_end=50", "rank=0 pid=7 start=9 end=11 window_end=10"},
			[]string{"rank 0 ran twice, attempts 0 and 1: both are added up; --attempt last takes attempt 1 alone"},
			[]string{"rank 0 ran twice, attempts 0 and 1: attempt 1 alone counts"}, []int{0, 2}},
		"windows of a rank that was restarted without a number": {
			[]string{"rank=0 pid=7 start=1 end=3 window_end=2", "rank=0 pid=7 start=9 end=11 window_end=10", "rank=0 pid=8 start=40 end=51 window_end=50"},
			[]string{"rank 0 ran twice, one after another: both are added up; --attempt last takes the last one alone"},
			[]string{"rank 0 ran twice, one after another: the last one alone counts"}, []int{0, 1}},
		"restarted": {
			[]string{"rank=0 start=1 end=4", "rank=1 start=1 end=3", "rank=1 restart=1 start=6 end=8", "rank=0 restart=1 start=6 end=9"},
			[]string{"ranks 0-1 ran twice, attempts 0 and 1: both are added up; --attempt last takes attempt 1 alone"},
			[]string{"ranks 0-1 ran twice, attempts 0 and 1: attempt 1 alone counts"}, []int{0, 1}},
		"restarted with children": {
			[]string{"rank=0 start=1 end=9", "rank=0 start=2 end=3", "rank=0 restart=1 start=10 end=19", "rank=0 restart=1 start=12 end=13"},
			[]string{"rank 0 ran twice, attempts 0 and 1: both are added up; --attempt last takes attempt 1 alone"},
			[]string{"rank 0 ran twice, attempts 0 and 1: attempt 1 alone counts"}, []int{0, 1}},
		"some more often than others": {
			[]string{"rank=0", "rank=0 restart=1", "rank=2", "rank=2 restart=3", "rank=2 restart=1", "rank=4", "rank=4 restart=1", "rank=5"},
			[]string{"ranks 0, 4 ran twice, attempts 0 and 1: both are added up; --attempt last takes attempt 1 alone",
				"rank 2 ran 3 times, attempts 0, 1 and 3: all are added up; --attempt last takes attempt 3 alone"},
			[]string{"ranks 0, 4 ran twice, attempts 0 and 1: attempt 1 alone counts", "rank 2 ran 3 times, attempts 0, 1 and 3: attempt 3 alone counts"},
			[]int{0, 2, 4, 5}},
		"requeued, with another name for the launcher's job": {
			[]string{"rank=0 job=prte-7 restart=2", "rank=0 job=prte-9 requeue=1"},
			[]string{"rank 0 ran twice, attempts 2 and requeue 1: both are added up; --attempt last takes attempt requeue 1 alone"},
			[]string{"rank 0 ran twice, attempts 2 and requeue 1: attempt requeue 1 alone counts"}, []int{0}},
		"requeued without ranks": {
			[]string{"start=1 end=2", "requeue=1 start=3 end=4"},
			[]string{"the program ran twice, attempts 0 and requeue 1: both are added up; --attempt last takes attempt requeue 1 alone"},
			[]string{"the program ran twice, attempts 0 and requeue 1: attempt requeue 1 alone counts"}, []int{0}},
		"without numbers": {
			[]string{"rank=0 start=11 end=19", "rank=0 start=1 end=9", "rank=1 start=1 end=5"},
			[]string{"rank 0 ran twice, one after another: both are added up; --attempt last takes the last one alone"},
			[]string{"rank 0 ran twice, one after another: the last one alone counts"}, []int{1}},
		"two jobs": {
			[]string{"rank=0 job=b start=11 end=12", "rank=0 job=a start=1 end=2", "rank=1 job=a start=1 end=2", "rank=1 job=b start=11 end=19"},
			[]string{"ranks 0-1 are there in 2 runs, of a, b: all are added up; --by run keeps them apart"},
			[]string{"ranks 0-1 are there in 2 runs, of a, b: all are added up; --by run keeps them apart"}, nil},
		"two jobs, one restarted": {
			[]string{"rank=0 job=a", "rank=0 job=b", "rank=0 job=b restart=1"},
			[]string{"rank 0 ran twice, attempts 0 and 1: both are added up; --attempt last takes attempt 1 alone",
				"rank 0 is there in 2 runs, of a, b: all are added up; --by run keeps them apart"},
			[]string{"rank 0 ran twice, attempts 0 and 1: attempt 1 alone counts", "rank 0 is there in 2 runs, of a, b: all are added up; --by run keeps them apart"}, []int{1}},
		"merged before": {
			[]string{"file=a merged=4 ranks=0-3;_restart_1:_0-3", "file=b merged=2 ranks=2,_7"},
			[]string{"attempt 0 of rank 2 is in a and in b: its values count twice"},
			[]string{"a has more than one attempt already, which cannot be taken out of it: merge the files that it was made of"}, nil},
	} {
		var ranks Ranks
		for _, facts := range c.files {
			ranks.Add(file(facts))
		}
		if got := ranks.Notes(); !slices.Equal(got, c.all) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.all, "\n"))
		}
		left, notes := ranks.Earlier()
		if !slices.Equal(notes, c.last) {
			t.Errorf("%s, last: got\n%s\nwant\n%s", name, strings.Join(notes, "\n"), strings.Join(c.last, "\n"))
		}
		for i := range c.files {
			if left[i] != slices.Contains(c.earlier, i) {
				t.Errorf("%s: file %d left out: %v", name, i, left[i])
			}
		}
	}
}

// Columns by run keep jobs apart, and then nothing is said of them; numbered attempts are of one run.
func TestAttemptsOfRunsThatAreKeptApart(t *testing.T) {
	ranks := Ranks{Apart: true}
	for _, facts := range []string{"rank=0 job=a start=1 end=2", "rank=0 job=b start=3 end=4", "rank=0 job=b start=5 end=6", "rank=1 job=b", "rank=1 job=b restart=1"} {
		ranks.Add(file(facts))
	}
	want := []string{"rank 1 ran twice, attempts 0 and 1: both are added up; --attempt last takes attempt 1 alone"}
	if got := ranks.Notes(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The facts of a merged profile name its ranks by attempt, and those of groups are those of all files at once. Which ranks are missing
// is known then, too.
func TestFactsOfAttempts(t *testing.T) {
	files := []string{"rank=0 world=5 start=10 end=20", "rank=1 world=5 start=5 end=15", "rank=3 world=5 restart=1 start=12 end=14", "rank=1 world=5 restart=1",
		"rank=0 world=5 restart=1 requeue=2", "host=a"}
	sum := func(m *Merger, files []string) profile.Info {
		for _, facts := range files {
			source, p := file(facts)
			if err := m.Add(p, source); err != nil {
				t.Fatal(err)
			}
		}
		return m.Profile().Info
	}
	all := sum(New(Options{}), files)
	want := profile.Info{"merged": "6", "ranks": "0-1; restart 1: 1, 3; requeue 2 restart 1: 0", "world": "5", "start": "5", "end": "20", "host": "a"}
	if !reflect.DeepEqual(all, want) {
		t.Errorf("got  %v\nwant %v", all, want)
	}
	for cut := 1; cut < len(files); cut++ {
		groups := New(Options{})
		var ranks Ranks
		for number, part := range [][]string{files[:cut], files[cut:]} {
			p := &profile.Profile{Root: &profile.Node{Name: "ROOT"}, Info: sum(New(Options{}), part)}
			source := Source{File: strconv.Itoa(number)}
			if err := groups.Add(p, source); err != nil {
				t.Fatal(err)
			}
			ranks.Add(source, p)
		}
		if got := groups.Profile().Info; !reflect.DeepEqual(got, want) {
			t.Errorf("groups of %d and %d: got %v, want %v", cut, len(files)-cut, got, want)
		}
		if got, want := fmt.Sprint(ranks.Notes()), "[ranks 2, 4 of 5 are missing: they have no profile here]"; got != want && cut < 5 {
			t.Errorf("groups of %d and %d: %s, want %s", cut, len(files)-cut, got, want)
		}
	}
	one := sum(New(Options{}), []string{"rank=3 restart=1", "rank=3 restart=1"})
	if one["restart"] != "1" || one["rank"] != "3" || one["ranks"] != "restart 1: 3" {
		t.Errorf("two files of one attempt: %v", one)
	}
}
