package grid

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// Colours of a terminal, as escape sequences, and the one that ends a colour.
const (
	Bold   = "\x1b[1m"
	Faint  = "\x1b[2m"
	Red    = "\x1b[38;5;196m"
	Orange = "\x1b[38;5;208m"
	Yellow = "\x1b[38;5;220m"
	Green  = "\x1b[38;5;34m"
	End    = "\x1b[0m"
)

// Colours of verdicts and changes. They are the terminal's own red, yellow and green, which its user chose.
const (
	Worse   = "\x1b[31m"
	Noticed = "\x1b[33m"
	Better  = "\x1b[32m"
)

// Paint gives a text a colour; "" is none.
func Paint(text, color string) string {
	if color == "" || text == "" {
		return text
	}
	return color + text + End
}

// Columns is how many columns of a terminal a text takes.
func Columns(text string) int {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return runewidth.StringWidth(text)
		}
	}
	return len(text)
}

// Pad fills a text up with blanks to a width in columns, before the text if it is to stand on the right.
func Pad(text string, width int, right bool) string {
	blanks := strings.Repeat(" ", max(width-Columns(text), 0))
	if right {
		return blanks + text
	}
	return text + blanks
}
