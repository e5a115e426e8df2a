// Package lanes is what the formats of timelines have in common: chrometrace, perfetto and speedscope contain only the
// syntax of their files.
//
// For reading, a Builder makes a profile from the events of a file, in any order. It knows the categories of events, keeps
// each call path once, and ends the slices that the file leaves open. For writing, Rows distributes slices that overlap, and
// Arguments lists what is written about a slice.
package lanes

import (
	"fmt"
	"slices"

	"github.com/goproton/goproton/profile"
)

// Builder collects the events of one file.
type Builder struct {
	Profile *profile.Profile // the reader sets its Info, Kinds and Rounded; the rest is the builder's
	Paths   Paths

	lanes      []*Lane
	launches   profile.LaunchKinds
	categories categoryTable
	slices     int // how many slices and arrows are complete
	flows      int

	endNames []string // of ends
	unpaired unpaired
}

// NewBuilder returns the builder of an empty profile.
func NewBuilder() *Builder {
	p := &profile.Profile{Info: profile.Info{}, Kinds: profile.Kinds{}, Timeline: &profile.Timeline{}}
	return &Builder{Profile: p, Paths: newPaths(), categories: newCategoryTable(), endNames: []string{""}}
}

// Lane is a lane while events are read. A file may describe it before or after the slices on it.
type Lane struct {
	profile.Lane       // as far as it is known; its ID counts the builder's lanes and is replaced at the end
	Described    bool  // the file is ours and says what the lane is; then it is kept even without slices
	Used         bool  // it has slices
	GPU          bool  // it has slices of kinds that only a GPU executes
	Continues    *Lane // the lane that its slices belong to, if that one is described; else nil

	marks []mark
	whole bool  // it has slices of known duration
	last  int64 // when something was last seen on it
}

// Event is what a file says of one slice.
type Event struct {
	Category, Name string
	Start          int64 // ns since 1970
	StartFault     TimeFault
	DurationFault  TimeFault
	Path           int32 // number of the call path in Builder.Paths
	ID             uint64
	Launch         profile.LaunchKind // without the kernel
	Metrics        []profile.Metric   // copied
	Bytes          profile.Value      // of a copy or memset
	HasBytes       bool
}

// TimeFault says why a time is not that of the file. The time of an event with a fault is the nearest one that there is.
type TimeFault uint8

// Of two faults the larger one says more.
const (
	NoFault    TimeFault = iota
	Negative             // of a duration, which is 0 instead
	OutOfRange           // more than FarAway from 1970, or longer
	NoTime               // not a number, or not in the file; of a duration only if it is in the file
)

// Set adds a metric unless the event has one of that name.
func (e *Event) Set(name string, v profile.Value) {
	if !slices.ContainsFunc(e.Metrics, func(m profile.Metric) bool { return m.Name == name }) {
		e.Metrics = append(e.Metrics, profile.Metric{Name: name, Value: v})
	}
}

// NewLane adds a lane.
func (b *Builder) NewLane() *Lane {
	l := &Lane{Lane: profile.Lane{ID: len(b.lanes)}}
	b.lanes = append(b.lanes, l)
	return l
}

// Slice adds a slice of known duration and returns what it is.
func (b *Builder) Slice(l *Lane, e *Event, duration int64) profile.SliceKind {
	cat := &b.categories.list[b.categories.of(e.Category)]
	cat.time = Plus(cat.time, duration)
	l.whole = true
	return b.slice(l, e, cat, duration)
}

func (b *Builder) slice(l *Lane, e *Event, cat *category, duration int64) profile.SliceKind {
	s := profile.Slice{
		Lane: l.ID, Kind: cat.kindOf(e.Name), Name: e.Name, Start: e.Start, Duration: duration, Path: b.Paths.Of(e.Path), ID: e.ID,
	}
	switch s.Kind {
	case profile.CopySlice, profile.FillSlice:
		if e.HasBytes {
			s.Metrics = append(s.Metrics, profile.Metric{Name: Bytes, Value: e.Bytes})
		}
		l.GPU = true
	case profile.KernelSlice:
		if e.Launch.ID != "" {
			e.Launch.Kernel = e.Name
			s.Launch = b.launches.Of(e.Launch)
		}
		l.GPU = true
	case profile.GraphSlice:
		l.GPU = true
	}
	s.Metrics = append(s.Metrics, e.Metrics...)
	l.Used, l.last = true, max(l.last, e.Start+duration)
	b.Profile.Timeline.Slices = append(b.Profile.Timeline.Slices, s)
	return s.Kind
}

