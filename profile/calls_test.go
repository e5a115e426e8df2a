package profile

import (
	"fmt"
	"strings"
	"testing"
)

// torch's form: one thread, one stream, no call paths.
func ofTorch() *Timeline {
	return &Timeline{
		Lanes: []Lane{{ID: 0}, {ID: 1, Kind: StreamLane}},
		Slices: []Slice{
			{Name: "a", Start: 0, Duration: 100},
			{Kind: LaunchSlice, Name: "launch 1", Start: 10, Duration: 10, ID: 1},
			{Name: "inner", Start: 30, Duration: 30},
			{Kind: LaunchSlice, Name: "launch 2", Start: 40, Duration: 10, ID: 2},
			{Name: "b", Start: 200, Duration: 100},
			{Kind: LaunchSlice, Name: "launch 3", Start: 210, Duration: 10, ID: 3},
		},
	}
}

// TestLaunches: a correlation id says which call launched a kernel, an arrow where there is none.
func TestLaunches(t *testing.T) {
	for name, c := range map[string]struct {
		kernel Slice
		flows  []Flow
		other  []Slice
		path   string
		note   string
	}{
		"by id":                       {kernel: Slice{ID: 2}, path: "a > inner"},
		"id before arrow":             {kernel: Slice{ID: 2}, flows: []Flow{{From: 0, To: 1, Start: 210, End: 500}}, path: "a > inner"},
		"by arrow":                    {flows: []Flow{{From: 0, To: 1, Start: 210, End: 500}}, path: "b"},
		"an id that no call has":      {kernel: Slice{ID: 9}, flows: []Flow{{From: 0, To: 1, Start: 45, End: 500}}, path: "a > inner"},
		"an arrow from a scope":       {flows: []Flow{{From: 0, To: 1, Start: 35, End: 500}}, path: "a > inner"},
		"from the end of a call":      {flows: []Flow{{From: 0, To: 1, Start: 20, End: 500}}, path: "a"},
		"from nowhere":                {flows: []Flow{{From: 0, To: 1, Start: 150, End: 500}}},
		"to another time":             {flows: []Flow{{From: 0, To: 1, Start: 210, End: 400}}},
		"from a stream":               {flows: []Flow{{From: 1, To: 1, Start: 210, End: 500}}},
		"neither":                     {},
		"a launch before other calls": {kernel: Slice{ID: 2}, other: []Slice{{Kind: OtherSlice, Name: "other", Start: 250, Duration: 1, ID: 2}}, path: "a > inner"},
		"another call":                {kernel: Slice{ID: 4}, other: []Slice{{Kind: OtherSlice, Name: "other", Start: 250, Duration: 1, ID: 4}}, path: "b"},
		"an id used twice": {kernel: Slice{ID: 1}, other: []Slice{{Kind: LaunchSlice, Start: 250, ID: 1}}, path: "b",
			note: "100.0% of the GPU time has correlation ids that several calls of its process have: each counts for the last of them that began before it"},
		"twice, and once after it": {kernel: Slice{ID: 1}, other: []Slice{{Kind: LaunchSlice, Start: 600, ID: 1}}, path: "a", note: "100.0%"},
		"twice at one call path":   {kernel: Slice{ID: 1}, other: []Slice{{Kind: LaunchSlice, Start: 12, Duration: 2, ID: 1}}, path: "a"},
		"by a later clock":         {kernel: Slice{ID: 5}, other: []Slice{{Kind: LaunchSlice, Start: 700, ID: 5}, {Name: "c", Start: 690, Duration: 90}}, path: "c"},
		"the id of a scope":        {kernel: Slice{ID: 6}, other: []Slice{{Name: "c", Start: 690, Duration: 90, ID: 6}}},
	} {
		t.Run(name, func(t *testing.T) {
			timeline := ofTorch()
			k := c.kernel
			k.Kind, k.Lane, k.Name, k.Start, k.Duration = KernelSlice, 1, "kernel", 500, 7
			timeline.Slices = append(append(timeline.Slices, k), c.other...)
			timeline.Flows = c.flows
			p := &Profile{Timeline: timeline}
			p.Summarize()
			got := "no kernel"
			var path []string
			p.Root.Walk(func(n *Node, depth int) bool {
				if path = append(path[:depth], n.Name); n.Name == "kernel" {
					got = strings.Join(path[1:depth], " > ")
				}
				return true
			})
			if got != c.path {
				t.Errorf("the kernel is below %q, want %q", got, c.path)
			}
			if note := p.Info[InfoNote]; !strings.HasPrefix(note, c.note) || (note == "") != (c.note == "") {
				t.Errorf("the note is %q, want %q", note, c.note)
			}
		})
	}
}

// Calls of two processes may have equal ids.
func TestLaunchesOfProcesses(t *testing.T) {
	timeline := &Timeline{}
	for i, process := range []string{"", "rank 1"} {
		timeline.Lanes = append(timeline.Lanes, Lane{ID: 2 * i, Process: process}, Lane{ID: 2*i + 1, Kind: StreamLane, Process: process})
		timeline.Slices = append(timeline.Slices, Slice{Lane: 2 * i, Name: fmt.Sprint("scope ", i), Duration: 50},
			Slice{Lane: 2 * i, Kind: LaunchSlice, Start: 10, ID: 1}, Slice{Lane: 2*i + 1, Kind: KernelSlice, Name: "kernel", Start: 100, Duration: int64(3 + i), ID: 1})
	}
	p := &Profile{Timeline: timeline}
	p.Summarize()
	const want = "ROOT\n  scope 0 cpu_time (ns)=50\n    kernel time (ns)=3 count=1 [3 to 3]\n  scope 1 cpu_time (ns)=50\n    kernel time (ns)=4 count=1 [4 to 4]\n"
	if got := outline(p.Root); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// What is nested deeper than paths are made is counted.
func TestDeepNestingIsNoted(t *testing.T) {
	timeline := &Timeline{Lanes: []Lane{{}}}
	for i := range deepest + 30 {
		timeline.Slices = append(timeline.Slices, Slice{Name: "f", Start: int64(i), Duration: int64(5000 - 2*i)})
	}
	p := &Profile{Timeline: timeline}
	p.Summarize()
	if note := p.Info[InfoNote]; note != "29 slices are nested deeper than 1000 frames and stand below frame 1000" {
		t.Errorf("the note is %q", note)
	}
	frames, depth := 0, 0
	p.Root.Walk(func(n *Node, d int) bool { frames++; depth = max(depth, d); return true })
	if frames != deepest+2 || depth != deepest+1 {
		t.Errorf("%d frames, %d deep", frames, depth)
	}
}
