package main

import (
	"strings"
	"unicode/utf8"
)

// fitted breaks the introduction of a help text again where its lines are longer than a terminal of width columns (0: any
// number). Lines that begin with a blank are lists: the rest of a long one continues below its last column.
func fitted(text string, width int) string {
	if width <= 0 {
		return text
	}
	var out, paragraph []string
	flush := func() {
		for _, line := range paragraph {
			if utf8.RuneCountInString(line) > width {
				paragraph = broken(strings.Join(paragraph, " "), 0, width)
				break
			}
		}
		out, paragraph = append(out, paragraph...), nil
	}
	for _, line := range strings.Split(text, "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		flush()
		if utf8.RuneCountInString(line) <= width {
			out = append(out, line)
		} else {
			out = append(out, broken(line, lastColumn(line), width)...)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

// lastColumn is where the last column of a list begins: after two blanks or more.
func lastColumn(line string) int {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if at := strings.LastIndex(line[indent:], "  "); at >= 0 {
		return utf8.RuneCountInString(line[:indent+at+2])
	}
	return indent
}

// broken divides a line between words. All lines but the first are indented.
func broken(line string, indent, width int) (lines []string) {
	blanks := strings.Repeat(" ", indent)
	for {
		runes := []rune(line)
		if len(runes) <= width {
			return append(lines, line)
		}
		at := width
		for at > indent && runes[at] != ' ' {
			at--
		}
		if at <= indent { // a word that is longer than the line
			return append(lines, line)
		}
		lines = append(lines, strings.TrimRight(string(runes[:at]), " "))
		line = blanks + strings.TrimLeft(string(runes[at:]), " ")
	}
}
