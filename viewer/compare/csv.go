package compare

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
)

// WriteCSV prints a line per call path for spreadsheets and data frames. docs/compare.md documents its columns, which stay.
func (d *Diff) WriteCSV(w io.Writer) error {
	if err := d.Root.CheckPaths("CSV"); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	line := []string{"path", "name", "depth", "in"}
	for _, c := range d.Columns {
		line = append(line, c.Exact+" "+Letter(0))
		for i := 1; i < len(d.Names); i++ {
			line = append(line, c.Exact+" "+Letter(i), fmt.Sprintf("%s %s-%s", c.Exact, Letter(i), Letter(0)), fmt.Sprintf("%s %s/%s-1", c.Exact, Letter(i), Letter(0)))
		}
	}
	err := out.Write(line)
	d.Root.Walk(func(r *Row, depth int) {
		if err != nil {
			return
		}
		line = append(line[:0], csvPath(r), term.Printable(r.Name), strconv.Itoa(depth), strings.Join(r.letters(), " "))
		for c := range d.Columns {
			line = append(line, figures.Exact(r.Values[c][0]))
			for i := 1; i < len(d.Names); i++ {
				line = append(line, figures.Exact(r.Values[c][i]), figures.Exact(d.Change(r, c, i)), figures.Exact(d.Relative(r, c, i)))
			}
		}
		err = out.Write(line)
	})
	if err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}

// csvPath joins names in the way of the viewer's CSV output.
func csvPath(r *Row) string {
	path := r.Path()
	for i, name := range path {
		path[i] = strings.ReplaceAll(term.Printable(name), ";", ",")
	}
	return strings.Join(path, ";")
}

// letters are those of the profiles that have a row.
func (r *Row) letters() (have []string) {
	for i, in := range r.In {
		if in {
			have = append(have, Letter(i))
		}
	}
	return have
}
