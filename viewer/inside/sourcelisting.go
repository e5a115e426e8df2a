package inside

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/goproton/goproton/internal/figures"
	"github.com/goproton/goproton/internal/term"
	"github.com/goproton/goproton/viewer/internal/grid"
	"github.com/goproton/goproton/viewer/kernels"
)

// mark is where scopes stand in the source: those of one name at the same lines.
type mark struct {
	span
	name        string // as it is shown
	inText      bool   // the line says the name itself, or it is made of what the line does
	cycles, own uint64
	depth       int // the column of its bracket, counted from 0
}

// source prints the scopes of a kernel next to the lines of its source, file by file. s is nil without samples.
func (t *texts) source(k *Kernel, s *Samples) {
	marks, without := t.marks(k)
	if len(without) > 0 {
		t.b.WriteString("\n")
		var names []string
		for _, m := range without {
			names = append(names, fmt.Sprintf("%s %s, own %s", m.name, figures.Share(k.Share(m.cycles)), figures.Share(k.Share(m.own))))
		}
		t.wrapped("scopes without a line: " + strings.Join(names, "; "))
	}
	shown := map[string]bool{}
	for _, m := range marks {
		if shown[m.file] {
			continue
		}
		shown[m.file] = true
		l := t.lister(k, s, m.file, slices.DeleteFunc(slices.Clone(marks), func(o mark) bool { return o.file != m.file }))
		t.b.WriteString("\n")
		t.wrapped(l.heading())
		l.write()
	}
	if s != nil {
		t.elsewhere(s, shown)
	}
}

// marks are those of a kernel, in order of the file with most scopes, then of others, and of lines; and the scopes that have no line.
func (t *texts) marks(k *Kernel) (marks []mark, without []mark) {
	main := k.file()
	for _, s := range All(k.Scopes) {
		m := mark{name: term.Printable(t.label(s.Name)), cycles: s.Cycles(), own: s.Own()}
		spans := s.spans(t.files())
		if i := slices.IndexFunc(spans, func(sp span) bool { return sameFile(sp.file, main) }); i >= 0 {
			spans = []span{spans[i]} // of inlined code the call
		}
		if len(spans) == 0 {
			without = append(without, m)
			continue
		}
		m.span = spans[0]
		text, _ := t.files().Text(m.file).Line(m.first)
		m.inText = strings.Contains(text, strconv.Quote(s.Name))
		if lineInName(s.Name) == m.first {
			m.name, _ = cutLast(m.name)
			m.inText = text != ""
		}
		if i := slices.IndexFunc(marks, func(o mark) bool { return o.span == m.span && o.name == m.name }); i >= 0 {
			marks[i].cycles += m.cycles
			marks[i].own += m.own
		} else {
			marks = append(marks, m)
		}
	}
	slices.SortStableFunc(marks, func(a, b mark) int {
		if a.file != b.file {
			return cmp.Or(cmp.Compare(figures.OneIf[int](b.file == main), figures.OneIf[int](a.file == main)), cmp.Compare(a.file, b.file))
		}
		return cmp.Or(a.first-b.first, b.last-a.last)
	})
	nest(marks)
	return marks, without
}

// nest gives each mark the outermost column that no other has at its lines. Marks are in order.
func nest(marks []mark) {
	var columns []span // the last mark of each
	for i := range marks {
		m := &marks[i]
		if m.depth = slices.Index(columns, m.span); m.depth >= 0 {
			continue // scopes at the same lines share a bracket
		}
		m.depth = slices.IndexFunc(columns, func(o span) bool { return o.file != m.file || o.last < m.first })
		if m.depth < 0 {
			m.depth, columns = len(columns), append(columns, span{})
		}
		columns[m.depth] = m.span
	}
}

// lister prints one file.
type lister struct {
	*texts
	kernel  *Kernel
	samples *Samples // nil for none
	text    *kernels.Text
	file    string
	marks   []mark
	counts  map[int]*kernels.Counts // by line
	rows    []listed
	narrow  bool // there is little room for the text
}

// listed is a row. The name of the scope is its mark.
type listed struct {
	grid.Line
	text   string
	inText bool // as of the mark
}

