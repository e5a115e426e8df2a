package report

import (
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer/idle"
)

// idleTab is what the Idle tab shows: when GPUs had nothing to do, and what the launching threads did meanwhile. Times are in ns; those of
// gaps are since the first event of the timeline.
type idleTab struct {
	Devices []idleDevice `json:"devices"`
	Causes  []idleCause  `json:"causes"`
	Gaps    []idleGap    `json:"gaps"`
	More    int          `json:"more"`     // causes that are not on the page
	MoreFor int64        `json:"moreTime"` // and their idle time
	Means   []string     `json:"means"`    // of each doing
}

type idleDevice struct {
	Name   string `json:"name"`
	Wall   int64  `json:"wall"`
	Busy   int64  `json:"busy"`
	Idle   int64  `json:"idle"`
	Gaps   int    `json:"gaps"`
	Before int64  `json:"before"`
	After  int64  `json:"after"`
}

type idleCause struct {
	Device  int      `json:"device"`
	Doing   int      `json:"doing"`
	Path    []uint64 `json:"path"` // strings, without the root
	Time    int64    `json:"time"`
	Gaps    int      `json:"gaps"`
	Longest int64    `json:"longest"`
}

type idleGap struct {
	Device int      `json:"device"`
	From   int64    `json:"from"`
	To     int64    `json:"to"`
	Doing  int      `json:"doing"`
	Path   []uint64 `json:"path"`
	Part   int64    `json:"part"`
	Then   uint64   `json:"then"` // a string
}

const (
	maxIdleCauses = 200
	maxIdleGaps   = 100
)

// idleOf is the Idle tab's data; nil without a timeline of a GPU.
func (b *builder) idleOf(t *profile.Timeline) *idleTab {
	r := idle.Find(t, maxIdleGaps)
	if len(r.Devices) == 0 {
		return nil
	}
	tab := &idleTab{Causes: []idleCause{}, Gaps: []idleGap{}}
	for _, d := range r.Devices {
		tab.Devices = append(tab.Devices, idleDevice{clean(strings.TrimSpace(d.Process + " GPU " + d.ID)), d.Wall, d.Busy, d.Idle, d.Gaps, d.Before, d.After})
	}
	for i, c := range r.Causes {
		if i >= maxIdleCauses {
			tab.More++
			tab.MoreFor += c.Nanos
			continue
		}
		tab.Causes = append(tab.Causes, idleCause{c.Device, int(c.Doing), b.numbers(c.Path.Frames()), c.Nanos, c.Gaps, c.Longest})
	}
	for _, g := range r.Longest {
		tab.Gaps = append(tab.Gaps, idleGap{g.Device, g.Start - r.First, g.End() - r.First, int(g.Doing), b.numbers(g.Path.Frames()), g.Part, b.names.of(g.Then)})
	}
	for doing, means := range idle.Means {
		tab.Means = append(tab.Means, idle.Doing(doing).String()+": "+means)
	}
	return tab
}

// numbers are the strings of a path.
func (b *builder) numbers(path []string) []uint64 {
	frames := []uint64{}
	for _, name := range path {
		frames = append(frames, b.names.of(name))
	}
	return frames
}
