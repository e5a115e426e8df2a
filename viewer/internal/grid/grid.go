// Package grid prints lines of aligned cells that end in a name: the numbers are in columns on the left, and the tree is on
// the right. It also has what all texts of the viewer are drawn with: glyphs, bars, colours and widths.
package grid

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strings"
)

// Cell is one cell: its text, and the terminal escape sequence of its colour, "" for none.
type Cell struct {
	Text, Color string

	spared bool // takes no room
}

// Line is a row of cells, followed by the branches of the tree, a name, and a mark that is never cut.
type Line struct {
	Cells              []Cell
	Indent, Name, Mark string
	Brief              string // stands for Mark where the name has too little room next to it; "" for none
}

// Layout says how wide lines may be. The zero value cuts nothing.
type Layout struct {
	Width int    // columns; longer lines have their names cut; 0 cuts nothing
	Dots  string // replaces what was cut off; "" means "…"
}

const gap = "  " // between columns

// leastName is how many columns of a name remain, however small the width is.
const leastName = 12

// leastRoom is how many columns a name and its branches get at least: dots and the last branch stand before the name.
const leastRoom = leastName + 1 + Step

// Write prints lines with two spaces between columns. Columns are aligned to the right, except those whose index is in left.
// Lines may have fewer cells than others.
func (p Layout) Write(w io.Writer, lines []Line, left ...int) error {
	widths, room := p.measure(lines)
	narrow := p.Width > 0 && slices.ContainsFunc(lines, func(l Line) bool {
		return Narrow(Columns(l.Indent)/Step, max(room-Columns(cmp.Or(l.Brief, l.Mark)), leastRoom), leastName)
	})
	out := bufio.NewWriterSize(w, 64<<10)
	for _, l := range lines {
		if narrow {
			l.Indent = NarrowBranches(l.Indent)
		}
		text := p.line(l, widths, left, room)
		out.WriteString(strings.TrimRight(text, " "))
		out.WriteByte('\n')
	}
	return out.Flush()
}

// measure returns how wide each column is, its gap to the next one included, and how much room they leave.
func (p Layout) measure(lines []Line) (widths []int, room int) {
	for _, l := range lines {
		for i, c := range l.Cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if !c.spared {
				widths[i] = max(widths[i], Columns(c.Text)+len(gap))
			}
		}
	}
	room = p.Width
	for _, width := range widths {
		room -= width
	}
	return widths, room
}

// SpareByRank takes columns out, those with the lowest rank first, until names have so much room; one column stays. It returns those that it took out.
func (p Layout) SpareByRank(lines []Line, least int, ranks []int) (out []int) {
	var groups [][]int
	for i := range ranks {
		groups = append(groups, []int{i})
	}
	slices.SortStableFunc(groups, func(a, b []int) int { return ranks[a[0]] - ranks[b[0]] })
	return slices.Concat(groups[:p.spare(lines, least, groups[:max(0, len(groups)-1)])]...)
}

// Spare takes columns out, one group after the other, until names have the least room that they get. It returns how many groups it took out.
func (p Layout) Spare(lines []Line, groups ...[]int) int { return p.spare(lines, leastRoom, groups) }

func (p Layout) spare(lines []Line, least int, groups [][]int) int {
	for n, group := range groups {
		if _, room := p.measure(lines); p.Width == 0 || room >= least {
			return n
		}
		for _, l := range lines {
			for _, i := range group {
				l.Cells[i] = Cell{spared: true}
			}
		}
	}
	return len(groups)
}

// line is the text of a line; room columns are left for what stands behind its cells.
func (p Layout) line(l Line, widths, left []int, room int) string {
	var b strings.Builder
	for i, width := range widths {
		var c Cell
		if i < len(l.Cells) {
			c = l.Cells[i]
		}
		if width == 0 {
			continue
		}
		padding := strings.Repeat(" ", width-len(gap)-Columns(c.Text))
		if !slices.Contains(left, i) {
			b.WriteString(padding)
			padding = ""
		}
		b.WriteString(Paint(c.Text, c.Color) + padding + gap)
	}
	if p.Width > 0 {
		if l.Brief != "" && Columns(l.Indent+l.Name+l.Mark) > room && room-Columns(l.Mark) < leastRoom {
			l.Mark = l.Brief
		}
		l.Indent, l.Name = Cut(l.Indent, l.Name, max(room-Columns(l.Mark), leastRoom), leastName, cmp.Or(p.Dots, Lines.Dots))
	}
	b.WriteString(l.Indent)
	b.WriteString(l.Name)
	b.WriteString(l.Mark)
	return b.String()
}

// Plain makes cells without colour.
func Plain(texts ...string) []Cell {
	cells := make([]Cell, len(texts))
	for i, t := range texts {
		cells[i].Text = t
	}
	return cells
}
