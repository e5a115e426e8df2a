package merge

import (
	"testing"

	"github.com/goproton/goproton/profile"
)

// TestUnnamedBoardIsTheSame: a profile of a version that did not record the board's name is of the same GPU.
func TestUnnamedBoardIsTheSame(t *testing.T) {
	named := profile.Device{Arch: "90", NumSMs: 132, Name: "NVIDIA H200"}
	unnamed, other := named, named
	unnamed.Name, other.Name = "", "NVIDIA H100 80GB HBM3"
	for _, c := range []struct {
		known, next profile.Device
		same        bool
	}{{named, unnamed, true}, {unnamed, named, true}, {named, named, true}, {named, other, false}, {named, profile.Device{Arch: "80"}, false}} {
		known := c.known
		if got := sameBoard(&known, c.next); got != c.same || c.same && known.Name != "NVIDIA H200" {
			t.Errorf("%+v and %+v: same %v, known as %q", c.known, c.next, got, known.Name)
		}
	}
}