func (t *texts) lister(k *Kernel, s *Samples, file string, marks []mark) *lister {
	l := &lister{texts: t, kernel: k, samples: s, text: t.files().Text(file), file: file, marks: marks, counts: map[int]*kernels.Counts{}}
	if s != nil {
		for _, line := range s.Lines {
			if sameFile(line.File, file) {
				if l.counts[line.Number] == nil {
					l.counts[line.Number] = &kernels.Counts{}
				}
				l.counts[line.Number].Add(line.Counts)
			}
		}
	}
	return l
}

func (l *lister) heading() string {
	name := term.Printable(l.file)
	if l.text.Err == nil && l.text.Path != l.file {
		name += " (found at " + term.Printable(l.text.Path) + ")"
	}
	return name
}

// leastShown is the part of the samples from which on a line is shown that is in no scope.
const leastShown = 0.01

// leastStalls is that from which on its stall reason is said.
const leastStalls = 0.005

// shownLines are the lines of scopes, those with samples, and what is between two of them that are near each other.
func (l *lister) shownLines() (lines []int) {
	wanted := map[int]bool{}
	for _, m := range l.marks {
		for n := m.first; n <= m.last; n++ {
			wanted[n] = true
		}
	}
	for n, c := range l.counts {
		if c.Share(l.samples.All) >= leastShown {
			wanted[n] = true
		}
	}
	sorted := slices.Sorted(maps.Keys(wanted))
	for i, n := range sorted {
		for between := n - 1; i > 0 && l.text.Err == nil && n-sorted[i-1] <= 3 && between > sorted[i-1]; between-- {
			lines = append(lines, between)
		}
		lines = append(lines, n)
	}
	slices.Sort(lines)
	return lines
}

// write prints the rows.
func (l *lister) write() {
	depth := 0
	for _, m := range l.marks {
		depth = max(depth, m.depth+1)
	}
	last := 0
	for _, n := range l.shownLines() {
		if last > 0 && n > last+1 {
			l.rows = append(l.rows, listed{Line: grid.Line{Cells: l.cells("", "", nil, l.glyphs.Gap), Indent: l.gutter(n, depth, true)}})
		}
		l.line(n, depth)
		last = n
	}
	head, left := []string{"share", "own"}, 3
	if l.samples != nil {
		head = append(head, "samples", "stalled by")
	}
	l.rows = slices.Insert(l.rows, 0, listed{Line: grid.Line{Cells: grid.Plain(append(head, "line")...), Mark: "  scope"}})
	if l.align(); l.narrow && l.samples != nil {
		for i := range l.rows {
			l.rows[i].Cells = slices.Delete(l.rows[i].Cells, 1, 2)
		}
		left--
		l.drop("own")
		l.align()
	}
	var lines []grid.Line
	for i := range l.rows {
		lines = append(lines, l.rows[i].Line)
	}
	grid.Layout{Width: l.Width, Dots: l.glyphs.Dots}.Write(&l.b, lines, left) //nolint:errcheck // a strings.Builder
}

// leastText is how many columns of text are left next to all names; with less room, names that the text shows itself are left out.
const leastText = 44

// align puts the names behind the texts into a column.
func (l *lister) align() {
	cells := 0
	for c := range l.rows[0].Cells {
		widest := 0
		for i := range l.rows {
			widest = max(widest, grid.Columns(l.rows[i].Cells[c].Text))
		}
		cells += widest + 2
	}
	text, name := l.widths()
	if l.narrow = l.Width > 0 && l.Width-cells-name < leastText; l.narrow {
		for i := range l.rows {
			if l.rows[i].inText {
				l.rows[i].Mark = ""
			}
		}
		text, name = l.widths()
	}
	if l.Width > 0 {
		text = max(min(text, l.Width-cells-name), 0)
	}
	for i := range l.rows {
		if row := &l.rows[i]; row.Mark != "" {
			room := text - grid.Columns(row.Indent)
			row.Name = grid.Pad(grid.Fit(row.text, room, l.glyphs.Dots), room, false)
		}
	}
}

