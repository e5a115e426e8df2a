package idle

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/goproton/goproton/profile"
)

// nested is a thread of slices within slices, each of which launches a kernel, with call paths as our files have them, in one piece of
// memory, or without.
func nested(depth int, paths bool) *profile.Timeline {
	t := &profile.Timeline{Lanes: []profile.Lane{{ID: 0}, {ID: 1, Kind: profile.StreamLane, Device: "0"}}}
	path := []string{"ROOT"}
	for i := range depth {
		path = append(path, fmt.Sprint("frame ", i%7))
		at, id := int64(10*i), uint64(i+1)
		scope := profile.Slice{Name: path[i+1], Start: at, Duration: int64(20*depth) - at}
		launch := profile.Slice{Kind: profile.LaunchSlice, Name: "cuLaunchKernel", Start: at + 2, Duration: 3, ID: id}
		kernel := profile.Slice{Kind: profile.KernelSlice, Lane: 1, Name: "kernel", Start: at + 6, Duration: 5, ID: id}
		if paths {
			scope.Path, launch.Path, kernel.Path = path, path, path
		}
		t.Slices = append(t.Slices, scope, launch, kernel)
	}
	for i := range t.Slices {
		if paths {
			t.Slices[i].Path = path[:i/3+2]
		}
	}
	return t
}

// allocated is how many bytes a function allocates in all.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestMemoryIsLinear: trees and idle times of slices within slices take memory for each slice, not for each slice times its depth.
func TestMemoryIsLinear(t *testing.T) {
	for _, paths := range []bool{false, true} {
		for _, depth := range []int{1000, 9000} {
			timeline := nested(depth, paths)
			for name, do := range map[string]func(){
				"the tree":       func() { (&profile.Profile{Timeline: timeline}).Summarize() },
				"the idle times": func() { Find(timeline, 100) },
			} {
				const most = 1000
				if got := allocated(do) / uint64(3*depth); got > most {
					t.Errorf("%s of %d scopes within each other (paths %v) take %d bytes for each slice, want at most %d", name, depth, paths, got, most)
				} else {
					t.Logf("%s of %d scopes within each other (paths %v) take %d bytes for each slice", name, depth, paths, got)
				}
			}
		}
	}
}

// What is printed of paths grows with them, and is written piece by piece.
func TestJSONOfDeepPathsIsWrittenInPieces(t *testing.T) {
	const depth = 1000
	p := &profile.Profile{Timeline: nested(depth, false)}
	r := Find(p.Timeline, 1000)
	var w largest
	if err := WriteJSON(&w, p); err != nil {
		t.Fatal(err)
	}
	if w.all < depth*depth || w.most > w.all/20 {
		t.Errorf("%d causes in %d bytes, of which up to %d at once", len(r.Causes), w.all, w.most)
	}
}

// largest counts what is written, and the largest piece of it.
type largest struct{ most, all int }

func (l *largest) Write(b []byte) (int, error) {
	l.most, l.all = max(l.most, len(b)), l.all+len(b)
	return io.Discard.Write(b)
}
