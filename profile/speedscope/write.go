package speedscope

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/fold"
	"github.com/goproton/goproton/profile/internal/stacks"
)

// Write writes p.
func Write(w io.Writer, p *profile.Profile) error {
	if p == nil || p.Root == nil {
		return errors.New("encode profile: it has no root node; start a session before writing")
	}
	p = fold.Deep(p)
	if err := stacks.Check(p.Root); err != nil {
		return err
	}
	metrics := stacks.Additive(p)
	metrics = slices.DeleteFunc(metrics, func(m string) bool { return !drawable(p.Root, m) })
	rows, _ := rowsOf(p.Timeline)
	if len(metrics) == 0 && len(rows) == 0 {
		return errors.New("speedscope needs a metric whose numbers add up, or a timeline, and the profile has neither")
	}
	e := encoder{Writer: bufio.NewWriterSize(w, 64<<10), frames: map[string]int{}}
	e.raw(`{"$schema":"` + schema + `","exporter":"` + exporter + `","name":`)
	e.str(cmp.Or(p.Info[profile.InfoName], p.Root.Name))
	base := earliest(p.Timeline)
	if p.Timeline != nil {
		// Not of the schema, which allows more: the times since 1970 do not fit into JavaScript's numbers.
		fmt.Fprintf(e, `,"startTimeNanoseconds":%d`, base)
	}
	e.shared(p, metrics, rows)
	e.raw(`,"profiles":[`)
	for i, m := range metrics {
		e.separate(i)
		e.sampled(p, m)
	}
	for i, r := range rows {
		e.separate(len(metrics) + i)
		e.evented(r, base)
	}
	e.raw("],\"activeProfileIndex\":0}\n")
	return e.Flush() // has the first error of any write
}

// drawable says whether some stack has a size.
func drawable(root *profile.Node, metric string) bool {
	found := false
	root.Walk(func(n *profile.Node, _ int) bool {
		_, ok := stacks.Size(n, metric)
		found = found || ok
		return !found
	})
	return found
}

type encoder struct {
	*bufio.Writer
	frames map[string]int // position in shared.frames
	text   bytes.Buffer   // scratch of str
}

func (e *encoder) raw(s string) { e.WriteString(s) }

func (e *encoder) separate(i int) {
	if i > 0 {
		e.raw(",")
	}
	e.raw("\n")
}

// str writes a string. Bytes that are not valid UTF-8 are written as U+FFFD.
func (e *encoder) str(s string) {
	e.text.Reset()
	j := json.NewEncoder(&e.text)
	j.SetEscapeHTML(false) // C++ is full of < and >
	if err := j.Encode(s); err != nil {
		panic("BUG: a string cannot be written as JSON: " + err.Error())
	}
	e.Write(bytes.TrimSuffix(e.text.Bytes(), []byte("\n")))
}

func (e *encoder) integer(v int) { e.raw(strconv.Itoa(v)) }

// value writes a number so that it reads back as what it is: a float has a point or an exponent.
func (e *encoder) value(v profile.Value) {
	if v.Type() == profile.Int {
		e.raw(strconv.FormatInt(v.Int(), 10))
		return
	}
	f, _ := v.Float()
	text := strconv.FormatFloat(f, 'g', -1, 64)
	e.raw(text)
	if !strings.ContainsAny(text, ".e") {
		e.raw(".0")
	}
}

// shared numbers the frames and writes their table. Only those that some stack or slice has are in it.
func (e *encoder) shared(p *profile.Profile, metrics []string, rows []row) {
	e.raw(`,"shared":{"frames":[`)
	number := func(name string) {
		if _, known := e.frames[name]; known {
			return
		}
		e.separate(len(e.frames))
		e.frames[name] = len(e.frames)
		f := splitFrame(name)
		e.raw(`{"name":`)
		e.str(f.Name)
		if f.File != "" {
			e.raw(`,"file":`)
			e.str(f.File)
			e.raw(`,"line":`)
			e.integer(f.Line)
		}
		e.raw("}")
	}
	stacks.Each(p.Root, func(path []string, n *profile.Node) {
		if slices.ContainsFunc(metrics, func(m string) bool { _, ok := stacks.Size(n, m); return ok }) {
			for _, name := range path {
				number(name)
			}
		}
	})
	for _, r := range rows {
		for _, s := range r.slices {
			number(s.Name)
		}
	}
	e.raw("]}")
}

