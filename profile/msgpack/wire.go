package msgpack

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/internal/jsonscan"
	"github.com/goproton/goproton/profile/internal/tree"
)

// wire reads the values of MessagePack one by one. It is the tree.Reader of the format. The first error sticks; after it every
// method returns a zero value and no container has members, so callers check err only where they decide by a value.
type wire struct {
	data  []byte
	pos   int
	err   error
	names map[string]string // a tree repeats a few names thousands of times

	rounded int // integers that became floats that do not hold them
	memory  inflate.Memory
}

// Keep counts memory. All of the file has been read.
func (w *wire) Keep(n int) {
	if err := w.memory.Keep(int64(n), int64(len(w.data))); err != nil {
		w.fail(w.pos, "%v", err)
	}
}

func (w *wire) fail(at int, format string, args ...any) { w.Fail(int64(at), format, args...) }

func (w *wire) Fail(at int64, format string, args ...any) {
	if w.err == nil {
		w.err = &profile.FormatError{Offset: at, Reason: fmt.Sprintf(format, args...)}
	}
}

func (w *wire) Failed() bool { return w.err != nil }
func (w *wire) Here() int64  { return int64(w.pos) }

func (w *wire) Object(what string) tree.Cursor { return members(w.mapping(what)) }
func (w *wire) List(what string) tree.Cursor   { return members(w.array(what)) }

func members(n int) tree.Cursor { return tree.Cursor{More: n > 0, Left: n} }

func (w *wire) Next(c tree.Cursor) tree.Cursor {
	c.Left--
	c.More = c.Left > 0 && w.err == nil
	return c
}

func (w *wire) Key() []byte  { return w.Text("a key") }
func (w *wire) AtText() bool { return w.kind() == textKind }

// wireType is the type of the next value.
type wireType uint8

const (
	otherKind wireType = iota
	numberKind
	textKind
	arrayKind
	mapKind
)

func (w *wire) kind() wireType {
	if w.pos >= len(w.data) {
		return otherKind
	}
	switch c := w.data[w.pos]; {
	case c < 0x80 || c >= 0xe0 || c >= 0xca && c <= 0xd3 || c == 0xc0 || c == 0xc2 || c == 0xc3:
		return numberKind
	case c < 0x90 || c == 0xde || c == 0xdf:
		return mapKind
	case c < 0xa0 || c == 0xdc || c == 0xdd:
		return arrayKind
	case c < 0xc0 || c >= 0xd9 && c <= 0xdb:
		return textKind
	}
	return otherKind
}

// want fails unless a value of a kind comes next.
func (w *wire) want(k wireType, what string) bool {
	switch {
	case w.err != nil:
		return false
	case w.pos >= len(w.data):
		w.fail(w.pos, "the file ends where %s should be; it is cut off or empty", what)
		return false
	case w.kind() != k:
		w.fail(w.pos, "expected %s, found byte 0x%02x", what, w.data[w.pos])
		return false
	}
	return true
}

// uint reads n bytes as one number.
func (w *wire) uint(n int) uint64 {
	if len(w.data)-w.pos < n {
		w.fail(w.pos, "the file ends inside a value; it is cut off")
		w.pos = len(w.data)
		return 0
	}
	b := w.data[w.pos : w.pos+n]
	w.pos += n
	switch n {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	}
	return binary.BigEndian.Uint64(b)
}

// container reads the head of an array or a map whose members take at least size bytes each. A count that the
// file cannot hold is an error here, before memory is allocated for it.
func (w *wire) container(k wireType, short, long byte, size int, what string) int {
	if !w.want(k, what) {
		return 0
	}
	start := w.pos
	n := 0
	switch c := byte(w.uint(1)); c {
	case long:
		n = int(w.uint(2))
	case long + 1:
		n = int(w.uint(4))
	default:
		n = int(c &^ short)
	}
	if left := len(w.data) - w.pos; n > left/size {
		w.fail(start, "%s with %d members, and the file has %d more bytes; it is cut off", what, n, left)
		return 0
	}
	return n
}

func (w *wire) array(what string) int   { return w.container(arrayKind, 0x90, 0xdc, 1, what) }
func (w *wire) mapping(what string) int { return w.container(mapKind, 0x80, 0xde, 2, what) }

