package term

import (
	"io"
	"strings"
)

// Markdown is a table as GitHub renders it. Cells are written as they are: names go through MarkdownCode, other texts through MarkdownText.
type Markdown struct {
	Heads []string
	Left  []bool // by column: words; others are numbers, flushed right
	Rows  [][]string
}

// Write prints the table.
func (m *Markdown) Write(w io.Writer) error {
	rule := make([]string, len(m.Heads))
	for i := range rule {
		if rule[i] = "--:"; m.Left[i] {
			rule[i] = "---"
		}
	}
	var b strings.Builder
	b.WriteString("| " + strings.Join(m.Heads, " | ") + " |\n|" + strings.Join(rule, "|") + "|\n")
	for _, row := range m.Rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// MarkdownCode is text in a code span, escaped so that it cannot end the span, the cell of a table, or the document.
func MarkdownCode(text string) string { return "<code>" + MarkdownText(text) + "</code>" }

// MarkdownTree is the name of a frame so many levels below the root.
func MarkdownTree(depth int, name string) string {
	return strings.Repeat("&emsp;", min(depth, deepest)) + MarkdownCode(name)
}

// deepest is how many levels are indented: lines of deep recursion would be nothing else.
const deepest = 40

var markdownEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "@", "&#64;", "|", "&#124;", "\\", "&#92;", "~", "&#126;", "$", "&#36;", "\n", " ")

// MarkdownText escapes every character with a meaning in Markdown or HTML, and the @ of a mention of a user.
func MarkdownText(text string) string { return markdownEscapes.Replace(Printable(text)) }
