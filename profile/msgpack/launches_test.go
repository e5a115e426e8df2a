package msgpack

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

func TestLaunchesRoundTrip(t *testing.T) { roundTrips(t, profiletest.Launch) }

// Whatever a byte is changed to, a file with launches is read or refused.
func TestLaunchesSurviveAnyByte(t *testing.T) { survivesAnyByte(t, profiletest.Launch) }

func TestLaunchesOfAKindThatIsNotThere(t *testing.T) {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Launches: []profile.LaunchTimes{{Kind: 1}}}, Launches: make([]profile.LaunchKind, 1)}
	_, err := Decode(Encode(p))
	if err == nil || !strings.Contains(err.Error(), `launches of kind 1, and the root's key "launch_kinds" has 1`) {
		t.Errorf("error %v", err)
	}
}
