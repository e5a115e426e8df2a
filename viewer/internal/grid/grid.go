// Package grid prints lines of aligned cells with a name behind them, which is how comparisons show a tree: the
// numbers stand in columns, the tree grows to their right.
package grid

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cell is one cell: its text, and the colour it is painted in, a terminal sequence, "" for none.
type Cell struct {
	Text, Color string
}

// Line is a row of cells and what follows them.
type Line struct {
	Cells []Cell
	Name  string
}

// End resets the colour of a terminal.
const End = "\x1b[0m"

// Write prints lines with all columns flushed right but those in left, two spaces apart. Lines may have fewer
// cells than others.
func Write(w io.Writer, lines []Line, left ...int) error {
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
		text := line(l, widths, left)
		out.WriteString(strings.TrimRight(text, " "))
		out.WriteByte('\n')
	}
	return out.Flush()
}

func line(l Line, widths, left []int) string {
	var b strings.Builder
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
	}
	b.WriteString(l.Name)
	return b.String()
}

// Branches are the glyphs that a tree is drawn with.
type Branches struct {
	Child, Last, Through, Below string
}

// Lines and ASCII are the two ways to draw a tree.
var (
	Lines = Branches{"├─ ", "└─ ", "│  ", "   "}
	ASCII = Branches{"|- ", "`- ", "|  ", "   "}
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

// Clean is a name as it may be sent to a terminal: without characters that move the cursor or turn text around.
func Clean(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, name)
}
