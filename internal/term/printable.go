package term

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns a name as it may be sent to a terminal: what has no shape of its own is spelled out, as Go and C
// spell it. Files name things as they like, and a name that moves the cursor or rewrites what stands above it, or
// turns the direction of the text around, would let a file say what its reader sees.
func Printable(name string) string {
	for i := 0; i < len(name); i++ {
		if name[i] < ' ' || name[i] >= 0x7f {
			return spellOut(name)
		}
	}
	return name
}

func spellOut(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == utf8.RuneError && size == 1, !unicode.IsPrint(r):
			quoted := strconv.QuoteToGraphic(name[i : i+size])
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteString(name[i : i+size])
		}
		i += size
	}
	return b.String()
}
