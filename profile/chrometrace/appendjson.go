package chrometrace

import (
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/goproton/goproton/profile"
)

const hexDigits = "0123456789abcdef"

// appendString writes a JSON string. Bytes that are not valid UTF-8 (a symbol name cut in the middle) are
// written as U+FFFD, because one bad byte would make the whole file unreadable for strict readers.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	if plain(s) {
		b = append(b, s...)
		return append(b, '"')
	}
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r) // RuneError is U+FFFD
			i += size
			continue
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, c)
		}
		i++
	}
	return append(b, '"')
}

// plain says whether a string stands for itself: printable ASCII without quotes and backslashes. It looks at eight bytes
// at a time, because frames of call paths are most of a trace: writing is a third faster than byte by byte.
func plain(s string) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; len(s) >= 8; s = s[8:] {
		w := binary.LittleEndian.Uint64([]byte(s[:8]))
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		// A byte below n leaves its high bit in (w - n) &^ w, as long as no high bit was set before.
		if (w|(w-ones*' ')|((quote-ones)&^quote)|((slash-ones)&^slash))&highs != 0 {
			return false
		}
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// appendMicros writes nanoseconds as microseconds, exactly: 30200 is written as 30.2.
func appendMicros(b []byte, ns uint64) []byte {
	b = strconv.AppendUint(b, ns/1000, 10)
	hundreds, tens, ones := byte('0'+ns/100%10), byte('0'+ns/10%10), byte('0'+ns%10)
	switch {
	case ones != '0':
		return append(b, '.', hundreds, tens, ones)
	case tens != '0':
		return append(b, '.', hundreds, tens)
	case hundreds != '0':
		return append(b, '.', hundreds)
	}
	return b
}

// appendFloat writes the shortest text that reads back as v, and always one that reads back as a float: 4096.0.
// JSON has no NaN and no infinity; both are written as null.
func appendFloat(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(b, "null"...)
	}
	if abs := math.Abs(v); abs != 0 && (abs < 1e-4 || abs >= 1e15) {
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	b = strconv.AppendFloat(b, v, 'f', -1, 64)
	if v == math.Trunc(v) {
		b = append(b, ".0"...)
	}
	return b
}

func appendValue(b []byte, v profile.Value) []byte {
	switch v.Type() {
	case profile.Int:
		return strconv.AppendInt(b, v.Int(), 10)
	case profile.Float:
		f, _ := v.Float()
		return appendFloat(b, f)
	case profile.String:
		return appendString(b, v.Str())
	case profile.Ints:
		return appendList(b, v.Ints(), func(b []byte, i int64) []byte { return strconv.AppendInt(b, i, 10) })
	default:
		return appendList(b, v.Floats(), appendFloat)
	}
}

func appendList[E any](b []byte, list []E, one func([]byte, E) []byte) []byte {
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, e)
	}
	return append(b, ']')
}
