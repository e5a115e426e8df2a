package viewer

import (
	"bufio"
	"bytes"
	"fmt"
	"iter"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer/internal/grid"
)

// lines prints what the views tree, flat, top and bottom-up share: a header, and a line per row with its numbers in columns,
// its share with a bar, and its name last, since names are long.
type lines struct {
	out      *bufio.Writer
	table    *Table
	terminal *Terminal
	glyphs   *grid.Glyphs
	columns  []printed
	share    func(r *Row) float64 // nil when no metric adds up
	bars     bool
	percent  bool // at the bars; not when a column already is that share
	widest   float64
	branched bool // names have branches before them
	narrow   bool // branches take one column each

	text, number []byte // of the line that is being made
}

// printed is one column of text, flushed right; left when it holds words.
type printed struct {
	label, unit string
	form        figures.Form
	value       func(r *Row) float64
	sibling     func(r *Row) float64 // value of a column that gets the same form; may be nil
	word        func(r *Row) string
	sum         bool // values of hidden rows may be added up
	ratio       bool // 1 is the best that there is
	percentile  bool // digits that are not known are left out
	shared      bool // bars and colours are of this column
	width       int

	own *figures.Form // set: each value has a unit of its own
}

func newLines(out *bufio.Writer, t *Table, p *Terminal) *lines {
	l := &lines{out: out, table: t, terminal: p, glyphs: grid.For(p.ASCII)}
	if t.ShareOf != "" {
		l.share = func(r *Row) float64 { return r.Share }
	}
	shares := false
	for i := range t.Columns {
		c := &t.Columns[i]
		shown := printed{label: c.Label, unit: c.Unit, ratio: c.Ratio, percentile: c.Percentile, shared: c.Label == t.ShareOf && !shares}
		shares = shares || shown.shared
		if p.Human && c.quantity != nil {
			own := figures.InOwnUnits(c.quantity, c.factor)
			shown.unit, shown.own = "", &own
		}
		if c.Text {
			shown.word = func(r *Row) string { return t.Text(r, i) }
		} else {
			shown.sum = c.Additive && c.Inclusive
			shown.value = func(r *Row) float64 { return r.Values[i] }
		}
		l.columns = append(l.columns, shown)
	}
	return l
}

// measure finds out how wide the columns are.
func (l *lines) measure() {
	for i := range l.columns {
		c := &l.columns[i]
		c.width = max(grid.Columns(c.label), grid.Columns(c.unit))
		if c.word != nil {
			for r := range l.table.All() {
				c.width = max(c.width, grid.Columns(c.word(r)))
			}
			continue
		}
		values := func(yield func(v float64) bool) {
			for r := range l.table.All() {
				if !yield(c.value(r)) || c.sibling != nil && !yield(c.sibling(r)) {
					return
				}
			}
		}
		if c.own != nil {
			c.form = *c.own
			if c.percentile {
				c.form = c.form.Short()
			}
			for v := range values {
				c.width = max(c.width, len(c.form.Text(v)))
			}
			continue
		}
		c.form = figures.FormFor(values)
		switch {
		case c.unit == figures.Percent.Label:
			c.form = c.form.AtMost(2)
		case c.ratio:
			c.form = c.form.AtMost(3)
		case c.percentile:
			c.form = c.form.Short()
		}
		lowest, highest := 0.0, 0.0
		for v := range values {
			if figures.Finite(v) {
				lowest, highest = min(lowest, v), max(highest, v)
			}
		}
		c.width = max(c.width, len(c.form.Text(lowest)), len(c.form.Text(highest)))
	}
	if l.share == nil {
		return
	}
	l.percent = true
	for i := range l.table.Columns {
		c := &l.table.Columns[i]
		l.percent = l.percent && !(c.Unit == "%" && c.Label == l.table.ShareOf)
	}
	for r := range l.table.All() {
		if s := l.share(r); figures.Finite(s) {
			l.widest = max(l.widest, s)
		}
	}
	l.bars = l.widest > 0
}

// branchWidth finds out whether all branches have room, with as much of the names after them as no width cuts.
func (l *lines) branchWidth() {
	for depth, name := range l.names() {
		l.narrow = l.narrow || grid.Narrow(depth, l.room(), min(grid.Columns(name), leastName))
	}
}

