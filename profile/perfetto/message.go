package perfetto

import (
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// encoder writes protobuf messages through one buffer. An error of the destination sticks.
type encoder struct {
	w   io.Writer
	buf []byte
	err error
}

// bufferSize is how many bytes are collected before a write.
const bufferSize = 256 << 10

func (e *encoder) flush() error {
	if e.err == nil && len(e.buf) > 0 {
		_, e.err = e.w.Write(e.buf)
	}
	e.buf = e.buf[:0]
	return e.err
}

// begin starts a message within a message; end takes what it returns. One byte is kept free for the length, which is
// enough for nearly all; end makes room where it is not.
func (e *encoder) begin(field protowire.Number) int {
	e.buf = protowire.AppendTag(e.buf, field, protowire.BytesType)
	e.buf = append(e.buf, 0)
	return len(e.buf)
}

func (e *encoder) end(start int) {
	size := len(e.buf) - start
	if size < 0x80 {
		e.buf[start-1] = byte(size)
		return
	}
	var length [10]byte
	prefix := protowire.AppendVarint(length[:0], uint64(size))
	more := len(prefix) - 1
	e.buf = append(e.buf, prefix[:more]...) // any bytes: they are moved over
	copy(e.buf[start+more:], e.buf[start:start+size])
	copy(e.buf[start-1:], prefix)
}

func (e *encoder) uint(field protowire.Number, v uint64) {
	e.buf = protowire.AppendTag(e.buf, field, protowire.VarintType)
	e.buf = protowire.AppendVarint(e.buf, v)
}

func (e *encoder) fixed(field protowire.Number, v uint64) {
	e.buf = protowire.AppendTag(e.buf, field, protowire.Fixed64Type)
	e.buf = protowire.AppendFixed64(e.buf, v)
}

func (e *encoder) double(field protowire.Number, v float64) { e.fixed(field, math.Float64bits(v)) }

// text writes a string as valid UTF-8, which a protobuf string must be.
func (e *encoder) text(field protowire.Number, s string) {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	e.buf = protowire.AppendTag(e.buf, field, protowire.BytesType)
	e.buf = protowire.AppendString(e.buf, s)
}
