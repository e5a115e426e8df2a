package jsonscan

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/goproton/goproton/internal/jsontext"
	"github.com/goproton/goproton/profile"
)

// Scalar reads a number or a word: true, false, null, and Python's NaN and Infinity. What has no value
// (null) is NaN, so that it is neither shown as zero nor added up as one.
func (s *Scanner) Scalar() profile.Value {
	s.Peek()
	if v, ok := s.ShortInt(); ok {
		return profile.IntValue(v)
	}
	start := s.Offset()
	token := s.Token()
	if s.Err != nil {
		return profile.Value{}
	}
	if len(token) == 0 {
		s.Unexpected("a value")
		return profile.Value{}
	}
	length, whole := jsontext.Number(token)
	isNumber := length == len(token)
	if isNumber && whole > 0 {
		if v, err := strconv.ParseInt(string(token), 10, 64); err == nil {
			return profile.IntValue(v)
		}
	}
	switch string(token) {
	case "true":
		return profile.IntValue(1)
	case "false":
		return profile.IntValue(0)
	case "null", "NaN":
		return profile.FloatValue(math.NaN())
	case "Infinity":
		return profile.FloatValue(math.Inf(1))
	case "-Infinity":
		return profile.FloatValue(math.Inf(-1))
	}
	// Out of range is ±Inf from ParseFloat together with an error; as a measurement that is fine.
	f, err := strconv.ParseFloat(string(token), 64)
	if !isNumber || err != nil && !math.IsInf(f, 0) {
		s.Fail(start, "expected a value, found %q", Clip(token))
	}
	if bytes.IndexByte(token, '.') < 0 && Rounded(string(token), f) {
		s.Rounded++
	}
	return profile.FloatValue(f)
}

// ShortInt consumes what nearly all values are: a whole number of up to 18 digits that ends within the buffer. It is called behind Peek.
func (s *Scanner) ShortInt() (v int64, ok bool) {
	rest := s.buf[s.pos:s.end]
	for i, c := range rest {
		if c < '0' || c > '9' {
			if i == 0 || i > 18 || i > 1 && rest[0] == '0' || inToken(c) {
				break
			}
			s.pos += i
			return v, true
		}
		v = v*10 + int64(c-'0') // meaningless after 18 digits, and not used
	}
	return 0, false
}

// inToken says whether a byte may stand within a number or a word.
func inToken(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '+' || c == '.'
}

// Token consumes the letters, digits and signs of one scalar.
func (s *Scanner) Token() []byte {
	s.text = s.text[:0]
	for {
		for i := s.pos; i < s.end; i++ {
			if inToken(s.buf[i]) {
				continue
			}
			token := s.buf[s.pos:i]
			s.pos = i
			if len(s.text) == 0 {
				return token
			}
			s.text = append(s.text, token...)
			return s.text
		}
		s.text = append(s.text, s.buf[s.pos:s.end]...)
		s.pos = s.end
		if len(s.text) > longestScalar {
			s.Fail(s.Offset(), "a number of more than %d characters", longestScalar)
			return nil
		}
		if !s.fill() {
			return s.text
		}
	}
}

// longestScalar bounds a number that crosses the buffer; a float64 written in full has 1077 characters.
const longestScalar = 4096

// Clip shortens what an error quotes.
func Clip(token []byte) []byte {
	if len(token) > 40 {
		return token[:40]
	}
	return token
}

// unescape reads what follows a backslash and appends it to text.
func (s *Scanner) unescape() bool {
	at := s.Offset() - 1
	if s.Lenient && !s.isEscape() {
		s.odd(at)
		s.broken++
		s.text = append(s.text, '\\')
		return true
	}
	letter, _ := s.byte()
	c := jsontext.Escapes[letter]
	switch {
	case letter == 'u':
		return s.unicode(at)
	case c == 0:
		s.Fail(at, "unknown escape in a string")
		return false
	case c < ' ':
		s.letters = append(s.letters, len(s.text))
	}
	s.text = append(s.text, c)
	return true
}

// isEscape says whether a backslash that was just read escapes what follows.
func (s *Scanner) isEscape() bool {
	next := s.Ahead(5)
	return len(next) == 0 || jsontext.Escapes[next[0]] != 0 || next[0] == 'u' && isHex(next[1:])
}

func isHex(text []byte) bool {
	_, n := jsontext.Hex(text)
	return n == 4
}

// asBackslashes takes escapes of letters in text back: a string with backslashes that escape nothing was written without escapes, and holds
// a path of Windows. So "torch\nn\modules" has a backslash before both of its letters, although \n could be a line break.
func (s *Scanner) asBackslashes() {
	old := append([]byte(nil), s.text...)
	s.text = s.text[:0]
	from := 0
	for _, at := range s.letters {
		s.text = append(s.text, old[from:at]...)
		s.text = append(s.text, '\\', jsontext.Letters[old[at]])
		from = at + 1
	}
	s.text = append(s.text, old[from:]...)
}

// unicode reads \uXXXX after its 'u', and the second half of a surrogate pair. Half a pair alone is read as U+FFFD.
func (s *Scanner) unicode(at int64) bool {
	r, ok := s.hex4()
	for ok && utf16.IsSurrogate(r) {
		if next := s.Ahead(6); !bytes.HasPrefix(next, []byte(`\u`)) || s.Lenient && !isHex(next[2:]) {
			r = utf8.RuneError
			break
		}
		s.pos += 2
		second, good := s.hex4()
		if pair := utf16.DecodeRune(r, second); !good || pair != utf8.RuneError {
			r, ok = pair, good
			break
		}
		s.text = utf8.AppendRune(s.text, utf8.RuneError)
		r = second // it may begin a pair of its own
	}
	if !ok {
		s.Fail(at, `expected four hexadecimal digits after \u`)
		return false
	}
	s.text = utf8.AppendRune(s.text, r)
	return true
}

// Ahead returns the next n bytes without consuming them, fewer at the end of the stream.
func (s *Scanner) Ahead(n int) []byte {
	if s.end-s.pos < n {
		left := copy(s.buf, s.buf[s.pos:s.end])
		s.base += int64(s.pos)
		s.pos, s.end = 0, left
		for s.end < n {
			got, err := s.r.Read(s.buf[s.end:])
			s.end += got
			if err != nil || got == 0 {
				break // if it was an error, the next fill meets it again
			}
		}
	}
	return s.buf[s.pos:min(s.pos+n, s.end)]
}

func (s *Scanner) hex4() (rune, bool) {
	r, n := jsontext.Hex(s.Ahead(4))
	if s.pos += n; n < 4 && s.pos >= s.end {
		s.fill() // so that the error says that the file is cut off
	}
	return r, n == 4
}
