package hatchet

import (
	"bytes"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/profiletest"
)

func TestInsideRoundTrip(t *testing.T) { roundTrips(t, 300, profiletest.Instrument) }

func TestInsideInPieces(t *testing.T) { readInPieces(t, profiletest.Instrument) }

func instrumentedProfile() *profile.Profile {
	sketch := func(values ...uint64) *profile.Sketch {
		s := &profile.Sketch{}
		for _, v := range values {
			s.Add(v)
		}
		return s
	}
	load := &profile.Node{Name: "load", Inside: &profile.Inside{Scope: &profile.InsideScope{
		Cycles: 1000, Each: sketch(200, 300, 500), Sums: sketch(500, 500),
		ByWarp: []profile.InsideShare{{At: 0, Count: 2, Amount: 500}, {At: 1, Count: 1, Amount: 500}},
		BySM:   []profile.InsideShare{{At: 7, Count: 3, Amount: 1000}},
		Lines:  []profile.InsideLine{{File: "/src/k.py", Line: 12}},
	}}}
	load.Set(profile.CyclesMetric, profile.IntValue(1000))
	load.Set(profile.NormalizedCyclesMetric, profile.FloatValue(500))
	k := &profile.Node{Name: "matmul", Children: []*profile.Node{load}, Inside: &profile.Inside{Kernel: &profile.InsideKernel{
		Launches: 1, Blocks: 1, Warps: 2, AllWarps: 4, Nanos: 320, CopyNanos: 280, WarpNanos: 640, Cycles: 1267, CyclesOff: 4,
		Times: sketch(320), BySM: []profile.InsideShare{{At: 7, Count: 1, Amount: 320}},
		Builds: []profile.InsideBuild{{Mode: "default", Triton: "3.6.0", Arch: "90", Warps: 4, SlotSize: 384, Rings: 256}},
		Losses: profile.InsideLosses{Overwritten: 8, FullRings: 1, Need: 512},
	}}}
	return &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{k}}, Kinds: profile.Kinds{}}
}

func TestInsideAsItStands(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, instrumentedProfile()); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "testdata/inside.hatchet", out.Bytes())
}

func TestBrokenInside(t *testing.T) {
	var good bytes.Buffer
	if err := Compact(&good, instrumentedProfile()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{`[0,2,500]`, `[2,2,500]`, "inside of a node: number 1 comes after 2"},
		{`[0,2,500]`, `[0,2]`, "a share is [number, count, amount]"},
		{`[0,2,500]`, `[4294967296,2,1]`, "a share is [number, count, amount]"},
		{`["/src/k.py",12]`, `["/src/k.py"]`, "a line is [file, number]"},
		{`"events":0`, `"events":4`, "inside of a node: 3 times, of which 4 are events, of which another warp ended 0"},
		{`"each":{"count":3`, `"each":{"count":4`, "times of a node: the buckets count 3 values and count says 4"},
		{`"builds":[`, `"builds":[7,`, "expected"},
		{`"inside":{`, `"inside":[`, "expected"},
	} {
		text := strings.Replace(good.String(), c.from, c.to, 1)
		if text == good.String() {
			t.Fatalf("the file has no %s:\n%s", c.from, text)
		}
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %s", c.to, err, c.want)
		}
	}
}
