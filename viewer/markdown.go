package viewer

import (
	"bufio"
	"fmt"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
)

// printMarkdown prints a table of Markdown, as GitHub renders it: numbers as in the tree, names indented by depth.
func printMarkdown(out *bufio.Writer, t *Table, p *Terminal) error {
	l := newLines(out, t, p)
	l.measure()
	table := term.Markdown{}
	head := func(name string, left bool) {
		table.Heads, table.Left = append(table.Heads, name), append(table.Left, left)
	}
	for i := range l.columns {
		c := &l.columns[i]
		name := c.label
		if c.unit != "" {
			name += " (" + c.unit + ")"
		}
		head(term.MarkdownText(name), c.word != nil)
	}
	if l.bars && l.percent {
		head("share of "+term.MarkdownText(t.ShareOf), false)
	}
	head("frame", true)
	for r := range t.All() {
		var row []string
		for i := range l.columns {
			if c := &l.columns[i]; c.word != nil {
				row = append(row, term.MarkdownText(c.word(r)))
			} else {
				row = append(row, term.MarkdownText(c.form.Text(c.value(r))))
			}
		}
		if l.bars && l.percent {
			row = append(row, figures.Share(l.share(r)))
		}
		name := term.MarkdownTree(r.Depth, l.table.Label(r))
		if mark := r.Mark(); mark != "" {
			name += " " + term.MarkdownText(mark)
		}
		if len(r.Hidden) > 0 && !t.cutAsked {
			name += fmt.Sprintf(" … %d more below", len(r.Hidden))
		}
		table.Rows = append(table.Rows, append(row, name))
	}
	if err := table.Write(out); err != nil || t.elided == 0 {
		return err
	}
	_, err := fmt.Fprintf(out, "\nLeft out: %s; --all shows them.\n", term.MarkdownText(l.elision()))
	return err
}
