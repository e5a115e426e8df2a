package inside

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

func TestLossesAreSaid(t *testing.T) {
	l := profile.InsideLosses{
		Overwritten: 1234, FullRings: 1, Need: 16384, Starts: 2, Unknown: 1, Unsure: 3, Launches: 5, Unfinished: 1, Invalid: 2, Broken: 1, Torn: 9, NotStarted: 4,
	}
	want := `1,234 records found no room in 1 ring and are missing, the oldest of each warp: -m default:buffer_type=global:buffer_size=16384 has room for all, in GPU memory
starts without an end: 2, ends without a start: 0: leave each scope on every path through the kernel
1 time of scopes that the kernel's table does not have, shown as scope_<id>
3 times may be too short by a multiple of 2^32 cycles, because blocks ran for more than a second: leave out clock32
the records of 5 launches came after their phase was written or cleared, and are in no file
1 block did not reach the end of the kernel: their records are missing
records of 2 blocks and 1 time contradict themselves and are left out: look for writes beyond the end of a buffer (compute-sanitizer)`
	if got := strings.Join(Losses(&l, nil), "\n"); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := Losses(&profile.InsideLosses{Torn: 9, NotStarted: 4}, nil); got != nil { // repaired, and usual
		t.Errorf("got %q", got)
	}
}

// What is advised can be given to -m as it is, is larger than what there was, and keeps the rest of the mode.
func TestMoreRoom(t *testing.T) {
	const selective = "default:metric_type=METRIC_TYPE.CYCLE:sampling_strategy=SAMPLING_STRATEGY.SELECTIVE:sampling_options=0,4,8:buffer_type=BUFFER_TYPE.%s:buffer_size=12288:optimizations=clock32,sched_stores"
	for _, c := range []struct {
		need   uint64
		builds []profile.InsideBuild
		want   string
	}{
		{12288, []profile.InsideBuild{{Mode: fmt.Sprintf(selective, "SHARED"), Rings: 12288}, {Mode: fmt.Sprintf(selective, "SHARED"), Rings: 6144}},
			"those of a block had 6,144 bytes of shared memory, and need 12,288: -m default:sampling_strategy=selective:sampling_options=0,4,8:buffer_size=12288:optimizations=clock32,sched_stores:buffer_type=global has room for all, in GPU memory"},
		{24576, []profile.InsideBuild{{Mode: fmt.Sprintf(selective, "GLOBAL"), Rings: 12288}},
			"those of a block had 12,288 bytes of GPU memory, and need 24,576: -m default:sampling_strategy=selective:sampling_options=0,4,8:buffer_type=global:buffer_size=24576:optimizations=clock32,sched_stores has room for all, in GPU memory"},
		{512, []profile.InsideBuild{{Mode: "default:buffer_size=256", Rings: 256}},
			"those of a block had 256 bytes of shared memory, and need 512: -m default:buffer_size=512:buffer_type=global has room for all, in GPU memory"},
		{512, []profile.InsideBuild{{Mode: "default", Rings: 0}}, "-m default:buffer_type=global:buffer_size=512 has room for all, in GPU memory"},
	} {
		if got := moreRoom(c.need, c.builds); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
