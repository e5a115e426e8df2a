package speedscope

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/number"
	"github.com/goproton/goproton/profile/internal/stacks"
)

// file is a file as it was decoded, before its parts are put together: what they share may come last.
type file struct {
	size     int64 // of the whole file
	exporter string
	base     int64
	frames   []string
	profiles []recorded
}

// recorded is one profile of a file.
type recorded struct {
	Type    string
	Name    string
	Unit    string
	Samples [][]int
	Weights []amount
	Events  []event
	offset  int64
}

type event struct {
	Type  string
	Frame int
	At    amount
}

// amount is a number; whole ones stay whole.
type amount struct {
	profile.Value
	rounded bool // it was an integer that the value does not hold
}

func (n *amount) UnmarshalJSON(text []byte) error {
	if i, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		n.Value = profile.IntValue(i)
		return nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return fmt.Errorf("expected a number, found %.20q", text)
	}
	n.Value, n.rounded = profile.FloatValue(f), number.Rounded(string(text), f)
	return nil
}

// Read reads a file of any program that writes for speedscope. What it cannot understand is a *FormatError.
func Read(r io.Reader) (*profile.Profile, error) {
	d := decoder{json: json.NewDecoder(r)}
	f, err := d.file()
	if err != nil {
		return nil, d.explain(err)
	}
	return f.profile()
}

// Sniff says by its first bytes whether a file is speedscope's: an object that names its schema, or has its keys.
func Sniff(head []byte) bool {
	text := bytes.TrimLeft(head, " \r\n\t")
	if len(text) == 0 || text[0] != '{' {
		return false
	}
	return bytes.Contains(text, []byte(schema)) || bytes.Contains(text, []byte(`"shared"`)) && bytes.Contains(text, []byte(`"frames"`))
}

// decoder goes through the document key by key, so that errors have a place.
type decoder struct {
	json   *json.Decoder
	at     int64 // of the value that is being read
	memory inflate.Memory
}

// recordedSize is about what a profile of a file takes; there it may be {}.
const recordedSize = 300

// explain gives an error its place. Errors of the stream pass as they are.
func (d *decoder) explain(err error) error {
	var bad *FormatError
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &bad):
		return err
	case errors.As(err, &syntax):
		return &FormatError{Offset: max(syntax.Offset-1, 0), Reason: syntax.Error()}
	case errors.As(err, &typ):
		return &FormatError{Offset: d.at, Reason: fmt.Sprintf("expected %s for %q, found %s", typ.Type, typ.Field, typ.Value)}
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return &FormatError{Offset: d.json.InputOffset(), Reason: "the file ends inside the document; it is cut off or empty"}
	case d.at > 0 && strings.HasPrefix(err.Error(), "expected"):
		return &FormatError{Offset: d.at, Reason: err.Error()}
	}
	return err
}

func (d *decoder) file() (f *file, err error) {
	f = &file{}
	err = d.object("a speedscope file", func(key string) error {
		switch key {
		case "exporter":
			return d.value(&f.exporter)
		case "startTimeNanoseconds":
			return d.value(&f.base)
		case "shared":
			return d.object("shared", func(key string) error {
				if key != "frames" {
					return d.skip()
				}
				return d.frames(f)
			})
		case "profiles":
			return d.array("profiles", func() error {
				var p recorded
				p.offset = d.json.InputOffset()
				if err := d.memory.Keep(recordedSize, p.offset); err != nil {
					return &FormatError{Offset: p.offset, Reason: err.Error()}
				}
				if err := d.value(&p); err != nil {
					return err
				}
				f.profiles = append(f.profiles, p)
				return nil
			})
		}
		return d.skip()
	})
	f.size = d.json.InputOffset()
	if err == nil && d.more() {
		err = &FormatError{Offset: d.json.InputOffset(), Reason: "text behind the end of the document"}
	}
	return f, err
}

// more says whether anything but space follows the document.
func (d *decoder) more() bool {
	_, err := d.json.Token()
	return !errors.Is(err, io.EOF)
}

func (d *decoder) frames(f *file) error {
	return d.array("frames", func() error {
		var fr frame
		if err := d.value(&fr); err != nil {
			return err
		}
		f.frames = append(f.frames, joinFrame(fr))
		return nil
	})
}

func (d *decoder) value(into any) error {
	d.at = d.json.InputOffset()
	return d.json.Decode(into)
}

func (d *decoder) skip() error {
	var any json.RawMessage
	return d.value(&any)
}

func (d *decoder) object(what string, member func(key string) error) error {
	return d.inside('{', what, func() error {
		key, err := d.json.Token()
		if err != nil {
			return err
		}
		return member(key.(string)) // the decoder takes nothing else here
	})
}

func (d *decoder) array(what string, element func() error) error { return d.inside('[', what, element) }

func (d *decoder) inside(open json.Delim, what string, item func() error) error {
	d.at = d.json.InputOffset()
	token, err := d.json.Token()
	if err != nil {
		return err
	}
	if token != open {
		return &FormatError{Offset: d.at, Reason: fmt.Sprintf("expected '%s' at the start of %s", open, what)}
	}
	for d.json.More() {
		if err := item(); err != nil {
			return err
		}
	}
	_, err = d.json.Token()
	return err
}

