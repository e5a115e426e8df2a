package merge

import (
	"fmt"

	"github.com/goproton/goproton/profile"
)

// timelineUnion puts the lanes of all sources below each other, numbered anew. Times stay what they are: ns since
// 1970 on each host's own clock.
type timelineUnion struct {
	all     profile.Timeline
	flows   uint64         // ids in use
	sources map[string]int // how many have a name
}

func (u *timelineUnion) add(t *profile.Timeline, s Source) {
	if u.sources == nil {
		u.sources = map[string]int{}
	}
	source := s.name()
	if u.sources[source]++; u.sources[source] > 1 { // equal names do not make two processes one
		source += fmt.Sprintf(" (%d)", u.sources[source])
	}
	within := func(name string) string {
		if name == "" {
			return source
		}
		return source + "/" + name
	}
	lanes := make(map[int]int, len(t.Lanes))
	for _, l := range t.Lanes {
		lanes[l.ID] = len(u.all.Lanes)
		l.ID = len(u.all.Lanes)
		l.Process = within(l.Process)
		u.all.Lanes = append(u.all.Lanes, l)
	}
	largest := uint64(0)
	renumber := func(id *uint64) {
		if largest = max(largest, *id); *id != 0 {
			*id += u.flows
		}
	}
	for _, slice := range t.Slices {
		slice.Lane = lanes[slice.Lane]
		renumber(&slice.ID)
		u.all.Slices = append(u.all.Slices, slice)
	}
	for _, f := range t.Flows {
		f.From, f.To = lanes[f.From], lanes[f.To]
		renumber(&f.ID)
		u.all.Flows = append(u.all.Flows, f)
	}
	u.flows += largest
	for _, c := range t.Counters {
		c.Process = within(c.Process)
		u.all.Counters = append(u.all.Counters, c)
	}
}

func (u *timelineUnion) result() *profile.Timeline {
	if len(u.all.Lanes) == 0 {
		return nil
	}
	return &u.all
}
