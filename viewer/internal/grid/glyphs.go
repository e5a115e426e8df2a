package grid

import (
	"math"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Glyphs are the characters that trees, bars and marks are drawn with.
type Glyphs struct {
	Child, Last, Through, Below string // branches, each Step columns wide

	Dots  string   // replaces what was cut off
	Full  string   // a cell of a bar
	Parts []string // a cell that is filled by one to seven eighths; none where there are whole cells only

	Right, Left string // point at a line, or name the side of a comparison
	Gap         string // stands for lines that are left out
	Inlined     string // stands before code inlined into the line above
	Arrow       string // between an old and a new value

	Bracket [4]string // around lines: begin, further lines, end; and at a single line
}

// Step is the width of a branch in columns, and leastBranch that of the last of narrow branches, with a blank.
const (
	Step        = 3
	leastBranch = 2
)

// Lines and ASCII are the two ways to draw.
var (
	Lines = Glyphs{"├─ ", "└─ ", "│  ", "   ", "…", "█", []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉"}, "▶", "◀", "⋮", "↳", "→", [4]string{"┌", "│", "└", "╶"}}
	ASCII = Glyphs{"|- ", "`- ", "|  ", "   ", "...", "#", nil, ">", "<", ":", "`-", "->", [4]string{"/", "|", "\\", "-"}}
)

// For returns ASCII or Lines.
func For(ascii bool) *Glyphs {
	if ascii {
		return &ASCII
	}
	return &Lines
}

// Of returns the branches before the i-th of n children, and the indent for the lines below that child. indent is the
// indent for the lines below their parent.
func (g *Glyphs) Of(indent string, i, n int) (before, below string) {
	indent = g.Short(indent)
	if i == n-1 {
		return indent + g.Last, indent + g.Below
	}
	return indent + g.Child, indent + g.Through
}

// Deepest is how many columns of branches are drawn; call paths of thousands of frames would be nothing but branches.
const Deepest = 300

// Short is an indentation, or its end if it is too long.
func (g *Glyphs) Short(indent string) string {
	if len(indent) <= Deepest || len([]rune(indent)) <= Deepest {
		return indent
	}
	return g.Dots + LastSteps(indent, Deepest-30)
}

// BarCells is how many columns a whole bar takes.
const BarCells = 10

// Bar draws a part, from 0 to 1, of BarCells.
func (g *Glyphs) Bar(part float64) string {
	if !(part > 0) || math.IsInf(part, 0) {
		return ""
	}
	eighths := int(math.Round(min(part, 1) * BarCells * 8))
	text := strings.Repeat(g.Full, eighths/8)
	switch rest := eighths % 8; {
	case g.Parts == nil && rest >= 4:
		text += g.Full
	case g.Parts != nil && rest > 0:
		text += g.Parts[rest-1]
	}
	return text
}

// Narrow says whether a tree of this depth, with least columns for names, needs narrow branches to fit room columns.
func Narrow(depth, room, least int) bool { return depth*Step > room-least }

// NarrowBranches is an indentation whose branches take one column each, with a blank before the name.
func NarrowBranches(indent string) string {
	if indent == "" {
		return ""
	}
	var b strings.Builder
	runes := []rune(indent)
	for i, r := range runes {
		if dots := len(runes) % Step; i < dots || (i-dots)%Step == 0 {
			b.WriteRune(r)
		}
	}
	return b.String() + " "
}

// Cut shortens narrow branches and a name to room columns. It removes the branches nearest to the root first, until least
// columns are left for the name, and then the end of the name.
func Cut(indent, name string, room, least int, dots string) (string, string) {
	if Columns(indent) > room-least {
		runes := []rune(indent)
		indent = dots + string(runes[max(0, len(runes)-max(room-least-Columns(dots), leastBranch)):])
	}
	return indent, Fit(name, room-Columns(indent), dots)
}

// Fit shortens a text to room columns. Where there is no room, nothing is left, not even the dots.
func Fit(text string, room int, dots string) string {
	switch {
	case Columns(text) <= room:
		return text
	case room < 1:
		return ""
	}
	return runewidth.Truncate(text, room, dots)
}

// LastSteps is the end of an indentation: as many whole branches as fit.
func LastSteps(indent string, columns int) string {
	runes := []rune(indent)
	return string(runes[max(len(runes)-columns/Step*Step, 0):])
}
