package chrometrace

import (
	"io"
	"slices"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
)

// Write writes a profile's timeline. Its first moment is the file's base.
func Write(w io.Writer, p *profile.Profile) error {
	if p.Timeline == nil {
		return profile.ErrNoTimeline
	}
	t := NewWriter(w, p.Timeline.First(), &Options{Process: p.Info[profile.InfoName], Info: p.Info})
	t.Facts(p.Devices, lanes.KindsOf(p))
	timeline := *p.Timeline
	timeline.Flows = slices.Clone(timeline.Flows)
	for i, id := range p.Timeline.FlowIDs() {
		timeline.Flows[i].ID = id
	}
	if err := timeline.WriteTrace(t); err != nil {
		return err
	}
	return t.Close()
}
