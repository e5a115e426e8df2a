package term

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

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
	before, whole := 0, 0 // columns of the terminal: up to the last cell of a row, and of a row
	widths := map[int]int{}
	for _, row := range r.list {
		for i, c := range row {
			widths[i] = max(widths[i], runewidth.StringWidth(c)+2)
		}
	}
	for i := range len(widths) {
		before, whole = whole, whole+widths[i]
	}
	var b strings.Builder
	switch {
	case r.terminal == 0 || whole-2 <= r.terminal:
		return r.aligned()
	case before+leastText <= r.terminal:
		for _, row := range r.list {
			line := ""
			for i, c := range row {
				if line += c; i+1 < len(row) {
					line += strings.Repeat(" ", widths[i]-runewidth.StringWidth(c))
				}
			}
			b.WriteString(Broken(line, before, r.terminal))
		}
	default:
		r.oneByOne(&b)
	}
	_, err := io.WriteString(r.out, b.String())
	r.list = nil
	return err
}

func (r *rows) aligned() error {
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	for _, row := range r.list {
		if _, err := io.WriteString(w, strings.Join(row, "\t")+"\n"); err != nil {
			return err
		}
	}
	r.list = nil
	return w.Flush()
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
