package pprofile

import (
	"bytes"
	"compress/gzip"
	"maps"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
	"github.com/goproton/goproton/profile/merge"
)

// A file has the bytes that pprof's own encoder writes, although that has all stacks in memory: with inlined lines, ranks and short stacks too.
func TestWriteIsThatOfPprof(t *testing.T) {
	list := maps.Clone(examples(t))
	for _, name := range []string{"inside", "attention_sampled"} {
		packed, err := gzip.NewReader(strings.NewReader(testkit.Read(t, "../../viewer/testdata/recorded/"+name+".hatchet.gz")))
		if err != nil {
			t.Fatal(err)
		}
		if list[name], err = hatchet.Read(packed); err != nil {
			t.Fatal(err)
		}
	}
	list["two ranks"], list["inlined lines"] = twoRanks(), sampledProfile()
	inlined := 0
	for name, p := range list {
		pp, err := New(p)
		if err != nil {
			t.Fatal(err)
		}
		var got, want bytes.Buffer
		if err := pp.WriteUncompressed(&want); err != nil {
			t.Fatal(err)
		}
		if err := Write(&got, p); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s: %v, %d bytes, pprof writes %d", name, err, got.Len(), want.Len())
		}
		for _, l := range pp.Location {
			if len(l.Line) > 1 {
				inlined++
			}
		}
	}
	if inlined == 0 {
		t.Error("no example has inlined lines")
	}
}

// twoRanks is a merged profile.
func twoRanks() *profile.Profile {
	kernel := &profile.Node{Name: "gemm"}
	kernel.Set(merge.Column(profile.TimeMetric, "rank0"), profile.IntValue(5))
	kernel.Set(merge.Column(profile.TimeMetric, "rank1"), profile.IntValue(7))
	kernel.Set(profile.TimeMetric, profile.IntValue(12))
	return &profile.Profile{Root: &profile.Node{Name: "ROOT", Children: []*profile.Node{{Name: "step", Children: []*profile.Node{kernel}}}}}
}
