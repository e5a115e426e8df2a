package listing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer/internal/grid"
	"github.com/goproton/goproton/viewer/kernels"
)

// row is a printed line of a listing: numbers on the left, text on the right.
type row struct {
	counts kernels.Counts
	number string // of the line, or offset of the instruction
	text   string
	after  string // stands in a column of its own, behind the text
	mark   bool
	gap    bool // lines that are left out
	color  string
}

// source prints the lines of a kernel.
func (p *printer) source(f *kernels.Function) {
	if len(f.Lines) == 0 {
		p.paragraph("  no line information: it was compiled without (nvcc -lineinfo adds it), or the module is unknown; --sass shows its instructions")
		return
	}
	for _, lines := range f.Files() {
		sum := kernels.Counts{}
		for _, l := range lines {
			sum.Add(l.Counts)
		}
		if !p.All && f.Samples > 0 && sum.Share(f.Samples) < cold {
			p.paragraph(samplesOf(p.s, sum, f) + term.Printable(lines[0].File))
			continue
		}
		p.file(f, lines)
	}
	if f.Unplaced.Samples > 0 {
		p.paragraph(samplesOf(p.s, f.Unplaced, f) + "instructions without line information")
	}
}

// samplesOf begins a sentence on some of a function's samples: 12 samples (1.2%) are of …
func samplesOf(s *kernels.Samples, c kernels.Counts, f *kernels.Function) string {
	share := " (" + figures.Share(c.Share(f.Samples)) + ")"
	return figures.Plural(c.Samples, s.Unit+share+" is of ", s.Unit+"s"+share+" are of ")
}

// file prints the lines of a kernel that are in one file.
func (p *printer) file(f *kernels.Function, lines []*kernels.Line) {
	p.paragraph(p.Faint(p.found(lines[0].File, lastNumber(lines))))
	p.rows(f.Samples, "line", p.sourceRows(f, p.run.Files.Text(lines[0].File), lines))
}

// sourceRows are the lines of one file, with what surrounds them and what was inlined there.
func (p *printer) sourceRows(f *kernels.Function, text *kernels.Text, lines []*kernels.Line) []row {
	var rows []row
	next := 1 // the first line that was not printed yet
	for i, l := range lines {
		hidden := kernels.Counts{}
		if !p.All && l.Samples > 0 && l.Share(f.Samples) < cold {
			continue
		}
		around := min(p.Context, mostContext)
		from, to := max(l.Number-around, next), min(l.Number+around, text.Lines())
		if l.Number > text.Lines() { // another file than was compiled
			from = l.Number
		}
		for _, other := range lines[:i] {
			if other.Number >= next && other.Number < from {
				hidden.Add(other.Counts)
			}
		}
		if from-next <= 2 && next > 1 && hidden.Samples == 0 {
			from = next
		}
		if text.Err != nil {
			from, to = l.Number, l.Number
		}
		for from < l.Number && from > next && isBlank(text, from) {
			from++
		}
		if next > 1 && from > next || hidden.Samples > 0 {
			rows = append(rows, p.gap(hidden))
		}
		for n := from; n < l.Number; n++ {
			rows = append(rows, p.sourceRow(f, text, lines, n)...)
		}
		rows = append(rows, p.sourceRow(f, text, lines, l.Number)...)
		next = l.Number + 1
		if i+1 < len(lines) {
			to = min(to, lines[i+1].Number-1)
		}
		for to > next && isBlank(text, to) {
			to--
		}
		for ; next <= to; next++ {
			rows = append(rows, p.sourceRow(f, text, lines, next)...)
		}
	}
	hidden := kernels.Counts{}
	for _, l := range lines {
		if l.Number >= next {
			hidden.Add(l.Counts)
		}
	}
	if hidden.Samples > 0 {
		rows = append(rows, p.gap(hidden))
	}
	return rows
}

func isBlank(text *kernels.Text, number int) bool {
	line, _ := text.Line(number)
	return strings.TrimSpace(line) == ""
}

// gap stands for what is left out.
func (p *printer) gap(hidden kernels.Counts) row {
	return row{counts: hidden, gap: true, number: p.glyphs.Gap}
}

// sourceRow is a line of the file, and what was inlined there.
func (p *printer) sourceRow(f *kernels.Function, text *kernels.Text, lines []*kernels.Line, number int) []row {
	shown, _ := text.Line(number)
	r := row{number: fmt.Sprint(number), text: printable(shown)}
	i, sampled := slices.BinarySearchFunc(lines, number, func(l *kernels.Line, n int) int { return l.Number - n })
	if !sampled {
		r.color = grid.Faint
		return []row{r}
	}
	l := lines[i]
	r.counts, r.mark = l.Counts, l.Share(f.Samples) >= hot
	if text.Err != nil {
		r.text = term.Printable(l.Func)
	}
	rows := []row{r}
	indent := leading(r.text)
	if p.Unfold {
		rows = p.unfolded(rows, l.Inlined, indent+"  ")
	} else {
		rows = p.folded(rows, f, l, indent+"  ")
	}
	return p.ir(rows, f, l, indent+"  ")
}