// names are the names of all lines with how many branches stand before them.
func (l *lines) names() iter.Seq2[int, string] {
	below := 0
	if l.branched {
		below = 1
	}
	return func(yield func(depth int, name string) bool) {
		for r := range l.table.All() {
			depth := r.Depth * below
			name := l.name(r)
			if short := l.ending(r, name); short != "" && depth*grid.Step+grid.Columns(name) > l.room() {
				name = short
			}
			if shown := l.branched || r.Parent != nil; shown && !yield(depth, name) {
				return
			}
			if len(r.Hidden) > 0 && !l.table.cutAsked && !yield(depth+below, l.more(r.Hidden)) {
				return
			}
		}
	}
}

// name is the label of a row, with a mark if its flops and bytes are a scope's or measured.
func (l *lines) name(r *Row) string { return r.Mark() + l.table.Label(r) }

// widestName is how many columns branches and names take at most, once they are cut.
func (l *lines) widestName() (widest int) {
	for depth, name := range l.names() {
		indent := depth * grid.Step
		if l.narrow {
			indent = depth + min(depth, 1)
		}
		columns := grid.Columns(name)
		indent = min(indent, l.room()-min(columns, leastName))
		widest = max(widest, indent+min(columns, l.room()-indent))
	}
	return widest
}

// noteWidth says so if lines are wider than the terminal.
func (l *lines) noteWidth() {
	if l.terminal.Width == 0 {
		return
	}
	l.branchWidth()
	if columns := l.before() + l.widestName(); columns > l.terminal.Width {
		l.table.Notes = append(l.table.Notes, fmt.Sprintf("lines have %d columns, more than the %d of the width: numbers are never cut; choose fewer metrics, with -m of proton viewer", columns, l.terminal.Width))
	}
}

// header prints what the columns are, and in which unit.
func (l *lines) header() {
	l.noteWidth()
	units, of := false, ""
	for i := range l.columns {
		units = units || l.columns[i].unit != ""
	}
	if l.bars && l.percent && (len(l.table.Columns) == 0 || l.table.Columns[0].Label != l.table.ShareOf) {
		of = "of " + l.table.ShareOf
		units = true
	}
	var names, below strings.Builder
	for i := range l.columns {
		c := &l.columns[i]
		names.WriteString(grid.Pad(c.label, c.width, c.word == nil) + "  ")
		below.WriteString(grid.Pad(c.unit, c.width, c.word == nil) + "  ")
	}
	if l.bars && l.percent {
		names.WriteString(" share")
		below.WriteString(of)
	}
	l.line(l.terminal.Faint(strings.TrimRight(names.String(), " ")))
	if units {
		l.line(l.terminal.Faint(strings.TrimRight(below.String(), " ")))
	}
}

func (l *lines) line(text string) {
	l.out.WriteString(text)
	l.out.WriteByte('\n')
}

// row prints a line; indent stands before the name.
func (l *lines) row(r *Row, indent string) {
	share := missing
	if l.share != nil {
		share = l.share(r)
	}
	heat := l.heat(share)
	for i := range l.columns {
		c := &l.columns[i]
		color := ""
		if c.shared {
			color = heat
		}
		if c.word != nil {
			l.cell(c.word(r), c.width, false, color)
		} else {
			l.number = c.form.Append(l.number[:0], c.value(r))
			l.cell(string(l.number), c.width, true, color)
		}
		l.text = append(l.text, "  "...)
	}
	l.shareCell(share, true, heat)
	name := l.name(r)
	l.finish(indent, name, l.ending(r, name), "")
}

// rest prints a line for rows that are not shown, with their sums.
func (l *lines) rest(hidden []*Row, indent string) {
	for i := range l.columns {
		c := &l.columns[i]
		text := ""
		if c.sum {
			sum := missing
			for _, r := range hidden {
				sum = add(sum, c.value(r))
			}
			text = c.form.Text(sum)
		}
		l.cell(text, c.width, true, "")
		l.text = append(l.text, "  "...)
	}
	share := missing
	if l.share != nil {
		for _, r := range hidden {
			share = add(share, l.share(r))
		}
	}
	l.shareCell(share, false, "")
	l.finish(indent, l.more(hidden), "", grid.Faint)
}

// more stands for the names of rows that are not shown.
func (l *lines) more(hidden []*Row) string {
	return fmt.Sprintf("%s %d more", l.glyphs.Dots, len(hidden))
}

