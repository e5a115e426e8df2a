package viewer

import (
	"bufio"
	"encoding/csv"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/profile"
)

// printCSV prints a line per row for spreadsheets and data frames. docs/viewer.md promises its columns.
func printCSV(out *bufio.Writer, t *Table, _ *Terminal) error {
	w := csv.NewWriter(out)
	line := []string{"id", "parent", "depth", "name", "path"}
	for i := range t.Columns {
		line = append(line, exactLabel(&t.Columns[i]))
	}
	if err := w.Write(line); err != nil {
		return err
	}
	err := walk(t, "csv", func(at step) error {
		line = append(line[:0], strconv.Itoa(at.id), "", strconv.Itoa(at.row.Depth), t.Label(at.row), strings.Join(at.path, ";"))
		if at.parent >= 0 {
			line[1] = strconv.Itoa(at.parent)
		}
		for i := range t.Columns {
			if t.Columns[i].Text {
				line = append(line, t.Text(at.row, i))
			} else {
				line = append(line, figures.Exact(at.row.Values[i]))
			}
		}
		return w.Write(line)
	}, func(r *Row) string { return strings.ReplaceAll(t.Label(r), ";", ",") })
	if err != nil {
		return err
	}
	w.Flush()
	return w.Error()
}

// exactLabel is a column's name with its unit: "time (ns)".
func exactLabel(c *Column) string {
	if c.Unit == "" {
		return c.Label
	}
	return c.Label + " (" + c.Unit + ")"
}

// step is a row on the way through a table.
type step struct {
	row    *Row
	id     int      // rows are counted from 0 in the order in which they are visited
	parent int      // -1 for the root
	path   []string // from the root to the row, valid during the visit
}

// walk visits all shown rows, parents first. The path has the names that name returns.
func walk(t *Table, view string, visit func(at step) error, name func(r *Row) string) error {
	sizes := profile.PathSizes{What: "the view " + view, Instead: "show fewer levels (-d), or leave frames out (-e)", Frame: 1, Names: true}
	for r := range t.All() {
		sizes.Add(r.Name, r.Depth)
	}
	if err := sizes.Err(); err != nil {
		return err
	}
	var path []string
	var ids []int // of the rows on the path
	id := 0
	for r := range t.All() {
		path, ids = append(path[:r.Depth], name(r)), append(ids[:r.Depth], id)
		at := step{row: r, id: id, parent: -1, path: path}
		if r.Depth > 0 {
			at.parent = ids[r.Depth-1]
		}
		if err := visit(at); err != nil {
			return err
		}
		id++
	}
	return nil
}