// folded adds a row for each function that was inlined at a line.
func (p *printer) folded(rows []row, f *kernels.Function, l *kernels.Line, indent string) []row {
	type callee struct {
		name   string
		counts kernels.Counts
	}
	var callees []callee
	for _, inlined := range l.Inlined {
		name := p.callee(f, inlined)
		at := slices.IndexFunc(callees, func(c callee) bool { return c.name == name })
		if at < 0 {
			at = len(callees)
			callees = append(callees, callee{name: name})
		}
		callees[at].counts.Add(inlined.Counts)
	}
	for _, c := range callees {
		if c.counts.Share(f.Samples) >= cold/2 || p.All {
			rows = append(rows, row{counts: c.counts, text: indent + p.glyphs.Inlined + " " + c.name, color: grid.Faint})
		}
	}
	return rows
}

// unfolded adds the lines of what was inlined.
func (p *printer) unfolded(rows []row, inlined []*kernels.Line, indent string) []row {
	for _, l := range inlined {
		text, found := p.run.Files.Text(l.File).Line(l.Number)
		if text = strings.TrimSpace(printable(text)); !found || text == "" {
			text = term.Printable(l.Func)
		}
		rows = append(rows, row{counts: l.Counts, text: indent + p.glyphs.Inlined + " " + fileLine(l.File, l.Number) + "  " + text, color: grid.Faint})
		rows = p.unfolded(rows, l.Inlined, indent+"  ")
	}
	return rows
}

// rows prints rows under a header. The stalls stand next to the numbers, the text last, since it is long.
func (p *printer) rows(of uint64, what string, rows []row) {
	unit, stallsHead := p.s.Unit+"s", "stalls"
	if p.s.Counted() {
		stallsHead = "counted"
	}
	count, number, text := len(unit), len(what), 0
	widest := uint64(1)
	for i := range rows {
		r := &rows[i]
		count = max(count, len(fmt.Sprint(r.counts.Samples)))
		if !r.gap {
			widest = max(widest, r.counts.Samples)
		}
		number = max(number, grid.Columns(r.number))
		if r.number != "" { // what stands between has nothing behind it
			text = max(text, grid.Columns(r.text))
		}
	}
	if of == 0 {
		p.bareRows(number, text, rows)
		return
	}
	bars := grid.BarCells
	most, stalls := p.stallColumn(rows, count+8+bars+2+2+number+4, 0)
	if most == 0 { // the reason says more than the bar
		if most, stalls = p.stallColumn(rows, count+8+2+2+number+4, 8); most > 0 {
			bars = 0
		}
	}
	p.noStalls = p.noStalls || most == 0
	before := count + 8 + bars + 2 + stalls + 2 + number + 4
	p.line(p.Faint(grid.Pad(unit, count, true) + "   share" + strings.Repeat(" ", bars+2) + grid.Pad(stallsHead[:min(stalls, len(stallsHead))], stalls, false) + "  " + grid.Pad(what, number+2, true)))
	for i := range rows {
		r := &rows[i]
		line := p.numbers(r, of, widest, count, bars, most, stalls)
		mark := " "
		if r.mark {
			mark = p.Paint(p.glyphs.Right, grid.Red)
		}
		line += mark + " " + p.Faint(grid.Pad(r.number, number, true)) + "  "
		body := r.body(text)
		if p.Width > 0 {
			body = p.fit(body, min(before, p.Width-20))
		}
		p.line(line + p.Paint(body, r.color))
	}
}

// bareRows prints rows without numbers.
func (p *printer) bareRows(number, text int, rows []row) {
	for i := range rows {
		r := &rows[i]
		p.line("  " + p.Faint(grid.Pad(r.number, number, true)) + "  " + p.Paint(p.fit(r.body(text), number+4), r.color))
	}
}

// body is the text, and behind it, from a column on, what stands there.
func (r *row) body(column int) string {
	if r.after == "" {
		return r.text
	}
	return grid.Pad(r.text, column, false) + "  " + r.after
}

// leastText is how many columns of text a number of stall reasons must leave on a narrow terminal. The first reason may cut
// the text shorter than the second.
var leastText = [...]int{1: 38, 2: 60}

// stallColumn says how many reasons each row has room for, and how wide they are; the text may be shorter than leastText by some columns.
func (p *printer) stallColumn(rows []row, others, shorter int) (most, width int) {
	for most = len(leastText) - 1; most > 0; most-- {
		width = len("stalls")
		for i := range rows {
			if rows[i].counts.Samples > 0 {
				width = max(width, grid.Columns(why(p.s, rows[i].counts, most)))
			}
		}
		if p.Width <= 0 || p.Width-others-width >= leastText[most]-shorter {
			return most, width
		}
	}
	return 0, 0
}

// numbers are the cells of a row on the left.
func (p *printer) numbers(r *row, of, widest uint64, count, bars, most, stalls int) string {
	if r.counts.Samples == 0 {
		return strings.Repeat(" ", count+8+bars+2+stalls+2)
	}
	share := r.counts.Share(of)
	bar := ""
	if !r.gap && bars > 0 {
		bar = p.glyphs.Bar(float64(r.counts.Samples) / float64(widest))
	}
	color := heat(share)
	return p.Paint(grid.Pad(fmt.Sprint(r.counts.Samples), count, true), color) + "  " + grid.Pad(figures.Share(share), 6, true) + " " +
		p.Paint(grid.Pad(bar, bars, false), color) + " " + grid.Pad(why(p.s, r.counts, most), stalls, false) + "  "
}
