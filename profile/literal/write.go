package literal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/fold"
	"github.com/goproton/goproton/profile/internal/rootkinds"
)

// Write writes p, one line per node, in Python's spelling.
func Write(w io.Writer, p *profile.Profile) error {
	if p == nil || p.Root == nil {
		return errors.New("encode profile: it has no root node; start a session before writing")
	}
	p = fold.Deep(p)
	e := encoder{Writer: bufio.NewWriterSize(w, 64<<10), seen: rootkinds.NewOf(p), kinds: p.Kinds}
	e.raw("[")
	e.node(p.Root, 0, p)
	e.raw("]\n")
	return e.Flush() // has the first error of any write
}

// Loses says what Python cannot read of p, though GoProton can.
func Loses(p *profile.Profile) []string {
	deepest := 0
	p.Root.Walk(func(_ *profile.Node, depth int) bool {
		deepest = max(deepest, depth+1)
		return true
	})
	if deepest <= pythonDepth {
		return nil
	}
	return []string{fmt.Sprintf("readability by Python: call paths have up to %d frames, its parser takes %d", deepest, pythonDepth)}
}

type encoder struct {
	*bufio.Writer
	seen  *rootkinds.Seen
	kinds profile.Kinds
}

func (e *encoder) raw(s string) { e.WriteString(s) }

// node writes a node and what is below it; whole is the profile if n is its root.
func (e *encoder) node(n *profile.Node, depth int, whole *profile.Profile) {
	e.raw("{'frame': {'name': ")
	e.str(n.Name)
	e.raw(", 'type': 'function'}, 'metrics': ")
	metrics := n.Metrics
	if whole != nil {
		metrics = e.seen.WithZeros(metrics)
	}
	e.metrics(metrics)
	if n.Times != nil && n.Times.Count > 0 {
		e.raw(", 'times': ")
		e.times(n.Times)
	}
	if whole != nil {
		e.rootKeys(whole)
	}
	e.raw(", 'children': [")
	for i, c := range n.Children {
		if i > 0 {
			e.raw(",")
		}
		e.raw("\n")
		e.raw(indent[:min(depth+1, len(indent))])
		e.node(c, depth+1, nil)
	}
	e.raw("]}")
}

const indent = "                                                                                                    "

// rootKeys writes what is known of the whole profile.
func (e *encoder) rootKeys(p *profile.Profile) {
	if len(p.Devices) > 0 {
		e.raw(", 'devices': ")
		e.devices(p.Devices)
	}
	e.strings("info", slices.Sorted(maps.Keys(p.Info)), func(key string) string { return p.Info[key] })
	e.strings("kinds", e.exceptions(p), func(name string) string { return e.kinds[name].String() })
}

// exceptions are the kinds to be said in words: those that the root's zeros do not tell, and those of metrics whose
// name would make a reader take them for sums that hatchet has added.
func (e *encoder) exceptions(p *profile.Profile) []string {
	names := e.seen.Exceptions(p.Root)
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		for i := range n.Metrics {
			if name := n.Metrics[i].Name; strings.HasSuffix(name, inclusiveMark) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return true
	})
	slices.Sort(names)
	return names
}

func (e *encoder) strings(key string, keys []string, value func(string) string) {
	if len(keys) == 0 {
		return
	}
	e.raw(", '" + key + "': {")
	for i, k := range keys {
		e.key(i, k)
		e.str(value(k))
	}
	e.raw("}")
}

// key starts a member of a dict.
func (e *encoder) key(i int, name string) {
	if i > 0 {
		e.raw(", ")
	}
	e.str(name)
	e.raw(": ")
}

func (e *encoder) metrics(list []profile.Metric) {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b profile.Metric) int { return strings.Compare(a.Name, b.Name) })
	e.raw("{")
	for i, m := range sorted {
		e.key(i, m.Name)
		e.value(m.Value)
	}
	e.raw("}")
}

func (e *encoder) value(v profile.Value) {
	switch v.Type() {
	case profile.Int:
		e.raw(strconv.FormatInt(v.Int(), 10))
	case profile.Float:
		f, _ := v.Float()
		e.float(f)
	case profile.String:
		e.str(v.Str())
	case profile.Ints:
		e.list(len(v.Ints()), func(i int) { e.raw(strconv.FormatInt(v.Ints()[i], 10)) })
	case profile.Floats:
		e.list(len(v.Floats()), func(i int) { e.float(v.Floats()[i]) })
	}
}

func (e *encoder) list(n int, element func(i int)) {
	e.raw("[")
	for i := range n {
		if i > 0 {
			e.raw(", ")
		}
		element(i)
	}
	e.raw("]")
}

// float writes what Python reads as the same float. Literals have no infinity, but 1e999 is one; NaN has no
// literal, and pandas makes one of None.
func (e *encoder) float(f float64) {
	switch {
	case math.IsNaN(f):
		e.raw("None")
	case math.IsInf(f, 1):
		e.raw("1e999")
	case math.IsInf(f, -1):
		e.raw("-1e999")
	default:
		text := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		e.raw(text)
	}
}

func (e *encoder) times(s *profile.Sketch) {
	fmt.Fprintf(e, "{'count': %d, 'min': %d, 'max': %d, 'mean': ", s.Count, s.Min, s.Max)
	e.float(s.Mean)
	e.raw(", 'm2': ")
	e.float(s.M2)
	e.raw(", 'buckets': ")
	e.list(len(s.Buckets), func(i int) {
		low, _ := profile.BucketBounds(s.Buckets[i].Index)
		fmt.Fprintf(e, "[%d, %d]", low, s.Buckets[i].Count)
	})
	e.raw("}")
}

func (e *encoder) devices(list []profile.Device) {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b profile.Device) int { return strings.Compare(a.Type, b.Type) })
	e.raw("{")
	for i, d := range sorted {
		if i == 0 || sorted[i-1].Type != d.Type {
			if i > 0 {
				e.raw("}")
			}
			e.key(i, d.Type)
			e.raw("{")
			e.key(0, d.ID)
		} else {
			e.key(1, d.ID)
		}
		e.raw("{'arch': ")
		e.str(d.Arch)
		fmt.Fprintf(e, ", 'bus_width': %d, 'clock_rate': %d, 'memory_clock_rate': %d, 'num_sms': %d",
			d.BusWidth, d.ClockRate, d.MemoryClockRate, d.NumSMs)
		if d.Name != "" {
			e.raw(", 'name': ")
			e.str(d.Name)
		}
		e.raw("}")
	}
	e.raw("}}")
}

// str writes a string in single quotes. Bytes that are not valid UTF-8 are written as U+FFFD: Python source is UTF-8.
func (e *encoder) str(s string) {
	e.WriteByte('\'')
	for _, r := range s { // an invalid byte is U+FFFD here
		switch {
		case r == '\'' || r == '\\':
			e.WriteByte('\\')
			e.WriteByte(byte(r))
		case r == '\n':
			e.raw(`\n`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(e, `\x%02x`, r)
		case r < utf8.RuneSelf:
			e.WriteByte(byte(r))
		default:
			e.WriteRune(r)
		}
	}
	e.WriteByte('\'')
}
