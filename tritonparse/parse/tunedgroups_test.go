package parse

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse/internal/launchtext"
	"github.com/goproton/goproton/tritonparse/internal/store"
)

// TestTunedGroups: of launches with equal tuning the last counts, whether they are in memory or in the temporary file.
func TestTunedGroups(t *testing.T) {
	sp, err := store.NewSpill(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer sp.Close()
	r := launchtext.LaunchReader{In: &launchtext.Interner{}}
	s := sites{spill: sp, sorter: store.NewSorter(t.TempDir(), 1000), room: 1 << 20}
	defer s.sorter.Close()
	u := s.get(launchtext.Tuning{Session: "x"}).sessions[0]
	read := func(i int) launchtext.Launch {
		text := []byte(testkit.LaunchRecord("aa", i)) // launches with an even number are equal, and so are the others
		if l, ok := r.Reread(text, nil); ok {
			return l
		}
		members, err := jsontext.Members(text)
		if err != nil {
			t.Fatal(err)
		}
		return r.Read(text, members)
	}
	for i := range 10 {
		l := read(i)
		s.keep(u, &l, i)
		if i%3 == 0 {
			s.flushWaiting()
		}
	}
	sp.Wg.Wait()
	put, err := s.sorter.Read()
	if err != nil {
		t.Fatal(err)
	}
	if err := u.groups.end(u, 1<<20, put, sp); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	err = u.groups.each(sp, &logReader{}, func(l *launchtext.Launch) { got = append(got, fmt.Sprint(l.Group, leaves(l))) })
	for _, i := range []int{8, 9} {
		l := read(i)
		want = append(want, fmt.Sprint(l.Group, leaves(&l)))
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n got %q\nwant %q", err, got, want)
	}
}

// leaves are the places of a launch's values, each with its text.
func leaves(l *launchtext.Launch) []string {
	var all []string
	l.Each(func(p *launchtext.LeafPath, text []byte) { all = append(all, fmt.Sprint(p.Route, " = ", string(text))) })
	return all
}
