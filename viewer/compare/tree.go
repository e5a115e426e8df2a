package compare

import (
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/internal/grid"
)

// WriteTree prints the comparison as a tree, a line per call path.
func (d *Diff) WriteTree(w io.Writer, p viewer.Terminal) error {
	t := newText(d, p)
	t.tree(d.Root, "", "")
	return t.write(w)
}

// WriteTable prints a line per leaf of the tree, with the largest change first.
func (d *Diff) WriteTable(w io.Writer, p viewer.Terminal) error {
	t := newText(d, p)
	var rows []*Row
	d.Root.Walk(func(r *Row, _ int) {
		if len(r.Children) == 0 {
			rows = append(rows, r)
		}
	})
	d.sortBy(rows, d.Change)
	for _, r := range rows {
		path := r.Labels()
		t.line(r, "", term.Printable(strings.Join(path[min(1, len(path)-1):], " > ")))
	}
	return t.write(w)
}

// WriteMarkdown prints the tree as a table of Markdown, as GitHub renders it.
func (d *Diff) WriteMarkdown(w io.Writer) error {
	t := newText(d, viewer.Terminal{})
	table := term.Markdown{}
	metric := ""
	for i, cell := range t.lines[1].Cells {
		if name := t.lines[0].Cells[i].Text; name != "" {
			metric = term.MarkdownText(name)
		}
		table.Heads, table.Left = append(table.Heads, metric+" "+cell.Text), append(table.Left, false)
	}
	table.Heads, table.Left = append(table.Heads, "call path"), append(table.Left, true)
	d.Root.Walk(func(r *Row, depth int) {
		t.line(r, "", "")
		line := t.lines[len(t.lines)-1]
		var row []string
		for _, cell := range line.Cells {
			row = append(row, cell.Text)
		}
		table.Rows = append(table.Rows, append(row, term.MarkdownTree(depth, r.Label)+term.MarkdownText(line.Mark)))
	})
	for i, name := range t.Names {
		fmt.Fprintf(w, "- %s: %s\n", Letter(i), term.MarkdownCode(name))
	}
	fmt.Fprintln(w)
	if err := table.Write(w); err != nil {
		return err
	}
	if note := t.hidden(); note != "" {
		fmt.Fprintf(w, "\n%s\n", term.MarkdownText(note))
	}
	return nil
}

// text collects the lines of a comparison that is being printed.
type text struct {
	*Diff
	viewer.Terminal
	glyphs *grid.Glyphs
	forms  []figures.Form // by column
	lines  []grid.Line
}

// Letter names a profile in headings, by its index: A, B, … and P27 after Z.
func Letter(profile int) string {
	if profile < 26 {
		return string(rune('A' + profile))
	}
	return fmt.Sprintf("P%d", profile+1)
}

// newText begins with the two lines of headings: metrics, and below them the profiles.
func newText(d *Diff, p viewer.Terminal) *text {
	t := &text{Diff: d, Terminal: p, glyphs: grid.For(p.ASCII)}
	delta, percent, wrong := "Δ", "Δ%", "±"
	if t.ASCII {
		delta, percent, wrong = "diff", "diff%", "error"
	}
	var metrics, columns []string
	for c := range t.Columns {
		name := t.Columns[c].Exact
		group := []string{Letter(0)}
		for i := 1; i < len(t.Names); i++ {
			group = append(group, Letter(i))
			if len(t.Names) == 2 {
				group = append(group, delta)
				if t.estimated(c) {
					group = append(group, wrong)
				}
			}
			group = append(group, percent)
		}
		metrics = append(append(metrics, name), make([]string, len(group)-1)...)
		columns = append(columns, group...)
		t.forms = append(t.forms, figures.FormFor(t.values(c)))
	}
	t.lines = append(t.lines, grid.Line{Cells: grid.Plain(metrics...)}, grid.Line{Cells: grid.Plain(columns...), Name: "call path"})
	return t
}

// values yields the values of a column in all shown rows and profiles.
func (t *text) values(column int) iter.Seq[float64] {
	return func(yield func(float64) bool) {
		more := true
		t.Root.Walk(func(r *Row, _ int) {
			for _, v := range r.Values[column] {
				more = more && yield(v)
			}
		})
	}
}

