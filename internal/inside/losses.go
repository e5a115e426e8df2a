package inside

import (
	"fmt"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// Losses says what the records of scopes inside of kernels lack, one sentence for each reason.
func Losses(l *profile.InsideLosses) (sentences []string) {
	say := func(n uint64, format string, args ...any) {
		if n > 0 {
			sentences = append(sentences, fmt.Sprintf(format, args...))
		}
	}
	records := func(n uint64) string { return figures.Count(n, "record") }
	times := func(n uint64) string { return figures.Count(n, "time") }
	say(l.Overwritten, "%s found no room in %s and are missing, the oldest of each warp: buffer_size=%d has room for all",
		records(l.Overwritten), figures.Plural(l.FullRings, "ring", "rings"), l.Need)
	say(l.Starts+l.Ends, "starts without an end: %s, ends without a start: %s: leave each scope on every path through the kernel",
		figures.Grouped(l.Starts), figures.Grouped(l.Ends))
	say(l.Unknown, "%s of scopes that the kernel's table does not have, shown as scope_<id>", times(l.Unknown))
	say(l.Unsure, "%s may be too short by a multiple of 2^32 cycles, because blocks ran for more than a second: leave out clock32", times(l.Unsure))
	say(l.Launches, "the records of %s came after their phase was written or cleared, and are in no file", figures.Count(l.Launches, "launch"))
	say(l.Unfinished, "%s did not reach the end of the kernel: their records are missing", figures.Count(l.Unfinished, "block"))
	say(l.Invalid+l.Missing+l.Broken, "records of %s and %s contradict themselves and are left out: look for writes beyond the end of a buffer (compute-sanitizer)",
		figures.Count(l.Invalid+l.Missing, "block"), times(l.Broken))
	return sentences
}
