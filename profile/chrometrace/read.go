package chrometrace

import (
	"errors"
	"io"
	"math"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/jsonscan"
	"github.com/goproton/goproton/profile/internal/lanes"
)

// Read reads a trace: its timeline, and the tree that it amounts to. A file that was cut off is read as far as it
// goes; Info then has profile.InfoIncomplete. A file that is not a trace is an error that names the byte.
//
// Memory is that of the timeline: about 200 bytes for a kernel with its arrow, whatever the length of its call
// path, which is kept once.
func Read(r io.Reader) (*profile.Profile, error) {
	d := newReader(r)
	for d.Err == nil && d.Peek() != 0 {
		d.document()
	}
	cutOff := int64(-1)
	if d.Err != nil {
		if !d.isCutOff() {
			return nil, d.Err
		}
		cutOff = d.Offset()
	}
	if !d.events {
		return nil, errors.New("byte 0: there are no trace events in it; give a .chrome_trace file that proton or Triton wrote")
	}
	d.lanes.joinParts()
	for _, l := range d.lanes.order {
		l.complete(d.ours, &d.lanes)
	}
	d.finishCounters()
	d.b.Profile.Rounded = d.Rounded
	if d.Odd > 0 {
		d.b.NoteOddTexts(d.Odd, d.FirstOdd)
	}
	return d.b.Finish(cutOff), nil
}

// isCutOff says whether the only error in a file is that it ends too early, and at least one slice was read.
func (d *reader) isCutOff() bool {
	var wrong *profile.FormatError
	cut := errors.Is(d.Err, io.ErrUnexpectedEOF) || errors.As(d.Err, &wrong) && wrong.Cut
	return cut && len(d.b.Profile.Timeline.Slices) > 0
}

// reader reads the events of one file.
type reader struct {
	*jsonscan.Scanner
	b      *lanes.Builder
	ours   bool // the file says that we wrote it
	events bool // there was a list of events
	lanes  laneReader
	flows  flowTable
	e      event // the one that is being read
	base   int64 // of the document, in ns

	counters []readCounter
}

func newReader(r io.Reader) *reader {
	b := lanes.NewBuilder()
	s := jsonscan.New(r)
	s.Lenient = true // torch writes names of its operators and files without escapes
	return &reader{Scanner: s, b: b, lanes: newLaneReader(b), flows: newFlowTable()}
}

// document reads one document: an object with events in traceEvents, or a list of events. Files of Triton 3.6.0 consist of
// several documents.
func (d *reader) document() {
	d.base = 0
	switch d.Peek() {
	case '[':
		d.eventList(false)
	case '{':
		d.Object("at the start of a trace", d.member)
	default:
		d.Unexpected("'{' or '[' at the start of a trace")
	}
	d.b.EndDocument(d.base) // the base may follow the events in the file
	d.endCounters()
}

// member reads one member of a document.
func (d *reader) member(key string) {
	switch key {
	case "traceEvents":
		d.eventList(true)
	case "baseTimeNanoseconds":
		d.base = int64(min(d.whole(), math.MaxInt64))
	case "otherData":
		d.facts()
	case "devices":
		d.deviceTable()
	case "deviceProperties":
		d.deviceProperties()
	case "metricKinds":
		d.kindTable()
	default:
		d.Skip(0)
	}
}

// eventList reads the events. A list that is the document needs no end: programs write to it until they stop.
func (d *reader) eventList(ends bool) {
	d.events = true
	d.Expect('[', "at the start of the events")
	for more := d.Begin(']'); more; more = d.moreEvents(ends) {
		if d.Peek() != '{' {
			d.Skip(0)
			continue
		}
		if d.readEvent(); d.Err == nil {
			d.take()
		}
	}
}

// moreEvents consumes what is between two events, or the end of the list. DFTracer writes no commas, and many writers one behind the last event.
func (d *reader) moreEvents(ends bool) bool {
	comma := d.Peek() == ',' && d.More(']')
	switch c := d.Peek(); {
	case d.Err != nil || c == 0 && d.Ended() && !ends:
		return false
	case c == ']':
		return d.Begin(']')
	}
	return comma || d.Peek() == '{' || d.More(']')
}
