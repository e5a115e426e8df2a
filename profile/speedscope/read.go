package speedscope

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/jsonscan"
	"github.com/goproton/goproton/profile/internal/union"
)

// decoder holds the parts of a file until all are read: what they share may come last.
type decoder struct {
	*jsonscan.Scanner
	exporter string
	base     int64
	frames   []string
	profiles []recorded
}

// recorded is one profile of a file.
type recorded struct {
	kind    string
	name    string
	unit    string
	samples [][]int
	weights []profile.Value
	events  []event
	offset  int64
}

type event struct {
	kind  string
	frame int
	at    profile.Value
}

// Read reads a file of any program that writes for speedscope. What it cannot understand is a *profile.FormatError.
func Read(r io.Reader) (*profile.Profile, error) {
	d := decoder{Scanner: jsonscan.New(r)}
	d.file()
	if d.Peek() != 0 {
		d.Fail(d.Offset(), "text behind the end of the document")
	}
	if d.Err != nil {
		return nil, d.Err
	}
	return d.profile()
}

// recordedSize is about what a profile of a file takes; there it may be {}.
const recordedSize = 300

func (d *decoder) file() {
	d.Object("at the start of a speedscope file", func(key string) {
		switch key {
		case "exporter":
			d.exporter = d.text()
		case "startTimeNanoseconds":
			d.base = d.number().Int()
		case "shared":
			d.Object("at the start of shared", func(key string) {
				if key != "frames" {
					d.Skip(0)
					return
				}
				d.Array("at the start of frames", func() { d.frames = append(d.frames, d.sharedFrame()) })
			})
		case "profiles":
			d.Array("at the start of profiles", func() {
				d.Keep(recordedSize)
				d.profiles = append(d.profiles, d.recorded())
			})
		default:
			d.Skip(0)
		}
	})
}

func (d *decoder) sharedFrame() string {
	var f frame
	d.Object("at the start of a frame", func(key string) {
		switch key {
		case "name":
			f.Name = d.text()
		case "file":
			f.File = d.text()
		case "line":
			f.Line = d.index()
		default:
			d.Skip(0)
		}
	})
	return d.Intern([]byte(joinFrame(f)))
}

func (d *decoder) recorded() (r recorded) {
	d.Peek()
	r.offset = d.Offset()
	d.Object("at the start of a profile", func(key string) {
		switch key {
		case "type":
			r.kind = d.text()
		case "name":
			r.name = d.text()
		case "unit":
			r.unit = d.text()
		case "samples":
			d.Array("at the start of samples", func() {
				stack := []int{}
				d.Array("at the start of a stack", func() { stack = append(stack, d.index()) })
				r.samples = append(r.samples, stack)
			})
		case "weights":
			d.Array("at the start of weights", func() { r.weights = append(r.weights, d.number()) })
		case "events":
			d.Array("at the start of events", func() { r.events = append(r.events, d.event()) })
		default:
			d.Skip(0)
		}
	})
	return r
}

func (d *decoder) event() (e event) {
	d.Object("at the start of an event", func(key string) {
		switch key {
		case "type":
			e.kind = d.text()
		case "frame":
			e.frame = d.index()
		case "at":
			e.at = d.number()
		default:
			d.Skip(0)
		}
	})
	return e
}

// text reads a string; null is the empty one.
func (d *decoder) text() string {
	if d.Peek() == 'n' {
		d.Scalar()
		return ""
	}
	return d.Intern(d.Str("a text"))
}

// number reads a number; whole ones stay whole. null is 0.
func (d *decoder) number() profile.Value {
	switch c := d.Peek(); {
	case c == 'n':
		d.Scalar()
		return profile.IntValue(0)
	case c != '-' && (c < '0' || c > '9'):
		d.Unexpected("a number")
	}
	return d.Scalar()
}

// index reads the number of a frame or of a line.
func (d *decoder) index() int {
	at := d.Offset()
	v := d.number()
	if v.Type() != profile.Int || int64(int(v.Int())) != v.Int() {
		d.Fail(at, "expected a whole number")
	}
	return int(v.Int())
}

