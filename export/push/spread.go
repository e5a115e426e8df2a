package push

import (
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"strconv"
	"time"

	"github.com/goproton/goproton/export/spool"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/msgpack"
)

// longestSpread is enough for the ranks of any job, and no window of a day waits for hours: servers refuse windows that are old.
const longestSpread = 5 * time.Minute

// SpreadOf is the time over which the windows of all processes are spread that have this length and end at the same moment. It
// is at most half of the length, so that each window is sent before the next one ends.
func SpreadOf(length time.Duration) time.Duration { return min(max(length, 0)/2, longestSpread) }

// delays are how long windows wait, by name. The length of a window stands in its file, which is read once: the sender of a spool sends
// for processes whose windows have other lengths than those of its own program.
type delays map[string]delay

type delay struct {
	end time.Time // of the window
	of  time.Duration
}

// recent reports whether a window that ended at that time may have to wait. If the clock was set back meanwhile, no window has
// to.
func recent(end time.Time) bool {
	waited := time.Since(end)
	return waited >= 0 && waited < longestSpread
}

// over reports whether a window has waited as long as it has to.
func (d delays) over(e *spool.Entry) bool {
	if !recent(e.End) {
		return true // without reading it: after a long failure of the server, thousands wait
	}
	known, is := d[e.Name]
	if !is {
		known = delay{e.End, share(e.PID, SpreadOf(lengthOf(e.Path)))}
		d[e.Name] = known
	}
	return time.Since(e.End) >= known.of
}

// forget forgets the windows that need no delay any more, most of which are sent.
func (d delays) forget() {
	maps.DeleteFunc(d, func(_ string, of delay) bool { return !recent(of.end) })
}

// share is a part of a time that differs between processes and hosts, and is the same for all windows of a process.
func share(pid int, of time.Duration) time.Duration {
	if of <= 0 {
		return 0
	}
	host, _ := os.Hostname()
	h := fnv.New64a()
	fmt.Fprint(h, host, pid)
	return time.Duration(h.Sum64() % uint64(of))
}

// lengthOf reads how long a window is; 0 where the file does not say it, so that it is sent at once, and counted if it is damaged.
func lengthOf(path string) time.Duration {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	p, err := msgpack.Decode(text)
	if err != nil {
		return 0
	}
	begin, beginErr := strconv.ParseInt(p.Info[profile.InfoStart], 10, 64)
	end, endErr := strconv.ParseInt(p.Info[profile.InfoWindowEnd], 10, 64)
	if beginErr != nil || endErr != nil {
		return 0
	}
	return time.Duration(end - begin)
}
