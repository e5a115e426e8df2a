package inside

import (
	"fmt"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// Losses says what the records of scopes inside of kernels lack, one sentence for each reason. builds are the ways in which the kernels
// were compiled.
func Losses(l *profile.InsideLosses, builds []profile.InsideBuild) (sentences []string) {
	say := func(n uint64, format string, args ...any) {
		if n > 0 {
			sentences = append(sentences, fmt.Sprintf(format, args...))
		}
	}
	records := func(n uint64) string { return figures.Count(n, "record") }
	times := func(n uint64) string { return figures.Count(n, "time") }
	say(l.Overwritten, "%s found no room in %s and are missing, the oldest of each warp: %s",
		records(l.Overwritten), figures.Plural(l.FullRings, "ring", "rings"), moreRoom(l.Need, builds))
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

// moreRoom says how records find room. Shared memory may have none for them, whatever buffer_size says; GPU memory has.
func moreRoom(need uint64, builds []profile.InsideBuild) string {
	full := profile.InsideBuild{Mode: "default"}
	for _, b := range builds {
		if uint64(b.Rings) < need {
			full = b
			break
		}
	}
	name, options := Mode(full.Mode)
	had, where := "", "shared memory"
	mode, named := []string{name}, map[string]bool{}
	for _, o := range append(options, Option{"buffer_type", ""}, Option{"buffer_size", ""}) {
		if named[o.Name] {
			continue
		}
		named[o.Name] = true
		switch o.Name {
		case "buffer_type":
			if o.Value == "global" {
				where = "GPU memory"
			}
			o.Value = "global"
		case "buffer_size":
			o.Value = fmt.Sprint(need)
		}
		mode = append(mode, o.Name+"="+o.Value)
	}
	if full.Rings > 0 {
		had = fmt.Sprintf("those of a block had %s bytes of %s, and need %s: ", figures.Grouped(uint64(full.Rings)), where, figures.Grouped(need))
	}
	return had + "-m " + strings.Join(mode, ":") + " has room for all, in GPU memory"
}

// Option is an option of a mode of the instrumentation.
type Option struct{ Name, Value string }

// Mode takes a mode apart. Its options are those that are not as usual, as they can be given to -m.
func Mode(text string) (name string, options []Option) {
	name, rest, _ := strings.Cut(text, ":")
	for _, option := range strings.Split(rest, ":") {
		key, value, _ := strings.Cut(option, "=")
		if _, last, enum := strings.Cut(value, "."); enum { // as Python prints it
			value = last
		}
		if usual, known := usualOptions[key]; value != "" && !(known && usual == value) {
			options = append(options, Option{key, strings.ToLower(value)})
		}
	}
	return name, options
}

var usualOptions = map[string]string{
	"metric_type": "CYCLE", "sampling_strategy": "NONE", "granularity": "WARP", "buffer_strategy": "CIRCULAR", "buffer_type": "SHARED", "buffer_size": "0",
}
