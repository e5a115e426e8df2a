package viewer

import (
	"bufio"
	"fmt"
	"math"
	"strings"

	"github.com/mattn/go-runewidth"
)

// defaultWidth is that of a flame graph when the paper has none: it needs one.
const defaultWidth = 80

// printFlame prints a flame graph that grows downwards: a line per level, each frame below its caller and as wide as
// its share of the first metric. What is left of a caller's width is its own. Siblings too narrow to be drawn stand
// together as one block that says how many they are, where that has a place.
func printFlame(out *bufio.Writer, t *Table, p *Paper) error {
	if c := &t.Columns[0]; c.Text || !c.Additive {
		return fmt.Errorf("draw a flame graph of %s: widths must add up; put an amount first in -m, such as time, count or bytes", c.Name)
	}
	f := flame{out: out, table: t, marks: unicodeMarks, color: p.Color, width: p.Width}
	if p.ASCII {
		f.marks = asciiMarks
	}
	if f.width <= 0 {
		f.width = defaultWidth
	}
	f.width = max(f.width, narrowestFlame)
	f.weigh()
	whole := f.weight(t.Root)
	if !(whole > 0) {
		return fmt.Errorf("draw a flame graph of %s: the frames that are shown have none", t.Columns[0].Name)
	}
	level := []box{{row: t.Root, right: f.width - 1, weight: whole}}
	for len(level) > 0 {
		f.line(level)
		level = f.below(level)
	}
	return nil
}

const narrowestFlame = 20

type flameMarks struct{ edge, dots string }

var (
	unicodeMarks = flameMarks{"│", "…"}
	asciiMarks   = flameMarks{"|", "~"}
)

type flame struct {
	out   *bufio.Writer
	table *Table
	marks flameMarks
	color bool
	width int
	wider map[*Row]float64 // rows whose children weigh more than their own value says
}

// box is what is drawn of a row: the columns from left to right, its edge at left included, the next one's at right
// not. Without a row it stands for several siblings.
type box struct {
	row         *Row
	left, right int
	weight      float64
	rest        int // how many siblings it stands for
}

// weigh finds the rows that must be drawn wider than their value, so that no child sticks out: of exclusive metrics,
// and where sums of floating point numbers went astray.
func (f *flame) weigh() {
	f.wider = map[*Row]float64{}
	rows := make([]*Row, 0, 1024)
	for r := range f.table.All() {
		rows = append(rows, r)
	}
	for i := len(rows) - 1; i >= 0; i-- { // children come after their parents
		r := rows[i]
		below := 0.0
		for _, list := range [][]*Row{r.Children, r.Hidden} {
			for _, c := range list {
				below += f.weight(c)
			}
		}
		if below > f.weight(r) {
			f.wider[r] = below
		}
	}
}

// weight is a row's value as a width: nothing for what is missing, negative or infinite.
func (f *flame) weight(r *Row) float64 {
	if w, ok := f.wider[r]; ok {
		return w
	}
	if v := r.Values[0]; v > 0 && !math.IsInf(v, 1) {
		return v
	}
	return 0
}

// below lays out what stands below a level.
func (f *flame) below(level []box) []box {
	var next []box
	for _, b := range level {
		if b.row != nil {
			next = f.children(next, b)
		}
	}
	return next
}

// children lays out what stands below a box; rows that a threshold or a depth hides are as narrow as they come. Edges
// are the rounded places where a child would begin and end on a paper of any precision, so that errors do not pile up.
func (f *flame) children(boxes []box, b box) []box {
	sum, scale := 0.0, float64(b.right-b.left)/b.weight
	place := func() int { return min(b.left+int(math.Round(sum*scale)), b.right) }
	var narrow box
	flush := func() {
		if narrow.right > narrow.left {
			boxes = append(boxes, narrow)
		}
		narrow = box{}
	}
	add := func(c *Row, hidden bool) {
		left, w := place(), f.weight(c)
		sum += w
		right := place()
		if !hidden && right-left >= narrowestBox {
			flush()
			boxes = append(boxes, box{row: c, left: left, right: right, weight: w})
			return
		}
		if narrow.rest == 0 {
			narrow.left = left
		}
		narrow.right, narrow.weight, narrow.rest = right, narrow.weight+w, narrow.rest+1
	}
	for _, c := range b.row.Children {
		add(c, false)
	}
	for _, c := range b.row.Hidden {
		add(c, true)
	}
	flush()
	return boxes
}

// narrowestBox is an edge and two letters of a name.
const narrowestBox = 3

// line draws one level.
func (f *flame) line(level []box) {
	at, open := 0, false // whether the box to the left still needs its right edge
	for _, b := range level {
		if open && at < b.left {
			f.out.WriteString(f.marks.edge)
			at++
		}
		f.blanks(b.left - at)
		f.box(b)
		at, open = b.right, true
	}
	f.out.WriteString(f.marks.edge)
	f.out.WriteByte('\n')
}

func (f *flame) blanks(n int) {
	for range n {
		f.out.WriteByte(' ')
	}
}

// box draws the left edge and the inside of a box.
func (f *flame) box(b box) {
	f.out.WriteString(f.marks.edge)
	room := b.right - b.left - 1
	label := f.label(b, room)
	if f.color && b.row != nil {
		f.out.WriteString(flameColor(b.row.Name))
	}
	f.out.WriteString(label)
	f.blanks(room - runewidth.StringWidth(label))
	if f.color && b.row != nil {
		f.out.WriteString("\x1b[0m")
	}
}

// label says as much as there is room for: name, value and share, name and share, a cut name.
func (f *flame) label(b box, room int) string {
	share := fmt.Sprintf("%.1f%%", 100*b.weight/f.weight(f.table.Root))
	if b.row == nil {
		return firstThatFits(room, fmt.Sprintf("%s%d more %s", f.marks.dots, b.rest, share), fmt.Sprintf("%s%d", f.marks.dots, b.rest), f.marks.dots)
	}
	name, full := f.table.Label(b.row), ""
	if v := b.row.Values[0]; finite(v) {
		full = fmt.Sprintf("%s %s %s", name, strings.TrimSpace(fmt.Sprintf("%.4g %s", v, f.table.Columns[0].Unit)), share)
	}
	if full != "" && runewidth.StringWidth(full) <= room {
		return full
	}
	if left := room - len(share) - 1; left >= 8 || left >= runewidth.StringWidth(name) {
		return f.cut(name, left) + " " + share
	}
	return f.cut(name, room)
}

func (f *flame) cut(name string, room int) string {
	return runewidth.Truncate(name, room, f.marks.dots)
}

func firstThatFits(room int, texts ...string) string {
	for _, text := range texts {
		if runewidth.StringWidth(text) <= room {
			return text
		}
	}
	return ""
}

// flameColor picks one of the warm backgrounds by name, so that a kernel looks the same wherever it stands.
func flameColor(name string) string {
	backgrounds := [...]int{180, 215, 222, 216, 179, 223, 186, 209}
	hash := uint32(2166136261) // FNV-1a
	for i := range len(name) {
		hash = (hash ^ uint32(name[i])) * 16777619
	}
	return fmt.Sprintf("\x1b[48;5;%d;38;5;16m", backgrounds[hash%uint32(len(backgrounds))])
}
