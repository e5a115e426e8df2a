package speedscope

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/lanes"
	"github.com/goproton/goproton/profile/internal/union"
)

// Write writes p.
func Write(w io.Writer, p *profile.Profile) error {
	p, err := union.Writable(p, profile.PathSizes{What: "a speedscope file", Frame: 5})
	if err != nil {
		return err
	}
	metrics := union.Additive(p)
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
		e.evented(p.Timeline, r, base)
	}
	e.raw("],\"activeProfileIndex\":0}\n")
	return e.Flush() // has the first error of any write
}

// drawable says whether some stack has a size.
func drawable(root *profile.Node, metric string) bool {
	return root.Any(func(n *profile.Node) bool { _, ok := union.Size(n, metric); return ok })
}

type encoder struct {
	*bufio.Writer
	frames map[string]int // position in shared.frames
	text   []byte         // scratch of str
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
	e.text = jsontext.AppendString(e.text[:0], s)
	e.Write(e.text)
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
	union.Each(p.Root, func(path []string, n *profile.Node) {
		if sized(n, metrics) {
			for _, name := range path {
				number(name)
			}
		}
	})
	for _, r := range rows {
		for _, i := range r.Slices {
			number(p.Timeline.Slices[i].Name)
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
		if v, ok := union.Size(n, metric); ok {
			f, _ := v.Float()
			total += f
		}
		return true
	})
	e.value(profile.FloatValue(min(total, math.MaxFloat64)))
	stacks := func(write func(path []string, v profile.Value)) {
		n := 0
		union.Each(p.Root, func(path []string, node *profile.Node) {
			v, ok := union.Size(node, metric)
			if !ok {
				return
			}
			if n++; n > 1 {
				e.raw(",")
			}
			write(path, v)
		})
	}
	e.raw(`,"samples":[`)
	stacks(func(path []string, _ profile.Value) {
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
	stacks(func(_ []string, v profile.Value) { e.value(v) })
	e.raw("]}")
}

// row is one evented profile of the file.
type row struct {
	name string
	lanes.Row
}

// mostRows bounds the rows of a lane, and the time that it takes to look for a place. Streams need one or two.
const mostRows = 100

// rowsOf lays out a timeline. The first row of a lane has its name, further ones a number: "GPU 0 Stream 7 (2)". cut counts
// the slices that find no place in mostRows of them and end early.
func rowsOf(t *profile.Timeline) (rows []row, cut int) {
	if t == nil {
		return nil, 0
	}
	slicesOf := lanes.ByLane(t)
	for _, l := range t.Lanes {
		name := l.Name
		if l.Process != "" {
			name = l.Process + ": " + name
		}
		of, overflow := lanes.Rows(t, slicesOf[l.ID], mostRows)
		cut += overflow
		for i, r := range of {
			if i == 0 {
				rows = append(rows, row{name, r})
			} else {
				rows = append(rows, row{fmt.Sprintf("%s (%d)", name, i+1), r})
			}
		}
	}
	return rows, cut
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
func (e *encoder) evented(t *profile.Timeline, r row, base int64) {
	e.raw(`{"type":"evented","name":`)
	e.str(r.name)
	end := base
	for _, i := range r.Slices {
		end = max(end, t.Slices[i].Start+t.Slices[i].Duration)
	}
	fmt.Fprintf(e, `,"unit":"nanoseconds","startValue":0,"endValue":%d,"events":[`, end-base)
	separator := ""
	event := func(kind string, i int32, at int64) {
		fmt.Fprintf(e, `%s{"type":"%s","frame":%d,"at":%d}`, separator, kind, e.frames[t.Slices[i].Name], at-base)
		separator = ","
	}
	r.Play(t, func(i int32, at int64) { event("O", i, at) }, func(i int32, at int64) { event("C", i, at) })
	e.raw("]}")
}
