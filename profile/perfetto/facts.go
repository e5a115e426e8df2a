package perfetto

import (
	"slices"
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

// pair is a fact, and where it is kept: one list serves the writer and the reader.
type pair struct {
	key    string
	kept   any  // *string, *int64, *uint32 or *profile.LaneKind
	always bool // it is written even if it is empty
}

func lanePairs(l *profile.Lane) []pair {
	return []pair{
		{"kind", &l.Kind, true}, {"name", &l.Name, true}, {"device", &l.Device, false}, {"context", &l.Context, false}, {"stream", &l.Stream, false},
		{"thread", &l.Thread, false}, {"process", &l.Process, false},
	}
}

func counterPairs(c *profile.Counter) []pair {
	return []pair{{"name", &c.Name, true}, {"process", &c.Process, false}}
}

func devicePairs(d *profile.Device) []pair {
	return []pair{
		{"type", &d.Type, true}, {"id", &d.ID, true}, {profile.DeviceArch, &d.Arch, true}, {profile.DeviceBusWidth, &d.BusWidth, false},
		{profile.DeviceClockRate, &d.ClockRate, false}, {profile.DeviceMemoryClockRate, &d.MemoryClockRate, false}, {profile.DeviceNumSMs, &d.NumSMs, false},
		{profile.DeviceName, &d.Name, false},
	}
}

// describe writes a description of a subject.
func describe(subject string, pairs []pair) string {
	f := factList(subject)
	for _, p := range pairs {
		switch kept := p.kept.(type) {
		case *string:
			if p.always || *kept != "" {
				f.add(p.key, *kept)
			}
		case *int64:
			f.number(p.key, *kept)
		case *uint32:
			f.number(p.key, int64(*kept))
		case *profile.LaneKind:
			if int(*kept) < len(laneKinds) {
				f.add(p.key, laneKinds[*kept])
			}
		}
	}
	return string(f)
}

// keep reads a fact of a subject. Those that are not known are left out.
func keep(pairs []pair, key, value string) {
	at := slices.IndexFunc(pairs, func(p pair) bool { return p.key == key })
	if at < 0 {
		return
	}
	number, _ := strconv.ParseInt(value, 10, 64)
	switch kept := pairs[at].kept.(type) {
	case *string:
		*kept = value
	case *int64:
		*kept = number
	case *uint32:
		*kept = uint32(number)
	case *profile.LaneKind:
		if kind := slices.Index(laneKinds[:], value); kind >= 0 {
			*kept = profile.LaneKind(kind)
		}
	}
}
