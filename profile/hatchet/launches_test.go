package hatchet

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

func TestLaunchesRoundTrip(t *testing.T) { roundTrips(t, 300, profiletest.Launch) }

// A file that is read in pieces has launches in all of them, and their kinds in the last.
func TestLaunchesInPieces(t *testing.T) { readInPieces(t, profiletest.Launch) }

func launchedProfile() *profile.Profile {
	times := &profile.Sketch{}
	for _, ns := range []uint64{9000, 9100, 9150} {
		times.Add(ns)
	}
	hash := strings.Repeat("0123456789abcdef", 4)
	k := &profile.Node{Name: "matmul", Launches: []profile.LaunchTimes{
		{Kind: 0, Durations: profile.Durations{Count: 3, Nanos: 27250, Least: 9000, Most: 9150, Times: times}},
		{Kind: 1, Device: 1, Durations: profile.Durations{Count: 1, Nanos: 51000, Least: 51000, Most: 51000}},
	}}
	k.Set("time (ns)", profile.IntValue(78250))
	k.Set("count", profile.IntValue(4))
	return &profile.Profile{
		Root:  &profile.Node{Name: "ROOT", Children: []*profile.Node{k}},
		Kinds: profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive},
		Info:  profile.Info{profile.InfoTrace: "traces"},
		Launches: []profile.LaunchKind{
			{ID: "00c0ffee00000000", Kernel: "matmul", Hash: hash, PID: 17, Function: 0x55d0_c0ff_ee00},
			{PID: 17},
		},
	}
}

func TestLaunchesAsTheyStand(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, launchedProfile()); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/launches.hatchet", out.Bytes())
}

func TestBrokenLaunches(t *testing.T) {
	var good bytes.Buffer
	if err := Compact(&good, launchedProfile()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{`"kind":1`, `"kind":2`, `launches of kind 2, and the root's key "launch_kinds" has 2`},
		{`"kind":1`, `"kind":-1`, "expected a whole number of at least 0"},
		{`"kind":1`, `"kind":4294967296`, "expected a whole number below 2147483648"},
		{`"max":9150,"min":9000`, `"max":8,"min":9000`, "launches of a node: the shortest took 9000 ns and the longest 8"},
		{`"count":3,"device"`, `"count":2,"device"`, "launches of a node: 2 launches have 3 times"},
		{`"launches":[`, `"launches":[7,`, "expected"},
		{`"launch_kinds":[`, `"launch_kinds":[7,`, "expected"},
	} {
		text := strings.Replace(good.String(), c.from, c.to, 1)
		if text == good.String() {
			t.Fatalf("the file has no %s", c.from)
		}
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.to, err, c.want)
		}
	}
}
