package hatchet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"
)

// FormatError says where and why a file is not a .hatchet file.
type FormatError struct {
	Offset int64 // of the byte that could not be understood, from 0
	Reason string
}

func (e *FormatError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Reason) }

// scanner reads JSON text piece by piece from a stream. The first error sticks; after it every method returns
// a zero value, so callers check err only where they loop or decide.
type scanner struct {
	r    io.Reader
	buf  []byte
	pos  int   // next byte to read in buf
	end  int   // end of what is read
	base int64 // offset of buf[0] in the stream
	err  error
	text []byte // the last string or number that did not lie in one piece in buf

	names map[string]string // see intern
}

func newScanner(r io.Reader) *scanner {
	return &scanner{r: r, buf: make([]byte, 64<<10), names: map[string]string{}}
}

func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

func (s *scanner) fail(at int64, format string, args ...any) {
	if s.err == nil {
		s.err = &FormatError{at, fmt.Sprintf(format, args...)}
	}
}

// fill reads more bytes; false at the end of the stream or after an error.
func (s *scanner) fill() bool {
	if s.err != nil {
		return false
	}
	s.base += int64(s.end)
	s.pos, s.end = 0, 0
	for empty := 0; empty < 100; empty++ {
		n, err := s.r.Read(s.buf)
		s.end = n
		if n > 0 {
			return true
		}
		if errors.Is(err, io.EOF) {
			return false
		}
		if err != nil {
			s.err = fmt.Errorf("byte %d: %w", s.base, err)
			return false
		}
	}
	s.err = fmt.Errorf("byte %d: %w", s.base, io.ErrNoProgress)
	return false
}

// peek skips white space and returns the next byte without consuming it; 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < s.end && s.buf[s.pos] > ' ' {
		return s.buf[s.pos]
	}
	return s.peekBehindSpace()
}

// peekBehindSpace is the rest of peek. Two thirds of an indented file are spaces, so they are taken eight at a time.
func (s *scanner) peekBehindSpace() byte {
	for s.err == nil {
		for s.pos < s.end {
			switch c := s.buf[s.pos]; c {
			case ' ':
				s.pos += leadingSpaces(s.buf[s.pos:s.end])
			case '\n', '\r', '\t':
				s.pos++
			default:
				return c
			}
		}
		if !s.fill() {
			return 0
		}
	}
	return 0
}

// leadingSpaces counts the spaces at the start of text, of which there is one at least.
func leadingSpaces(text []byte) int {
	n := 0
	for ; len(text)-n >= 8; n += 8 {
		if other := binary.LittleEndian.Uint64(text[n:]) ^ 0x2020202020202020; other != 0 {
			return n + bits.TrailingZeros64(other)/8
		}
	}
	for n < len(text) && text[n] == ' ' {
		n++
	}
	return n
}

// expect consumes one byte of structure.
func (s *scanner) expect(want byte, where string) {
	switch c := s.peek(); {
	case s.err != nil:
	case c == want:
		s.pos++
	default:
		s.unexpected(fmt.Sprintf("'%c' %s", want, where))
	}
}

// unexpected reports what lies at the current position instead of what was wanted.
func (s *scanner) unexpected(want string) {
	c := s.peek()
	switch {
	case c == 0 && s.pos >= s.end:
		s.fail(s.offset(), "the file ends where %s should be; it is cut off or empty", want)
	case c < ' ' || c >= 0x7f:
		s.fail(s.offset(), "expected %s, found byte 0x%02x", want, c)
	default:
		s.fail(s.offset(), "expected %s, found '%c'", want, c)
	}
}

// object calls member for every key; member must consume the value. It is for the rare objects; those of which a
// file has millions are read with begin, str, colon and more.
func (s *scanner) object(where string, member func(key string)) {
	s.expect('{', where)
	for more := s.begin('}'); more; more = s.more('}') {
		key := s.intern(s.str(aKey))
		if s.colon(); s.err != nil {
			return
		}
		member(key)
	}
}

