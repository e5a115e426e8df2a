package replay

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// dump returns a capture as text, one line per event. Handles are small numbers in the order of their appearance, so that the
// dumps of two recordings of one program can be compared.
func (c *Capture) dump() string {
	d := dumper{capture: c, handles: map[uint64]int{0: 0}}
	for _, e := range c.Events {
		d.event(e)
	}
	if !c.Whole {
		fmt.Fprintln(&d.out, "the capture ends early")
	}
	return d.out.String()
}

type dumper struct {
	capture *Capture
	handles map[uint64]int
	out     strings.Builder
}

// handle names a pointer: #1, #2, …
func (d *dumper) handle(value uint64) string {
	n, seen := d.handles[value]
	if !seen {
		n = len(d.handles)
		d.handles[value] = n
	}
	return fmt.Sprintf("#%d", n)
}

func (d *dumper) event(e Event) {
	in := cursor{rest: e.Payload}
	text := d.describe(e.Type, &in)
	if in.short {
		text += " (cut short)"
	}
	fmt.Fprintf(&d.out, "%d %s\n", e.Thread, text)
}

func (d *dumper) describe(t Type, in *cursor) string {
	if t < ScopeEnter && d.capture.Machine.Backend != noBackend {
		return fmt.Sprintf("event %d of %s, %d bytes", t, d.capture.Machine.Backend, len(in.rest))
	}
	str := func() string { return fmt.Sprintf("%q", d.capture.text(in.number())) }
	switch t {
	case MachineOf:
		m := d.capture.Machine
		return fmt.Sprintf("machine: CUPTI %d, CUDA %d.%d, %s, %s", m.Tracer, m.Driver/1000, m.Driver%1000/10, m.Arch, m.Recorded.Format("2006-01-02"))
	case Device:
		return fmt.Sprintf("device %d: %s, compute capability %d.%d, %d SMs", in.number(), str(), in.number(), in.number(), in.number())
	case Callback:
		return d.callback(in)
	case Resource:
		return d.resource(in)
	case NVTX:
		return fmt.Sprintf("nvtx %d %s", in.number(), str())
	case Buffer:
		return d.buffer(in)
	case Answer:
		function, handle := in.number(), in.number()
		return fmt.Sprintf("answer %d for %s: result %d, %d", function, d.handle(handle), in.number(), in.number())
	case Cubin:
		return fmt.Sprintf("cubin %016x, %d bytes", in.number(), len(in.rest))
	case Reasons:
		return fmt.Sprintf("stall reasons, context %s: %d", d.handle(in.number()), in.number())
	case Samples:
		return d.samples(in)
	case Counters:
		text := fmt.Sprintf("counters of correlation %d, %s, %d passes:", in.number(), str(), in.number())
		for n := in.number(); n > 0 && !in.short; n-- {
			text += fmt.Sprintf("\n    %s %g", d.capture.text(in.number()), math.Float64frombits(in.number()))
		}
		return text
	case Lines:
		text := fmt.Sprintf("instructions of correlation %d, %s, module %016x with checksum %08x:", in.number(), str(), in.number(), in.number())
		for n := in.number(); n > 0 && !in.short; n-- {
			text += fmt.Sprintf("\n    function %d %s +%#x %s %d", in.number(), str(), in.number(), str(), in.number())
		}
		return text
	case ScopeEnter:
		return fmt.Sprintf("scope %s as %d.%d", str(), in.number(), in.number())
	case ScopeExit:
		return fmt.Sprintf("scope %d.%d ends", in.number(), in.number())
	case StateEnter:
		return "state " + str()
	case StateExit:
		return "state ends"
	case OpEnter:
		return fmt.Sprintf("op %s for %s", str(), d.handle(in.number()))
	case OpExit:
		return "op ends"
	case Metric:
		return fmt.Sprintf("metric %s %s", str(), value(in))
	case MetricAt:
		return fmt.Sprintf("metric at %d/%d/%d %s %s", in.number(), in.number(), in.number(), str(), value(in))
	case Leaf:
		return fmt.Sprintf("leaf is %d/%d/%d", in.number(), in.number(), in.number())
	case Python:
		var frames []string
		for n := in.number(); n > 0 && !in.short; n-- {
			frames = append(frames, d.capture.text(in.number()))
		}
		return "python " + strings.Join(frames, " > ")
	case Control:
		return fmt.Sprintf("control %s %s", d.capture.text(in.number()), d.capture.text(in.number()))
	case Tag:
		return fmt.Sprintf("the next launch of %[2]s is of kind %[1]d", in.number(), d.handle(in.number()))
	case Inside:
		kernel := str()
		return fmt.Sprintf("scopes inside of a launch of %s, grid %d x %d x %d of %d, device %d, stream %d, correlation %d, %d bytes",
			kernel, in.number(), in.number(), in.number(), in.number(), in.number(), in.number(), in.number(), len(in.rest))
	case End:
		return fmt.Sprintf("end of %d events", in.number())
	}
	return fmt.Sprintf("unknown event %d, %d bytes", t, len(in.rest))
}

