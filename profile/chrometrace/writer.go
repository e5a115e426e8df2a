package chrometrace

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
)

// bufferSize is how many bytes are collected before a write. A Writer holds at most this and one event in memory. Each
// flush of a sealed trace writes the end of the document again, a few hundred bytes, which is little compared with this.
const bufferSize = 256 << 10

// Options are what a Writer may know of the run.
type Options struct {
	Process string       // what the viewers call the process; "Trace", as upstream says, if empty
	Info    profile.Info // facts of the run, kept in the file's otherData

	// Sealed says that the destination is a file of our own that can be sought in: then every write ends with the
	// end of the document, which the next one overwrites. A program killed at any time leaves a whole trace.
	Sealed bool
}

// Writer writes a timeline as it comes: it is a profile.TraceWriter. Nothing is allocated per slice or flow; a
// caller fills one Slice and hands it over again and again. It is not safe for concurrent use.
type Writer struct {
	w       io.Writer
	seeker  io.Seeker // not nil when sealed
	sealLen int64     // bytes at the end of the file to be overwritten
	buf     []byte
	base    int64
	process string
	events  bool // whether there is one already, for the comma
	closed  bool
	err     error
	lanes   laneTable
	devices []profile.Device
	kinds   profile.Kinds

	arguments lanes.Arguments // of the slice that is being written
}

// NewWriter starts a trace. Times in the file count from base, in ns since 1970: the start of the session is
// a good one, since no time may be negative: what began before base is shown from base on. With base 0 the file
// has no base, and a reader takes its times as they are. The options may be nil.
func NewWriter(w io.Writer, base int64, o *Options) *Writer {
	if o == nil {
		o = &Options{}
	}
	t := &Writer{w: w, base: base, process: cmp.Or(o.Process, "Trace"), lanes: newLaneTable(), buf: make([]byte, 0, bufferSize+4096)}
	if o.Sealed {
		var ok bool
		if t.seeker, ok = w.(io.Seeker); !ok {
			t.err = errors.New("write trace: a sealed trace needs a file that can be sought in")
		}
	}
	t.header(o.Info)
	return t
}

// header writes what comes before the events. The key of the format is the first of otherData, so that a reader recognises our
// files, also those that are cut off.
func (t *Writer) header(info profile.Info) {
	t.buf = append(t.buf, '{')
	if t.base != 0 {
		t.buf = append(t.buf, `"baseTimeNanoseconds":`...)
		t.buf = strconv.AppendInt(t.buf, t.base, 10)
		t.buf = append(t.buf, ',')
	}
	t.buf = append(t.buf, `"displayTimeUnit":"us","otherData":{"`+formatKey+`":"`+formatVersion+`"`...)
	for _, k := range slices.Sorted(maps.Keys(info)) {
		if k == formatKey {
			continue
		}
		t.buf = append(t.buf, ',')
		t.buf = jsontext.AppendString(t.buf, k)
		t.buf = append(t.buf, ':')
		t.buf = jsontext.AppendString(t.buf, info[k])
	}
	t.buf = append(t.buf, `},"traceEvents":[`...)
}

// Facts sets what stands at the end of the file: the devices that recorded something, and the kinds of the metrics.
// A collector knows them last; call it at any time before Close, again when they change.
func (t *Writer) Facts(devices []profile.Device, kinds profile.Kinds) {
	t.devices, t.kinds = devices, kinds
}

// event starts an event.
func (t *Writer) event(head string) {
	if t.events {
		t.buf = append(t.buf, ",\n"...)
	} else {
		t.events = true
		t.buf = append(t.buf, '\n')
	}
	t.buf = append(t.buf, head...)
}

// done ends an event and writes the buffer if it is full.
func (t *Writer) done() error {
	if len(t.buf) >= bufferSize {
		return t.Flush()
	}
	return t.err
}

// fail makes an error stick.
func (t *Writer) fail(err error) error {
	if t.err == nil {
		t.err = fmt.Errorf("write trace: %w", err)
	}
	return t.err
}

