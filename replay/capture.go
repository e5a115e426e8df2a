package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/internal/version"
)

const magic = name + "\x01"

// name is how a capture of any version begins. The version follows.
const name = "PROTNCAP"

// maxSize is where unpacking stops. A million launches are about 400 MB; a file that unpacks to more is not a
// recording that is worth a replay.
const maxSize = 4 << 30

// ErrNotCapture is matched by the error for a file that is not a capture.
var ErrNotCapture = errors.New("no capture")

// Type is the kind of an event.
type Type uint8

// The kinds of events, numbered as in the file.
const (
	String     Type = 1
	MachineOf  Type = 2
	Device     Type = 3
	Callback   Type = 4
	Resource   Type = 5
	NVTX       Type = 6
	Buffer     Type = 7
	Answer     Type = 8
	Cubin      Type = 9
	Reasons    Type = 10
	Samples    Type = 11
	Request    Type = 12
	NodeOf     Type = 13
	Variable   Type = 14
	Synthetic  Type = 15
	ScopeEnter Type = 16
	ScopeExit  Type = 17
	StateEnter Type = 18
	StateExit  Type = 19
	OpEnter    Type = 20
	OpExit     Type = 21
	Metric     Type = 22
	MetricAt   Type = 23
	Leaf       Type = 24
	Python     Type = 25
	Control    Type = 26
	Tag        Type = 27
	TimeOf     Type = 28
	Writer     Type = 29
	Inside     Type = 30
	End        Type = 31
	Counters   Type = 32
	Lines      Type = 33
)

// Event is one thing that happened on one thread. Threads are numbered from 1 in order of appearance.
type Event struct {
	Type    Type
	Thread  int
	Time    uint64 // when it was written, in ns since 1970; 0 in captures that do not say
	Payload []byte
}

// Machine is where and with what a capture was made.
type Machine struct {
	Backend  string // the first name of the one that collected
	Tracer   uint32 // version of the library that it used, as cuptiGetVersion and rocprofiler_get_version count; of roctracer 401 is 4.1
	Driver   int    // 13000 is CUDA 13.0; 60342133 is HIP 6.3
	Library  string // path of the library that it used
	Recorded time.Time
	Arch     string // as uname -m
	Devices  []GPU
	Nodes    []Node // AMD: of the kernel driver's topology

	Synthetic bool // the driver was a fake: there was no GPU
}

// Node is a CPU or GPU as the kernel driver of AMD numbers them.
type Node struct {
	Number   int
	GPU      bool
	Domain   uint64 // of PCI
	Location uint64 // on PCI: bus, device and function
}

// GPU is one device of the machine. Clocks are in kHz, the bus width in bits.
type GPU struct {
	Ordinal                             int
	Name                                string
	Major, Minor, SMs                   int
	ClockRate, MemoryClockRate, BusBits int
	Arch                                string // AMD: as "gfx942:sramecc+:xnack-"
	Memory                              uint64 // AMD: bytes
}

// Capture is a recording.
type Capture struct {
	Machine Machine
	Writer  string   // name and version of the program that recorded, "" in captures that do not say
	Events  []Event  // all but strings, times and the writer
	Strings []string // by number; 0 is not a string
	Whole   bool     // false: the program was killed, or the file was cut off
}

// Open reads the capture in a file.
func Open(path string) (*Capture, error) {
	f, err := foreign.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open capture: %w; give the path of one, which a program leaves that runs with PROTON_RECORD=FILE", err)
	}
	defer f.Close()
	c, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("read capture %s: %w", path, err)
	}
	return c, nil
}

// Unpack returns a reader of the plain form of a capture that may be compressed. It ends with an error where the file
// unpacks to more than package inflate allows.
func Unpack(r io.Reader) (io.Reader, error) {
	file := &inflate.Counter{R: r}
	buffered := bufio.NewReader(file)
	head, err := buffered.Peek(2)
	if err != nil || !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return buffered, nil
	}
	z, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, fmt.Errorf("%w: it is not properly compressed: record it again", ErrNotCapture)
	}
	return &inflate.Bounded{R: z, File: file}, nil
}

