// Package lanes is what the formats of timelines have in common: chrometrace, perfetto and speedscope contain only the
// syntax of their files.
//
// For reading, a Builder makes a profile from the events of a file, in any order. It knows the categories of events, keeps
// each call path once, and ends the slices that the file leaves open. For writing, Rows distributes slices that overlap, and
// Arguments lists what is written about a slice.
package lanes

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// Builder collects the events of one file.
type Builder struct {
	Profile *profile.Profile // the reader sets its Info, Kinds and Rounded; the rest is the builder's
	Paths   Paths
	Async   int // events that are left out because they lie on no thread

	lanes      []*Lane
	processes  map[string]string // names, by id
	launches   profile.LaunchKinds
	categories categoryTable
	faults     faults
	slices     int // how many slices and arrows are complete
	flows      int

	endNames []string // of ends
	unpaired unpaired
}

// NewBuilder returns the builder of an empty profile.
func NewBuilder() *Builder {
	p := &profile.Profile{Info: profile.Info{}, Kinds: profile.Kinds{}, Timeline: &profile.Timeline{}}
	return &Builder{Profile: p, Paths: newPaths(), processes: map[string]string{}, categories: newCategoryTable(), endNames: []string{""}}
}

// Lane is a lane while events are read. A file may describe it before or after the slices on it.
type Lane struct {
	profile.Lane         // as far as it is known; its ID counts the builder's lanes and is replaced at the end
	Described    bool    // the file is ours and says what the lane is; then it is kept even without slices
	Used         bool    // it has slices
	GPU          bool    // it has slices of kinds that only a GPU executes
	Nests        bool    // only slices without others within them are work
	In           Process // in a file of another program, whose lanes get their profile.Lane.Process by it

	continues *Lane    // the lane that its slices belong to; else nil
	calls     callKind // the surest of its slices

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
	Call           bool               // the file says that it is a call of a vendor's library
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
	if e.StartFault == NoFault && e.DurationFault == NoFault {
		cat.time = Plus(cat.time, duration)
	}
	l.whole = true
	return b.slice(l, e, cat, duration)
}

func (b *Builder) slice(l *Lane, e *Event, cat *category, duration int64) profile.SliceKind {
	s := profile.Slice{
		Lane: l.ID, Kind: cat.kindOf(e), Name: e.Name, Start: e.Start, Duration: duration, Path: b.Paths.Of(e.Path), ID: e.ID,
	}
	if b.faults.faulty(e, &s) {
		return s.Kind
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
	l.Used, l.calls, l.last = true, max(l.calls, callKindOf(&s)), max(l.last, s.Start+s.Duration)
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

// number writes the lanes of the profile: those that are described or used and do not continue another one.
func (b *Builder) number() {
	t := b.Profile.Timeline
	places := make([]int, len(b.lanes))
	for i, l := range b.lanes {
		if (l.Described || l.Used) && l.continues == nil {
			places[i] = len(t.Lanes)
			lane := l.Lane
			lane.ID = places[i]
			t.Lanes = append(t.Lanes, lane)
		}
	}
	if len(t.Lanes) == len(b.lanes) {
		return // every lane has kept its number
	}
	for i := range t.Slices {
		t.Slices[i].Lane = places[t.Slices[i].Lane]
	}
	for i := range t.Flows {
		t.Flows[i].From, t.Flows[i].To = places[t.Flows[i].From], places[t.Flows[i].To]
	}
}

// Continue has the slices of a lane belong to another one, unless that one continues a lane too.
func (l *Lane) Continue(first *Lane) {
	if l == first || first.continues != nil {
		return
	}
	if id := first.ID; l.GPU && !first.GPU && !first.Described { // its slices say which GPU it is
		l.Name = cmp.Or(first.Name, l.Name)
		first.Lane = l.Lane
		first.ID = id
	}
	first.Name = cmp.Or(first.Name, l.Name)
	l.continues, first.GPU, first.calls, first.Used = first, first.GPU || l.GPU, max(first.calls, l.calls), first.Used || l.Used
}

// join moves the slices and arrows of lanes that continue others.
func (b *Builder) join() {
	to := func(lane int) int {
		if first := b.lanes[lane].continues; first != nil {
			return first.ID
		}
		return lane
	}
	if !slices.ContainsFunc(b.lanes, func(l *Lane) bool { return l.continues != nil }) {
		return
	}
	t := b.Profile.Timeline
	for i := range t.Slices {
		t.Slices[i].Lane = to(t.Slices[i].Lane)
	}
	for i := range t.Flows {
		t.Flows[i].From, t.Flows[i].To = to(t.Flows[i].From), to(t.Flows[i].To)
	}
}

// NameProcess says what the file calls a process.
func (b *Builder) NameProcess(id, name string) { b.processes[id] = name }

// Finish returns the profile, with the tree that its timeline amounts to. cutOff is the byte at which a truncated file ends;
// -1 for a complete file.
func (b *Builder) Finish(cutOff int64) *profile.Profile {
	p := b.Profile
	b.join()
	b.dropFaults()
	b.faults.say(p)
	b.findDevices()
	b.unnest()
	b.assign()
	for _, note := range []string{b.categories.note(), b.unpaired.note(cutOff >= 0), b.likeDevice(), b.noteAsync()} {
		if note != "" {
			p.Note(note)
		}
	}
	b.number()
	if cutOff >= 0 {
		p.Info[profile.InfoIncomplete] = fmt.Sprintf("the file is cut off at byte %d; slices that were read: %d; all totals are of these only", cutOff, len(b.Profile.Timeline.Slices))
	}
	p.Summarize()
	if len(p.Info) == 0 {
		p.Info = nil
	}
	return p
}

func (b *Builder) noteAsync() string {
	if b.Async == 0 {
		return ""
	}
	return figures.Plural(b.Async, "asynchronous event is left out: it lies on no thread", "asynchronous events are left out: they lie on no thread")
}

// NoteOddTexts says how many characters of texts are not those of the file's format, and where the first is.
func (b *Builder) NoteOddTexts(n int, first int64) {
	b.Profile.Note(fmt.Sprintf("texts have %s that JSON does not allow in them (control characters, backslashes that escape nothing) and that are read as they are, the first at byte %d",
		figures.Count(n, "character"), first))
}

// Plus adds times in ns and stays within their range.
func Plus(a, b int64) int64 { return Near(a) + Near(b) }

// Near keeps a time within what can be added up.
func Near(time int64) int64 { return min(max(time, -FarAway), FarAway) }

// FarAway is further than any time is, 73 years, and leaves room for a sum of three.
const FarAway = 1 << 61
