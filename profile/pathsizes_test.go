package profile_test

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

func TestPathSizes(t *testing.T) {
	for _, c := range []struct {
		n, depth int
		name     string
		refused  bool
	}{
		{1, 9990, "k", false},                            // 100 MB
		{1, 9990, strings.Repeat("k", 100), true},        // 5 GB
		{100, 9990, "k", true},                           // 10 GB
		{20_000, 120, strings.Repeat("long ", 8), false}, // 6 GB of a file of 250 MB: as deep as call paths of Python are
		{1, 1000, strings.Repeat("k", 1000), false},      // a recursion in Python
	} {
		sizes := profile.PathSizes{What: "collapsed", Instead: "write .hatchet", Frame: 1, Names: true}
		for range c.n {
			for depth := range c.depth {
				sizes.Add(c.name, depth)
			}
		}
		err := sizes.Err()
		if (err != nil) != c.refused {
			t.Errorf("%d chains of %d: %v", c.n, c.depth, err)
		}
		if err != nil && !strings.Contains(err.Error(), "up to 9990 deep") {
			t.Error(err)
		}
	}
	// Every frame counts once, with the paths of its own branch only.
	sizes := profile.PathSizes{What: "x", Instead: "y", Frame: 1e6}
	for _, depth := range []int{0, 1, 2, 1, 1} {
		sizes.Add("", depth)
	}
	for depth := range 3000 {
		sizes.Add("", depth)
	}
	if err := sizes.Err(); err == nil || !strings.Contains(err.Error(), "those of 3005 frames, up to 3000 deep, would take 4501.5 GB; y") { // 1+2+3+2+2+1500*3001 MB
		t.Error(err)
	}
}