// begin says whether an object or an array that has just been opened has members, and closes it if it has none.
func (s *scanner) begin(closing byte) bool {
	if s.peek() == closing {
		s.pos++
		return false
	}
	return s.err == nil
}

const aKey = "a key in quotes"

func (s *scanner) colon() { s.expect(':', "after a key") }

// intern returns the one copy of a string. A tree repeats a few kernel names thousands of times.
func (s *scanner) intern(text []byte) string {
	if name, ok := s.names[string(text)]; ok {
		return name
	}
	if s.err != nil {
		return ""
	}
	raw := string(text)
	name := strings.ToValidUTF8(raw, "\uFFFD")
	s.names[raw] = name
	return name
}

// array calls element for every element; element must consume it.
func (s *scanner) array(where string, element func()) {
	s.expect('[', where)
	for more := s.begin(']'); more; more = s.more(']') {
		element()
	}
}

// more consumes a comma (true) or the closing bracket (false); false after an error.
func (s *scanner) more(closing byte) bool {
	switch s.peek() {
	case ',':
		s.pos++
		return s.err == nil
	case closing:
		s.pos++
		return false
	}
	if s.err == nil {
		s.unexpected(fmt.Sprintf("',' or '%c'", closing))
	}
	return false
}

// str reads a string. The result is valid until the next call that scans.
func (s *scanner) str(want string) []byte {
	if s.peek() != '"' {
		if s.err == nil {
			s.unexpected(want)
		}
		return nil
	}
	start := s.offset()
	s.pos++
	rest := s.buf[s.pos:s.end]
	if n := plainText(rest); n < len(rest) && rest[n] == '"' { // the common case: whole in the buffer, nothing to unescape
		s.pos += n + 1
		return rest[:n]
	}
	return s.longString(start)
}

// plainText counts the bytes of a string before a quote, a backslash or a control character, or before the end.
func plainText(text []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; len(text)-n >= 8; n += 8 {
		// A byte's top bit is set in found if it is one of the three. What lies behind the first such byte may be
		// wrong, because of the borrow of the subtractions, but only the first one is asked for.
		eight := binary.LittleEndian.Uint64(text[n:])
		quote, backslash := eight^('"'*ones), eight^('\\'*ones)
		found := ((quote-ones)&^quote | (backslash-ones)&^backslash | (eight-' '*ones)&^eight) & tops
		if found != 0 {
			return n + bits.TrailingZeros64(found)/8
		}
	}
	for n < len(text) && text[n] != '"' && text[n] != '\\' && text[n] >= ' ' {
		n++
	}
	return n
}

// longString reads a string piece by piece into text.
func (s *scanner) longString(start int64) []byte {
	s.text = s.text[:0]
	for {
		n := plainText(s.buf[s.pos:s.end])
		s.text = append(s.text, s.buf[s.pos:s.pos+n]...)
		s.pos += n
		c, ok := s.byte()
		switch {
		case !ok:
			s.fail(start, "the string that starts here never ends; the file is cut off")
			return nil
		case c == '"':
			return s.text
		case c == '\\':
			if !s.unescape() {
				return nil
			}
		case c < ' ':
			s.fail(s.offset()-1, "control character 0x%02x inside a string", c)
			return nil
		default: // the first byte of a fresh buffer
			s.text = append(s.text, c)
		}
	}
}

// byte consumes one byte as it is.
func (s *scanner) byte() (byte, bool) {
	if s.pos >= s.end && !s.fill() {
		return 0, false
	}
	c := s.buf[s.pos]
	s.pos++
	return c, true
}

// skip consumes a value of any shape.
func (s *scanner) skip(depth int) {
	if depth > maxDepth {
		s.fail(s.offset(), "nested more than %d levels deep", maxDepth)
		return
	}
	switch s.peek() {
	case '{':
		s.object("", func(string) { s.skip(depth + 1) })
	case '[':
		s.array("", func() { s.skip(depth + 1) })
	case '"':
		s.str("a string")
	default:
		s.scalar()
	}
}
