package lanes

import (
	"fmt"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// faults counts slices with times that cannot be: recorders lose the times of records, and have none for operations that have not ended.
type faults struct {
	left    int // without a time, and work without a duration: left out, since one of them would stretch the timeline over decades
	far     int // of these, with a time that is out of range
	endless int // other slices, whose duration is read as 0
}

const (
	year = 365 * 24 * 3600 * int64(1e9) // no two slices of one file are further apart, and none lasts longer
	day  = 24 * 3600 * int64(1e9)
	hour = 3600 * int64(1e9)
	ms   = int64(1e6)
)

// faulty handles the faults of an event, and says whether its slice is left out.
func (f *faults) faulty(e *Event, s *profile.Slice) bool {
	switch {
	case e.StartFault != NoFault, e.DurationFault != NoFault && s.IsWork():
		f.left++
		f.far += figures.OneIf[int](e.StartFault == OutOfRange)
		return true
	case e.DurationFault != NoFault:
		f.endless++
		s.Duration = 0
	}
	return false
}

// dropFaults takes out what other programs wrote of a time that is far from all others, or with a duration that cannot be. Work that took
// no time at 0 has no time, also in a file whose times count from the start of the machine.
func (b *Builder) dropFaults() {
	t := b.Profile.Timeline
	theirs := func(lane int) bool { return !b.lanes[lane].Described }
	first, last, longest, zeros := int64(FarAway), int64(-FarAway), int64(0), false
	for i := range t.Slices {
		if s := &t.Slices[i]; theirs(s.Lane) {
			first, last, longest = min(first, s.Start), max(last, s.Start), max(longest, s.Duration)
			zeros = zeros || isZero(s)
		}
	}
	for _, f := range t.Flows {
		if theirs(f.From) {
			first, last = min(first, f.Start, f.End), max(last, f.Start, f.End)
		}
	}
	if len(t.Slices) == 0 || last-first <= year && longest <= year && !zeros {
		return
	}
	middle := middleOf(t.Slices)
	away := func(at int64) bool { return at-middle > year || middle-at > year }
	zeros = zeros && (middle > hour || middle < -hour)
	before := len(t.Slices)
	t.Slices = slices.DeleteFunc(t.Slices, func(s profile.Slice) bool {
		return theirs(s.Lane) && (away(s.Start) || zeros && isZero(&s) || s.Duration > year && s.IsWork())
	})
	b.faults.left += before - len(t.Slices)
	for i := range t.Slices {
		if s := &t.Slices[i]; theirs(s.Lane) && s.Duration > year {
			s.Duration = 0
			b.faults.endless++
		}
	}
	t.Flows = slices.DeleteFunc(t.Flows, func(f profile.Flow) bool {
		return theirs(f.From) && (away(f.Start) || away(f.End) || zeros && isAt0(f.End))
	})
}

func isAt0(at int64) bool { return at < ms && at > -ms }

func isZero(s *profile.Slice) bool { return s.IsWork() && s.Duration == 0 && isAt0(s.Start) }

// middleOf is the median of the starts, of those that are not within a day of 0 if there are any: records without a time may be the most.
func middleOf(list []profile.Slice) int64 {
	var starts, others []int64
	for i := range list {
		starts = append(starts, list[i].Start)
		if at := list[i].Start; at > day || at < -day {
			others = append(others, at)
		}
	}
	if others != nil {
		starts = others
	}
	slices.Sort(starts)
	return starts[len(starts)/2]
}

// say notes what was left out or changed.
func (f *faults) say(p *profile.Profile) {
	if f.far > 0 && len(p.Timeline.Slices) == 0 {
		p.Note("all slices are left out, since their times are more than 73 years from 1970: times are in us in Chrome's format and in ns in Perfetto's; convert these if they are in another unit")
	} else if f.left > 0 {
		p.Note(fmt.Sprintf("%s left out, whose times cannot be: none, 0 or more than a year from those of the others, or without an end", figures.Plural(f.left, "slice is", "slices are")))
	}
	if f.endless > 0 {
		p.Note(fmt.Sprintf("%s a negative or endless duration, which is read as 0", figures.Plural(f.endless, "slice of the host has", "slices of the host have")))
	}
}
