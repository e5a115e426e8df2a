package chrometrace

import (
	"io"

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
	l := layOut(p.Timeline)
	for _, lane := range p.Timeline.Lanes {
		t.Lane(lane)
	}
	for i := range p.Timeline.Slices {
		t.slice(&p.Timeline.Slices[i], l.row(int32(i)))
	}
	ids := p.Timeline.FlowIDs()
	for i, f := range p.Timeline.Flows {
		f.ID = ids[i]
		t.flow(f, l.rowAt(f.From, f.Start), l.rowAt(f.To, f.End))
	}
	for _, c := range p.Timeline.Counters {
		for _, point := range c.Points {
			t.Count(c.Name, c.Process, point)
		}
	}
	return t.Close()
}

// layout says which thread of its lane each slice is on: slices that overlap are on several.
type layout struct {
	t      *profile.Timeline
	slices map[int][]int32  // of each lane
	rows   map[int32]uint16 // of slices that are not on the first one
}

func layOut(t *profile.Timeline) *layout {
	l := &layout{t, lanes.ByLane(t), map[int32]uint16{}}
	for _, list := range l.slices {
		rows, _ := lanes.Rows(t, list, mostRows)
		for i := 1; i < len(rows); i++ {
			for _, s := range rows[i].Slices {
				l.rows[s] = uint16(i)
			}
		}
	}
	return l
}

func (l *layout) row(slice int32) int { return int(l.rows[slice]) }

// rowAt is the thread with the slice that an arrow touches.
func (l *layout) rowAt(lane int, at int64) int {
	slice, found := lanes.At(l.t, l.slices[lane], at)
	if !found {
		return 0
	}
	return l.row(slice)
}
