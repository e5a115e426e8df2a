package tritonparse

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/internal/trace/shelf"
)

// TestTunedGroups: of launches that are alike the last counts, whether they waited or were written down before.
func TestTunedGroups(t *testing.T) {
	sp, err := newSpill(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer sp.close()
	r := launchReader{in: &interner{}}
	s := sessions{spill: sp, shelf: shelf.New(t.TempDir(), 1000), room: 1 << 20}
	defer s.shelf.Close()
	u := s.get(tuning{session: "x"})
	read := func(i int) launch {
		text := []byte(launched("aa", i)) // launches with an even number are alike, and so are the others
		if l, _, ok := r.reread(text, nil); ok {
			return l
		}
		members, err := jsontext.Members(text)
		if err != nil {
			t.Fatal(err)
		}
		return r.read(text, members)
	}
	for i := range 10 {
		l := read(i)
		s.keep(u, &l, i)
		if i%3 == 0 {
			s.putAway()
		}
	}
	sp.wg.Wait()
	put, err := s.shelf.Read()
	if err != nil {
		t.Fatal(err)
	}
	if err := u.groups.end(u.number, 1<<20, put, sp); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	err = u.groups.each(sp, func(l *launch) { got = append(got, fmt.Sprint(l.group, l.plain())) })
	for _, i := range []int{8, 9} {
		l := read(i)
		want = append(want, fmt.Sprint(l.group, l.plain()))
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n got %q\nwant %q", err, got, want)
	}
}
