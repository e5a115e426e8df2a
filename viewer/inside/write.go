package inside

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/internal/grid"
	"github.com/goproton/goproton/viewer/kernels"
)

// Options say how to print.
type Options struct {
	viewer.Terminal
	Names   viewer.NameFormat
	Files   *kernels.Files   // source texts, which say where scopes end; nil has none
	Samples *profile.Profile // of a second run, with instruction samples of the same kernels; nil for none
	Source  bool             // scopes next to the lines of the source, instead of a table
}

// Write prints the scopes of the kernels that match a pattern, as Find has them. It returns notes on what is missing.
func Write(w io.Writer, p *profile.Profile, pattern string, o Options) (notes []string, err error) {
	chosen, others, err := Find(p, pattern)
	if err != nil {
		return nil, err
	}
	label, err := viewer.Labels(o.Names)
	if err != nil {
		return nil, err
	}
	t := &texts{Options: o, label: label, glyphs: grid.For(o.ASCII)}
	for i, k := range chosen {
		if i > 0 {
			t.b.WriteString("\n")
		}
		more, err := t.kernel(k)
		if err != nil {
			return nil, err
		}
		notes = append(notes, more...)
		notes = append(notes, k.Notes()...)
	}
	t.legend()
	t.notShown(others)
	if len(t.dropped) > 0 {
		notes = append(notes, "the table has no room for "+strings.Join(t.dropped, ", ")+"; a larger --width shows them")
	}
	_, err = io.WriteString(w, t.b.String())
	return append(notes, t.notes...), err
}

// texts prints kernels for a terminal.
type texts struct {
	Options
	b       strings.Builder
	label   func(string) string
	glyphs  *grid.Glyphs
	dropped []string // columns that there was no room for
	notes   []string
}

// drop notes a column that there was no room for.
func (t *texts) drop(column string) {
	if column != "" && !slices.Contains(t.dropped, column) {
		t.dropped = append(t.dropped, column)
	}
}

// kernel prints what is known of a kernel, and the table of its scopes or its source.
func (t *texts) kernel(k *Kernel) (notes []string, err error) {
	t.b.WriteString(t.Bold(term.Printable(t.label(k.Name))) + "\n")
	file := k.file()
	facts := k.Facts()
	if file != "" && !t.Source {
		facts = append(facts, "source: "+term.Printable(file))
	}
	for _, fact := range facts {
		t.wrapped(fact)
	}
	var s *Samples
	if t.Samples != nil {
		if s, err = Join(k, t.Samples, t.files()); err != nil {
			return nil, err
		}
	}
	if t.Source {
		t.source(k, s)
	} else {
		t.b.WriteString("\n")
		table := table{texts: t, file: file}
		table.add("", k.Scopes, true)
		table.write()
	}
	if s != nil && !t.Source {
		t.samples(k, s)
	}
	if s != nil || t.Source {
		notes = t.missing(file)
	}
	return notes, nil
}

func (t *texts) wrapped(text string) {
	t.b.WriteString(term.Broken("  "+text, 4, t.Width))
}

// table is the tree of a kernel's scopes with their figures.
type table struct {
	*texts
	file string // that all scopes are in
	rows []tableRow
}

type tableRow struct {
	*Scope
	indent string
}

func (t *table) add(indent string, scopes []*Scope, outermost bool) {
	for i, s := range scopes {
		before, below := t.glyphs.Of(indent, i, len(scopes))
		if outermost {
			before, below = "", ""
		}
		t.rows = append(t.rows, tableRow{s, before})
		t.add(below, s.Inner, false)
	}
}

// column is a column of figures.
type column struct {
	head string
	keep int // on a narrow terminal columns with the lowest are left out first
	cell func(s *Scope) string
}

// columns of the table; p50 and so on are of the sums of single warps in single blocks.
var columns = []column{
	{"share", 9, func(s *Scope) string { return figures.Share(s.Kernel.Share(s.Cycles())) }},
	bar: {"", 1, nil},
	{"own", 3, func(s *Scope) string {
		if len(s.Inner) == 0 || s.Data == nil {
			return ""
		}
		return figures.Share(s.Kernel.Share(s.Own()))
	}},
	{"cycles", 8, func(s *Scope) string { return figures.Brief(float64(s.Cycles())) }},
	{"time", 8, func(s *Scope) string { return figures.Time(s.Time()) }},
	{"count", 7, measured(func(d *profile.InsideScope) string { return figures.Brief(float64(d.Count())) })},
	{"each", 2, quantile(func(d *profile.InsideScope) *profile.Sketch { return d.Each }, 0.5)},
	{"p50", 7, quantile(sums, 0.5)},
	{"p95", 6, quantile(sums, 0.95)},
	{"max", 7, quantile(sums, 1)},
	{"SMs", 5, func(s *Scope) string {
		factor, _ := s.Imbalance()
		return figures.Places(factor, 2)
	}},
}

