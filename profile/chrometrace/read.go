package chrometrace

import (
	"errors"
	"fmt"
	"io"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/jsonscan"
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
	d.end()
	d.sayUnknown()
	p := &profile.Profile{Info: d.info, Devices: d.devices, Kinds: d.kinds, Timeline: d.t, Rounded: d.Rounded}
	if d.Err != nil {
		reason := d.cutOff()
		if reason == "" {
			return nil, d.Err
		}
		p.Info[profile.InfoIncomplete] = reason
	}
	if !d.events {
		return nil, errors.New("byte 0: there are no trace events in it; give a .chrome_trace file that proton or Triton wrote")
	}
	p.Summarize()
	if len(p.Info) == 0 {
		p.Info = nil
	}
	return p, nil
}

// cutOff says where a file ends too early that holds something up to there; "" when that is not what is wrong.
func (d *reader) cutOff() string {
	var wrong *jsonscan.Error
	cut := errors.Is(d.Err, io.ErrUnexpectedEOF) || errors.As(d.Err, &wrong) && wrong.Cut
	if !cut || len(d.t.Slices) == 0 {
		return ""
	}
	return fmt.Sprintf("the file is cut off at byte %d; %d slices were read", d.Offset(), len(d.t.Slices))
}

// reader reads the events of one file.
type reader struct {
	*jsonscan.Scanner
	t       *profile.Timeline
	info    profile.Info
	devices []profile.Device
	kinds   profile.Kinds

	ours     bool // the file says that we wrote it
	events   bool // there was a list of events
	lanes    laneReader
	paths    pathTable
	flows    flowTable
	launches profile.LaunchKinds
	e        event            // the one that is being read
	base     int64            // of the document, in ns
	time     int64            // of all slices, in ns
	unknown  map[string]int64 // that of slices of unknown categories
	slices0  int              // first slice and flow of the document
	flows0   int
}

func newReader(r io.Reader) *reader {
	return &reader{
		Scanner: jsonscan.New(r), t: &profile.Timeline{}, info: profile.Info{}, kinds: profile.Kinds{},
		lanes: newLaneReader(), paths: newPathTable(), flows: newFlowTable(),
	}
}

// document reads one: an object with its events in traceEvents, or the events alone. 3.6.0's files have one after
// the other.
func (d *reader) document() {
	d.base, d.slices0, d.flows0 = 0, len(d.t.Slices), len(d.t.Flows)
	switch d.Peek() {
	case '[':
		d.eventList()
	case '{':
		d.Object("at the start of a trace", d.member)
	default:
		d.Unexpected("'{' or '[' at the start of a trace")
	}
	d.shift()
}

// member reads one member of a document.
func (d *reader) member(key string) {
	switch key {
	case "traceEvents":
		d.eventList()
	case "baseTimeNanoseconds":
		d.base = d.Scalar().Int()
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

// shift adds the document's base time to everything that was read. The base may follow the events in the file, so that
// it is added only at the end.
func (d *reader) shift() {
	if d.base == 0 {
		return
	}
	for i := d.slices0; i < len(d.t.Slices); i++ {
		d.t.Slices[i].Start = plus(d.t.Slices[i].Start, d.base)
	}
	for i := d.flows0; i < len(d.t.Flows); i++ {
		f := &d.t.Flows[i]
		f.Start, f.End = plus(f.Start, d.base), plus(f.End, d.base)
	}
}

// plus adds times and stays within their range.
func plus(a, b int64) int64 {
	return min(max(a, -farAway), farAway) + min(max(b, -farAway), farAway)
}

// farAway is further than any time is, 73 years, and leaves room for a sum of three.
const farAway = 1 << 61

func (d *reader) eventList() {
	d.events = true
	d.Expect('[', "at the start of the events")
	for more := d.Begin(']'); more; more = d.More(']') {
		if d.Peek() == ']' { // many writers leave a comma behind the last event
			d.Begin(']')
			return
		}
		if d.Peek() != '{' {
			d.Skip(0)
			continue
		}
		if d.readEvent(); d.Err == nil {
			d.take()
		}
	}
}

// end completes what the file left open.
func (d *reader) end() {
	d.lanes.closeAll(d.t)
	d.t.Lanes = d.lanes.describe(d.ours)
}
