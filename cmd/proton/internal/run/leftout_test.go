package run

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/replay"
)

// A mode that the recording has nothing for is taken back, with a sentence.
func TestReplayWithoutCounters(t *testing.T) {
	for _, c := range []struct {
		counted   bool
		mode      string
		wantMode  string
		wantInOne string
	}{
		{false, "counters:set=dram_read", "", "the capture has no hardware counters"},
		{true, "counters:set=dram_read", "counters:set=dram_read", ""},
		{true, "", "", "to replay them, add --mode counters"},
		{false, "", "", ""},
	} {
		var config runinfo.Config
		config.Mode = c.mode
		got := strings.Join(leftOut(&replay.Replay{Counted: c.counted}, &config), "\n")
		if config.Mode != c.wantMode || (c.wantInOne == "") != (got == "") || !strings.Contains(got, c.wantInOne) {
			t.Errorf("%+v: mode %q, %q", c, config.Mode, got)
		}
	}
	if got := leftOut(&replay.Replay{Counted: true, ByLine: true}, &runinfo.Config{}); len(got) != 1 || !strings.HasSuffix(got[0], "add --mode counters:set=lines") {
		t.Errorf("of counts by line: %q", got)
	}
}
