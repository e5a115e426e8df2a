// Package grid prints lines of aligned cells that end in a name. Comparisons show trees this way: the numbers are in columns
// on the left, and the tree is on the right.
package grid

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Cell is one cell: its text, and the terminal escape sequence of its colour, "" for none.
type Cell struct {
	Text, Color string
}

// Line is a row of cells, followed by the branches of the tree, a name, and a mark that is never cut.
type Line struct {
	Cells              []Cell
	Indent, Name, Mark string
}

// Layout says how wide lines may be. The zero value cuts nothing.
type Layout struct {
	Width int    // columns; longer lines have their names cut; 0 cuts nothing
	Dots  string // replaces what was cut off; "" means "…"
}

// leastName is how many columns of a name remain, however small the width is.
const leastName = 12

// End resets the colour of a terminal.
const End = "\x1b[0m"

// Write prints lines with two spaces between columns. Columns are aligned to the right, except those whose index is in left.
// Lines may have fewer cells than others.
func (p Layout) Write(w io.Writer, lines []Line, left ...int) error {
	var widths []int
	for _, l := range lines {
		for i, c := range l.Cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.Text))
		}
	}
	out := bufio.NewWriterSize(w, 64<<10)
	for _, l := range lines {
		text := p.line(l, widths, left)
		out.WriteString(strings.TrimRight(text, " "))
		out.WriteByte('\n')
	}
	return out.Flush()
}

func (p Layout) line(l Line, widths, left []int) string {
	var b strings.Builder
	room := p.Width - runewidth.StringWidth(l.Mark)
	for i, width := range widths {
		var c Cell
		if i < len(l.Cells) {
			c = l.Cells[i]
		}
		padding := strings.Repeat(" ", width-utf8.RuneCountInString(c.Text))
		flush := slices.Contains(left, i)
		if !flush {
			b.WriteString(padding)
		}
		if c.Color != "" {
			b.WriteString(c.Color + c.Text + End)
		} else {
			b.WriteString(c.Text)
		}
		if flush {
			b.WriteString(padding)
		}
		b.WriteString("  ")
		room -= width + len("  ")
	}
	if p.Width > 0 {
		l.Indent, l.Name = p.cut(l.Indent, l.Name, room)
	}
	b.WriteString(l.Indent)
	b.WriteString(l.Name)
	b.WriteString(l.Mark)
	return b.String()
}

// cut shortens branches and name to room columns: it removes the branches nearest to the root first, then the end of the name.
func (p Layout) cut(indent, name string, room int) (string, string) {
	dots := cmp.Or(p.Dots, "…")
	room = max(room, leastName+1+step)
	if branches := []rune(indent); len(branches) > room-leastName {
		keep := (room - leastName - 1) / step * step
		indent = dots + string(branches[len(branches)-keep:])
	}
	return indent, runewidth.Truncate(name, room-utf8.RuneCountInString(indent), dots)
}

// Branches are the glyphs that a tree is drawn with.
type Branches struct {
	Child, Last, Through, Below string
	Dots                        string // replaces what was cut off
}

// step is the width of a branch in columns.
const step = 3

// Lines and ASCII are the two ways to draw a tree.
var (
	Lines = Branches{"├─ ", "└─ ", "│  ", "   ", "…"}
	ASCII = Branches{"|- ", "`- ", "|  ", "   ", "~"}
)

// Glyphs are ASCII or Lines.
func Glyphs(ascii bool) Branches {
	if ascii {
		return ASCII
	}
	return Lines
}

// Of returns the branches before the i-th of n children, and the indent for the lines below that child. indent is the
// indent for the lines below their parent.
func (b Branches) Of(indent string, i, n int) (before, below string) {
	if i == n-1 {
		return indent + b.Last, indent + b.Below
	}
	return indent + b.Child, indent + b.Through
}

// Plain makes cells without colour.
func Plain(texts ...string) []Cell {
	cells := make([]Cell, len(texts))
	for i, t := range texts {
		cells[i].Text = t
	}
	return cells
}
