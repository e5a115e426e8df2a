package run

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/replay"
)

// A mode that the recording has nothing for is taken back, with a sentence.
func TestReplayWithoutCounters(t *testing.T) {
	sums, lines, none := &replay.Replay{Counted: true}, &replay.Replay{Counted: true, ByLine: true}, &replay.Replay{}
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
		{sums, "", "", "to replay them, add --mode counters with the set= of the recorded run"},
		{none, "", "", ""},
		{lines, "", "", "add --mode counters:set=lines"},
		{lines, "counters:set=lines:first=2", "counters:set=lines:first=2", ""},
		{lines, "counters", "counters:set=lines", "was counted by source line: this is a replay with set=lines, not set=roofline"},
		{lines, "Counters:kernels=a::b*:Set=memory:first=2", "counters:set=lines:kernels=a::b*:first=2", "with set=lines, not set=memory"},
		{sums, "counters:set=lines:most=9", "counters:set=roofline:most=9", "was not counted by source line: this is a replay with set=roofline, not set=lines"},
	} {
		var config runinfo.Config
		config.Mode = c.mode
		got := strings.Join(leftOut(c.has, &config), "\n")
		if config.Mode != c.wantMode || (c.wantInOne == "") != (got == "") || !strings.Contains(got, c.wantInOne) {
			t.Errorf("%+v: mode %q, %q", c, config.Mode, got)
		}
	}
}
