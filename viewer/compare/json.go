package compare

import (
	"bufio"
	"io"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/jsontext"
)

// Schema names the layout of the document.
const Schema = "goproton.diff/1"

// Document is the layout of the JSON output. docs/compare.md promises it: fields are added, not renamed. It streams
// row by row, so Rows is here for readers only.
type Document struct {
	Schema   string                `json:"schema"`
	Profiles []string              `json:"profiles"`
	Columns  []JSONColumn          `json:"columns"`
	Notes    []string              `json:"notes,omitempty"`
	Rows     []JSONRow             `json:"rows"`
	Errors   []jsontext.Diagnostic `json:"errors,omitempty" jsonschema:"why there is no answer"`
}

// JSONColumn describes a metric.
type JSONColumn struct {
	Name      string `json:"name"` // with its unit: "time/ms"
	Unit      string `json:"unit"`
	Inclusive bool   `json:"inclusive"`
	Additive  bool   `json:"additive"`
	Better    string `json:"better,omitempty"` // "lower" or "higher"
}

// JSONRow is a call path; parents come before their children.
type JSONRow struct {
	Path   []string         `json:"path"`
	In     []bool           `json:"in"`      // by profile
	Values [][]figures.JSON `json:"values"`  // by column and profile; null where there is none
	Change [][]figures.JSON `json:"change"`  // by column, of the second profile and those after it
	Ratio  [][]figures.JSON `json:"percent"` // the same in percent; null where the first has nothing
}

// WriteJSON prints the comparison as one document, a row to a line.
func (d *Diff) WriteJSON(w io.Writer) error {
	if err := d.Root.CheckPaths("JSON"); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	head := Document{Schema: Schema, Profiles: d.Names, Notes: d.Notes}
	for _, c := range d.Columns {
		head.Columns = append(head.Columns, JSONColumn{c.Exact, c.Unit, c.Inclusive, c.Additive, map[Direction]string{Lower: "lower", Higher: "higher"}[c.Better]})
	}
	text, err := jsontext.Encode(head)
	if err != nil {
		return err
	}
	out.Write(text[:len(text)-len("null}")]) // up to the rows
	out.WriteString("[")
	first := true
	d.Root.Walk(func(r *Row, _ int) {
		if err != nil {
			return
		}
		if text, err = jsontext.Encode(d.jsonRow(r)); err != nil {
			return
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		out.WriteByte('\n')
		out.Write(text)
	})
	if err != nil {
		return err
	}
	out.WriteString("\n]}\n")
	return out.Flush()
}

func (d *Diff) jsonRow(r *Row) JSONRow {
	row := JSONRow{Path: r.Path(), In: r.In}
	for c := range d.Columns {
		var values, change, percent []figures.JSON
		for i := range d.Names {
			values = append(values, figures.JSON(r.Values[c][i]))
			if i > 0 {
				change = append(change, figures.JSON(d.Change(r, c, i)))
				percent = append(percent, figures.JSON(100*d.Relative(r, c, i)))
			}
		}
		row.Values, row.Change, row.Ratio = append(row.Values, values), append(row.Change, change), append(row.Ratio, percent)
	}
	return row
}