// profile puts a file's profiles together: the sampled ones are the tree, the evented ones the timeline, and
// the tree too if there is nothing else.
func (f *decoder) profile() (*profile.Profile, error) {
	if len(f.profiles) == 0 {
		return nil, &profile.FormatError{Reason: "the file holds no profiles"}
	}
	ours := strings.HasPrefix(f.exporter, exporter)
	sampled := slices.ContainsFunc(f.profiles, func(r recorded) bool { return r.kind == "sampled" })
	b := builder{file: f, tree: union.NewTree(), ours: ours, summed: !ours || !sampled}
	b.byName = !ours && len(f.profiles) > 1
	for i := range f.profiles {
		if reason := b.add(&f.profiles[i]); reason != "" {
			return nil, &profile.FormatError{Offset: f.profiles[i].offset, Reason: fmt.Sprintf("profile %d (%.60q): %s", i, f.profiles[i].name, reason)}
		}
	}
	// Stacks begin with the root if they are ours, or if all of them begin with one frame; events never do.
	p := b.tree.Profile(b.byName || !sampled)
	if ours && sampled {
		p.AddInnerSpans()
	}
	p.Timeline = b.timeline
	p.Rounded += f.Rounded
	return p, nil
}

type builder struct {
	file     *decoder
	tree     *union.Tree
	timeline *profile.Timeline
	ours     bool
	summed   bool // evented profiles count for the tree
	byName   bool // every profile, a thread of another program, has a frame of its own
}

// add takes in one profile; what is wrong with it comes back.
func (b *builder) add(r *recorded) (reason string) {
	metric, factor, ok := metricOf(r.unit)
	if !ok {
		return fmt.Sprintf("the unit %.40q is none of speedscope's", r.unit)
	}
	top := b.tree.Root
	if b.byName {
		top = b.tree.Child(top, r.name)
	}
	switch r.kind {
	case "sampled":
		if b.ours {
			metric, factor = r.name, 1
		}
		return b.sampled(r, top, metric, factor)
	case "evented":
		return b.evented(r, top, metric, factor)
	}
	return fmt.Sprintf("the type %.40q is neither sampled nor evented", r.kind)
}

// frame returns the name of a frame by its number.
func (b *builder) frame(number int) (name string, ok bool) {
	if number < 0 || number >= len(b.file.frames) {
		return "", false
	}
	return b.file.frames[number], true
}

func (b *builder) sampled(r *recorded, top *profile.Node, metric string, factor float64) (reason string) {
	if len(r.samples) != len(r.weights) {
		return fmt.Sprintf("%d samples and %d weights", len(r.samples), len(r.weights))
	}
	for i, stack := range r.samples {
		if len(stack) > profile.MaxDepth {
			return fmt.Sprintf("sample %d has %d frames; %d are the most", i, len(stack), profile.MaxDepth)
		}
		n := top
		for _, number := range stack {
			name, ok := b.frame(number)
			if !ok {
				return fmt.Sprintf("sample %d names frame %d of %d", i, number, len(b.file.frames))
			}
			n = b.tree.Child(n, name)
		}
		if scalesBadly(r.weights[i], factor) {
			b.tree.Rounded++
		}
		union.Add(n, metric, scale(r.weights[i], factor))
		if err := b.tree.Check(b.file.Offset()); err != nil {
			return err.Error()
		}
	}
	return ""
}

// scalesBadly says whether scale loses a part of an integer.
func scalesBadly(v profile.Value, factor float64) bool {
	f, _ := v.Float()
	return factor != 1 && v.Type() == profile.Int && math.Abs(f*factor) > math.MaxInt64
}

// scale multiplies; what stays whole stays an integer.
func scale(v profile.Value, factor float64) profile.Value {
	if factor == 1 {
		return v
	}
	f, _ := v.Float()
	if n, whole := v.Int(), int64(factor); v.Type() == profile.Int && float64(whole) == factor && math.Abs(f*factor) < math.MaxInt64 {
		return profile.IntValue(n * whole)
	}
	f *= factor
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return profile.IntValue(int64(f))
	}
	return profile.FloatValue(f)
}

// openFrame is a frame between its events.
type openFrame struct {
	number   int
	node     *profile.Node
	slice    int // in the timeline
	at       profile.Value
	children profile.Value // what the frames within have taken
}

