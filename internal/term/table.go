package term

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Table prints rows in columns that are two blanks apart. Cells are made printable. Flush follows the last row.
type Table struct{ *tabwriter.Writer }

// NewTable returns a table that is written to w, with these headings if there are any.
func NewTable(w io.Writer, headings ...string) Table {
	t := Table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
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
	for i, c := range cells {
		if i > 0 {
			io.WriteString(t, "\t")
		}
		io.WriteString(t, Printable(c))
	}
	io.WriteString(t, "\n")
}
