package term

import (
	"fmt"
	"strings"

	"github.com/mattn/go-runewidth"
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
			if runewidth.StringWidth(line) > width {
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
	return runewidth.StringWidth(line[:indent]), line[indent:]
}

// Break divides a line between words, so that its parts have at most width columns (0: any number). All parts but the first
// are indented. A word that is longer than a line has one of its own.
func Break(line string, indent, width int) (lines []string) {
	if width <= 0 {
		return []string{line}
	}
	width = max(width, indent+1) // each part has at least a word behind its indent
	blanks := strings.Repeat(" ", indent)
	for runewidth.StringWidth(line) > width {
		at := lastBlank(line, indent, width)
		if at < 0 {
			break
		}
		lines = append(lines, strings.TrimRight(line[:at], " "))
		line = blanks + strings.TrimLeft(line[at:], " ")
	}
	return append(lines, line)
}

// lastBlank is where the last blank is that has at most width columns before it, or else the first one; -1 for none behind the indent.
func lastBlank(line string, indent, width int) (at int) {
	at = -1
	columns := 0
	for i, r := range line {
		if r == ' ' && columns > indent {
			at = i
		}
		if columns += runewidth.RuneWidth(r); columns > width && at >= 0 {
			break
		}
	}
	return at
}

// Broken is the lines of Break as one text.
func Broken(line string, indent, width int) string {
	return strings.Join(Break(line, indent, width), "\n") + "\n"
}

// Legend is lines that explain words: each word, and from a column on what it means.
func Legend(column, width int, words ...[2]string) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(Broken(fmt.Sprintf("%-*s%s", column, w[0], w[1]), column, width))
	}
	return b.String()
}

// ShellWord writes a text as one word of a shell's command line.
func ShellWord(text string) string {
	if text == "" || strings.ContainsAny(text, " \t\n'\"$&|<>;()*?[]#~`\\{}^!") {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}

// Cut is what a line has in so many columns, with dots where it is cut.
func Cut(line string, width int) string { return runewidth.Truncate(line, width, "…") }
