package launchtext

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/tritonparse/internal/ndjson"
)

// Frame is a frame of a stack. Stacks are long, and differ in few frames from one launch to the next.
type Frame struct {
	number       uint32
	Raw          string
	hashed, text string // see Value

	place     string // file, line and function
	tunes     bool   // a function of an autotuner: the frames before it identify the session
	inductor  bool   // that autotuner is Inductor's
	benchmark bool   // it times a configuration
}

type stack struct {
	frames []*Frame
	tuned  Tuning
}

// tuning is what a stack says about the autotuner; nil where there is no stack.
func (s *stack) tuning() *Tuning {
	if s == nil {
		return nil
	}
	return &s.tuned
}

// readFrame takes a frame apart, without writing its texts.
func readFrame(raw []byte, members []jsontext.Member) *Frame {
	file, name := ndjson.TextOf(members, "filename"), ndjson.TextOf(members, "name")
	f := &Frame{Raw: string(raw), place: file + ":" + string(ndjson.Get(members, "line")) + ":" + name}
	f.inductor, f.benchmark = strings.Contains(file, inductorTuner), TimesConfiguration(file, name)
	f.tunes = f.benchmark || name == "run" && (f.inductor || strings.Contains(file, autotuner))
	return f
}

// frame returns a frame that is shared.
func (in *Interner) frame(raw []byte) *Frame {
	if f := in.frames.Get(raw); f != nil {
		return f
	}
	var room [8]jsontext.Member
	members, err := jsontext.AppendMembers(room[:0], raw)
	if err != nil {
		members = nil // a frame that is not an object
	}
	f := readFrame(raw, members)
	f.write(raw, members)
	f.number = in.framed.Add(1)
	in.frames.Put(f.Raw, f, 4*len(raw)+ValueBytes, InternBudget)
	return f
}

// write writes the texts of a frame. Most have the same members in the order of their names.
func (f *Frame) write(raw []byte, members []jsontext.Member) {
	plain := len(members) > 0 && !slices.ContainsFunc(members, func(m jsontext.Member) bool {
		ascii := strings.IndexFunc(m.Name, func(r rune) bool { return r >= 0x7f }) < 0
		return !ascii || !jsontext.Canonical(m.Value) || notHashed(m.Name)
	})
	if !plain {
		f.text, f.hashed = string(jsontext.Form{}.Append(nil, raw)), string(hashForm.Append(nil, raw))
		return
	}
	slices.SortFunc(members, func(a, b jsontext.Member) int { return strings.Compare(a.Name, b.Name) })
	out := make([]byte, 0, 512)
	for i, m := range members {
		out = append(append(hashForm.AppendText(append(out, "{,"[min(i, 1)]), m.Name), ':'), m.Value...)
	}
	f.text = string(append(out, '}'))
	f.hashed = f.text
}

// stackAt reads the list that begins at at, in depth objects and lists, and returns where it ends; false if it is not valid. Its
// frames are compared with those of like first.
func (in *Interner) stackAt(text []byte, at, depth int, like *stack) (v *Value, end int, ok bool) {
	var room [64]*Frame
	frames := room[:0]
	var probable []*Frame
	if like != nil {
		probable = like.frames
	}
	at = jsontext.Space(text, at+1)
	for at < len(text) && text[at] != ']' {
		var f *Frame
		if n := len(frames); n < len(probable) && beginsWith(text[at:], probable[n].Raw) {
			f = probable[n]
			at += len(f.Raw)
		} else {
			end, err := jsontext.End(text, at, depth+1)
			if err != nil {
				return nil, 0, false
			}
			f = in.frame(text[at:end])
			at = end
		}
		frames = append(frames, f)
		if at = jsontext.Space(text, at); at < len(text) && text[at] == ',' {
			at = jsontext.Space(text, at+1)
			if at < len(text) && text[at] == ']' {
				return nil, 0, false
			}
		} else if at < len(text) && text[at] != ']' {
			return nil, 0, false
		}
	}
	if at >= len(text) {
		return nil, 0, false
	}
	return in.stackOf(frames), at + 1, true
}

// beginsWith says whether a text begins with a whole element of a list.
func beginsWith(text []byte, element string) bool {
	n := len(element)
	if n >= len(text) || string(text[:n]) != element {
		return false
	}
	switch text[n] {
	case ',', ']', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

// stackOf is the value of a stack with these frames.
func (in *Interner) stackOf(frames []*Frame) *Value {
	var room [64 * 4]byte
	key := room[:0]
	for _, f := range frames {
		key = binary.LittleEndian.AppendUint32(key, f.number)
	}
	if v := in.stacks.Get(key); v != nil {
		return v
	}
	v := newStack(slices.Clone(frames))
	in.stacks.Put(string(key), v, 2*len(v.Text)+len(key)+ValueBytes, InternBudget/2)
	return v
}

func newStack(frames []*Frame) *Value {
	v := &Value{stack: &stack{frames, tuningOf(frames)}}
	v.hashed = JoinFrames(frames, func(f *Frame) string { return f.hashed })
	if v.Text = v.hashed; slices.ContainsFunc(frames, func(f *Frame) bool { return f.text != f.hashed }) {
		v.Text = JoinFrames(frames, func(f *Frame) string { return f.text })
	}
	if long(v.Text) {
		v.shrunk = shrink(nil, JoinFrames(frames, func(f *Frame) string { return f.Raw }))
		v.Text = jsontext.Form{}.Append(nil, v.shrunk)
	}
	return v
}

// JoinFrames writes a stack with this text of each frame.
func JoinFrames(frames []*Frame, text func(*Frame) string) []byte {
	size := 2
	for _, f := range frames {
		size += len(text(f)) + 1
	}
	return jsontext.AppendList(make([]byte, 0, size), frames, func(out []byte, f *Frame) []byte { return append(out, text(f)...) })
}
