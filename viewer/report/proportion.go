package report

import (
	"fmt"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
)

// A page has a value for each of its metrics at each frame. Up to fewMetrics are always shown; more only as long as there are
// at most mostValues values. Real profiles have two dozen metrics, merged ones a few for each rank; a hostile file of 238 kB
// with 5,000 metrics and 5,000 frames took 2.9 GB.
const (
	fewMetrics = 64
	mostValues = 1 << 20
)

// inProportion leaves out the least important metrics if there are too many for profiles of that many frames, and adds a note.
// metrics are in order of importance.
func (b *builder) inProportion(metrics []viewer.Metric, profiles ...*profile.Profile) []viewer.Metric {
	frames := 0
	for _, p := range profiles {
		p.Root.Walk(func(*profile.Node, int) bool { frames++; return true })
	}
	most := max(fewMetrics, mostValues/frames)
	if len(metrics) <= most {
		return metrics
	}
	b.note(fmt.Sprintf("the page has %s of %s: more would make it too large for %s; proton viewer -m NAME shows any of them", figures.Grouped(most), figures.Count(len(metrics), "metric"), figures.Count(frames, "frame")))
	return metrics[:most]
}