// known is the error of a change between two profiles as text: of an error, three digits are known at best.
func (t *text) known(r *Row, column int) string {
	v := t.Error(r, column, 1)
	if v >= 1000 && v < 1e12 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func (t *text) tree(r *Row, before, below string) {
	t.line(r, before, term.Printable(r.Label))
	for i, c := range r.Children {
		first, rest := t.glyphs.Of(below, i, len(r.Children))
		t.tree(c, first, rest)
	}
}

func (t *text) line(r *Row, branches, name string) {
	var cells []grid.Cell
	for c := range t.Columns {
		form := t.forms[c]
		cells = append(cells, grid.Cell{Text: form.Text(r.Values[c][0])})
		for i := 1; i < len(t.Names); i++ {
			cells = append(cells, grid.Cell{Text: form.Text(r.Values[c][i])})
			color := t.color(r, c, i)
			if len(t.Names) == 2 {
				cells = append(cells, grid.Cell{Text: figures.Signed(form.Text(t.Change(r, c, i))), Color: color})
				if t.estimated(c) {
					cells = append(cells, grid.Cell{Text: t.known(r, c)})
				}
			}
			cells = append(cells, grid.Cell{Text: figures.Change(t.Relative(r, c, i)), Color: color})
		}
	}
	mark, brief := t.mark(r)
	t.lines = append(t.lines, grid.Line{Cells: cells, Indent: branches, Name: name, Mark: mark, Brief: brief})
}

// noticed is the smallest relative change that is coloured.
const noticed = 0.01

func (t *text) color(r *Row, column, profile int) string {
	v := t.Relative(r, column, profile)
	chance := 2 * t.Error(r, column, profile)
	if !t.Color || math.IsNaN(v) || math.Abs(v) < noticed || math.Abs(t.Change(r, column, profile)) < chance || t.Columns[column].Better == Neutral {
		return ""
	}
	if (v > 0) == (t.Columns[column].Better == Higher) {
		return grid.Better
	}
	return grid.Worse
}

// mark names the profiles that have a row, "" if all have it; brief is for narrow terminals.
func (t *text) mark(r *Row) (mark, brief string) {
	have := r.letters()
	if len(have) == len(r.In) {
		return "", ""
	}
	arrow := t.glyphs.Right
	if r.In[0] {
		arrow = t.glyphs.Left
	}
	names := strings.Join(have, ", ")
	return "  " + arrow + " only in " + names, " " + arrow + " " + names
}

func (t *text) write(w io.Writer) error {
	for i, name := range t.Names {
		fmt.Fprintf(w, "%s  %s\n", Letter(i), term.Printable(name))
	}
	fmt.Fprintln(w)
	if err := (grid.Layout{Width: t.Width, Dots: t.glyphs.Dots}).Write(w, t.lines); err != nil {
		return err
	}
	if note := t.hidden(); note != "" {
		fmt.Fprintf(w, "\n%s\n", note)
	}
	return nil
}

// hidden says how many call paths Cut hid, why, and how to show them.
func (t *text) hidden() string {
	which, small := "", t.shown.Threshold.Amount > 0
	change, levels := "a change below "+t.shown.Threshold.String(), "deeper than "+figures.Count(t.shown.Depth, "level")
	if c := &t.Columns[0]; t.shown.Threshold.OfTotal && !c.Additive {
		change = fmt.Sprintf("a change below %g%% of the whole program's %s", 100*t.shown.Threshold.Amount, c.Name)
	}
	switch {
	case t.Root.Hidden == 0:
		return ""
	case small && t.shown.Depth > 0:
		which = fmt.Sprintf("with %s, or %s,", change, levels)
	case small:
		which = "with " + change
	default:
		which = levels
	}
	note := figures.Plural(t.Root.Hidden, "call path "+which+" is hidden", "call paths "+which+" are hidden")
	switch {
	case t.shown.Threshold == SmallChange && t.shown.Depth > 0:
		note += "; -t 0 without -d shows all"
	case t.shown.Threshold == SmallChange:
		note += "; -t 0 shows all"
	}
	return note
}