// profile puts a file's profiles together: the sampled ones are the tree, the evented ones the timeline, and
// the tree too if there is nothing else.
func (f *file) profile() (*profile.Profile, error) {
	if len(f.profiles) == 0 {
		return nil, &FormatError{Offset: 0, Reason: "the file holds no profiles"}
	}
	ours := strings.HasPrefix(f.exporter, exporter)
	sampled := slices.ContainsFunc(f.profiles, func(r recorded) bool { return r.Type == "sampled" })
	b := builder{file: f, tree: stacks.NewTree(), ours: ours, summed: !ours || !sampled}
	b.byName = !ours && len(f.profiles) > 1
	for i := range f.profiles {
		if reason := b.add(&f.profiles[i]); reason != "" {
			return nil, &FormatError{Offset: f.profiles[i].offset, Reason: fmt.Sprintf("profile %d (%.60q): %s", i, f.profiles[i].Name, reason)}
		}
	}
	// Stacks begin with the root if they are ours, or if all of them begin with one frame; events never do.
	p := b.tree.Profile(b.byName || !sampled)
	p.Timeline = b.timeline
	return p, nil
}

type builder struct {
	file     *file
	tree     *stacks.Tree
	timeline *profile.Timeline
	ours     bool
	summed   bool // evented profiles count for the tree
	byName   bool // every profile, a thread of another program, has a frame of its own
}

// add takes in one profile; what is wrong with it comes back.
func (b *builder) add(r *recorded) (reason string) {
	metric, factor, ok := metricOf(r.Unit)
	if !ok {
		return fmt.Sprintf("the unit %.40q is none of speedscope's", r.Unit)
	}
	top := b.tree.Root
	if b.byName {
		top = b.tree.Child(top, r.Name)
	}
	switch r.Type {
	case "sampled":
		if b.ours {
			metric, factor = r.Name, 1
		}
		return b.sampled(r, top, metric, factor)
	case "evented":
		return b.evented(r, top, metric, factor)
	}
	return fmt.Sprintf("the type %.40q is neither sampled nor evented", r.Type)
}

// frame returns the name of a frame by its number.
func (b *builder) frame(number int) (name string, ok bool) {
	if number < 0 || number >= len(b.file.frames) {
		return "", false
	}
	return b.file.frames[number], true
}

func (b *builder) sampled(r *recorded, top *profile.Node, metric string, factor float64) (reason string) {
	if len(r.Samples) != len(r.Weights) {
		return fmt.Sprintf("%d samples and %d weights", len(r.Samples), len(r.Weights))
	}
	for i, stack := range r.Samples {
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
		if w := r.Weights[i]; w.rounded || scalesBadly(w.Value, factor) {
			b.tree.Rounded++
		}
		stacks.Add(n, metric, scale(r.Weights[i].Value, factor))
		if err := b.tree.Check(b.file.size); err != nil {
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
	at       float64
	children float64 // what the frames within have taken
}

// evented plays the events. What a frame has taken without those within it is its own.
func (b *builder) evented(r *recorded, top *profile.Node, metric string, factor float64) (reason string) {
	lane := -1
	if metric == profile.TimeMetric {
		lane = b.lane(r.Name)
	}
	open := []openFrame{{node: top}}
	last := math.Inf(-1)
	for i, e := range r.Events {
		at, _ := e.At.Float()
		if !(at >= last) || math.Abs(at*factor) > 1<<62 {
			return fmt.Sprintf("event %d is at %v, after one at %v", i, at, last)
		}
		last = at
		inner := &open[len(open)-1]
		switch e.Type {
		case "O":
			name, ok := b.frame(e.Frame)
			if !ok {
				return fmt.Sprintf("event %d names frame %d of %d", i, e.Frame, len(b.file.frames))
			}
			if len(open) > profile.MaxDepth {
				return fmt.Sprintf("event %d opens more than %d frames", i, profile.MaxDepth)
			}
			o := openFrame{number: e.Frame, at: at}
			if b.summed {
				o.node = b.tree.Child(inner.node, name)
				if err := b.tree.Check(b.file.size); err != nil {
					return err.Error()
				}
			}
			if lane >= 0 {
				o.slice = len(b.timeline.Slices)
				b.slice(lane, name, at*factor)
			}
			open = append(open, o)
		case "C":
			if len(open) == 1 || inner.number != e.Frame {
				return fmt.Sprintf("event %d closes frame %d, which is not the innermost one open", i, e.Frame)
			}
			b.close(inner, at, lane, metric, factor)
			open = open[:len(open)-1]
			open[len(open)-1].children += at - inner.at
		default:
			return fmt.Sprintf("event %d is a %.20q, neither O nor C", i, e.Type)
		}
	}
	if len(open) > 1 {
		return fmt.Sprintf("%d frames are never closed", len(open)-1)
	}
	return ""
}

func (b *builder) close(o *openFrame, at float64, lane int, metric string, factor float64) {
	if b.summed {
		own := profile.FloatValue(at - o.at - o.children)
		if f, _ := own.Float(); f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			own = profile.IntValue(int64(f))
		}
		stacks.Add(o.node, metric, scale(own, factor))
	}
	if lane >= 0 {
		b.timeline.Slices[o.slice].Duration = int64(math.Round((at - o.at) * factor))
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
func (b *builder) slice(lane int, name string, start float64) {
	s := profile.Slice{Lane: lane, Name: name, Start: b.file.base + int64(math.Round(start))}
	if b.timeline.Lanes[lane].Kind == profile.StreamLane {
		s.Kind = profile.KernelSlice
	}
	b.timeline.Slices = append(b.timeline.Slices, s)
}