// Lane describes a lane; the first one of a process names the process too.
func (t *Writer) Lane(l profile.Lane) error {
	if t.err != nil {
		return t.err
	}
	w, newProcess, err := t.lanes.add(l)
	if err != nil {
		return t.fail(err)
	}
	if newProcess {
		name := cmp.Or(l.Process, t.process)
		id := w.rows[0].threadID
		t.meta("process_name", id)
		t.text(`"name":`, name)
		t.buf = append(t.buf, "}}"...)
		t.meta("process_sort_index", id)
		t.number(`"sort_index":`, int64(id.pid))
		t.buf = append(t.buf, "}}"...)
	}
	t.row(w, 0)
	return t.done()
}

// row describes one of the threads that a lane is shown as. All have its name and place in the order of threads.
func (t *Writer) row(w *writtenLane, row int) {
	first := w.rows[0].tid
	t.meta("thread_name", w.rows[row].threadID)
	t.text(`"name":`, laneName(&w.lane, first))
	t.laneFacts(&w.lane)
	if row > 0 {
		t.number(`,"`+overlapOf+`":`, int64(first))
	}
	t.buf = append(t.buf, "}}"...)
	t.meta("thread_sort_index", w.rows[row].threadID)
	t.number(`"sort_index":`, int64(first))
	t.buf = append(t.buf, "}}"...)
}

func (t *Writer) meta(name string, id threadID) {
	t.event(`{"ph":"M","name":"`)
	t.buf = append(t.buf, name...)
	t.buf = fmt.Appendf(t.buf, `","pid":%d,"tid":%d,"args":{`, id.pid, id.tid)
}

// laneFacts writes the facts of the lane, which only our reader reads.
func (t *Writer) laneFacts(l *profile.Lane) {
	if l.Process != "" {
		t.text(`,"process":`, l.Process)
	}
	if l.Kind == profile.ThreadLane {
		if l.Thread != 0 {
			t.number(`,"thread":`, l.Thread)
		}
		return
	}
	t.text(`,"device":`, l.Device)
	t.number(`,"context":`, int64(l.Context))
	t.number(`,"stream":`, int64(l.Stream))
}

// sliceHeads are the constant starts of slices.
var sliceHeads = func() (heads [len(lanes.Categories)]string) {
	for k, cat := range lanes.Categories {
		heads[k] = `{"ph":"X","cat":"` + cat + `","name":`
	}
	return heads
}()

// mostRows bounds the threads that a lane is shown as, and the search for one that is free. Streams need one or two.
const mostRows = 1024

// Slice writes one slice. On a lane of a GPU, slices may overlap: Perfetto leaves out a slice that overlaps the one before it on
// its thread, so it goes to another thread of the lane. Those of a CPU thread must nest, as calls do.
func (t *Writer) Slice(s *profile.Slice) error {
	return t.slice(s, -1)
}

// slice writes a slice on one of the threads of its lane; -1 is one where it has room.
func (t *Writer) slice(s *profile.Slice, row int) error {
	if t.err != nil {
		return t.err
	}
	lane := t.lanes.lanes[s.Lane]
	if lane == nil {
		return t.fail(fmt.Errorf("slice %q is on lane %d, which was not described before it", s.Name, s.Lane))
	}
	start, duration := t.since(s.Start, s.Duration)
	if row < 0 && lane.lane.Kind != profile.ThreadLane {
		row = lane.nest.Row(int64(min(start, math.MaxInt64)), int64(duration), mostRows)
	}
	row = max(row, 0)
	for row >= len(lane.rows) {
		if !t.lanes.addRow(lane) {
			row = len(lane.rows) - 1
			break
		}
		t.row(lane, len(lane.rows)-1)
	}
	lane.last, lane.lastRow = s.Start, row
	t.arguments.Of(s, duration)
	head := sliceHeads[t.arguments.Kind]
	if s.Kind == profile.ScopeSlice && len(s.Metrics) > 0 {
		head = `{"ph":"X","cat":"` + lanes.ScopeWithMetrics + `","name":`
	}
	t.event(head)
	t.buf = jsontext.AppendString(t.buf, s.Name)
	t.buf = append(t.buf, lane.rows[row].place...)
	t.buf = appendMicros(t.buf, start)
	t.buf = append(t.buf, `,"dur":`...)
	t.buf = appendMicros(t.buf, duration)
	t.args(&t.arguments)
	t.buf = append(t.buf, '}')
	return t.done()
}

