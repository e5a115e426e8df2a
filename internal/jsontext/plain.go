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
		// A byte's top bit is set in found if the byte is one to stop at. What lies behind the first such byte may be wrong,
		// because of the borrow of the subtractions, but only the first one is asked for.
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

// PlainASCII is Plain that also stops at a byte beyond ASCII, so that what it counts needs no second look.
func PlainASCII(text []byte) int {
	n := 0
	for ; len(text)-n >= 8; n += 8 {
		if found := notPlain(text[n:]); found != 0 {
			return n + bits.TrailingZeros64(found)/8
		}
	}
	if len(text) >= 8 && notPlain(text[len(text)-8:]) == 0 {
		return len(text) // the last bytes together with some that were looked at
	}
	for n < len(text) && text[n] != '"' && text[n] != '\\' && text[n] >= ' ' && text[n] < utf8.RuneSelf {
		n++
	}
	return n
}

// notPlain is found of Plain for eight bytes, with fewer operations: a top bit that a byte has itself is one to stop at, too.
func notPlain(text []byte) uint64 {
	eight := binary.LittleEndian.Uint64(text)
	return (eight | (eight - ' '*ones) | (eight ^ ('"' * ones) - ones) | (eight ^ ('\\' * ones) - ones)) & tops
}

// bytesOf is a string as bytes, which must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
