package msgpack

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// output appends MessagePack to a buffer. It is the tree.Writer of the format.
type output struct{ buf []byte }

func (e *output) Object(n int)    { e.header(n, 0x80, 0xde) }
func (e *output) List(n int)      { e.header(n, 0x90, 0xdc) }
func (e *output) Key(name string) { e.Text(name) }
func (e *output) raw(s string)    { e.buf = append(e.buf, s...) }

// MessagePack has neither ends of containers, nor separators, nor lines.
func (e *output) EndObject()     {}
func (e *output) EndList()       {}
func (e *output) Next()          {}
func (e *output) Wrap(bool) bool { return false }

// header writes the head of a container: up to 15 in one byte, else the 16 or the 32 bit form.
func (e *output) header(n int, short, long byte) {
	switch {
	case n < 16:
		e.buf = append(e.buf, short|byte(n))
	case n <= math.MaxUint16:
		e.buf = binary.BigEndian.AppendUint16(append(e.buf, long), uint16(n))
	default:
		e.buf = binary.BigEndian.AppendUint32(append(e.buf, long+1), uint32(n))
	}
}

// Text writes a string. Bytes that are not valid UTF-8 are written as U+FFFD: Python's reader would refuse the whole
// file.
func (e *output) Text(s string) {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	switch n := len(s); {
	case n < 32:
		e.buf = append(e.buf, 0xa0|byte(n))
	case n <= math.MaxUint8:
		e.buf = append(e.buf, 0xd9, byte(n))
	case n <= math.MaxUint16:
		e.buf = binary.BigEndian.AppendUint16(append(e.buf, 0xda), uint16(n))
	default:
		e.buf = binary.BigEndian.AppendUint32(append(e.buf, 0xdb), uint32(n))
	}
	e.buf = append(e.buf, s...)
}

func (e *output) Float(f float64) {
	e.buf = binary.BigEndian.AppendUint64(append(e.buf, 0xcb), math.Float64bits(f))
}

func (e *output) Unsigned(v uint64) {
	switch {
	case v < 128:
		e.buf = append(e.buf, byte(v))
	case v <= math.MaxUint8:
		e.buf = append(e.buf, 0xcc, byte(v))
	case v <= math.MaxUint16:
		e.buf = binary.BigEndian.AppendUint16(append(e.buf, 0xcd), uint16(v))
	case v <= math.MaxUint32:
		e.buf = binary.BigEndian.AppendUint32(append(e.buf, 0xce), uint32(v))
	default:
		e.buf = binary.BigEndian.AppendUint64(append(e.buf, 0xcf), v)
	}
}

func (e *output) Integer(v int64) {
	switch {
	case v >= 0:
		e.Unsigned(uint64(v))
	case v >= -32:
		e.buf = append(e.buf, byte(v))
	case v >= math.MinInt8:
		e.buf = append(e.buf, 0xd0, byte(v))
	case v >= math.MinInt16:
		e.buf = binary.BigEndian.AppendUint16(append(e.buf, 0xd1), uint16(v))
	case v >= math.MinInt32:
		e.buf = binary.BigEndian.AppendUint32(append(e.buf, 0xd2), uint32(v))
	default:
		e.buf = binary.BigEndian.AppendUint64(append(e.buf, 0xd3), uint64(v))
	}
}
