package merge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

func onDevice(host, rank, id string, sms int64) *profile.Profile {
	p := leaf(profile.Metric{Name: "device_id", Value: profile.StringValue(id)}, profile.Metric{Name: "device_type", Value: profile.StringValue("CUDA")})
	p.Devices = []profile.Device{{Type: "CUDA", ID: id, Arch: "90", NumSMs: sms, ClockRate: 1980}}
	p.Info = profile.Info{}
	if host != "" {
		p.Info["host"] = host
	}
	if rank != "" {
		p.Info["rank"] = rank
	}
	return p
}

func TestDevicesOfSources(t *testing.T) {
	tests := []struct {
		name string
		in   []*profile.Profile
		node string // device_id of the one node
		all  string // the table
	}{
		{"runs on one machine", []*profile.Profile{onDevice("", "", "0", 132), onDevice("", "", "0", 132)}, "0", "0:132"},
		{"two devices of one process", []*profile.Profile{onDevice("a", "0", "0", 132), onDevice("a", "0", "1", 132)}, "0,1", "0:132 1:132 0,1:132"},
		{"ranks", []*profile.Profile{onDevice("a", "1", "0", 132), onDevice("a", "0", "0", 132), onDevice("b", "2", "0", 132)}, "rank0-2:0", "rank0:0:132 rank1:0:132 rank2:0:132 rank0-2:0:132"},
		{"ranks with a hole", []*profile.Profile{onDevice("a", "0", "0", 132), onDevice("a", "2", "0", 132)}, "rank0:0,rank2:0", "rank0:0:132 rank2:0:132 rank0:0,rank2:0:132"},
		{"hosts", []*profile.Profile{onDevice("a", "", "0", 132), onDevice("b", "", "0", 132)}, "a:0,b:0", "a:0:132 b:0:132 a:0,b:0:132"},
		{"ranks start over on each host", []*profile.Profile{onDevice("a", "0", "0", 132), onDevice("a", "1", "0", 132), onDevice("b", "0", "0", 132)}, "a.rank0:0,b.rank0:0,a.rank1:0", "a.rank0:0:132 b.rank0:0:132 a.rank1:0:132 a.rank0:0,b.rank0:0,a.rank1:0:132"},
		{"unequal parts", []*profile.Profile{onDevice("a", "0", "0", 132), onDevice("a", "1", "0", 114)}, "rank0-1:0", "rank0:0:132 rank1:0:114 rank0-1:0:0"},
		{"one ordinal, two parts", []*profile.Profile{onDevice("", "", "0", 132), onDevice("", "", "0", 114)}, "0,0#2", "0:114 0#2:132 0,0#2:0"},
	}
	for _, test := range tests {
		p := all(t, Options{}, None, test.in...)
		id, _ := p.Root.Metric("device_id")
		var table []string
		for _, d := range p.Devices {
			table = append(table, fmt.Sprintf("%s:%d", d.ID, d.NumSMs))
			if d.Arch != "90" || d.Type != "CUDA" {
				t.Errorf("%s: device %+v lost what its members share", test.name, d)
			}
		}
		if got := strings.Join(table, " "); id.Str() != test.node || got != test.all {
			t.Errorf("%s: ran on %q, want %q; table %s, want %s", test.name, id.Str(), test.node, got, test.all)
		}
		if p.Device("CUDA", id.Str()) == nil {
			t.Errorf("%s: the node's device %q is not in the table", test.name, id.Str())
		}
	}
}

func TestSetsOfManyDevicesHaveShortNames(t *testing.T) {
	var files []*profile.Profile
	for rank := range 1000 {
		files = append(files, onDevice("", fmt.Sprint(rank), fmt.Sprint(rank%8), 132))
	}
	p := all(t, Options{}, None, files...)
	id, _ := p.Root.Metric("device_id")
	if id.Str() != "rank0:0…rank999:7 (1000)" || p.Device("CUDA", id.Str()) == nil || len(p.Devices) != 1001 {
		t.Errorf("a thousand devices are called %q, table of %d", id.Str(), len(p.Devices))
	}
}

func TestTimelinesAreKeptApart(t *testing.T) {
	make := func() *profile.Profile {
		p := leaf()
		p.Timeline = &profile.Timeline{
			Lanes:  []profile.Lane{{ID: 7, Name: "GPU 0 Stream 7"}},
			Slices: []profile.Slice{{Lane: 7, Name: "k", ID: 5}, {Lane: 7, Name: "scope"}},
			Flows:  []profile.Flow{{ID: 5, From: 7, To: 7}},
		}
		return p
	}
	p := all(t, Options{Timeline: true}, ByRank, make(), make())
	got := fmt.Sprint(p.Timeline.Lanes, p.Timeline.Flows, p.Timeline.Slices[0].ID, p.Timeline.Slices[2].ID, p.Timeline.Slices[3].ID, p.Timeline.Slices[2].Lane)
	want := "[{0 0 GPU 0 Stream 7  0 0 0 rank0} {1 0 GPU 0 Stream 7  0 0 0 rank1}] [{5 0 0 0 0} {10 1 1 0 0}] 5 10 0 1"
	if got != want {
		t.Errorf("timeline %s, want %s", got, want)
	}
	a, b := make(), make()
	for _, p := range []*profile.Profile{a, b} { // two files of one rank are two processes
		p.Info = profile.Info{profile.InfoRank: "3"}
		p.Timeline.Counters = []profile.Counter{{Name: "allocated", Points: []profile.Point{{At: 1, Value: 2}}}}
	}
	p = all(t, Options{Timeline: true}, ByRank, a, b)
	if got := fmt.Sprint(p.Timeline.Lanes[0].Process, ", ", p.Timeline.Lanes[1].Process, p.Timeline.Counters); got != "rank3, rank3 (2)[{allocated rank3 [{1 2}]} {allocated rank3 (2) [{1 2}]}]" {
		t.Errorf("timeline %s", got)
	}
	if p := all(t, Options{}, ByRank, make()); p.Timeline != nil {
		t.Error("a timeline was kept without being asked for")
	}
}
