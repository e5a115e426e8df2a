package run

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/replay"
)

// A replay has the set that was recorded, and a mode that the recording has nothing for is taken back, with a sentence.
func TestReplayAsRecorded(t *testing.T) {
	sums, lines, none := &replay.Replay{Counted: true, Set: "agent"}, &replay.Replay{Counted: true, ByLine: true, Set: "lines"}, &replay.Replay{}
	unnamed := &replay.Replay{Counted: true} // of AMD's library
	for _, c := range []struct {
		has       *replay.Replay
		mode      string
		wantMode  string
		wantInOne string
	}{
		{none, "counters:set=dram_read", "", "the capture has no hardware counters"},
		{none, "pcsampling:interval=64", "", "the capture has no samples of instructions: kernels are shown with their times alone"},
		{&replay.Replay{Sampled: true}, "pcsampling:interval=64", "pcsampling:interval=64", ""},
		{sums, "counters:set=dram_read", "counters:set=dram_read", ""},
		{sums, "", "counters:set=agent", ""},
		{sums, "counters:first=2", "counters:set=agent:first=2", ""},
		{sums, "pcsampling", "", "to replay them, add --mode counters"},
		{unnamed, "", "", "to replay them, add --mode counters"},
		{unnamed, "counters:first=2", "counters:set=roofline:first=2", ""},
		{none, "", "", ""},
		{lines, "", "counters:set=lines", ""},
		{lines, "counters:set=lines:first=2", "counters:set=lines:first=2", ""},
		{lines, "counters", "counters:set=lines", ""},
		{lines, "Counters:kernels=a::b*:Set=memory:first=2", "counters:set=lines:kernels=a::b*:first=2", "with set=lines, not set=memory"},
		{sums, "counters:set=lines:most=9", "counters:set=agent:most=9", "was not counted by source line: this is a replay with set=agent, not set=lines"},
	} {
		var config runinfo.Config
		config.Mode = c.mode
		got := strings.Join(asRecorded(c.has, &config), "\n")
		if config.Mode != c.wantMode || (c.wantInOne == "") != (got == "") || !strings.Contains(got, c.wantInOne) {
			t.Errorf("%+v: mode %q, %q", c, config.Mode, got)
		}
	}
	for _, session := range []runinfo.Session{{Data: "timeline"}, {PM: "1ms"}, {Budget: "1%"}} { // without counters of launches
		config := runinfo.Config{Session: session}
		if got := asRecorded(sums, &config); config.Mode != "" || len(got) != 1 {
			t.Errorf("%+v: mode %q, %q", session, config.Mode, got)
		}
	}
}
