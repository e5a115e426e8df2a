// Package jsonscan reads JSON text piece by piece from a stream, in the memory of one buffer: what the readers of
// .hatchet files and of traces are made of. It checks the grammar where it reads, and says where a file is wrong.
package jsonscan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"

	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/profile"
)

// Scanner reads JSON text piece by piece from a stream. The first error sticks; after it every method returns
// a zero value, so callers check err only where they loop or decide.
type Scanner struct {
	r     io.Reader
	buf   []byte
	pos   int    // next byte to read in buf
	end   int    // end of what is read
	base  int64  // offset of buf[0] in the stream
	ended bool   // nothing comes after end
	Err   error  // the first; it sticks
	text  []byte // the last string or number that did not lie in one piece in buf
	key   []byte // the last key, if what follows it did not lie in buf

	names map[string]string // see Intern

	// Lenient reads strings that are not JSON as they are meant: control characters, and backslashes that escape nothing, stand for
	// themselves. Odd counts them.
	Lenient  bool
	Odd      int
	broken   int   // of these, backslashes
	FirstOdd int64 // where the first is
	letters  []int // where text has a character that was written as a backslash and a letter

	Rounded int // integers that Scalar gave as floats that do not hold them
	memory  inflate.Memory
}

// Keep counts n bytes that the reader keeps of the file, where a few characters may stand for many.
func (s *Scanner) Keep(n int) {
	if err := s.memory.Keep(int64(n), s.Offset()); err != nil {
		s.Fail(s.Offset(), "%v", err)
	}
}

// textSize is how many bytes a new text takes in addition to its two copies.
const textSize = 100

// MaxDepth bounds the nesting of values that are skipped.
const MaxDepth = profile.MaxDepth

// longestString bounds a string, which must fit in memory to be read.
const longestString = 64 << 20

// New returns a scanner at the start of a stream.
func New(r io.Reader) *Scanner {
	return &Scanner{r: r, buf: make([]byte, 64<<10), names: map[string]string{}}
}

// StartAt says where the stream lies in the file, for offsets and errors. It comes before anything is read.
func (s *Scanner) StartAt(offset int64) { s.base = offset }

// Offset is where the next byte lies in the stream.
func (s *Scanner) Offset() int64 { return s.base + int64(s.pos) }

// Ended says whether everything read so far is consumed: behind Peek's 0, whether that was the end.
func (s *Scanner) Ended() bool { return s.pos >= s.end }

// Fail makes an error stick.
func (s *Scanner) Fail(at int64, format string, args ...any) {
	if s.Err == nil {
		s.Err = &profile.FormatError{Offset: at, Reason: fmt.Sprintf(format, args...), Cut: s.ended && s.pos >= s.end}
	}
}

// fill reads more bytes; false at the end of the stream or after an error.
func (s *Scanner) fill() bool {
	if s.Err != nil {
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
			s.ended = true
			return false
		}
		if err != nil {
			s.Err = fmt.Errorf("byte %d: %w", s.base, err)
			return false
		}
	}
	s.Err = fmt.Errorf("byte %d: %w", s.base, io.ErrNoProgress)
	return false
}

// Peek skips white space and returns the next byte without consuming it; 0 at the end.
func (s *Scanner) Peek() byte {
	if s.pos < s.end && s.buf[s.pos] > ' ' {
		return s.buf[s.pos]
	}
	return s.peekBehindSpace()
}

// peekBehindSpace is the rest of peek. Two thirds of an indented file are spaces behind a line break, so they are taken eight at
// a time.
func (s *Scanner) peekBehindSpace() byte {
	for s.Err == nil {
		text := s.buf[s.pos:s.end]
		n := 0
		for n < len(text) {
			switch c := text[n]; c {
			case '\n', ' ':
				n++
				for ; len(text)-n >= 8; n += 8 {
					if other := binary.LittleEndian.Uint64(text[n:]) ^ 0x2020202020202020; other != 0 {
						n += bits.TrailingZeros64(other) / 8
						break
					}
				}
			case '\r', '\t':
				n++
			default:
				s.pos += n
				return c
			}
		}
		s.pos = s.end
		if !s.fill() {
			return 0
		}
	}
	return 0
}

// Expect consumes one byte of structure.
func (s *Scanner) Expect(want byte, where string) {
	switch c := s.Peek(); {
	case s.Err != nil:
	case c == want:
		s.pos++
	default:
		s.Unexpected(fmt.Sprintf("'%c' %s", want, where))
	}
}

// Unexpected reports what lies at the current position instead of what was wanted.
func (s *Scanner) Unexpected(want string) {
	c := s.Peek()
	switch {
	case c == 0 && s.pos >= s.end:
		s.Fail(s.Offset(), "the file ends where %s should be; it is cut off or empty", want)
	case c < ' ' || c >= 0x7f:
		s.Fail(s.Offset(), "expected %s, found byte 0x%02x", want, c)
	case s.Lenient && s.behindString():
		s.Fail(s.Offset(), "expected %s, found '%c': a quote within the text before it seems to lack its backslash; add it, and read the file again", want, c)
	default:
		s.Fail(s.Offset(), "expected %s, found '%c'", want, c)
	}
}