// since turns a time into one after base. The part before base is cut off; a negative duration is none.
func (t *Writer) since(start, duration int64) (uint64, uint64) {
	length := uint64(max(duration, 0))
	if start >= t.base {
		return uint64(start) - uint64(t.base), length // also right where the signed difference would overflow
	}
	before := uint64(t.base) - uint64(start)
	return 0, length - min(before, length)
}

func (t *Writer) args(a *lanes.Arguments) {
	t.buf = append(t.buf, `,"args":{`...)
	start := len(t.buf)
	if len(a.Path) > 0 {
		t.buf = append(t.buf, `"`+lanes.CallStack+`":[`...)
		for _, frame := range a.Path {
			t.buf = append(jsontext.AppendString(t.buf, frame), ',')
		}
		t.buf[len(t.buf)-1] = ']'
		t.buf = append(t.buf, ',')
	}
	if a.ID != 0 {
		t.buf = append(t.buf, '"')
		t.buf = append(t.buf, a.IDName...)
		t.buf = append(t.buf, `":`...)
		t.buf = append(strconv.AppendUint(t.buf, a.ID, 10), ',')
	}
	if a.Launch != nil {
		t.buf = append(t.buf, `"`+lanes.LaunchID+`":`...)
		t.buf = append(jsontext.AppendString(t.buf, a.Launch.ID), ',')
		t.buf = append(t.buf, `"`+lanes.CompileHash+`":`...)
		t.buf = append(jsontext.AppendString(t.buf, a.Launch.Hash), ',')
	}
	if a.HasBytes {
		t.buf = append(t.buf, `"`+lanes.Bytes+`":`...)
		t.buf = append(strconv.AppendInt(t.buf, a.Bytes, 10), ',')
	}
	if a.HasRate {
		t.buf = append(t.buf, `"`+lanes.Rate+`":`...)
		t.buf = append(strconv.AppendFloat(t.buf, a.Rate, 'f', 3, 64), ',')
	}
	t.metrics(a.Metrics)
	if len(t.buf) == start {
		t.buf = t.buf[:start-len(`,"args":{`)]
		return
	}
	t.buf[len(t.buf)-1] = '}' // over the last comma
}

func (t *Writer) metrics(list []profile.Metric) {
	if len(list) == 0 {
		return
	}
	t.buf = append(t.buf, `"`+lanes.Metrics+`":{`...)
	for i := range list {
		t.buf = append(jsontext.AppendString(t.buf, list[i].Name), ':')
		t.buf = append(appendValue(t.buf, list[i].Value), ',')
	}
	t.buf[len(t.buf)-1] = '}'
	t.buf = append(t.buf, ',')
}

// Flow writes both ends of an arrow. Its ID must be the trace's only one, whatever process it is of: Perfetto takes
// arrows of one id for one that goes on. An arrow touches the last slice of a lane if it begins or ends where that slice starts.
func (t *Writer) Flow(f profile.Flow) error { return t.flow(f, -1, -1) }

