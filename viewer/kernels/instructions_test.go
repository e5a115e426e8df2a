package kernels

import (
	"slices"
	"testing"

	"github.com/goproton/goproton/profile"
)

func TestMoreCallers(t *testing.T) {
	at := func(lines ...int) (frames []profile.SourceFrame) {
		for _, n := range lines {
			frames = append(frames, profile.SourceFrame{File: "f.py", Line: n})
		}
		return frames
	}
	for _, c := range []struct{ a, b, want []profile.SourceFrame }{
		{at(1), at(1, 2), at(1, 2)},
		{at(1, 2), at(1), at(1, 2)},
		{at(1), at(3, 2), at(1)}, // elsewhere
		{nil, at(1), at(1)},
	} {
		if got := moreCallers(c.a, c.b); !slices.Equal(got, c.want) {
			t.Errorf("%v and %v are %v, want %v", c.a, c.b, got, c.want)
		}
	}
}
