package hotpath

import "testing"

func TestInternGivesOneIDPerText(t *testing.T) {
	if err := Init(); err != nil {
		t.Fatal(err)
	}
	seen := map[uint32]string{}
	for _, s := range []string{"", "a", "b", "eight888", "longer than eight", "longer than eighu"} {
		id := Intern(s)
		if id == 0 || Intern(s) != id || Text(id) != s {
			t.Errorf("intern %q: id %d, text %q", s, id, Text(id))
		}
		if other, dup := seen[id]; dup {
			t.Errorf("%q and %q share id %d", s, other, id)
		}
		seen[id] = s
	}
}