// flow writes an arrow between the threads of two lanes; -1 is that of the last slice.
func (t *Writer) flow(f profile.Flow, fromRow, toRow int) error {
	if t.err != nil {
		return t.err
	}
	from, to := t.lanes.lanes[f.From], t.lanes.lanes[f.To]
	if from == nil || to == nil {
		return t.fail(fmt.Errorf("flow %d goes from lane %d to lane %d; one of them was not described before it", f.ID, f.From, f.To))
	}
	t.flowEnd(`{"ph":"s","cat":"flow","name":"launch->kernel"`, f.ID, f.Start, from.thread(fromRow, f.Start))
	t.flowEnd(`{"ph":"f","cat":"flow","name":"launch->kernel"`, f.ID, f.End, to.thread(toRow, f.End))
	return t.done()
}

// thread is where an arrow touches a lane.
func (w *writtenLane) thread(row int, at int64) *laneRow {
	switch {
	case row >= 0:
		return &w.rows[min(row, len(w.rows)-1)]
	case w.last == at:
		return &w.rows[w.lastRow]
	}
	return &w.rows[0]
}

// Count writes the value of a counter. Viewers draw the counters of a process above its threads.
func (t *Writer) Count(counter, process string, p profile.Point) error {
	if t.err != nil {
		return t.err
	}
	t.event(`{"ph":"C","name":`)
	t.buf = jsontext.AppendString(t.buf, counter)
	t.buf = fmt.Appendf(t.buf, `,"pid":%d,"ts":`, t.lanes.process(process))
	at, _ := t.since(p.At, 0)
	t.buf = appendMicros(t.buf, at)
	t.buf = append(t.buf, `,"args":{"`+lanes.Counted+`":`...)
	t.buf = strconv.AppendInt(t.buf, p.Value, 10)
	t.buf = append(t.buf, "}}"...)
	return t.done()
}

func (t *Writer) flowEnd(head string, id uint64, at int64, row *laneRow) {
	t.event(head)
	t.buf = append(t.buf, row.place...)
	start, _ := t.since(at, 0)
	t.buf = appendMicros(t.buf, start)
	t.buf = append(t.buf, `,"id":`...)
	t.buf = strconv.AppendUint(t.buf, id, 10)
	t.buf = append(t.buf, `,"bp":"e"}`...)
}

// Flush writes what is buffered.
func (t *Writer) Flush() error {
	if t.err != nil {
		return t.err
	}
	var end int64 // of what was written before
	if t.sealLen > 0 {
		var err error
		if end, err = t.seeker.Seek(-t.sealLen, io.SeekCurrent); err != nil {
			return t.fail(err)
		}
	}
	body := len(t.buf)
	if t.seeker != nil && !t.closed {
		t.trailer()
	}
	for int64(len(t.buf)) < t.sealLen { // nothing of a longer end may stick out
		t.buf = append(t.buf, '\n')
	}
	t.sealLen = 0
	if t.seeker != nil {
		t.sealLen = int64(len(t.buf) - body)
	}
	_, err := t.w.Write(t.buf)
	t.buf = t.buf[:0]
	if err != nil {
		if end > 0 {
			t.sealAt(end)
		}
		return t.fail(err)
	}
	return nil
}

// sealAt ends the document after the last write that succeeded. Most writes fail because the disk is full; bytes that the file
// has already can be overwritten even then. The rest of the failed write is cut off where the file allows it.
func (t *Writer) sealAt(end int64) {
	t.buf = append(t.buf, "\n]}\n"...) // the shortest end there is
	if _, err := t.seeker.Seek(end, io.SeekStart); err != nil {
		return
	}
	t.w.Write(t.buf)
	if file, ok := t.w.(interface{ Truncate(int64) error }); ok {
		file.Truncate(end + int64(len(t.buf)))
	}
	t.buf = t.buf[:0]
}

// Close ends the document and writes it all; it does not close the destination. A second Close does nothing.
func (t *Writer) Close() error {
	if t.closed {
		return t.err
	}
	t.trailer()
	t.closed = true
	return t.Flush()
}

// trailer ends the document.
func (t *Writer) trailer() {
	t.buf = append(t.buf, "\n]"...)
	t.deviceTable()
	t.kindTable()
	t.buf = append(t.buf, "}\n"...)
}
