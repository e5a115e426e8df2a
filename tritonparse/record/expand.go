package record

import (
	"fmt"
	"time"

	"github.com/goproton/goproton/tritonparse"
)

// timestampForm is the form of TritonParse's times, with real microseconds and in UTC.
const timestampForm = "2006-01-02T15:04:05.000000Z"

// appendLaunch writes a launch record as TritonParse has it, with its line end.
func (d *dictionary) appendLaunch(out []byte, pid int, l launch) ([]byte, error) {
	t := d.template(l.template)
	if t == nil {
		return out, fmt.Errorf("%w: a launch of an unknown kernel", errDamaged)
	}
	kind := ""
	out = append(out, `{"event_type":"launch","pid":`...)
	out = appendInt(out, int64(pid))
	out = append(append(out, `,"name":`...), t.name...)
	out = append(out, `,"function":`...)
	out = d.appendFunction(out, l)
	out = append(out, `,"stream":`...)
	out = appendInt(out, l.stream)
	if l.flags&hasArguments != 0 {
		a, err := d.arguments(l, t.Args)
		if err != nil {
			return out, err
		}
		out = append(append(out, `,"grid":`...), a.grid...)
		out = append(append(out, `,"compilation_metadata":`...), t.metadata...)
		out = append(append(out, `,"extracted_args":`...), a.args...)
		inductor := t.inductor
		if l.flags&capturing != 0 {
			inductor = []byte("{}")
		}
		out = append(append(out, `,"extracted_inductor_args":`...), inductor...)
		kind = d.kind(l, func() string { return tritonparse.LaunchKind(t.Hash, a.grid, a.args) })
	}
	out = append(append(out, `,"stack":`...), d.stack(l.stack)...)
	out = append(out, `,"timestamp":"`...)
	out = time.Unix(0, l.nanos).UTC().AppendFormat(out, timestampForm)
	out = append(out, `","goproton":{`...)
	if kind != "" {
		out = append(append(append(out, `"launch":"`...), kind...), `",`...)
	}
	if l.device >= 0 {
		out = append(out, `"device":`...)
		out = append(appendInt(out, l.device), ',')
	}
	out = append(out, `"timestamp":{"ns":`...)
	out = appendInt(out, l.nanos)
	out = append(out, `,"sequence":`...)
	out = appendInt(out, int64(l.sequence))
	return append(out, "}}}\n"...), nil
}

func (d *dictionary) appendFunction(out []byte, l launch) []byte {
	switch {
	case l.flags&noFunction != 0:
		return append(out, "null"...)
	case l.flags&functionIsText != 0:
		return append(out, orElse(d.text(l.function), "null")...)
	}
	return appendUint(out, l.function)
}