// Flow adds an arrow between two lanes of the builder, by their IDs.
func (b *Builder) Flow(f profile.Flow) {
	b.Profile.Timeline.Flows = append(b.Profile.Timeline.Flows, f)
}

// mostDevices bounds the table; a machine has sixteen.
const mostDevices = 4096

// Device adds a device.
func (b *Builder) Device(d profile.Device) {
	if len(b.Profile.Devices) < mostDevices {
		b.Profile.Devices = append(b.Profile.Devices, d)
	}
}

// EndDocument ends the slices that a document leaves open, at the last time seen on their lane. It then adds base, the time
// in ns from which the document counts, to all times since the previous document.
func (b *Builder) EndDocument(base int64) {
	for _, l := range b.lanes {
		b.pair(l)
		l.last = 0
	}
	t := b.Profile.Timeline
	for ; b.slices < len(t.Slices); b.slices++ {
		t.Slices[b.slices].Start = Plus(t.Slices[b.slices].Start, base)
	}
	for ; b.flows < len(t.Flows); b.flows++ {
		f := &t.Flows[b.flows]
		f.Start, f.End = Plus(f.Start, base), Plus(f.End, base)
	}
}

// number writes the lanes of the profile: those that are described or used and do not continue another lane.
func (b *Builder) number() {
	t := b.Profile.Timeline
	places := make([]int, len(b.lanes))
	for i, l := range b.lanes {
		if (l.Described || l.Used) && !l.continues() {
			places[i] = len(t.Lanes)
			lane := l.Lane
			lane.ID = places[i]
			t.Lanes = append(t.Lanes, lane)
		}
	}
	if len(t.Lanes) == len(b.lanes) {
		return // every lane has kept its number
	}
	for i, l := range b.lanes {
		if l.continues() {
			places[i] = places[l.Continues.ID]
		}
	}
	for i := range t.Slices {
		t.Slices[i].Lane = places[t.Slices[i].Lane]
	}
	for i := range t.Flows {
		t.Flows[i].From, t.Flows[i].To = places[t.Flows[i].From], places[t.Flows[i].To]
	}
}

func (l *Lane) continues() bool {
	return l.Continues != nil && l.Continues.Described && l.Continues.Continues == nil
}

// nameProcesses removes the name of the process from lanes that other programs wrote, unless there are several processes.
func (b *Builder) nameProcesses() {
	first, several := "", false
	for _, l := range b.lanes {
		if l.Used && !l.Described {
			several = several || first != "" && l.Process != first
			first = l.Process
		}
	}
	for _, l := range b.lanes {
		if !several && !l.Described {
			l.Process = ""
		}
	}
}

// Finish returns the profile, with the tree that its timeline amounts to. cutOff is the byte at which a truncated file ends;
// -1 for a complete file.
func (b *Builder) Finish(cutOff int64) *profile.Profile {
	p := b.Profile
	b.nameProcesses()
	b.number()
	for _, note := range []string{b.categories.note(), b.unpaired.note(cutOff >= 0)} {
		if note != "" {
			p.Note(note)
		}
	}
	if cutOff >= 0 {
		p.Info[profile.InfoIncomplete] = fmt.Sprintf("the file is cut off at byte %d; slices that were read: %d; all totals are of these only", cutOff, len(b.Profile.Timeline.Slices))
	}
	p.Summarize()
	if len(p.Info) == 0 {
		p.Info = nil
	}
	return p
}

// Plus adds times in ns and stays within their range.
func Plus(a, b int64) int64 { return Near(a) + Near(b) }

// Near keeps a time within what can be added up.
func Near(time int64) int64 { return min(max(time, -FarAway), FarAway) }

// FarAway is further than any time is, 73 years, and leaves room for a sum of three.
const FarAway = 1 << 61
