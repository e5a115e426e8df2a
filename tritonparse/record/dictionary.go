package record

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/goproton/goproton/internal/jsontext"
)

// dictionary holds the definitions of a process, and what has been parsed from them.
type dictionary struct {
	mu     sync.RWMutex
	values [][]byte
	shared *dictionary // has the values, if it is set: the maps below belong to one goroutine, values do not

	// Made when first needed, by the one goroutine that writes.
	templates map[uint64]*knownTemplate
	elements  map[uint64]element
	stacks    map[uint64][]byte // as JSON
	kinds     map[string]string // launch kind by template and arguments
	sources   sourceLines
}

// knownTemplate is a template with the parts of the JSON that all of its launches share.
type knownTemplate struct {
	template
	name, metadata, inductor []byte
}

// maxKinds bounds the kinds that are remembered: arguments that count up make a new one at each launch.
const maxKinds = 1 << 16

func (d *dictionary) add(value []byte) (id uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.values = append(d.values, value)
	return uint64(len(d.values))
}

func (d *dictionary) text(id uint64) []byte {
	if d.shared != nil {
		return d.shared.text(id)
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	if id == 0 || id > uint64(len(d.values)) {
		return nil
	}
	return d.values[id-1]
}

func (d *dictionary) template(id uint64) *knownTemplate {
	if t := d.templates[id]; t != nil {
		return t
	}
	t := new(knownTemplate)
	if json.Unmarshal(d.text(id), &t.template) != nil || t.Name == "" {
		return nil
	}
	t.name = appendText(nil, t.Name)
	t.metadata = orElse(t.Metadata, "null")
	t.inductor = orElse(t.Inductor, "{}")
	if d.templates == nil {
		d.templates = map[uint64]*knownTemplate{}
	}
	d.templates[id] = t
	return t
}

func orElse(value json.RawMessage, otherwise string) []byte {
	if len(value) == 0 || string(value) == "null" {
		return []byte(otherwise)
	}
	return value
}

func (d *dictionary) element(id uint64) element {
	if e, known := d.elements[id]; known {
		return e
	}
	var e element
	_ = json.Unmarshal(d.text(id), &e) // what is not there is written as an empty name
	if d.elements == nil {
		d.elements = map[uint64]element{}
	}
	d.elements[id] = e
	return e
}

// stack is a call path as JSON, outermost frame first. It is defined as "file:line@function" texts with zeros between.
func (d *dictionary) stack(id uint64) []byte {
	if s := d.stacks[id]; s != nil {
		return s
	}
	var frames []frame
	for text := range bytes.SplitSeq(d.text(id), []byte{0}) {
		if f, ok := splitFrame(string(text)); ok {
			frames = append(frames, f)
		}
	}
	out := jsontext.AppendList(nil, frames, d.sources.appendFrame)
	if d.stacks == nil {
		d.stacks = map[uint64][]byte{}
	}
	d.stacks[id] = out
	return out
}

// splitFrame takes a text of hooks/pyframes.c apart. A function's name has no @, a file's may.
func splitFrame(text string) (f frame, ok bool) {
	at := max(strings.LastIndexByte(text, '@'), 0)
	colon := strings.LastIndexByte(text[:at], ':')
	if colon < 0 {
		return f, false
	}
	line, err := strconv.Atoi(text[colon+1 : at])
	return frame{text[:colon], line, text[at+1:]}, err == nil
}

// sourceLines are the lines of Python files, read once.
type sourceLines struct {
	files map[string][][]byte
	size  int
}

// maxSources bounds the bytes of source files that are kept.
const maxSources = 64 << 20

// appendFrame writes a frame as TritonParse has it; "loc" is the line's text.
func (s *sourceLines) appendFrame(out []byte, f frame) []byte {
	out = append(appendInt(append(out, `{"line":`...), int64(f.Line)), `,"name":`...)
	out = append(appendText(out, f.Function), `,"filename":`...)
	out = append(appendText(out, f.File), `,"loc":`...)
	return append(appendText(out, s.line(f.File, f.Line)), '}')
}

func (s *sourceLines) line(file string, line int) string {
	lines, known := s.files[file]
	if !known {
		lines = s.read(file)
		if s.files == nil {
			s.files = map[string][][]byte{}
		}
		s.files[file] = lines
	}
	if line < 1 || line > len(lines) {
		return ""
	}
	return strings.ToValidUTF8(string(bytes.TrimSpace(lines[line-1])), "\uFFFD")
}

// read reads a file if it is one: a frame may name a pipe, as of `python /dev/stdin`, and what is in there is the program's.
func (s *sourceLines) read(file string) [][]byte {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || int64(s.size)+info.Size() > maxSources {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	s.size += len(text)
	return bytes.Split(text, []byte{'\n'})
}

// kind is the launch kind of arguments that were written for these bytes.
func (d *dictionary) kind(l launch, make func() string) string {
	key := string(strconv.AppendUint(nil, l.template, 36)) + "\n" + string(l.kind)
	if l.flags&capturing != 0 {
		key += "\ncapturing"
	}
	if k, known := d.kinds[key]; known {
		return k
	}
	k := make()
	if d.kinds == nil || len(d.kinds) >= maxKinds {
		d.kinds = map[string]string{}
	}
	d.kinds[key] = k
	return k
}

func appendText(out []byte, s string) []byte { return jsontext.Form{}.AppendText(out, s) }

func appendInt(out []byte, v int64) []byte { return strconv.AppendInt(out, v, 10) }

func appendBool(out []byte, v bool) []byte { return strconv.AppendBool(out, v) }

func appendHex(out []byte, v uint64) []byte {
	return strconv.AppendUint(append(out, '0', 'x'), v, 16)
}

// appendFloat writes what JSON has no number for as text, as TritonParse does.
func appendFloat(out []byte, v float64) []byte {
	switch {
	case v != v:
		return append(out, `"nan"`...)
	case v-v != 0 && v > 0:
		return append(out, `"inf"`...)
	case v-v != 0:
		return append(out, `"-inf"`...)
	}
	return jsontext.AppendFloat(out, v)
}

func appendUint(out []byte, v uint64) []byte { return strconv.AppendUint(out, v, 10) }