func sums(d *profile.InsideScope) *profile.Sketch { return d.Sums }

func measured(figure func(*profile.InsideScope) string) func(*Scope) string {
	return func(s *Scope) string {
		if s.Data == nil {
			return figures.Missing
		}
		return figure(s.Data)
	}
}

func quantile(of func(*profile.InsideScope) *profile.Sketch, q float64) func(*Scope) string {
	return measured(func(d *profile.InsideScope) string {
		sketch := of(d)
		if sketch == nil || sketch.Count == 0 {
			return figures.Missing
		}
		return strings.Replace(figures.Brief(sketch.Quantile(q)), ".0", "", 1) // a zero that is not known
	})
}

const bar = 1 // place of the column

// leastName is how many columns names get before any figure does.
const leastName = 24

// write prints the rows with the columns that fit.
func (t *table) write() {
	shown, head := slices.Clone(columns), grid.Line{Name: "scope"}
	shown[bar].cell = func(s *Scope) string { return t.glyphs.Bar(s.Kernel.Share(s.Cycles())) }
	var keep []int
	for _, c := range shown {
		head.Cells, keep = append(head.Cells, grid.Cell{Text: c.head}), append(keep, c.keep)
	}
	lines, names := []grid.Line{head}, 0
	for _, r := range t.rows {
		line := grid.Line{Indent: r.indent, Name: term.Printable(t.label(r.Name)), Mark: t.at(r.Scope)}
		names = max(names, grid.Columns(line.Indent+line.Name+line.Mark))
		for _, c := range shown {
			line.Cells = append(line.Cells, grid.Cell{Text: c.cell(r.Scope)})
		}
		lines = append(lines, line)
	}
	layout := grid.Layout{Width: t.Width, Dots: t.glyphs.Dots}
	for _, i := range layout.SpareByRank(lines, min(names, leastName), keep) {
		t.drop(shown[i].head)
	}
	layout.Write(&t.b, lines, bar) //nolint:errcheck // a strings.Builder
}

// at says where a scope begins, unless its name does.
func (t *table) at(s *Scope) string {
	lines := s.lines()
	if len(lines) == 0 {
		return ""
	}
	text := fmt.Sprintf(":%d", lines[0].Line)
	switch {
	case lines[0].File != t.file:
		text = term.Printable(path.Base(lines[0].File)) + text
	case strings.HasSuffix(s.Name, text):
		text = ""
	}
	if more := len(lines) - 1; more > 0 {
		text += fmt.Sprintf(" +%d", more)
	}
	if text == "" {
		return ""
	}
	return "  " + text
}

func (o *Options) files() *kernels.Files {
	if o.Files == nil {
		o.Files = kernels.NoFiles()
	}
	return o.Files
}

// missing says if the text of the kernel's file would have shown where scopes end.
func (t *texts) missing(file string) []string {
	switch text := t.files().Text(file); {
	case file != "" && text.Err != nil:
		return []string{"no text of " + file + ": each scope has only its first line; if the file was moved, say where: --source-path OLD=NEW"}
	case t.Source && text.Kept:
		return []string{"the lines of " + file + " are those that the profile kept; if the file was moved, say where: --source-path OLD=NEW"}
	}
	return nil
}

// legend explains the columns.
func (t *texts) legend() {
	t.b.WriteString("\n")
	if t.Source {
		t.legendOfSource()
		return
	}
	for _, means := range [][2]string{
		{"share", "of the cycles of all recorded warps, inner scopes included"},
		{"own", "the same without inner scopes"},
		{"cycles", "sum over warps, blocks and launches"},
		{"time", "that a warp of the scope was in it in one block, on average"},
		{"count", "how often warps were in the scope"},
		{"each", "median of the cycles of a single time"},
		{"p50", "and p95, max: cycles of a single warp in one block of one launch"},
		{"SMs", "cycles of the busiest multiprocessor over the mean"},
	} {
		if !slices.Contains(t.dropped, means[0]) {
			t.means(means[0], means[1])
		}
	}
}

func (t *texts) legendOfSource() {
	t.means("share", "of the cycles of all recorded warps, of the scopes that begin in the line; inner scopes included")
	if !slices.Contains(t.dropped, "own") {
		t.means("own", "the same without inner scopes")
	}
	if t.Samples != nil {
		t.means("samples", "share of the samples of the kernel in a second run")
	}
}

func (t *texts) means(column, text string) {
	t.b.WriteString(term.Legend(8, t.Width, [2]string{column, text}))
}

// notShown names the other kernels with scopes.
func (t *texts) notShown(others []*Kernel) {
	if len(others) > 0 {
		t.b.WriteString("\n")
		t.b.WriteString("not shown: " + term.Printable(kernels.FirstNames(others, 5, func(k *Kernel) string { return t.label(k.Name) })) + "\n")
	}
}
