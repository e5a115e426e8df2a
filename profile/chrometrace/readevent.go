package chrometrace

import (
	"math"
	"slices"
	"strconv"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/jsonscan"
	"github.com/goproton/goproton/profile/internal/lanes"
)

// event holds the members of one event that the reader uses.
type event struct {
	lanes.Event
	phase     byte
	pid, tid  ident
	duration  int64
	id        flowID
	shownName string // args.name of metadata
	counted   int64  // of a counter of ours
	counts    bool

	lane        profile.Lane // its arguments that describe the lane: device, context, stream, thread and process
	sawLaneFact bool
	overlaps    int64 // as of readLane
}

// ident is the id of a process or thread: a number, or a text in files of some writers, and of numbers beyond 63 bits, as hashes are.
type ident struct {
	number int64
	text   string
}

// readEvent reads one event into d.e.
func (d *reader) readEvent() {
	d.e = event{Event: lanes.Event{StartFault: lanes.NoTime, Metrics: d.e.Metrics[:0]}, overlaps: -1}
	d.members((*reader).eventKey)
}

// members reads an object. read returns the function that reads the value of a key. Any other value is skipped.
func (d *reader) members(read func(*reader, []byte) func(*reader)) {
	if d.Peek() != '{' {
		d.Skip(0)
		return
	}
	d.Expect('{', "")
	for more := d.Begin('}'); more; more = d.More('}') {
		value := read(d, d.Key())
		if d.Err != nil {
			return
		}
		value(d)
	}
}

// eventKey returns the function that reads the value of a key. A switch takes half the time of a map here.
func (d *reader) eventKey(key []byte) func(*reader) {
	switch string(key) {
	case "ph":
		return (*reader).phase
	case "name":
		return func(d *reader) { d.e.Name = d.text() }
	case "cat":
		return func(d *reader) { d.e.Category = d.text() }
	case "pid":
		return func(d *reader) { d.e.pid = d.ident() }
	case "tid":
		return func(d *reader) { d.e.tid = d.ident() }
	case "ts":
		return func(d *reader) { d.e.Start, d.e.StartFault = d.micros() }
	case "dur":
		return (*reader).length
	case "id":
		return func(d *reader) { d.e.id = d.flowID() }
	case "args":
		return func(d *reader) { d.members((*reader).argKey) }
	}
	return (*reader).skipValue
}

func (d *reader) skipValue() { d.Skip(0) }

func (d *reader) phase() {
	if text := d.text(); len(text) > 0 {
		d.e.phase = text[0]
	}
}

func (d *reader) argKey(key []byte) func(*reader) {
	switch string(key) {
	case lanes.CallStack:
		return (*reader).callStack
	case lanes.ScopeID, lanes.Correlation:
		return func(d *reader) { d.e.ID = d.whole() }
	case lanes.LaunchID:
		return func(d *reader) { d.e.Launch.ID = d.text() }
	case lanes.CompileHash:
		return func(d *reader) { d.e.Launch.Hash = d.text() }
	case lanes.Bytes:
		return func(d *reader) { d.e.Bytes, d.e.HasBytes = profile.IntValue(int64(d.whole())), true }
	case lanes.Metrics:
		return (*reader).metrics
	case lanes.Counted:
		return func(d *reader) { d.e.counted, d.e.counts = int64(d.whole()), true }
	case "name":
		return func(d *reader) { d.e.shownName = d.text() }
	case "device":
		return func(d *reader) { d.e.lane.Device, d.e.sawLaneFact = d.text(), true }
	case "context":
		return func(d *reader) { d.e.lane.Context = uint32(d.whole()) }
	case "stream":
		return func(d *reader) { d.e.lane.Stream = uint32(d.whole()) }
	case "thread":
		return func(d *reader) { d.e.lane.Thread = int64(d.whole()) }
	case overlapOf:
		return func(d *reader) { d.e.overlaps = int64(d.whole()) }
	case "process":
		return func(d *reader) { d.e.lane.Process = d.text() }
	}
	if ours := lanes.OurName(string(key)); ours != "" {
		return d.argKey([]byte(ours))
	}
	return (*reader).skipValue
}

// text reads a string, or a number as it is written; "" for anything else.
func (d *reader) text() string {
	switch c := d.Peek(); {
	case c == '"':
		return d.Intern(d.Str("a text"))
	case c == '-' || c >= '0' && c <= '9':
		return d.Intern(d.Token())
	}
	d.Skip(0)
	return ""
}

// ident reads a process or thread id.
func (d *reader) ident() ident {
	var token []byte
	switch c := d.Peek(); {
	case c == '{' || c == '[':
		d.Skip(0)
		return ident{}
	case c == '"':
		token = d.Str("an id")
	default:
		if n, ok := d.ShortInt(); ok {
			return ident{number: n}
		}
		start := d.Offset()
		token = d.Token()
		if len(token) == 0 {
			d.Unexpected("an id")
		} else if length, _ := jsontext.Number(token); length < len(token) && !slices.Contains(idWords, string(token)) {
			d.Fail(start, "expected a value, found %q", jsonscan.Clip(token))
		}
	}
	text := string(token)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return ident{number: n}
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(f) < 1<<53 && f == math.Trunc(f) {
		return ident{number: int64(f)} // tables of Python write 7.0
	}
	if text == "null" || text == "NaN" {
		return ident{}
	}
	return ident{text: d.Intern(token)}
}

// idWords may stand where a number is missing: JSON's and Python's.
var idWords = []string{"null", "NaN", "true", "false", "Infinity", "-Infinity"}

// whole reads a number that is not negative; 0 for anything else.
func (d *reader) whole() uint64 {
	switch d.Peek() {
	case '{', '[':
		d.Skip(0)
		return 0
	case '"':
		n, _ := strconv.ParseUint(string(d.Str("a number")), 10, 64)
		return n
	}
	start := d.Offset()
	token := d.Token()
	n, err := strconv.ParseUint(string(token), 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(string(token), 64)
		if err != nil && len(token) == 0 {
			d.Fail(start, "expected a number")
		}
		if f > 0 && f < math.MaxUint64 {
			n = uint64(f)
		}
	}
	return n
}

// metrics reads the metrics of a scope or kernel.
func (d *reader) metrics() {
	at := d.Offset()
	d.objects(func(name string) {
		v, ok := d.value()
		if !d.ours {
			name = d.metricKind(name)
		}
		if len(d.e.Metrics) >= profile.MaxMetrics {
			d.Fail(at, "more than %d metrics on one event", profile.MaxMetrics)
		}
		if ok {
			d.e.Set(name, v)
		}
	})
}

// callStack reads a call path.
func (d *reader) callStack() {
	if d.Peek() != '[' {
		d.Skip(0)
		return
	}
	at, path, err := d.Offset(), int32(0), error(nil)
	d.Array("", func() {
		var frame string
		if d.Peek() == '"' {
			text := d.Str("a frame")
			if same, found := d.b.Paths.Same(path, text); found {
				path = same
				return
			}
			frame = d.Intern(text)
		} else {
			frame = d.text()
		}
		if path, err = d.b.Paths.Child(path, frame); err != nil {
			d.Fail(at, "%v", err)
		}
	})
	d.e.Path = path
}
