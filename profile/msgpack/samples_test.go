package msgpack

import (
	"bytes"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

func TestSamplesRoundTrip(t *testing.T) { roundTrips(t, profiletest.Sample) }

// roundTrips writes random profiles with what add puts into them, and reads them.
func roundTrips(t *testing.T, add func(*profile.Profile, uint64)) {
	t.Helper()
	for seed := range uint64(300) {
		p, want := profiletest.Random(seed), profiletest.Random(seed)
		add(p, seed)
		add(want, seed)
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

// Whatever a byte is changed to, a file with samples is read or refused.
func TestSamplesSurviveAnyByte(t *testing.T) { survivesAnyByte(t, profiletest.Sample) }

// survivesAnyByte changes every byte of a file with what add puts into it.
func survivesAnyByte(t *testing.T, add func(*profile.Profile, uint64)) {
	t.Helper()
	p := profiletest.Random(4)
	add(p, 4)
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
