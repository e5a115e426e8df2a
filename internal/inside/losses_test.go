package inside

import (
	"strings"
	"testing"

	"github.com/goproton/goproton/profile"
)

func TestLossesAreSaid(t *testing.T) {
	l := profile.InsideLosses{
		Overwritten: 1234, FullRings: 1, Need: 16384, Starts: 2, Unknown: 1, Unsure: 3, Launches: 5, Unfinished: 1, Invalid: 2, Broken: 1, Torn: 9, NotStarted: 4,
	}
	want := `1,234 records found no room in 1 ring and are missing, the oldest of each warp: buffer_size=16384 has room for all
starts without an end: 2, ends without a start: 0: leave each scope on every path through the kernel
1 time of scopes that the kernel's table does not have, shown as scope_<id>
3 times may be too short by a multiple of 2^32 cycles, because blocks ran for more than a second: leave out clock32
the records of 5 launches came after their phase was written or cleared, and are in no file
1 block did not reach the end of the kernel: their records are missing
records of 2 blocks and 1 time contradict themselves and are left out: look for writes beyond the end of a buffer (compute-sanitizer)`
	if got := strings.Join(Losses(&l), "\n"); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := Losses(&profile.InsideLosses{Torn: 9, NotStarted: 4}); got != nil { // repaired, and usual
		t.Errorf("got %q", got)
	}
}
