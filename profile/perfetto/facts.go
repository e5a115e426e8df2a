package perfetto

import (
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
)

// The description of a track contains key="value" pairs for people and for our reader. The first word names their subject.
const (
	laneFact    = "lane"
	spillFact   = "overlap" // an additional track of a lane, for slices that overlap
	gpuFact     = "gpu"
	counterFact = "counter"
	processFact = "process"
)

// factList writes a description.
type factList []byte

func (f *factList) add(key, value string) {
	*f = append(append(append(*f, ' '), key...), '=')
	*f = strconv.AppendQuote(*f, value)
}

func (f *factList) number(key string, v int64) {
	if v != 0 {
		f.add(key, strconv.FormatInt(v, 10))
	}
}

// parseFacts calls fact for every pair of a description of ours; it returns the first word.
func parseFacts(text string, fact func(key, value string)) string {
	word, rest, _ := strings.Cut(text, " ")
	for rest != "" {
		key, quoted, found := strings.Cut(rest, "=")
		value, err := strconv.QuotedPrefix(quoted)
		if !found || err != nil {
			return word
		}
		rest = strings.TrimPrefix(quoted[len(value):], " ")
		if text, err := strconv.Unquote(value); err == nil {
			fact(key, text)
		}
	}
	return word
}

var laneKinds = [...]string{profile.ThreadLane: "thread", profile.GraphLane: "graph", profile.StreamLane: "stream", profile.WarpLane: "warp"}

func describeLane(l *profile.Lane) string {
	f := factList(laneFact)
	if int(l.Kind) < len(laneKinds) {
		f.add("kind", laneKinds[l.Kind])
	}
	f.add("name", l.Name)
	if l.Device != "" {
		f.add("device", l.Device)
	}
	f.number("context", int64(l.Context))
	f.number("stream", int64(l.Stream))
	f.number("thread", l.Thread)
	if l.Process != "" {
		f.add("process", l.Process)
	}
	return string(f)
}

func describeCounter(c *profile.Counter) string {
	f := factList(counterFact)
	f.add("name", c.Name)
	if c.Process != "" {
		f.add("process", c.Process)
	}
	return string(f)
}

func readCounter(c *profile.Counter, key, value string) {
	switch key {
	case "name":
		c.Name = value
	case "process":
		c.Process = value
	}
}

func readLane(l *profile.Lane, key, value string) {
	number, _ := strconv.ParseInt(value, 10, 64)
	switch key {
	case "kind":
		for kind, name := range laneKinds {
			if name == value {
				l.Kind = profile.LaneKind(kind)
			}
		}
	case "name":
		l.Name = value
	case "device":
		l.Device = value
	case "context":
		l.Context = uint32(number)
	case "stream":
		l.Stream = uint32(number)
	case "thread":
		l.Thread = number
	case "process":
		l.Process = value
	}
}

func describeDevice(d *profile.Device) string {
	f := factList(gpuFact)
	f.add("type", d.Type)
	f.add("id", d.ID)
	f.add("arch", d.Arch)
	f.number("bus_width", d.BusWidth)
	f.number("clock_rate", d.ClockRate)
	f.number("memory_clock_rate", d.MemoryClockRate)
	f.number("num_sms", d.NumSMs)
	if d.Name != "" {
		f.add("name", d.Name)
	}
	return string(f)
}

func readDevice(d *profile.Device, key, value string) {
	switch key {
	case "type":
		d.Type = value
	case "id":
		d.ID = value
	case "arch":
		d.Arch = value
	case "name":
		d.Name = value
	default:
		if into := d.Number(key); into != nil {
			*into, _ = strconv.ParseInt(value, 10, 64)
		}
	}
}
