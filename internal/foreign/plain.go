package foreign

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain makes a text that every protocol takes: UTF-8 without control characters, of at most so many bytes.
func Plain(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > most {
		end := most - len("…")
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return text
}
