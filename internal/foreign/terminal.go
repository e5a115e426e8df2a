package foreign

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns a text as it may be sent to a terminal, in one line: characters that have no shape of their own are
// spelled out as Go and C spell them. Otherwise a name could move the cursor, rewrite the lines above it or turn the
// direction of the text around, and so decide what its reader sees.
func Printable(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return spelledOut(s)
		}
	}
	return s
}

func spelledOut(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		_, size, ok := printableRune(s[i:])
		if ok {
			b.WriteString(s[i : i+size])
		} else {
			b.WriteString(escaped(s[i : i+size]))
		}
		i += size
	}
	return b.String()
}

// escaped is a character, or one byte that is not UTF-8, as Go writes it in quotes.
func escaped(char string) string {
	quoted := strconv.QuoteToGraphic(char)
	return quoted[1 : len(quoted)-1]
}

// printableRune is the first character of a text, and whether it may be printed.
func printableRune(s string) (r rune, size int, ok bool) {
	r, size = utf8.DecodeRuneInString(s)
	return r, size, (r != utf8.RuneError || size > 1) && unicode.IsPrint(r)
}
