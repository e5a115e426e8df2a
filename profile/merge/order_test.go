package merge_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
	"github.com/goproton/goproton/profile/merge"
)

// written is what a program reads and writes between two merges: the bytes of a file.
type written []byte

func write(t testing.TB, p *profile.Profile) written {
	t.Helper()
	var b bytes.Buffer
	if err := hatchet.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// merged is what proton merge writes of these files.
func merged(t testing.TB, by merge.By, sorted bool, files ...written) written {
	t.Helper()
	m, who := merge.New(merge.Options{Sorted: sorted}), merge.Identifier{By: by}
	for _, file := range files {
		p, err := hatchet.Read(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		s, err := who.Identify("a.hatchet", p)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Add(p, s); err != nil {
			t.Fatal(err)
		}
	}
	return write(t, m.Profile())
}

// window is what one rank recorded in one window: frames in any order, amounts, properties that differ, samples and launches.
func window(r *rand.Rand, rank, number int) *profile.Profile {
	host := fmt.Sprint("node", rank/4)
	device := fmt.Sprint(rank % 4)
	p := &profile.Profile{
		Root:    &profile.Node{Name: "ROOT"},
		Kinds:   profile.Kinds{"time (ns)": profile.Inclusive, "count": profile.Inclusive, "loss": profile.Exclusive, "dtype": profile.Property, "device_id": profile.Property, "device_type": profile.Property},
		Devices: []profile.Device{{Type: "CUDA", ID: device, Arch: "90", NumSMs: 132, Name: "NVIDIA H200"}},
		Info: profile.Info{profile.InfoHost: host, profile.InfoRank: fmt.Sprint(rank), profile.InfoPID: fmt.Sprint(1000 + rank), profile.InfoStart: fmt.Sprint(10 + number),
			profile.InfoEnd: fmt.Sprint(20 + 7*number%5), profile.InfoRestart: strings.Repeat("1", number%2), profile.InfoJob: "train"},
		Sampling: &profile.Sampling{Mode: "continuous", Period: 1024},
	}
	names := []string{"f", "g", "h"}
	reasons := []string{"stalled_wait", "selected", "stalled_barrier"}
	shuffle := func(s []string) { r.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] }) }
	shuffle(names)
	shuffle(reasons)
	for _, name := range names {
		p.Sampling.Functions = append(p.Sampling.Functions, profile.SampledFunction{Module: "m", Name: name, Arch: "sm_90"})
		p.Launches = append(p.Launches, profile.LaunchKind{ID: name, Hash: name, Kernel: name, PID: 7})
	}
	p.Sampling.Reasons = reasons
	nodes := []*profile.Node{p.Root}
	for range 30 {
		parent := nodes[r.IntN(len(nodes))]
		n := &profile.Node{Name: string(rune('a' + r.IntN(6)))}
		parent.Children = append(parent.Children, n)
		nodes = append(nodes, n)
		if r.IntN(4) == 0 {
			continue
		}
		n.Set("time (ns)", profile.IntValue(1+r.Int64N(1e6)))
		n.Set("count", profile.IntValue(1))
		n.Set("loss", profile.FloatValue(float64(r.IntN(64))/8))
		n.Set("dtype", profile.StringValue([]string{"fp16", "bf16", "fp8"}[r.IntN(3)]))
		n.Set("device_id", profile.StringValue(device))
		n.Set("device_type", profile.StringValue("CUDA"))
		n.Times = &profile.Sketch{}
		n.Times.Add(1 + r.Uint64N(1e10))
		for f := range 1 + r.IntN(2) {
			s := profile.FunctionSamples{Function: f, PCs: []profile.PCSamples{{Offset: uint64(r.IntN(3)) * 16, Stalls: []profile.Stall{{Reason: 0, Samples: 2}, {Reason: 2, Samples: 1}}}}}
			n.Samples = append(n.Samples, s)
			p.Sampling.Total += 3
		}
		n.Launches = []profile.LaunchTimes{{Kind: r.IntN(3), Device: rank % 4, Durations: profile.Durations{Count: 1, Nanos: 5, Least: 5, Most: 5}}}
	}
	return p
}