// sampled writes the tree by one metric: every node that has it is a stack with its own value as weight.
func (e *encoder) sampled(p *profile.Profile, metric string) {
	e.raw(`{"type":"sampled","name":`)
	e.str(metric)
	e.raw(`,"unit":"` + unitOf(metric) + `","startValue":0,"endValue":`)
	total := 0.0
	p.Root.Walk(func(n *profile.Node, _ int) bool {
		if v, ok := stacks.Size(n, metric); ok {
			f, _ := v.Float()
			total += f
		}
		return true
	})
	e.value(profile.FloatValue(min(total, math.MaxFloat64)))
	e.raw(`,"samples":[`)
	first := true
	stacks.Each(p.Root, func(path []string, n *profile.Node) {
		if _, ok := stacks.Size(n, metric); !ok {
			return
		}
		if !first {
			e.raw(",")
		}
		first = false
		e.raw("[")
		for i, name := range path {
			if i > 0 {
				e.raw(",")
			}
			e.integer(e.frames[name])
		}
		e.raw("]")
	})
	e.raw(`],"weights":[`)
	first = true
	stacks.Each(p.Root, func(_ []string, n *profile.Node) {
		v, ok := stacks.Size(n, metric)
		if !ok {
			return
		}
		if !first {
			e.raw(",")
		}
		first = false
		e.value(v)
	})
	e.raw("]}")
}

// row is the slices of a lane that lie side by side or within each other, in order of their start.
type row struct {
	name   string
	slices []*profile.Slice
	open   []int64 // ends of the slices that are open, while the row is filled
}

// rowsOf lays out a timeline. Slices of a lane that overlap without one being within the other, such as copies and
// kernels, go to further rows of the lane: "GPU 0 Stream 7 (2)". What finds no place in mostRows of them is left out.
func rowsOf(t *profile.Timeline) (rows []row, leftOut int) {
	if t == nil {
		return nil, 0
	}
	lanes := map[int][]*profile.Slice{}
	for i := range t.Slices {
		s := &t.Slices[i]
		lanes[s.Lane] = append(lanes[s.Lane], s)
	}
	for _, l := range t.Lanes {
		name := l.Name
		if l.Process != "" {
			name = l.Process + ": " + name
		}
		list := lanes[l.ID]
		slices.SortStableFunc(list, func(a, b *profile.Slice) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.Duration, a.Duration))
		})
		of, out := rowsOfLane(name, list)
		rows, leftOut = append(rows, of...), leftOut+out
	}
	return rows, leftOut
}

// mostRows bounds the rows of a lane, and the time that it takes to look for a place. Streams need one or two.
const mostRows = 100

func rowsOfLane(name string, list []*profile.Slice) (rows []row, leftOut int) {
	for _, s := range list {
		at := slices.IndexFunc(rows, func(r row) bool { return r.takes(s) })
		if at < 0 {
			if len(rows) == mostRows {
				leftOut++
				continue
			}
			at = len(rows)
			rows = append(rows, row{name: name})
			if at > 0 {
				rows[at].name = fmt.Sprintf("%s (%d)", name, at+1)
			}
		}
		rows[at].add(s)
	}
	return rows, leftOut
}

// takes says whether a slice lies behind or within those that the row has.
func (r *row) takes(s *profile.Slice) bool {
	for i := len(r.open) - 1; i >= 0; i-- {
		if r.open[i] > s.Start {
			return s.Start+s.Duration <= r.open[i]
		}
	}
	return true
}

func (r *row) add(s *profile.Slice) {
	for len(r.open) > 0 && r.open[len(r.open)-1] <= s.Start {
		r.open = r.open[:len(r.open)-1]
	}
	r.open = append(r.open, s.Start+s.Duration)
	r.slices = append(r.slices, s)
}

func earliest(t *profile.Timeline) (base int64) {
	if t == nil || len(t.Slices) == 0 {
		return 0
	}
	base = t.Slices[0].Start
	for i := range t.Slices {
		base = min(base, t.Slices[i].Start)
	}
	return base
}

// evented writes a row: slices open and close in order of time, the innermost closes first.
func (e *encoder) evented(r row, base int64) {
	e.raw(`{"type":"evented","name":`)
	e.str(r.name)
	end := base
	for _, s := range r.slices {
		end = max(end, s.Start+s.Duration)
	}
	fmt.Fprintf(e, `,"unit":"nanoseconds","startValue":0,"endValue":%d,"events":[`, end-base)
	first := true
	event := func(kind string, s *profile.Slice, at int64) {
		if !first {
			e.raw(",")
		}
		first = false
		fmt.Fprintf(e, `{"type":"%s","frame":%d,"at":%d}`, kind, e.frames[s.Name], at-base)
	}
	var open []*profile.Slice
	closeUntil := func(t int64, all bool) {
		for len(open) > 0 {
			s := open[len(open)-1]
			if !all && s.Start+s.Duration > t {
				return
			}
			event("C", s, s.Start+s.Duration)
			open = open[:len(open)-1]
		}
	}
	for _, s := range r.slices {
		closeUntil(s.Start, false)
		event("O", s, s.Start)
		open = append(open, s)
	}
	closeUntil(0, true)
	e.raw("]}")
}
