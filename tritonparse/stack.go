package tritonparse

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/jsontext"
)

// frame is a frame of a stack. Stacks are long, and differ in few frames from one launch to the next.
type frame struct {
	number       uint32
	raw          string
	hashed, text string // as a value has them, see there

	place     string // by which call sites are told apart
	tunes     bool   // it is one of the autotuner's, from which on a session goes
	inductor  bool   // it is Inductor's
	benchmark bool   // it times a configuration
}

// stack is a stack that was taken apart.
type stack struct {
	frames []*frame
	tuned  tuning
}

// tuning is what a stack says about the autotuner; nil of what is no stack.
func (s *stack) tuning() *tuning {
	if s == nil {
		return nil
	}
	return &s.tuned
}

// readFrame takes a frame apart, but for its texts.
func readFrame(raw []byte, members []jsontext.Member) *frame {
	file, name := textOf(members, "filename"), textOf(members, "name")
	f := &frame{raw: string(raw), place: file + ":" + string(member(members, "line")) + ":" + name}
	f.inductor, f.benchmark = strings.Contains(file, inductorTuner), timesConfiguration(file, name)
	f.tunes = f.benchmark || name == "run" && (f.inductor || strings.Contains(file, autotuner))
	return f
}

// frame returns a frame that is shared.
func (in *interner) frame(raw []byte) *frame {
	in.RLock()
	f := in.frames[string(raw)]
	in.RUnlock()
	if f != nil {
		return f
	}
	var room [8]jsontext.Member
	members, err := jsontext.AppendMembers(room[:0], raw)
	if err != nil {
		members = nil // it is no object
	}
	f = readFrame(raw, members)
	f.write(raw, members)
	in.Lock()
	defer in.Unlock()
	in.framed++
	f.number = in.framed
	if in.size.frames += 4*len(raw) + valueBytes; in.size.frames > internBudget || in.frames == nil {
		in.frames, in.size.frames = map[string]*frame{}, 4*len(raw)+valueBytes
	}
	in.frames[f.raw] = f
	return f
}

// write writes the texts of a frame. They are mostly alike: its members in the order of their names.
func (f *frame) write(raw []byte, members []jsontext.Member) {
	plain := len(members) > 0 && !slices.ContainsFunc(members, func(m jsontext.Member) bool {
		ascii := strings.IndexFunc(m.Name, func(r rune) bool { return r >= 0x7f }) < 0
		return !ascii || !jsontext.Canonical(m.Value) || notHashed(m.Name)
	})
	if !plain {
		f.text, f.hashed = string(diffForm.Append(nil, raw)), string(hashForm.Append(nil, raw))
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

// stackAt reads the list that begins at at, below so many objects and lists, and returns where it ends; false if it is not
// sound. It is probably like another one.
func (in *interner) stackAt(text []byte, at, depth int, like *stack) (v *value, end int, ok bool) {
	var room [64]*frame
	frames := room[:0]
	var probable []*frame
	if like != nil {
		probable = like.frames
	}
	at = skipSpace(text, at+1)
	for at < len(text) && text[at] != ']' {
		var f *frame
		if n := len(frames); n < len(probable) && beginsWith(text[at:], probable[n].raw) {
			f = probable[n]
			at += len(f.raw)
		} else {
			end, err := jsontext.End(text, at, depth+1)
			if err != nil {
				return nil, 0, false
			}
			f = in.frame(text[at:end])
			at = end
		}
		frames = append(frames, f)
		if at = skipSpace(text, at); at < len(text) && text[at] == ',' {
			at = skipSpace(text, at+1)
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

func skipSpace(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r') {
		at++
	}
	return at
}

// beginsWith says whether a text begins with an element of a list, and not only with the beginning of one.
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
func (in *interner) stackOf(frames []*frame) *value {
	var room [64 * 4]byte
	key := room[:0]
	for _, f := range frames {
		key = binary.LittleEndian.AppendUint32(key, f.number)
	}
	in.RLock()
	v := in.stacks[string(key)]
	in.RUnlock()
	if v != nil {
		return v
	}
	v = newStack(slices.Clone(frames))
	in.Lock()
	defer in.Unlock()
	if in.size.stacks += 2*len(v.text) + len(key) + valueBytes; in.size.stacks > internBudget/2 || in.stacks == nil {
		in.stacks, in.size.stacks = map[string]*value{}, 0
	}
	in.stacks[string(key)] = v
	return v
}

func newStack(frames []*frame) *value {
	v := &value{stack: &stack{frames, tuningOf(frames)}}
	v.hashed = joinFrames(frames, func(f *frame) string { return f.hashed })
	if v.text = v.hashed; slices.ContainsFunc(frames, func(f *frame) bool { return f.text != f.hashed }) {
		v.text = joinFrames(frames, func(f *frame) string { return f.text })
	}
	if long(v.text) {
		v.shrunk = shrink(nil, joinFrames(frames, func(f *frame) string { return f.raw }))
		v.text = diffForm.Append(nil, v.shrunk)
	}
	return v
}

// joinFrames writes a stack.
func joinFrames(frames []*frame, text func(*frame) string) []byte {
	size := 2
	for _, f := range frames {
		size += len(text(f)) + 1
	}
	out := append(make([]byte, 0, size), '[')
	for i, f := range frames {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, text(f)...)
	}
	return append(out, ']')
}
