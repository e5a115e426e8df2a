package msgpack

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

func TestLaunchesRoundTrip(t *testing.T) {
	for seed := range uint64(300) {
		p, want := profiletest.Random(seed), profiletest.Random(seed)
		profiletest.Launch(p, seed)
		profiletest.Launch(want, seed)
		profiletest.Reduce(want, profiletest.Valid, profiletest.ValidText)
		data := Encode(p)
		back, err := Decode(data)
		if err != nil {
			t.Fatalf("profile %d: %v", seed, err)
		}
		if got, want := profiletest.Text(back), profiletest.Text(want); got != want {
			t.Fatalf("profile %d: read back\n%s\nwant\n%s", seed, got, want)
		}
		if !bytes.Equal(Encode(back), data) {
			t.Fatalf("profile %d: a file that is read and written changes", seed)
		}
	}
}

// Whatever a byte is changed to, a file with launches is read or refused.
func TestLaunchesSurviveAnyByte(t *testing.T) {
	p := profiletest.Random(4)
	profiletest.Launch(p, 4)
	data := Encode(p)
	for i := range data {
		for _, b := range []byte{0, 1, 0x7f, 0x80, 0x9f, 0xcf, 0xdd, 0xff} {
			bad := bytes.Clone(data)
			bad[i] = b
			if back, err := Decode(bad); err == nil {
				Encode(back)
			}
		}
	}
}

func TestLaunchesOfAKindThatIsNotThere(t *testing.T) {
	p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Launches: []profile.LaunchTimes{{Kind: 1}}}, Launches: make([]profile.LaunchKind, 1)}
	_, err := Decode(Encode(p))
	if err == nil || !strings.Contains(err.Error(), `launches of kind 1, and the root's key "launch_kinds" has 1`) {
		t.Errorf("error %v", err)
	}
}
