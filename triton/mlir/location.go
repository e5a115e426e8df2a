package mlir

import (
	"fmt"
	"strconv"
	"strings"
)

// LocationID is the number of a location in its file; 0 is none.
type LocationID int32

// LocationKind is a form of locations.
type LocationKind uint8

const (
	Unknown   LocationKind = iota
	FilePlace              // "file":1:2, or "file":1:2 to 3:4
	Named                  // "name"(First): Triton names what is assigned to a variable
	CallSite               // callsite(First at Second): code of a function at First that was inlined at Second
	Fused                  // fused<Text>[First, …]; Second is the rest, another Fused
	Reference              // #name, which is First
)

// Location is one location as the text gives it.
type Location struct {
	Kind                             LocationKind
	Text                             string // path, name, or what was fused for
	Line, Column, EndLine, EndColumn int32
	First, Second                    LocationID
}

// Frame is a place in a source file.
type Frame struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column,omitempty"`
}

// MaxFrames bounds how deep code may be inlined; of more, the callers are left out.
const MaxFrames = 256

// maxLocations bounds how deep locations may be nested, names of locations included.
const maxLocations = 1024

// At returns a location by its number.
func (f *File) At(id LocationID) Location {
	if id < 0 || int(id) >= len(f.locations) {
		return Location{}
	}
	return f.locations[id]
}

func (s *scanner) add(l Location) LocationID {
	s.file.locations = append(s.file.locations, l)
	return LocationID(len(s.file.locations) - 1)
}

// reference returns the location of a name, which may be defined later.
func (s *scanner) reference(name string) LocationID {
	id, ok := s.file.named[name]
	if !ok {
		id = s.add(Location{Kind: Reference, Text: name})
		s.file.named[name] = id
	}
	return id
}

// define reads the location that a name stands for, behind its loc(.
func (s *scanner) define(name string) LocationID {
	id := s.reference(name)
	to := s.location(0)
	s.closeLocation()
	s.file.locations[id].First = to
	return id
}

// closeLocation skips the parenthesis that ends a location, and what is not understood before it.
func (s *scanner) closeLocation() {
	s.blank()
	if s.peek(s.at) == ')' {
		s.at++
		return
	}
	s.problem(s.line, "a location that is not understood")
	for open := 1; open > 0 && s.at < len(s.text) && s.text[s.at] != '\n'; {
		switch s.text[s.at] {
		case '"':
			s.quoted()
			continue
		case '(':
			open++
		case ')':
			open--
		}
		s.at++
	}
}

func (s *scanner) take(token string) bool {
	s.blank()
	if !strings.HasPrefix(s.text[s.at:], token) {
		return false
	}
	s.at += len(token)
	return true
}

// location reads a location behind its loc(; 0 for what is unknown.
func (s *scanner) location(depth int) LocationID {
	if depth > MaxFrames {
		return 0
	}
	s.blank()
	switch c := s.peek(s.at); {
	case c == '#':
		from := s.at
		s.at++
		s.word()
		return s.reference(s.text[from:s.at])
	case c == '"':
		return s.fileOrName(depth)
	case s.take("callsite("):
		l := Location{Kind: CallSite, First: s.location(depth + 1)}
		if s.take("at") {
			l.Second = s.location(depth + 1)
		}
		s.take(")")
		return s.add(l)
	case s.take("fused"):
		return s.fused(depth)
	case s.take("loc("):
		id := s.location(depth + 1)
		s.take(")")
		return id
	case s.take("unknown"):
		return s.add(Location{})
	}
	return 0
}

func (s *scanner) fileOrName(depth int) LocationID {
	from := s.at + 1
	s.quoted()
	l := Location{Kind: FilePlace, Text: Unescape(strings.TrimSuffix(s.text[from:s.at], `"`))}
	if s.take("(") {
		l.Kind, l.First = Named, s.location(depth+1)
		s.take(")")
		return s.add(l)
	}
	var ok bool
	if l.Line, ok = s.number(); !ok { // a name alone
		l.Kind = Named
		return s.add(l)
	}
	l.Column, _ = s.number()
	if s.take("to") {
		l.EndLine, _ = s.number()
		if l.EndColumn, ok = s.number(); !ok { // the same line
			l.EndLine, l.EndColumn = l.Line, l.EndLine
		}
	}
	return s.add(l)
}

// number reads :12, or 12.
func (s *scanner) number() (int32, bool) {
	s.take(":")
	from := s.at
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
	}
	n, err := strconv.ParseInt(s.text[from:s.at], 10, 32)
	return int32(n), err == nil
}

// fused reads <…>[loc, …].
func (s *scanner) fused(depth int) LocationID {
	head := Location{Kind: Fused}
	if s.peek(s.at) == '<' {
		from := s.at + 1
		s.brackets()
		head.Text = strings.TrimSuffix(s.text[from:s.at], ">")
	}
	if !s.take("[") {
		return s.add(head)
	}
	var list []LocationID
	for s.at < len(s.text) && s.text[s.at] != '\n' && !s.take("]") {
		before := s.at
		list = append(list, s.location(depth+1))
		if !s.take(",") && s.at == before {
			break
		}
	}
	rest := LocationID(0)
	for i := len(list) - 1; i > 0; i-- {
		rest = s.add(Location{Kind: Fused, First: list[i], Second: rest})
	}
	if len(list) > 0 {
		head.First, head.Second = list[0], rest
	}
	return s.add(head)
}

