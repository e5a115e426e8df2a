// Package grid prints lines of aligned cells with a name behind them, which is how comparisons show a tree: the
// numbers stand in columns, the tree grows to their right.
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

// Cell is one cell: its text, and the colour it is painted in, a terminal sequence, "" for none.
type Cell struct {
	Text, Color string
}

// Line is a row of cells and what follows them: the branches that lead to a name, the name, and a mark, which is
// never cut.
type Line struct {
	Cells              []Cell
	Indent, Name, Mark string
}

// Paper is what lines are printed on. The zero value has room for all.
type Paper struct {
	Width int    // names are cut so that lines have at most as many columns; 0 for no cutting
	Dots  string // what stands for what was cut off, "…" if it is empty
}

// leastName is how much of a name stays however narrow the paper is.
const leastName = 12

// End resets the colour of a terminal.
const End = "\x1b[0m"

// Write prints lines with all columns flushed right but those in left, two spaces apart. Lines may have fewer
// cells than others.
func (p Paper) Write(w io.Writer, lines []Line, left ...int) error {
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

func (p Paper) line(l Line, widths, left []int) string {
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

// cut makes room for a name by leaving out the branches nearest to the root, and then cuts it.
func (p Paper) cut(indent, name string, room int) (string, string) {
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
	Dots                        string // for what was cut off
}

// step is how many columns a branch takes.
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

// Of returns what stands before the i-th of n children whose parent's line is indented by indent, and what its
// own children are indented by.
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