// widths are those of the widest text, with its brackets, and of the widest name.
func (l *lister) widths() (text, name int) {
	for i := range l.rows {
		text = max(text, grid.Columns(l.rows[i].Indent+l.rows[i].text))
		name = max(name, grid.Columns(l.rows[i].Mark))
	}
	return text, name
}

// line adds the row of a line, and one for each further scope that begins there.
func (l *lister) line(number, depth int) {
	shown, _ := l.text.Line(number)
	var begin []mark
	for _, m := range l.marks {
		if m.first == number {
			begin = append(begin, m)
		}
	}
	row := listed{Line: grid.Line{Indent: l.gutter(number, depth, false)}, text: term.Printable(strings.ReplaceAll(shown, "\t", "    "))}
	row.Name = row.text
	share, own := "", ""
	if len(begin) > 0 {
		share, own = l.shares(&begin[0])
		row.Mark, row.inText = "  "+begin[0].name, begin[0].inText
	}
	row.Cells = l.cells(share, own, l.counts[number], strconv.Itoa(number))
	l.rows = append(l.rows, row)
	for _, m := range begin[min(1, len(begin)):] {
		share, own := l.shares(&m)
		l.rows = append(l.rows, listed{Line: grid.Line{Cells: l.cells(share, own, nil, ""), Indent: l.gutter(number, depth, true), Mark: "  " + m.name}})
	}
}

// shares are those of a mark; the own one is left out where it is all of it.
func (l *lister) shares(m *mark) (share, own string) {
	share = figures.Share(l.kernel.Share(m.cycles))
	if m.own != m.cycles {
		own = figures.Share(l.kernel.Share(m.own))
	}
	return share, own
}

func (l *lister) cells(share, own string, c *kernels.Counts, number string) []grid.Cell {
	cells := []string{share, own}
	if l.samples != nil && c != nil && c.Samples > 0 {
		stalls := ""
		if c.Share(l.samples.All) >= leastStalls {
			stalls = l.samples.stalls(*c, 1)
		}
		cells = append(cells, figures.Share(c.Share(l.samples.All)), stalls)
	} else if l.samples != nil {
		cells = append(cells, "", "")
	}
	return grid.Plain(append(cells, number)...)
}

// gutter draws the brackets of the scopes at a line, outer ones first; between two rows of a line, only what is around it.
func (l *lister) gutter(number, depth int, between bool) string {
	brackets := slices.Repeat([]string{" "}, depth)
	for _, m := range l.marks {
		switch {
		case number < m.first || number > m.last || between && number == m.first:
		case between:
			brackets[m.depth] = l.glyphs.Bracket[1]
		case m.first == m.last:
			brackets[m.depth] = l.glyphs.Bracket[3]
		case number == m.first:
			brackets[m.depth] = l.glyphs.Bracket[0]
		case number == m.last:
			brackets[m.depth] = l.glyphs.Bracket[2]
		default:
			brackets[m.depth] = l.glyphs.Bracket[1]
		}
	}
	return strings.Join(brackets, "") + " "
}

// elsewhere says which samples are in files without scopes, or without a line.
func (t *texts) elsewhere(s *Samples, shown map[string]bool) {
	var files []string
	counts := map[string]uint64{}
	placed := uint64(0)
	for _, l := range s.Lines {
		placed += l.Samples
		listed := false
		for file := range shown {
			listed = listed || sameFile(file, l.File)
		}
		if !listed {
			if counts[l.File] == 0 {
				files = append(files, l.File)
			}
			counts[l.File] += l.Samples
		}
	}
	slices.SortStableFunc(files, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	var parts []string
	for _, f := range files {
		if share := float64(counts[f]) / float64(s.All); share >= leastShown {
			parts = append(parts, figures.Share(share)+" in "+term.Printable(path.Base(f)))
		}
	}
	if rest := float64(s.All-placed) / float64(s.All); rest >= leastShown {
		parts = append(parts, figures.Share(rest)+" without a line")
	}
	if len(parts) > 0 {
		t.wrapped("other samples: " + strings.Join(parts, ", "))
	}
}