// plus adds b, times sign, to a; whole numbers stay exact.
func plus(a profile.Value, sign int64, b profile.Value) profile.Value {
	if a.Type() == profile.Int && b.Type() == profile.Int {
		return profile.IntValue(a.Int() + sign*b.Int())
	}
	x, _ := a.Float()
	y, _ := b.Float()
	return profile.FloatValue(x + float64(sign)*y)
}

// nanos is a time in ns; what is less than one is rounded.
func nanos(v profile.Value, factor float64) int64 {
	v = scale(v, factor)
	if f, _ := v.Float(); v.Type() == profile.Float {
		return int64(math.Round(f))
	}
	return v.Int()
}

// evented plays the events. What a frame has taken without those within it is its own.
func (b *builder) evented(r *recorded, top *profile.Node, metric string, factor float64) (reason string) {
	lane := -1
	if metric == profile.TimeMetric {
		lane = b.lane(r.name)
	}
	open := []openFrame{{node: top}}
	last := profile.FloatValue(math.Inf(-1))
	for i, e := range r.events {
		at, _ := e.at.Float()
		back, _ := plus(last, -1, e.at).Float()
		if !(math.Abs(at*factor) <= 1<<62) || back > 0 {
			before, _ := last.Float()
			return fmt.Sprintf("event %d is at %v, after one at %v", i, at, before)
		}
		last = e.at
		inner := &open[len(open)-1]
		switch e.kind {
		case "O":
			name, ok := b.frame(e.frame)
			if !ok {
				return fmt.Sprintf("event %d names frame %d of %d", i, e.frame, len(b.file.frames))
			}
			if len(open) > profile.MaxDepth {
				return fmt.Sprintf("event %d opens more than %d frames", i, profile.MaxDepth)
			}
			o := openFrame{number: e.frame, at: e.at}
			if b.summed {
				o.node = b.tree.Child(inner.node, name)
				if err := b.tree.Check(b.file.Offset()); err != nil {
					return err.Error()
				}
			}
			if lane >= 0 {
				o.slice = len(b.timeline.Slices)
				b.slice(lane, name, nanos(e.at, factor))
			}
			open = append(open, o)
		case "C":
			if len(open) == 1 || inner.number != e.frame {
				return fmt.Sprintf("event %d closes frame %d, which is not the innermost one open", i, e.frame)
			}
			took := plus(e.at, -1, inner.at)
			b.close(inner, took, lane, metric, factor)
			open = open[:len(open)-1]
			open[len(open)-1].children = plus(open[len(open)-1].children, 1, took)
		default:
			return fmt.Sprintf("event %d is a %.20q, neither O nor C", i, e.kind)
		}
	}
	if len(open) > 1 {
		return fmt.Sprintf("%d frames are never closed", len(open)-1)
	}
	return ""
}

func (b *builder) close(o *openFrame, took profile.Value, lane int, metric string, factor float64) {
	if b.summed {
		own := plus(took, -1, o.children)
		if f, _ := own.Float(); own.Type() == profile.Float && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			own = profile.IntValue(int64(f))
		}
		union.Add(o.node, metric, scale(own, factor))
	}
	if lane >= 0 {
		b.timeline.Slices[o.slice].Duration = nanos(took, factor)
	}
}

// lane makes a lane of the timeline. That of a GPU is known by the name that we and most others give it.
func (b *builder) lane(name string) (id int) {
	if b.timeline == nil {
		b.timeline = &profile.Timeline{}
	}
	l := profile.Lane{ID: len(b.timeline.Lanes), Name: name}
	if strings.Contains(name, "GPU") || strings.Contains(name, "Stream") {
		l.Kind = profile.StreamLane
	}
	b.timeline.Lanes = append(b.timeline.Lanes, l)
	return l.ID
}

// slice begins a slice. It does not get a call path: the path follows from the slices around it. A path for each slice
// would take much memory for a small file with deep stacks.
func (b *builder) slice(lane int, name string, start int64) {
	s := profile.Slice{Lane: lane, Name: name, Start: b.file.base + start}
	if b.timeline.Lanes[lane].Kind == profile.StreamLane {
		s.Kind = profile.KernelSlice
	}
	b.timeline.Slices = append(b.timeline.Slices, s)
}
