package lanes

import (
	"fmt"
	"slices"
	"testing"

	"github.com/goproton/goproton/profile"
)

// follow walks a path as readers do.
func follow(t *testing.T, p *Paths, names ...string) (id int32) {
	t.Helper()
	for _, name := range names {
		next, same := p.Same(id, []byte(name))
		if !same {
			var err error
			if next, err = p.Child(id, name); err != nil {
				t.Fatal(err)
			}
		}
		id = next
	}
	return id
}

func TestPathsAreWhatWasFollowed(t *testing.T) {
	p := newPaths()
	ids := map[string]int32{}
	for _, path := range [][]string{{"a", "b", "c"}, {"a"}, {"a", "b", "d"}, {"b", "b"}, {}, {"a", "b", "c", "e"}, {"a", "b", "d", "e"}, {"a", "b"}, {"a", "b", "c"}} {
		id := follow(t, &p, path...)
		if got := p.Of(id); !slices.Equal(got, path) {
			t.Errorf("%q came back as %q", path, got)
		}
		key := fmt.Sprint(path)
		if before, known := ids[key]; known && before != id {
			t.Errorf("%q has the numbers %d and %d", path, before, id)
		}
		ids[key] = id
	}
	for key, id := range ids { // memory that paths share is written once
		if got := fmt.Sprint(p.Of(id)); got != key {
			t.Errorf("%s is %s at the end", key, got)
		}
	}
}

// The paths of scopes that nest take time and memory in proportion to their frames, whichever of them comes first.
func TestNestedPathsAreLinear(t *testing.T) {
	const depth = 2000
	names := make([]string, depth)
	for i := range names {
		names[i] = fmt.Sprint("scope ", i%3)
	}
	for _, outerFirst := range []bool{true, false} {
		p := newPaths()
		frames, memory := 0, map[*string]bool{}
		for i := range names {
			n := i + 1
			if !outerFirst {
				n = depth - i
			}
			path := p.Of(follow(t, &p, names[:n]...))
			if first := &path[0]; !memory[first] {
				memory[first] = true
				frames += cap(path)
			}
		}
		if p.lookups > depth {
			t.Errorf("outer first %v: %d frames were looked up, want %d", outerFirst, p.lookups, depth)
		}
		if frames > 10*depth {
			t.Errorf("outer first %v: the paths have room for %d frames, want at most %d", outerFirst, frames, 10*depth)
		}
	}
}

func TestPathsEndAtTheDeepestFrame(t *testing.T) {
	p := newPaths()
	id := follow(t, &p, slices.Repeat([]string{"f"}, profile.MaxDepth)...)
	if _, err := p.Child(id, "f"); err == nil {
		t.Error("a path was longer than readers take")
	}
}

func TestRows(t *testing.T) {
	timeline := &profile.Timeline{Lanes: []profile.Lane{{}}}
	add := func(name string, start, end int64) {
		timeline.Slices = append(timeline.Slices, profile.Slice{Name: name, Start: start, Duration: end - start})
	}
	add("inner", 2, 5)
	add("outer", 0, 10)
	add("second row", 4, 12)
	add("within the second row", 6, 11)
	add("no place", 7, 14)
	add("after", 14, 14)
	rows, overflow := Rows(timeline, ByLane(timeline)[0], 2)
	if overflow != 1 || len(rows) != 2 {
		t.Fatalf("%d rows, %d slices without a place", len(rows), overflow)
	}
	got := ""
	for _, r := range rows {
		r.Play(timeline, func(i int32, at int64) { got += fmt.Sprintf("%d <%s> ", at, timeline.Slices[i].Name) },
			func(i int32, at int64) { got += fmt.Sprintf("%d </%s> ", at, timeline.Slices[i].Name) })
		got += "\n"
	}
	want := `0 <outer> 2 <inner> 5 </inner> 10 </outer> 14 <after> 14 </after> 
4 <second row> 6 <within the second row> 7 <no place> 11 </no place> 11 </within the second row> 12 </second row> 
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A lane that continues another one is not a lane of its own; arrows and slices follow it. What is open at the end ends where
// its lane does, also if the document counts from a later time.
func TestLanesAreNumberedAtTheEnd(t *testing.T) {
	b := NewBuilder()
	unused, first, further := b.NewLane(), b.NewLane(), b.NewLane()
	unused.Name, first.Name, first.Described = "unused", "first", true
	further.Continue(first)
	b.Begin(first, &Event{Name: "open", Start: 5})
	b.Slice(first, &Event{Name: "last", Start: 6, Category: "Kernel"}, 4)
	b.Slice(further, &Event{Name: "overlaps", Start: 7}, 2)
	b.Flow(profile.Flow{From: first.ID, To: further.ID, Start: 6, End: 7})
	b.EndDocument(100)
	b.Slice(first, &Event{Name: "of the next document", Start: 8}, 1)
	b.EndDocument(1000)
	p := b.Finish(-1)
	got := ""
	for _, s := range p.Timeline.Slices {
		got += fmt.Sprintf("%d %s %d+%d %s\n", s.Lane, s.Name, s.Start, s.Duration, Categories[s.Kind])
	}
	want := "0 open 105+5 scope\n0 last 106+4 kernel\n0 overlaps 107+2 scope\n0 of the next document 1008+1 scope\n"
	if got != want || len(p.Timeline.Lanes) != 1 || p.Timeline.Lanes[0].Name != "first" {
		t.Errorf("got %+v\n%swant\n%s", p.Timeline.Lanes, got, want)
	}
	if f := p.Timeline.Flows[0]; f != (profile.Flow{Start: 106, End: 107}) {
		t.Errorf("the arrow is %+v", f)
	}
}
