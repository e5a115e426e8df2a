package jsontext

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

const ones, tops = 0x0101010101010101, 0x8080808080808080

// Plain counts the bytes at the start of text that a JSON string holds as they are: those before a quote, a backslash or a
// control character. They need not be valid UTF-8.
func Plain(text []byte) int {
	n := 0
	for ; len(text)-n >= 8; n += 8 {
		if found := special(binary.LittleEndian.Uint64(text[n:])); found != 0 {
			return n + bits.TrailingZeros64(found)/8
		}
	}
	for n < len(text) && text[n] != '"' && text[n] != '\\' && text[n] >= ' ' {
		n++
	}
	return n
}

// PlainASCII is Plain that also stops at a byte beyond ASCII, so that what it counts needs no second look.
func PlainASCII(text []byte) int {
	n := 0
	for ; len(text)-n >= 8; n += 8 {
		eight := binary.LittleEndian.Uint64(text[n:])
		if found := special(eight) | eight&tops; found != 0 {
			return n + bits.TrailingZeros64(found)/8
		}
	}
	for n < len(text) && text[n] != '"' && text[n] != '\\' && text[n] >= ' ' && text[n] < utf8.RuneSelf {
		n++
	}
	return n
}

// special sets the top bit of each of eight bytes that is a quote, a backslash or a control character. Bits behind the first one
// may be wrong, because of the borrow of the subtractions; only the first one is asked for.
func special(eight uint64) uint64 {
	quote, backslash := eight^('"'*ones), eight^('\\'*ones)
	return ((quote-ones)&^quote | (backslash-ones)&^backslash | (eight-' '*ones)&^eight) & tops
}

// bytesOf is a string as bytes, which must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