func value(in *cursor) string {
	const double = 2 // HP_DOUBLE
	if in.number() == double {
		return fmt.Sprint(math.Float64frombits(in.number()))
	}
	return fmt.Sprint(int64(in.number()))
}

func (d *dumper) callback(in *cursor) string {
	domain, cbid, site, corr := in.number(), in.number(), in.number(), in.number()
	context := d.handle(in.number())
	in.number() // the context's uid
	symbol, result := d.capture.text(in.number()), in.number()
	at := [...]string{"enter", "exit"}[site&1]
	if site == 1 {
		at += fmt.Sprintf(" = %d", result)
	}
	if symbol != "" {
		at += " " + symbol
	}
	in.number() // output
	in.bytes(in.number())
	in.bytes(in.number())
	return fmt.Sprintf("callback %d:%d %s, correlation %d, context %s", domain, cbid, at, corr, context)
}

func (d *dumper) resource(in *cursor) string {
	text := fmt.Sprintf("resource %d, context %s", in.number(), d.handle(in.number()))
	in.number() // handle
	switch in.number() {
	case 1:
		text += fmt.Sprintf(", module %d, %d bytes", in.number(), in.number())
		in.number()
	case 2:
		for _, what := range []string{"graph", "of graph", "node", "of node", "type", "dependency", "exec"} {
			n := in.number()
			if what == "type" {
				text += fmt.Sprintf(", type %d", n)
			} else if n != 0 {
				text += ", " + what + " " + d.handle(n)
			}
		}
	}
	return text
}

func (d *dumper) samples(in *cursor) string {
	text := fmt.Sprintf("samples, context %s: result %d, %d in all, %d dropped, %d not the program's, buffer full %d", d.handle(in.number()),
		in.number(), in.number(), in.number(), in.number(), in.number())
	for n := in.number(); n > 0 && !in.short; n-- {
		text += fmt.Sprintf("\n    module %016x function %d at %#x", in.number(), in.number(), in.number())
		text += fmt.Sprintf(" %s, correlation %d:", d.capture.text(in.number()), in.number())
		for stalls := in.number(); stalls > 0 && !in.short; stalls-- {
			text += fmt.Sprintf(" %d*%d", in.number(), in.number())
		}
	}
	return text
}

type shape struct{ kind, size, name uint64 }

func (d *dumper) buffer(in *cursor) string {
	in.number() // stream
	in.number() // size of the buffer
	shapes := map[uint64]shape{}
	for n := in.number(); n > 0 && !in.short; n-- {
		s := shape{in.number(), in.number(), in.number()}
		shapes[s.kind] = s
	}
	var lines []string
	for len(in.rest) >= 4 && !in.short {
		s, known := shapes[uint64(binary.LittleEndian.Uint32(in.rest))]
		if !known || s.size < 4 {
			in.short = true
			break
		}
		lines = append(lines, d.record(s, in.bytes(s.size)))
	}
	return fmt.Sprintf("buffer of %d records%s", len(lines), strings.Join(append([]string{""}, lines...), "\n    "))
}

// The fields of kernel records that every version has in the same place.
const (
	kernel, concurrentKernel = 3, 10
	startAt, endAt, corrAt   = 16, 24, 92
	graphNodeAt, graphAt     = 144, 156
)

func (d *dumper) record(s shape, b []byte) string {
	if (s.kind != kernel && s.kind != concurrentKernel) || len(b) < 160 || s.name+8 > uint64(len(b)) {
		return fmt.Sprintf("kind %d, %d bytes", s.kind, s.size)
	}
	le := binary.LittleEndian
	text := fmt.Sprintf("kernel %s, correlation %d, %d ns", d.capture.text(le.Uint64(b[s.name:])), le.Uint32(b[corrAt:]), le.Uint64(b[endAt:])-le.Uint64(b[startAt:]))
	if graph := le.Uint32(b[graphAt:]); graph != 0 {
		text += fmt.Sprintf(", graph %d node %d", graph, le.Uint64(b[graphNodeAt:]))
	}
	return text
}

func (c *cursor) bytes(n uint64) []byte {
	if n > uint64(len(c.rest)) {
		c.short = true
		return nil
	}
	b := c.rest[:n]
	c.rest = c.rest[n:]
	return b
}
