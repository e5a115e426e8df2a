package merge

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

func TestSourcesOfFiles(t *testing.T) {
	tests := []struct {
		by         By
		file       string
		info       profile.Info
		label      string
		rank, host string
	}{
		{ByRank, "x.hatchet", profile.Info{"rank": "7", "host": "n1"}, "rank7", "7", "n1"},
		{ByRank, "out/train.rank03.hatchet", nil, "rank3", "3", ""},
		{ByRank, "train-rank_12.hatchet_msgpack", nil, "rank12", "12", ""},
		{ByRank, "RANK0.pb.gz", nil, "rank0", "0", ""},
		{ByRank, "train.r3.hatchet", nil, "rank3", "3", ""},
		{ByRank, "train.gpu-17.5.4242.hatchet", nil, "rank5", "5", "gpu-17"},
		{ByRank, "train.gpu-17.5.4242.hatchet.gz", nil, "rank5", "5", "gpu-17"},
		{ByRank, "train.gpu-17.5.4242", nil, "rank5", "5", "gpu-17"},
		{ByRank, "franks5.hatchet", nil, "rank0", "0", ""},
		{ByHost, "train.gpu-17.5.4242.hatchet", nil, "gpu-17", "5", "gpu-17"},
		{ByHost, "a.hatchet", profile.Info{"host": "n1 of a/b"}, "n1_of_a_b", "", "n1 of a/b"},
		{ByHost, "a.hatchet", nil, "host0", "", "host0"},
		{ByRun, "a.hatchet", nil, "run1", "", ""},
		{ByFile, "some/a b.hatchet", nil, "a_b", "", ""},
		{None, "train.rank3.hatchet", nil, "", "3", ""},
		{ByRank, "merged.hatchet", profile.Info{"merged": "8"}, "", "", ""},
	}
	for _, test := range tests {
		who := Identifier{By: test.by}
		s, err := who.Identify(test.file, &profile.Profile{Info: test.info})
		if err != nil || s.Label != test.label || s.Rank != test.rank || s.Host != test.host {
			t.Errorf("%s by %q is label %q rank %q host %q (%v), want %q %q %q", test.file, test.by, s.Label, s.Rank, s.Host, err, test.label, test.rank, test.host)
		}
	}
	if _, err := (&Identifier{By: "gpu"}).Identify("a", &profile.Profile{}); err == nil || !strings.Contains(err.Error(), "rank, host, run or file") {
		t.Errorf("by gpu: %v", err)
	}
}

func TestFilesOfOneNameAreKeptApart(t *testing.T) {
	var notes []string
	who := Identifier{By: ByFile, Note: func(n string) { notes = append(notes, n) }}
	for _, want := range []string{"p", "p-2", "p-3"} {
		s, err := who.Identify("run"+want+"/p.hatchet", &profile.Profile{})
		if err != nil || s.Label != want {
			t.Errorf("label %q %v, want %s", s.Label, err, want)
		}
	}
	if len(notes) != 2 {
		t.Errorf("notes %q, want two", notes)
	}
}