// ending is what a name adds to that of the caller, as of Net.layers.3 below Net.layers; "" if it does not begin with that name.
// The paths of PyTorch's modules are long, and differ at their ends.
func (l *lines) ending(r *Row, name string) string {
	if l.terminal.Width == 0 || r.Parent == nil {
		return ""
	}
	if added, found := strings.CutPrefix(name, l.table.Label(r.Parent)); found && strings.HasPrefix(added, ".") {
		return l.glyphs.Dots + added
	}
	return ""
}

// cell adds a text to the line, filled up to a width and in a colour.
func (l *lines) cell(text string, width int, right bool, color string) {
	blanks := max(width-grid.Columns(text), 0)
	colored := l.terminal.Color && color != "" && text != ""
	if colored {
		l.text = append(l.text, color...)
	}
	if right {
		l.blanks(blanks)
	}
	l.text = append(l.text, text...)
	if !right {
		l.blanks(blanks)
	}
	if colored {
		l.text = append(l.text, grid.End...)
	}
}

func (l *lines) blanks(count int) {
	for range count {
		l.text = append(l.text, ' ')
	}
}

// shareCell adds a row's share and its bar.
func (l *lines) shareCell(share float64, bar bool, heat string) {
	if !l.bars {
		return
	}
	if l.percent {
		l.cell(figures.Share(share), percentWidth, true, "")
		l.blanks(1)
	}
	drawn := ""
	if bar {
		drawn = l.glyphs.Bar(share / l.widest)
	}
	l.cell(drawn, grid.BarCells, false, heat)
	l.blanks(1)
}

const percentWidth = len("100.0%")

// finish adds the name, cut to the terminal's width, and prints the line. Numbers are never cut, and every name keeps
// some letters: of the branches of a deep tree only the last ones are drawn. An ending stands for a name that has no room.
func (l *lines) finish(indent, name, ending, color string) {
	if l.terminal.Width > 0 {
		room := l.room()
		if l.narrow {
			indent = grid.NarrowBranches(indent)
		}
		if ending != "" && grid.Columns(indent)+grid.Columns(name) > room {
			name = ending
		}
		indent, name = grid.Cut(indent, name, room, min(grid.Columns(name), leastName), l.glyphs.Dots)
	}
	l.cell(indent, 0, false, grid.Faint)
	l.cell(name, 0, false, color)
	l.out.Write(bytes.TrimRight(l.text, " "))
	l.out.WriteByte('\n')
	l.text = l.text[:0]
}

// room is how many columns branches and names have.
func (l *lines) room() int {
	least := leastName
	if l.branched {
		least += leastBranches
	}
	return max(l.terminal.Width-l.before(), least)
}

// before is how many columns stand before the names.
func (l *lines) before() int {
	columns := 0
	for i := range l.columns {
		columns += l.columns[i].width + 2
	}
	if l.bars {
		columns += grid.BarCells + 1
		if l.percent {
			columns += percentWidth + 1
		}
	}
	return columns
}

const (
	leastName     = 16
	leastBranches = 4
)

// footer explains what stands above it, as far as it needs it.
func (l *lines) footer() {
	var notes []string
	if l.table.elided > 0 {
		notes = append(notes, l.glyphs.Dots+": "+l.elision()+"; --all shows them")
	}
	if n := l.table.others; n > 0 {
		note := figures.Plural(n, "frame has other metrics only and is not shown; --all shows it", "frames have other metrics only and are not shown; --all shows them")
		if l.table.Profile.Sampling != nil {
			note += ", and --source shows instruction samples"
		}
		notes = append(notes, note)
	}
	if whole := l.table.Root.Share; l.share != nil && l.bars && whole < 0.9995 {
		notes = append(notes, fmt.Sprintf("the filters leave %s of the program's %s; shares are of all of it", figures.Share(whole), l.table.ShareOf))
	}
	if len(notes) > 0 || l.terminal.Color && l.bars {
		l.line("")
	}
	for _, n := range notes {
		for _, part := range term.Break(n, 2, l.terminal.Width) {
			l.line(l.terminal.Faint(part))
		}
	}
	if l.terminal.Color && l.bars {
		var b strings.Builder
		for i, s := range heats {
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(l.terminal.Paint(l.glyphs.Full, s.color) + " >" + figures.BriefShare(s.from))
		}
		l.line(l.terminal.Faint(b.String()))
	}
}

// elision describes the rows that were left out.
func (l *lines) elision() string {
	most := fmt.Sprintf("all but the %d largest of many siblings", elideBeyond)
	if l.share == nil {
		return most
	}
	return fmt.Sprintf("rows with less than %s of what is shown, and %s", figures.Share(l.table.tail), most)
}
