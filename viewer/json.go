package viewer

import (
	"bufio"
	"maps"
	"slices"
	"strconv"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/jsontext"
)

// Schema names the layout of the json view. Keys may be added. If a key is renamed or removed, or changes its meaning, the number
// grows.
const Schema = "goproton.table/1"

// Document is the layout of the json view, for readers; the view writes it row by row.
type Document struct {
	Schema  string                `json:"schema" jsonschema:"layout of this document: goproton.table/1"`
	Info    map[string]string     `json:"info" jsonschema:"facts of the run"`
	Notes   []string              `json:"notes"`
	Columns []JSONColumn          `json:"columns"`
	Rows    []JSONRow             `json:"rows" jsonschema:"call paths, parents first"`
	Errors  []jsontext.Diagnostic `json:"errors,omitempty" jsonschema:"why there is no answer"`
}

// JSONColumn describes a metric.
type JSONColumn struct {
	Name      string   `json:"name" jsonschema:"with its unit: time/ns"`
	Label     string   `json:"label"`
	Unit      string   `json:"unit"`
	Inclusive bool     `json:"inclusive" jsonschema:"values are of the whole subtree"`
	Additive  bool     `json:"additive"`
	Text      bool     `json:"text"`
	Total     *float64 `json:"total" jsonschema:"of the whole program, before filters"`
}

// JSONRow is a frame.
type JSONRow struct {
	ID       int      `json:"id"`
	Parent   *int     `json:"parent" jsonschema:"id of the row above; null for the root"`
	Depth    int      `json:"depth"`
	Name     string   `json:"name"`
	Label    string   `json:"label" jsonschema:"the name, shortened"`
	Path     []string `json:"path" jsonschema:"names from the root to the row"`
	Values   []any    `json:"values" jsonschema:"by column: a number, a text or null"`
	Own      []any    `json:"own" jsonschema:"the same without what is below"`
	Hidden   int      `json:"hidden" jsonschema:"children that are not shown"`
	Measured float64  `json:"measured,omitempty" jsonschema:"part of the time of its kernels that hardware counters measured, if a column is made of them"`
	WorkOf   string   `json:"work_of,omitempty" jsonschema:"scope whose flops and bytes a kernel has"`
}

// printJSON prints a document that docs/viewer.md promises: a line per column and a line per row, so that it can also
// be read and compared line by line, and never a NaN.
func printJSON(out *bufio.Writer, t *Table, _ *Terminal) error {
	j := jsonText{}
	j.raw(`{"schema":`).text(Schema).raw(",\n\"info\":{")
	for i, key := range slices.Sorted(maps.Keys(t.Profile.Info)) {
		j.comma(i).text(key).raw(":").text(t.Profile.Info[key])
	}
	j.raw("},\n\"notes\":[")
	for i, note := range t.Notes {
		j.comma(i).text(note)
	}
	j.raw("],\n\"columns\":[")
	for i := range t.Columns {
		c := &t.Columns[i]
		j.comma(i).raw("\n{\"name\":").text(c.Exact).raw(`,"label":`).text(c.Label).raw(`,"unit":`).text(c.Unit)
		j.raw(`,"inclusive":`).truth(c.Inclusive).raw(`,"additive":`).truth(c.Additive).raw(`,"text":`).truth(c.Text)
		j.raw(`,"total":`).number(t.Total[i]).raw("}")
	}
	j.raw("\n],\n\"rows\":[")
	err := walk(t, "json", func(at step) error {
		j.comma(at.id).raw("\n{\"id\":").whole(at.id).raw(`,"parent":`)
		if at.parent < 0 {
			j.raw("null")
		} else {
			j.whole(at.parent)
		}
		j.raw(`,"depth":`).whole(at.row.Depth).raw(`,"name":`).text(at.row.Name).raw(`,"label":`).text(t.Label(at.row))
		j.raw(`,"path":[`)
		for i, name := range at.path {
			j.comma(i).raw(name)
		}
		j.raw(`],"values":[`).values(t, at.row, at.row.Values, false).raw(`],"own":[`).values(t, at.row, at.row.Own, true)
		j.raw(`],"hidden":`).whole(len(at.row.Hidden))
		if at.row.Measured > 0 {
			j.raw(`,"measured":`).number(at.row.Measured)
		}
		if at.row.WorkOf != "" {
			j.raw(`,"work_of":`).text(at.row.WorkOf)
		}
		j.raw("}")
		_, err := out.Write(j)
		j = j[:0]
		return err
	}, func(r *Row) string { return string(*(&jsonText{}).text(r.Name)) })
	if err != nil {
		return err
	}
	_, err = out.Write(*j.raw("\n]}\n"))
	return err
}

// jsonText is JSON in the making. Its methods append and return it, so that a line of output is a line of code.
type jsonText []byte

func (j *jsonText) raw(s string) *jsonText { *j = append(*j, s...); return j }

func (j *jsonText) comma(i int) *jsonText {
	if i > 0 {
		*j = append(*j, ',')
	}
	return j
}

func (j *jsonText) whole(v int) *jsonText { *j = strconv.AppendInt(*j, int64(v), 10); return j }

func (j *jsonText) truth(v bool) *jsonText { *j = strconv.AppendBool(*j, v); return j }

// number prints null for NaN and infinite values, which JSON lacks.
func (j *jsonText) number(v float64) *jsonText {
	if !figures.Finite(v) {
		return j.raw("null")
	}
	return j.raw(figures.Exact(v))
}

func (j *jsonText) values(t *Table, r *Row, values []float64, own bool) *jsonText {
	for i := range t.Columns {
		j.comma(i)
		if c := &t.Columns[i]; !c.Text {
			j.number(values[i])
		} else if own && c.Inclusive {
			j.raw("null") // a word about the subtree
		} else if text := t.rawText(r, i); text != "" {
			j.text(text)
		} else {
			j.raw("null")
		}
	}
	return j
}

// text prints a string.
func (j *jsonText) text(s string) *jsonText { *j = jsontext.AppendString(*j, s); return j }