// behindString says whether the last thing that was read is a string, as far as the buffer shows it.
func (s *Scanner) behindString() bool {
	return bytes.HasSuffix(bytes.TrimRight(s.buf[:s.pos], " \t\r\n"), []byte{'"'})
}

// Object calls member for every key; member must consume the value. It is for the rare objects; those of which a
// file has millions are read with Begin, Key and More.
func (s *Scanner) Object(where string, member func(key string)) {
	s.Expect('{', where)
	for more := s.Begin('}'); more; more = s.More('}') {
		key := s.Intern(s.Key())
		if s.Err != nil {
			return
		}
		member(key)
	}
}

// Begin says whether an object or an array that has just been opened has members, and closes it if it has none.
func (s *Scanner) Begin(closing byte) bool {
	if s.Peek() == closing {
		s.pos++
		return false
	}
	return s.Err == nil
}

// Key reads a key and the colon behind it. The result is valid until the next call that scans.
func (s *Scanner) Key() []byte {
	key := s.Str("a key in quotes")
	if s.pos < s.end && s.buf[s.pos] == ':' {
		s.pos++
		return key
	}
	s.key = append(s.key[:0], key...) // it may be gone when the next buffer is read
	s.Expect(':', "after a key")
	return s.key
}

// Intern returns the one copy of a string. A tree repeats a few kernel names thousands of times.
func (s *Scanner) Intern(text []byte) string {
	if name, ok := s.names[string(text)]; ok {
		return name
	}
	if s.Err != nil {
		return ""
	}
	s.Keep(textSize + 2*len(text))
	raw := string(text)
	name := strings.ToValidUTF8(raw, "\uFFFD")
	s.names[raw] = name
	return name
}

// Array calls element for every element; element must consume it.
func (s *Scanner) Array(where string, element func()) {
	s.Expect('[', where)
	for more := s.Begin(']'); more; more = s.More(']') {
		element()
	}
}

// More consumes a comma (true) or the closing bracket (false); false after an error.
func (s *Scanner) More(closing byte) bool {
	switch s.Peek() {
	case ',':
		s.pos++
		return s.Err == nil
	case closing:
		s.pos++
		return false
	}
	if s.Err == nil {
		s.Unexpected(fmt.Sprintf("',' or '%c'", closing))
	}
	return false
}

// Str reads a string. The result is valid until the next call that scans.
func (s *Scanner) Str(want string) []byte {
	if s.Peek() != '"' {
		if s.Err == nil {
			s.Unexpected(want)
		}
		return nil
	}
	start := s.Offset()
	s.pos++
	rest := s.buf[s.pos:s.end]
	if n := jsontext.Plain(rest); n < len(rest) && rest[n] == '"' { // the common case: whole in the buffer, nothing to unescape
		s.pos += n + 1
		return rest[:n]
	}
	return s.longString(start)
}

// longString reads a string piece by piece into text.
func (s *Scanner) longString(start int64) []byte {
	s.text, s.letters = s.text[:0], s.letters[:0]
	broken := s.broken
	for {
		n := jsontext.Plain(s.buf[s.pos:s.end])
		s.text = append(s.text, s.buf[s.pos:s.pos+n]...)
		s.pos += n
		if len(s.text) > longestString {
			s.Fail(start, "a string of more than %d bytes", longestString)
			return nil
		}
		c, ok := s.byte()
		switch {
		case !ok:
			s.Fail(start, "the string that starts here never ends; the file is cut off")
			return nil
		case c == '"':
			if s.broken > broken && len(s.letters) > 0 {
				s.asBackslashes()
			}
			return s.text
		case c == '\\':
			if !s.unescape() {
				return nil
			}
		case c < ' ' && s.Lenient:
			s.odd(s.Offset() - 1)
			s.text = append(s.text, c)
		case c < ' ':
			s.Fail(s.Offset()-1, "control character 0x%02x inside a string", c)
			return nil
		default: // the first byte of a fresh buffer
			s.text = append(s.text, c)
		}
	}
}

func (s *Scanner) odd(at int64) {
	if s.Odd == 0 {
		s.FirstOdd = at
	}
	s.Odd++
}

// byte consumes one byte as it is.
func (s *Scanner) byte() (byte, bool) {
	if s.pos >= s.end && !s.fill() {
		return 0, false
	}
	c := s.buf[s.pos]
	s.pos++
	return c, true
}

// Skip consumes a value of any shape.
func (s *Scanner) Skip(depth int) {
	if depth > MaxDepth {
		s.Fail(s.Offset(), "nested more than %d levels deep", MaxDepth)
		return
	}
	switch s.Peek() {
	case '{':
		s.Object("", func(string) { s.Skip(depth + 1) })
	case '[':
		s.Array("", func() { s.Skip(depth + 1) })
	case '"':
		s.Str("a string")
	default:
		s.Scalar()
	}
}
