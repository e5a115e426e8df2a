package jsontext

import (
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Quote is a string as JSON.
func Quote(s string) []byte { return AppendString(nil, s) }

// AppendString appends a string as JSON: what need not be escaped stands as it is. Bytes that are not valid UTF-8, such as
// those of a symbol's name that was cut in the middle, are written as U+FFFD: one bad byte would make the whole file unreadable
// for Python.
func AppendString(out []byte, s string) []byte {
	if PlainASCII(bytesOf(s)) == len(s) { // nearly all strings
		return append(append(append(out, '"'), s...), '"')
	}
	return Form{}.AppendText(out, s)
}

// AppendList writes a list, each element by a function.
func AppendList[T any](out []byte, list []T, write func(out []byte, element T) []byte) []byte {
	return append(appendEach(append(out, '['), list, write), ']')
}

// AppendObject writes an object, each member with its name by a function.
func AppendObject[T any](out []byte, members []T, write func(out []byte, member T) []byte) []byte {
	return append(appendEach(append(out, '{'), members, write), '}')
}

func appendEach[T any](out []byte, list []T, write func(out []byte, element T) []byte) []byte {
	for i, e := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = write(out, e)
	}
	return out
}

const hexDigits = "0123456789abcdef"

// AppendText appends a string in this form.
func (f Form) AppendText(out []byte, s string) []byte {
	out = append(out, '"')
	for {
		n := PlainASCII(bytesOf(s))
		if f.ASCII {
			n = beforeDelete(s[:n])
		}
		out = append(out, s[:n]...)
		if n == len(s) {
			return append(out, '"')
		}
		r, size := utf8.DecodeRuneInString(s[n:])
		out = f.appendRune(out, r)
		s = s[n+size:]
	}
}

// beforeDelete counts the bytes before a DEL, the one character of plain text that Python's json escapes.
func beforeDelete(s string) int {
	for i := range len(s) {
		if s[i] == 0x7f {
			return i
		}
	}
	return len(s)
}

// appendRune appends a character that is not plain.
func (f Form) appendRune(out []byte, r rune) []byte {
	switch {
	case r <= '\\' && Letters[r] != 0:
		return append(out, '\\', Letters[r])
	case r < ' ' || r < 0x10000 && f.ASCII:
		return appendUnicode(out, r)
	case f.ASCII:
		high, low := utf16.EncodeRune(r)
		return appendUnicode(appendUnicode(out, high), low)
	}
	return utf8.AppendRune(out, r)
}

// Letters are the characters that are written as a backslash and a letter, and that letter.
var Letters = [...]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

func appendUnicode(out []byte, r rune) []byte {
	return append(out, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// AppendFloat appends a double as Python's repr does: digits from 1e-4 to below 1e16, an exponent of two digits elsewhere.
func AppendFloat(out []byte, v float64) []byte { return appendFloat(out, v, 1e16) }

// AppendFloatOrNull appends a double as the JSON library of upstream's profiler does: as AppendFloat, but with an exponent from
// 1e15. JSON has neither NaN nor infinities: they are null.
func AppendFloatOrNull(out []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(out, "null"...)
	}
	return appendFloat(out, v, 1e15)
}

// appendFloat appends the shortest text that reads back as v, and always one that reads back as a float: 4096.0.
func appendFloat(out []byte, v, large float64) []byte {
	switch abs := math.Abs(v); {
	case abs != 0 && (abs < 1e-4 || abs >= large):
		return strconv.AppendFloat(out, v, 'e', -1, 64)
	case v == math.Trunc(v) && v != 0: // a whole number of 53 bits, or of a few more digits than that
		if abs < 1<<53 {
			return append(strconv.AppendInt(out, int64(v), 10), ".0"...)
		}
		return append(strconv.AppendFloat(out, v, 'f', -1, 64), ".0"...)
	case v == 0 && !math.Signbit(v):
		return append(out, "0.0"...)
	case v == 0:
		return append(out, "-0.0"...)
	}
	return strconv.AppendFloat(out, v, 'f', -1, 64)
}