// Read reads a capture, compressed or not. One that was cut off reads up to the cut.
func Read(r io.Reader) (*Capture, error) {
	plain, err := Unpack(r)
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(io.LimitReader(plain, maxSize))
	if errors.Is(err, inflate.ErrRatio) || errors.Is(err, foreign.ErrNoWriter) {
		return nil, err
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("unpack: %w; the file is damaged: record it again", err)
	}
	rest, ok := bytes.CutPrefix(all, []byte(magic))
	if !ok && len(all) > len(name) && bytes.HasPrefix(all, []byte(name)) {
		by := version.Newer(string(all[:min(len(all), 256)])) // its first event
		return nil, fmt.Errorf("version %d of the format, and this program reads version 1: %s", all[len(name)], cmp.Or(by, "install another GoProton, or record it again"))
	}
	if !ok {
		return nil, fmt.Errorf("%w: it does not begin as one; make one by running the program with PROTON_RECORD=FILE", ErrNotCapture)
	}
	c := &Capture{Machine: Machine{Backend: noBackend}, Strings: []string{""}}
	if err := c.readEvents(rest); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Capture) readEvents(rest []byte) error {
	var now uint64
	for len(rest) > 0 {
		in := cursor{rest: rest[1:]}
		e := Event{Type: Type(rest[0]), Thread: int(in.number()), Time: now}
		length := in.number()
		if in.short || length > uint64(len(in.rest)) {
			return nil // cut off
		}
		e.Payload, rest = in.rest[:length], in.rest[length:]
		if e.Thread < 0 || e.Thread > 65535 {
			return fmt.Errorf("event %d: thread %d: the file is damaged: record it again", len(c.Events), e.Thread)
		}
		switch e.Type {
		case String:
			c.Strings = append(c.Strings, string(e.Payload))
			continue
		case TimeOf:
			since := cursor{rest: e.Payload}
			now += since.number()
			continue
		case Writer:
			c.Writer = string(e.Payload)
			continue
		case End:
			c.Whole = true
		case MachineOf:
			c.readMachine(e)
		case Device:
			c.readDevice(e)
		case NodeOf:
			c.readNode(e)
		case Synthetic:
			c.Machine.Synthetic = true
		}
		c.Events = append(c.Events, e)
	}
	return nil
}

// noBackend is the backend of captures that name none.
const noBackend = "cupti"

// readMachine takes the first of the events that a program writes each time it attaches. AMD's driver may be loaded later.
func (c *Capture) readMachine(e Event) {
	in := cursor{rest: e.Payload}
	m := c.Machine
	m.Backend, m.Tracer, m.Driver, m.Library = noBackend, uint32(in.number()), int(in.number()), c.text(in.number())
	m.Recorded, m.Arch = time.Unix(int64(in.number()), 0).UTC(), c.text(in.number())
	if in.short {
		return
	}
	if len(in.rest) > 0 {
		m.Backend = c.text(in.number())
	}
	if c.Machine.Tracer == 0 || c.Machine.Driver == 0 {
		c.Machine = m
	}
}

func (c *Capture) readDevice(e Event) {
	in := cursor{rest: e.Payload}
	d := GPU{Ordinal: int(in.number()), Name: c.text(in.number())}
	for _, figure := range []*int{&d.Major, &d.Minor, &d.SMs, &d.ClockRate, &d.MemoryClockRate, &d.BusBits} {
		*figure = int(in.number())
	}
	if in.short {
		return
	}
	if len(in.rest) > 0 {
		d.Arch, d.Memory = c.text(in.number()), in.number()
	}
	c.Machine.Devices = append(c.Machine.Devices, d)
}

func (c *Capture) readNode(e Event) {
	in := cursor{rest: e.Payload}
	n := Node{Number: int(in.number()), GPU: in.number() != 0, Domain: in.number(), Location: in.number()}
	if !in.short && n.Number >= 0 && n.Number < 256 {
		c.Machine.Nodes = append(c.Machine.Nodes, n)
	}
}

// text is the string of a number, "" for none and for a number that is too large.
func (c *Capture) text(number uint64) string {
	if number >= uint64(len(c.Strings)) {
		return ""
	}
	return c.Strings[number]
}

// cursor reads a payload. Past its end everything is 0 and short is set.
type cursor struct {
	rest  []byte
	short bool
}

func (c *cursor) number() uint64 {
	var value uint64
	for shift := 0; shift < 64 && len(c.rest) > 0; shift += 7 {
		b := c.rest[0]
		c.rest = c.rest[1:]
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return value
		}
	}
	c.short = true
	return 0
}