// resolved are the frames of a location.
type resolved struct {
	frames []Frame
	state  uint8 // 0 not looked at, 1 being resolved, 2 known
}

// Frames returns the places of a location, the innermost first: those behind the first are the calls that it was inlined at. Of what was
// fused it is the first that has any. A location that is unknown, or that refers to itself, has none.
func (f *File) Frames(id LocationID) []Frame {
	if f.frames == nil {
		f.frames = make([]resolved, len(f.locations))
	}
	return f.resolve(id, 0)
}

func (f *File) resolve(id LocationID, depth int) []Frame {
	if id <= 0 || int(id) >= len(f.frames) || depth > maxLocations {
		return nil
	}
	r := &f.frames[id]
	if r.state != 0 {
		return r.frames // none while it is being resolved
	}
	r.state = 1
	l := &f.locations[id]
	switch l.Kind {
	case FilePlace:
		r.frames = []Frame{{l.Text, int(l.Line), int(l.Column)}}
	case Named, Reference:
		r.frames = f.resolve(l.First, depth+1)
	case Fused:
		r.frames = f.firstFused(l, depth)
	case CallSite:
		r.frames = f.inlined(f.resolve(l.First, depth+1), f.resolve(l.Second, depth+1))
	}
	r.state = 2
	return r.frames
}

func (f *File) firstFused(l *Location, depth int) []Frame {
	for {
		if frames := f.resolve(l.First, depth+1); len(frames) > 0 {
			return frames
		}
		if l.Second == 0 {
			return nil
		}
		l = &f.locations[l.Second]
	}
}

// inlined puts callers behind a callee. A callee that is unknown, as of code that Triton itself adds, leaves the caller's frames.
func (f *File) inlined(callee, caller []Frame) []Frame {
	switch n := len(callee) + len(caller); {
	case len(callee) == 0:
		return caller
	case n > MaxFrames || f.spent > 16*len(f.locations)+1<<16:
		return callee // locations that double with each line: a compiler does not print them
	default:
		f.spent += n
		return append(callee[:len(callee):len(callee)], caller...)
	}
}

// Variable is the name that a location gives, innermost code first: the variable that Triton assigned the value to. "" is none.
func (f *File) Variable(id LocationID) string {
	for range maxLocations {
		switch l := f.At(id); l.Kind {
		case Named:
			return l.Text
		case Reference, CallSite, Fused:
			id = l.First
		default:
			return ""
		}
	}
	return ""
}

// Unescape decodes \" \\ \n \t and two hexadecimal digits, as MLIR and LLVM print strings.
func Unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		if i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// Location returns the location that a text gives, with or without its brackets: (#loc3). It is for the arguments of functions and blocks,
// whose locations are in their text.
func (f *File) Location(text string) LocationID {
	s := scanner{text: strings.TrimSuffix(strings.TrimPrefix(text, "("), ")"), line: 1, file: f}
	id := s.location(0)
	f.frames = nil
	return id
}

// LocationText is a location as it is written between the brackets of loc(…).
func (f *File) LocationText(id LocationID) string {
	var b strings.Builder
	f.writeLocation(&b, id, 0)
	return b.String()
}

func (f *File) writeLocation(b *strings.Builder, id LocationID, depth int) {
	l := f.At(id)
	switch {
	case depth > MaxFrames || l.Kind == Unknown:
		b.WriteString("unknown")
	case l.Kind == Reference:
		b.WriteString(l.Text)
	case l.Kind == FilePlace:
		fmt.Fprintf(b, "%s:%d:%d", Quote(l.Text), l.Line, l.Column)
		if l.EndLine > 0 {
			fmt.Fprintf(b, " to %d:%d", l.EndLine, l.EndColumn)
		}
	case l.Kind == Named:
		b.WriteString(Quote(l.Text))
		if l.First != 0 {
			b.WriteByte('(')
			f.writeLocation(b, l.First, depth+1)
			b.WriteByte(')')
		}
	case l.Kind == CallSite:
		b.WriteString("callsite(")
		f.writeLocation(b, l.First, depth+1)
		b.WriteString(" at ")
		f.writeLocation(b, l.Second, depth+1)
		b.WriteByte(')')
	case l.Kind == Fused:
		b.WriteString("fused")
		if l.Text != "" {
			b.WriteString("<" + l.Text + ">")
		}
		b.WriteByte('[')
		for next := id; next != 0; next = f.At(next).Second {
			if next != id {
				b.WriteString(", ")
			}
			f.writeLocation(b, f.At(next).First, depth+1)
		}
		b.WriteByte(']')
	}
}

// Quote writes a string as MLIR does.
func Quote(s string) string {
	const digits = "0123456789ABCDEF"
	b := []byte{'"'}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			b = append(b, `\\`...)
		case c < ' ' || c >= 0x7F || c == '"':
			b = append(b, '\\', digits[c>>4], digits[c&15])
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}
