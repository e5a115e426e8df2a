package literal

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/fold"
	"github.com/goproton/goproton/profile/internal/tree"
)

// Write writes p, one line per node, in Python's spelling.
func Write(w io.Writer, p *profile.Profile) error {
	p, err := fold.Fit(p)
	if err != nil {
		return err
	}
	e := &encoder{w: w}
	e.extra = tree.NewEncoder(e, p)
	e.extra.NoteAll(p.Root)
	// A reader would take these metrics for sums that hatchet has added.
	e.extra.Always = func(metric string) bool { return strings.HasSuffix(metric, tree.InclusiveMark) }
	e.raw("[")
	e.node(p, p.Root, 0)
	e.raw("]\n")
	return e.flush()
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

// encoder writes Python's spelling. It is the tree.Writer of literals.
type encoder struct {
	w     io.Writer
	err   error
	buf   []byte
	empty bool // the dict or list that is open has no items yet
	extra tree.Encoder
}

// spillAt is what is collected before a write, as in package hatchet.
const spillAt = 64 << 10

func (e *encoder) flush() error {
	if e.err == nil {
		_, e.err = e.w.Write(e.buf)
	}
	e.buf = e.buf[:0]
	return e.err
}

// node writes a node and what is below it.
func (e *encoder) node(p *profile.Profile, n *profile.Node, depth int) {
	if len(e.buf) >= spillAt {
		e.flush()
	}
	e.raw("{'frame': {'name': ")
	e.Text(n.Name)
	e.raw(", 'type': 'function'}, 'metrics': ")
	metrics := n.Metrics
	if n == p.Root {
		metrics = e.extra.WithZeros(metrics)
	}
	e.metrics(metrics)
	if n == p.Root && len(p.Devices) > 0 {
		e.Key("devices")
		tree.Devices(e, p.Devices, false, tree.DeviceFacts)
	}
	e.extra.Write(n, e.extra.Keys(n)&(tree.Info|tree.Kinds|tree.Times))
	e.raw(", 'children': [")
	for i, c := range n.Children {
		if i > 0 {
			e.raw(",")
		}
		e.raw("\n")
		e.raw(indent[:min(depth+1, len(indent))])
		e.node(p, c, depth+1)
	}
	e.raw("]}")
}

const indent = "                                                                                                    "

func (e *encoder) metrics(list []profile.Metric) {
	sorted := slices.Clone(list)
	slices.SortFunc(sorted, func(a, b profile.Metric) int { return strings.Compare(a.Name, b.Name) })
	e.Object(len(sorted))
	for _, m := range sorted {
		e.Key(m.Name)
		tree.Value(e, m.Value)
	}
	e.EndObject()
}

func (e *encoder) raw(s string) { e.buf = append(e.buf, s...) }

func (e *encoder) Object(int) { e.open('{') }
func (e *encoder) EndObject() { e.close('}') }
func (e *encoder) List(int)   { e.open('[') }
func (e *encoder) EndList()   { e.close(']') }

func (e *encoder) open(bracket byte) {
	e.buf = append(e.buf, bracket)
	e.empty = true
}

func (e *encoder) close(bracket byte) {
	e.buf = append(e.buf, bracket)
	e.empty = false
}

// Next begins an item.
func (e *encoder) Next() {
	if !e.empty {
		e.raw(", ")
	}
	e.empty = false
}

func (e *encoder) Key(name string) {
	e.Next()
	e.Text(name)
	e.raw(": ")
}

func (e *encoder) Wrap(bool) bool    { return false } // a node is one line
func (e *encoder) Unsigned(n uint64) { e.buf = strconv.AppendUint(e.buf, n, 10) }
func (e *encoder) Integer(n int64)   { e.buf = strconv.AppendInt(e.buf, n, 10) }

// Float writes what Python reads as the same float. Literals have no infinity, but 1e999 is one; NaN has no
// literal, and pandas makes one of None.
func (e *encoder) Float(f float64) {
	switch {
	case math.IsNaN(f):
		e.raw("None")
	case math.IsInf(f, 1):
		e.raw("1e999")
	case math.IsInf(f, -1):
		e.raw("-1e999")
	default:
		start := len(e.buf)
		e.buf = strconv.AppendFloat(e.buf, f, 'g', -1, 64)
		if !strings.ContainsAny(string(e.buf[start:]), ".e") {
			e.raw(".0")
		}
	}
}

// Text writes a string in single quotes. Bytes that are not valid UTF-8 are written as U+FFFD: Python source is UTF-8.
func (e *encoder) Text(s string) {
	e.buf = append(e.buf, '\'')
	for _, r := range s { // an invalid byte is U+FFFD here
		switch {
		case r == '\'' || r == '\\':
			e.buf = append(e.buf, '\\', byte(r))
		case r == '\n':
			e.raw(`\n`)
		case r < ' ' || r == 0x7f:
			e.buf = fmt.Appendf(e.buf, `\x%02x`, r)
		default:
			e.buf = utf8.AppendRune(e.buf, r)
		}
	}
	e.buf = append(e.buf, '\'')
}
