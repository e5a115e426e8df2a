package hatchet

import (
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// jsonWriter writes JSON text through one buffer, indented or not. An error of the destination sticks: what
// follows is dropped and flush reports it.
type jsonWriter struct {
	w      io.Writer
	err    error
	buf    []byte
	indent bool
	level  int
}

// bufferSize is what is collected before a write. Measured for 33k nodes in 25 MB on two cores of an EPYC:
// 4 KiB 88 ms, 64 KiB 60 ms, 512 KiB 59 ms; encoding alone is 26 ms, the rest is the kernel taking 25 MB.
const bufferSize = 64 << 10

const spaces = "                                                                                "

func (j *jsonWriter) flush() error {
	if len(j.buf) > 0 && j.err == nil {
		_, j.err = j.w.Write(j.buf)
	}
	j.buf = j.buf[:0]
	return j.err
}

func (j *jsonWriter) spill() {
	if len(j.buf) >= bufferSize {
		j.flush()
	}
}

func (j *jsonWriter) raw(s string) {
	j.buf = append(j.buf, s...)
	j.spill()
}

func (j *jsonWriter) open(bracket byte) {
	j.buf = append(j.buf, bracket)
	j.level++
}

func (j *jsonWriter) close(bracket byte) {
	j.level--
	j.newline()
	j.buf = append(j.buf, bracket)
	j.spill()
}

// next starts an element of an object or array: a comma unless it is the first, and a fresh line.
func (j *jsonWriter) next(first bool) {
	if !first {
		j.buf = append(j.buf, ',')
	}
	j.newline()
}

// mostIndented is how many brackets deep lines are still broken and indented; a frame is two. What is deeper follows on
// the same line, so that a file grows with its tree and not with the square of its depth: 990 Python frames took 198 MB.
// Readers of JSON take any space.
const mostIndented = 64

func (j *jsonWriter) newline() {
	if !j.indent || j.level > mostIndented {
		return
	}
	j.buf = append(j.buf, '\n')
	for n := 4 * j.level; n > 0; n -= len(spaces) {
		j.buf = append(j.buf, spaces[:min(n, len(spaces))]...)
		j.spill()
	}
}

func (j *jsonWriter) key(name string) {
	j.str(name)
	j.buf = append(j.buf, ':')
	if j.indent {
		j.buf = append(j.buf, ' ')
	}
}

func (j *jsonWriter) integer(v int64) {
	j.buf = strconv.AppendInt(j.buf, v, 10)
	j.spill()
}

func (j *jsonWriter) unsigned(v uint64) {
	j.buf = strconv.AppendUint(j.buf, v, 10)
	j.spill()
}

// float writes the shortest text that reads back as v, and always one that reads back as a float: 4096.0.
// JSON has no NaN and no infinity; both are written as null, as upstream does.
func (j *jsonWriter) float(v float64) {
	switch abs := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		j.buf = append(j.buf, "null"...)
	case abs != 0 && (abs < 1e-4 || abs >= 1e15):
		j.exponent(v)
	default:
		start := len(j.buf)
		j.buf = strconv.AppendFloat(j.buf, v, 'f', -1, 64)
		if !hasPoint(j.buf[start:]) {
			j.buf = append(j.buf, ".0"...)
		}
	}
	j.spill()
}

// exponent writes 1e+20 and 1.5e-07; 'e' with precision -1 gives just that.
func (j *jsonWriter) exponent(v float64) {
	j.buf = strconv.AppendFloat(j.buf, v, 'e', -1, 64)
}

func hasPoint(digits []byte) bool {
	for _, c := range digits {
		if c == '.' {
			return true
		}
	}
	return false
}

const hexDigits = "0123456789abcdef"

// str writes a string. Bytes that are not valid UTF-8 (a symbol name cut in the middle) are written as U+FFFD,
// because one bad byte would make the whole file unreadable for Python.
func (j *jsonWriter) str(s string) {
	j.buf = append(j.buf, '"')
	plain := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				j.buf = append(append(j.buf, s[plain:i]...), "\uFFFD"...)
				plain = i + 1
			}
			i += size
			continue
		}
		j.buf = append(j.buf, s[plain:i]...)
		j.escape(c)
		i++
		plain = i
	}
	j.buf = append(append(j.buf, s[plain:]...), '"')
	j.spill()
}

func (j *jsonWriter) escape(c byte) {
	switch c {
	case '"', '\\':
		j.buf = append(j.buf, '\\', c)
	case '\b':
		j.buf = append(j.buf, `\b`...)
	case '\f':
		j.buf = append(j.buf, `\f`...)
	case '\n':
		j.buf = append(j.buf, `\n`...)
	case '\r':
		j.buf = append(j.buf, `\r`...)
	case '\t':
		j.buf = append(j.buf, `\t`...)
	default:
		j.buf = append(j.buf, `\u00`...)
		j.buf = append(j.buf, hexDigits[c>>4], hexDigits[c&15])
	}
}