// Text reads a string.
func (w *wire) Text(what string) []byte {
	if !w.want(textKind, what) {
		return nil
	}
	start := w.pos
	n := 0
	switch c := byte(w.uint(1)); c {
	case 0xd9:
		n = int(w.uint(1))
	case 0xda:
		n = int(w.uint(2))
	case 0xdb:
		n = int(w.uint(4))
	default:
		n = int(c & 31)
	}
	if n > len(w.data)-w.pos {
		w.fail(start, "%s of %d bytes, and the file has %d more; it is cut off", what, n, len(w.data)-w.pos)
		return nil
	}
	w.pos += n
	return w.data[w.pos-n : w.pos]
}

// Intern returns one copy of each text.
func (w *wire) Intern(text []byte) string {
	if s, known := w.names[string(text)]; known {
		return s
	}
	if w.err != nil {
		return ""
	}
	w.Keep(tree.TextSize + 2*len(text))
	if w.names == nil {
		w.names = map[string]string{}
	}
	s := strings.ToValidUTF8(string(text), "\uFFFD")
	w.names[string(text)] = s
	return s
}

// Value reads a number or an array of numbers; one float makes all of them floats.
func (w *wire) Value() profile.Value {
	if w.kind() != arrayKind {
		return w.Number("a number, a string or an array")
	}
	n := w.array("a vector")
	w.Keep(2 * tree.NumberSize * n)
	var list jsonscan.Vector
	for range n {
		v := w.Number("a number of a vector")
		if w.err != nil {
			return profile.Value{}
		}
		list.Add(v)
	}
	w.rounded += list.Rounded
	return list.Value()
}

// Number reads a number; nil has no value and is NaN, truth is 1.
func (w *wire) Number(what string) profile.Value {
	if !w.want(numberKind, what) {
		return profile.Value{}
	}
	c := byte(w.uint(1))
	switch {
	case c < 0x80:
		return profile.IntValue(int64(c))
	case c >= 0xe0:
		return profile.IntValue(int64(int8(c)))
	}
	switch c {
	case 0xc0:
		return profile.FloatValue(math.NaN())
	case 0xc2, 0xc3:
		return profile.IntValue(int64(c - 0xc2))
	case 0xca:
		return profile.FloatValue(float64(math.Float32frombits(uint32(w.uint(4)))))
	case 0xcb:
		return profile.FloatValue(math.Float64frombits(w.uint(8)))
	case 0xcc, 0xcd, 0xce:
		return profile.IntValue(int64(w.uint(1 << (c - 0xcc))))
	case 0xcf:
		v, rounded := jsonscan.OfUint(w.uint(8))
		if rounded {
			w.rounded++
		}
		return v
	case 0xd0:
		return profile.IntValue(int64(int8(w.uint(1))))
	case 0xd1:
		return profile.IntValue(int64(int16(w.uint(2))))
	case 0xd2:
		return profile.IntValue(int64(int32(w.uint(4))))
	}
	return profile.IntValue(int64(w.uint(8)))
}

// Skip consumes a value of any shape.
func (w *wire) Skip() { w.skip(0) }

func (w *wire) skip(depth int) {
	if depth > profile.MaxDepth {
		w.fail(w.pos, "nested more than %d levels deep", profile.MaxDepth)
	}
	switch w.kind() {
	case numberKind:
		w.Number("a value")
	case textKind:
		w.Text("a value")
	case arrayKind:
		for range w.array("a value") {
			if w.skip(depth + 1); w.err != nil {
				return
			}
		}
	case mapKind:
		for range w.mapping("a value") {
			w.skip(depth + 1)
			if w.skip(depth + 1); w.err != nil {
				return
			}
		}
	default:
		w.skipBytes()
	}
}

// skipBytes consumes binary data or an extension, which no profile of ours has.
func (w *wire) skipBytes() {
	if w.pos >= len(w.data) {
		w.want(numberKind, "a value")
		return
	}
	start := w.pos
	n := 0
	switch c := byte(w.uint(1)); c {
	case 0xc4, 0xc5, 0xc6:
		n = int(w.uint(1 << (c - 0xc4)))
	case 0xc7, 0xc8, 0xc9:
		n = int(w.uint(1<<(c-0xc7))) + 1
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		n = 1<<(c-0xd4) + 1
	default:
		w.fail(start, "byte 0x%02x is not valid MessagePack", c)
	}
	if n > len(w.data)-w.pos {
		w.fail(start, "%d bytes, and the file has %d more; it is cut off", n, len(w.data)-w.pos)
		return
	}
	w.pos += n
}
