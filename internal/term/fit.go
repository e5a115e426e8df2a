package term

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Fit breaks a text again where its lines are longer than a terminal of width columns (0: any number). Lines that begin with
// a blank are lists: the rest of a long one continues below its last column. A command, which a reader copies, stays whole.
func Fit(text string, width int) string {
	if width <= 0 {
		return text
	}
	var out, paragraph []string
	flush := func() {
		for _, line := range paragraph {
			if utf8.RuneCountInString(line) > width {
				paragraph = Break(strings.Join(paragraph, " "), 0, width)
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
		if column, text := lastColumn(line); strings.HasPrefix(text, "proton ") {
			out = append(out, line)
		} else {
			out = append(out, Break(line, column, width)...)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

// lastColumn is the last column of a list, which begins after two blanks or more, and where it begins.
func lastColumn(line string) (begin int, text string) {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if at := strings.LastIndex(line[indent:], "  "); at >= 0 {
		indent += at + 2
	}
	return utf8.RuneCountInString(line[:indent]), line[indent:]
}

// Break divides a line between words, so that its parts have at most width columns (0: any number). All parts but the first
// are indented. A word that is longer than a line has one of its own.
func Break(line string, indent, width int) (lines []string) {
	if width <= 0 {
		return []string{line}
	}
	width = max(width, indent+1) // each part has at least a word behind its indent
	blanks := strings.Repeat(" ", indent)
	for runes := []rune(line); len(runes) > width; runes = []rune(line) {
		at := width
		for at > indent && runes[at] != ' ' {
			at--
		}
		if at <= indent {
			long := slices.Index(runes[width:], ' ')
			if long < 0 {
				break
			}
			at = width + long
		}
		lines = append(lines, strings.TrimRight(string(runes[:at]), " "))
		line = blanks + strings.TrimLeft(string(runes[at:]), " ")
	}
	return append(lines, line)
}
