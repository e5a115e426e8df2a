package term

import (
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Table prints rows in columns that are two blanks apart. Cells are made printable. Flush follows the last row. On a terminal that is too narrow the
// last column is broken, or else each row has lines of its own.
type Table struct{ rows *rows }

type rows struct {
	out      io.Writer
	headed   bool // the first row has headings
	list     [][]string
	terminal int // columns; 0 for any number
}

// NewTable returns a table that is written to w, with these headings if there are any.
func NewTable(w io.Writer, headings ...string) Table {
	t := Table{&rows{out: w, headed: len(headings) > 0, terminal: Width(w)}}
	if len(headings) > 0 {
		t.Texts(headings)
	}
	return t
}

// Row adds a row. Flush returns the first error of the writer.
func (t Table) Row(cells ...any) {
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = fmt.Sprint(c)
	}
	t.Texts(texts)
}

// Texts is Row for cells that are texts already.
func (t Table) Texts(cells []string) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = Printable(c)
	}
	t.rows.list = append(t.rows.list, row)
}

// leastText is how many columns the last column needs to be broken and read.
const leastText = 24

// Flush prints the rows.
func (t Table) Flush() error {
	r := t.rows
	widths, before := map[int]int{}, 0 // of all cells but the last in a row; and together
	for _, row := range r.list {
		for i := range len(row) - 1 {
			widths[i] = max(widths[i], runewidth.StringWidth(row[i])+2)
		}
	}
	for _, width := range widths {
		before += width
	}
	lines, fits := make([]string, len(r.list)), true
	for n, row := range r.list {
		line := ""
		for i, c := range row {
			line += c + strings.Repeat(" ", max(widths[i]-runewidth.StringWidth(c), 0))
		}
		lines[n] = strings.TrimRight(line, " ")
		fits = fits && (r.terminal == 0 || runewidth.StringWidth(lines[n]) <= r.terminal)
	}
	var b strings.Builder
	if !fits && before+leastText > r.terminal {
		r.oneByOne(&b)
	} else {
		for _, line := range lines {
			b.WriteString(Broken(line, before, r.terminal))
		}
	}
	_, err := io.WriteString(r.out, b.String())
	r.list = nil
	return err
}

// oneByOne prints each row as its first cell and, below it, what the others are.
func (r *rows) oneByOne(b *strings.Builder) {
	list, names := r.list, []string(nil)
	if r.headed {
		names, list = list[0], list[1:]
	}
	column := 0
	for _, name := range names {
		column = max(column, runewidth.StringWidth(name)+4)
	}
	for _, row := range list {
		for i, c := range row {
			switch {
			case i == 0:
				b.WriteString(Broken(c, 2, r.terminal))
			case i < len(names) && c != "":
				b.WriteString(Broken(fmt.Sprintf("  %-*s%s", column-2, strings.ToLower(names[i]), c), column, r.terminal))
			case c != "":
				b.WriteString(Broken("  "+c, 2, r.terminal))
			}
		}
	}
}
