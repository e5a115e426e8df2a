package hatchet

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

func TestSamplesRoundTrip(t *testing.T) { roundTrips(t, 300, profiletest.Sample) }

// roundTrips writes random profiles with what add puts into them, and reads them.
func roundTrips(t *testing.T, seeds uint64, add func(*profile.Profile, uint64)) {
	t.Helper()
	for seed := range seeds {
		p, want := profiletest.Random(seed), profiletest.Random(seed)
		add(p, seed)
		add(want, seed)
		profiletest.Reduce(want, profiletest.Valid, profiletest.Finite)
		var pretty, compact, again bytes.Buffer
		if err := errors.Join(Write(&pretty, p), Compact(&compact, p)); err != nil {
			t.Fatal(err)
		}
		for _, form := range []*bytes.Buffer{&pretty, &compact} {
			back, err := Read(iotest.HalfReader(bytes.NewReader(form.Bytes())))
			if err != nil {
				t.Fatalf("profile %d: %v\n%s", seed, err, form)
			}
			if got, want := profiletest.Text(back), profiletest.Text(want); got != want {
				t.Fatalf("profile %d: read back\n%s\nwant\n%s\nfrom\n%s", seed, got, want, form)
			}
			again.Reset()
			if err := Write(&again, back); err != nil || again.String() != pretty.String() {
				t.Fatalf("profile %d: a file that is read and written changes (error %v):\n%s\nbecame\n%s", seed, err, pretty.String(), again.String())
			}
		}
		if !json.Valid(pretty.Bytes()) {
			t.Fatalf("profile %d is not JSON:\n%s", seed, pretty.String())
		}
	}
}

// A file that is read in pieces has samples in all of them, and the table in the last.
func TestSamplesInPieces(t *testing.T) { readInPieces(t, profiletest.Sample) }

func sampledProfile() *profile.Profile {
	line := func(n int, name string) profile.SourceFrame {
		return profile.SourceFrame{File: "/src/k.py", Line: n, Func: name}
	}
	k := &profile.Node{Name: "matmul", Samples: []profile.FunctionSamples{{PCs: []profile.PCSamples{
		{Offset: 16, Stalls: []profile.Stall{{Reason: 0, Samples: 9, NotIssued: 4}, {Reason: 1, Samples: 3}}},
		{Offset: 48, Stalls: []profile.Stall{{Reason: 0, Samples: 1}}},
	}}}}
	p := &profile.Profile{
		Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{k}}, Kinds: profile.Kinds{},
		Sampling: &profile.Sampling{
			Mode: "continuous", Period: 65536, Reasons: []string{"long_scoreboard", "selected"}, Total: 13, Apportioned: 2,
			Functions: []profile.SampledFunction{{Name: "matmul", Module: "00c0ffee00000000", Index: 7, Arch: "90", Size: 640, Registers: 64,
				Places: []profile.Place{
					{Offset: 16, Frames: []profile.SourceFrame{line(12, "matmul")}},
					{Offset: 48, Frames: []profile.SourceFrame{line(3, "cdiv"), line(12, "matmul")}},
				}}},
		},
	}
	p.AddLines()
	return p
}

func TestSamplesAsTheyStand(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, sampledProfile()); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/samples.hatchet", out.Bytes())
}

func TestBrokenSamples(t *testing.T) {
	var good bytes.Buffer
	if err := Compact(&good, sampledProfile()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{`"samples":[[0,16`, `"samples":[[1,16`, `samples of frame "matmul" are of function 1, and the root's key "sampling" has 1`},
		{`"samples":[[0,16,2,0,9,4,1`, `"samples":[[0,16,2,0,9,4,2`, `have reason 2, and the root's key "sampling" has 2`},
		{`"samples":[[0,16,2`, `"samples":[[0,16,9`, "samples of a function: it ends within an instruction"},
		{`"samples":[[0,16,2,0,9,4`, `"samples":[[0,16,2,0,9,10`, "0, 9, 10 are not the number of a stall reason, its samples and those of them not issued"},
		{`48,1,0,1,0]]`, `16,1,0,1,0]]`, "offset 16 does not follow offset 16"},
		{`"samples":[[0`, `"samples":[[-1`, "expected a whole number of at least 0"},
		{`"samples":[[0`, `"samples":[[`, "expected"},
		{`"places":[16,1,48`, `"places":[16,0,48`, `places of function "matmul": there is no frame 0`},
		{`"frames":[0,12,1,0`, `"frames":[0,12,1,1`, "sampling: frame 1 names a missing text or caller"},
		{`"frames":[0,12,1,0`, `"frames":[9,12,1,0`, "sampling: frame 1 names a missing text or caller"},
		{`"samples":[[0,16,2,0,9,4,1,3`, `"samples":[[0,16,2,0,4611686018427387904,4,1,4611686018427387904`, "the samples or counts of instructions come to 9.22e+18, more than any run counts"},
		{`"sampling":{`, `"was":{`, `and the root's key "sampling" has 0`},
	} {
		if !strings.Contains(good.String(), c.from) {
			t.Fatalf("%s is not in %s", c.from, good.String())
		}
		_, err := Read(strings.NewReader(strings.Replace(good.String(), c.from, c.to, 1)))
		var bad *profile.FormatError
		if !errors.As(err, &bad) || !strings.Contains(bad.Reason, c.want) {
			t.Errorf("%s: got %v, want %s", c.to, err, c.want)
		}
	}
}