// TestAnyOrderAndGroupingGiveTheSameBytes: windows of ranks, cut into groups of groups in any order, merge to the bytes of all merged
// at once. This is what a reduce on many machines needs.
func TestAnyOrderAndGroupingGiveTheSameBytes(t *testing.T) {
	testTreesOfMerges(t, 7, true, func(r *rand.Rand, rest []written) (from, to int) {
		r.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		return 0, min(1+r.IntN(4), len(rest))
	})
}

// TestGroupingGivesTheSameBytes: without sorting, neighbours may be merged first, as in a tree of merges that keeps the order.
func TestGroupingGivesTheSameBytes(t *testing.T) {
	testTreesOfMerges(t, 8, false, func(r *rand.Rand, rest []written) (from, to int) {
		from = r.IntN(len(rest))
		return from, min(from+1+r.IntN(4), len(rest))
	})
}

// testTreesOfMerges replaces the files that pick chooses by what they merge to, until one is left, which has to be that of all at once.
func testTreesOfMerges(t *testing.T, stream uint64, sorted bool, pick func(r *rand.Rand, rest []written) (from, to int)) {
	t.Helper()
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, stream))
		var files []written
		for i := range 12 {
			files = append(files, write(t, window(r, i%9, i)))
		}
		for _, by := range []merge.By{merge.None, merge.ByRank, merge.ByHost} {
			want := merged(t, by, sorted, files...)
			rest := slices.Clone(files)
			for len(rest) > 1 {
				from, to := pick(r, rest)
				rest = slices.Replace(rest, from, to, merged(t, by, sorted, rest[from:to]...))
			}
			if !bytes.Equal(rest[0], want) {
				t.Fatalf("seed %d, by %q: a tree of merges gives\n%s\nand merging at once\n%s", seed, by, excerpt(rest[0], want), excerpt(want, rest[0]))
			}
		}
	}
}

// TestAllRanksInGroups: sets of many devices, whose names do not list them, merge again.
func TestAllRanksInGroups(t *testing.T) {
	var files, groups []written
	for rank := range 300 {
		p := window(rand.New(rand.NewPCG(1, 2)), rank, 0)
		files = append(files, write(t, p))
	}
	want := merged(t, merge.None, false, files...)
	for group := range slices.Chunk(files, 32) {
		groups = append(groups, merged(t, merge.None, false, group...))
	}
	if got := merged(t, merge.None, false, groups...); !bytes.Equal(got, want) {
		t.Fatalf("groups of 32 merge to\n%s\nand all at once to\n%s", excerpt(got, want), excerpt(want, got))
	}
	if !bytes.Contains(want, []byte("rank0:0…rank299:3 (300)")) {
		t.Error("the set of all devices has another name than expected")
	}
}

// excerpt is where a differs from b.
func excerpt(a, b []byte) []byte {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return a[max(0, at-200):min(len(a), at+200)]
}

// A device keeps its rank in a group of which no other rank launches kernels.
func TestGroupsWithOneRankOnADevice(t *testing.T) {
	var files []written
	for rank := range 4 {
		p := &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: "step"}}}, Kinds: profile.Kinds{"loss": profile.Exclusive},
			Info: profile.Info{profile.InfoRank: fmt.Sprint(rank)}}
		step := p.Root.Children[0]
		step.Set("loss", profile.IntValue(1))
		if rank == 1 || rank == 3 {
			step.Set(profile.DeviceIDMetric, profile.StringValue("0"))
			step.Set("device_type", profile.StringValue("CUDA"))
			p.Devices = []profile.Device{{Type: "CUDA", ID: "0", Arch: "90", NumSMs: 132}}
		}
		files = append(files, write(t, p))
	}
	want := merged(t, merge.None, true, files...)
	got := merged(t, merge.None, true, merged(t, merge.None, true, files[:2]...), merged(t, merge.None, true, files[2:]...))
	if !bytes.Equal(got, want) || !bytes.Contains(want, []byte("rank1:0,rank3:0")) {
		t.Errorf("in groups\n%s\nat once\n%s", got, want)
	}
}
